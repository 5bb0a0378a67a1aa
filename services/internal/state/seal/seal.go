// Package seal encrypts values that services keep in Redis, with keys of each store, by AES-256-GCM.
//
// A sealed value names its key, so keys can be rotated: the newest key seals and all keys open. A sealed value is bound to its
// place: it does not open under another Redis key, in another field or in another store. Nothing binds it to a time, so whoever
// can write to Redis can put an older value back.
//
// The package must not import a service.
package seal

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/reload"
)

// magic begins each sealed value: no protobuf message begins with a zero byte. The second byte is the version of the format. The
// length of the key's id, the id, the nonce, the ciphertext and the tag follow.
const magic = "\x00\x01"

// Place is where a value is kept.
type Place struct {
	// Store is the id of the store whose key seals the value.
	Store string
	// Key is the Redis key.
	Key string
	// Field tells the values under one Redis key apart. Elements of a list may share one.
	Field string
}

// data is what AES-GCM authenticates beside the value.
func (p Place) data() []byte {
	out := make([]byte, 0, binary.MaxVarintLen32+len(p.Key)+len(p.Field))
	out = binary.AppendUvarint(out, uint64(len(p.Key)))
	return append(append(out, p.Key...), p.Field...)
}

// Config configures a Sealer.
type Config struct {
	// File of the keys. It is read again when it changes. Required.
	File string
	// AcceptPlaintext makes Open return values that are not sealed as they are, for the time after encryption was turned on.
	// Whoever can write to Redis can then plant values. False: such values are errors.
	AcceptPlaintext bool
	// Now is the clock that decides which key seals. Nil: time.Now.
	Now func() time.Time
	// Logger gets a line when the file has changed. Nil: slog.Default().
	Logger *slog.Logger
}

// Sealer seals and opens values. A nil Sealer leaves values as they are. It is safe for concurrent use.
type Sealer struct {
	cfg  Config
	keys *reload.File[*keyring]
}

// New returns a sealer with the keys of a file.
func New(cfg Config) (*Sealer, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	keys, err := reload.Open(cfg.File, newKeyring, cfg.Logger)
	if err != nil {
		return nil, fmt.Errorf("state keys: %w", err)
	}
	return &Sealer{cfg: cfg, keys: keys}, nil
}

// Seal returns the sealed value for a place. The error is a *fault.DataLoss if the store has no key. A nil Sealer returns the
// value itself.
func (s *Sealer) Seal(at Place, value []byte) ([]byte, error) {
	if s == nil {
		return value, nil
	}
	id, k, err := s.keys.Get().newest(at.Store, s.cfg.Now())
	if err != nil {
		return nil, missing("seal "+at.Key, err)
	}
	out := make([]byte, 0, len(magic)+1+len(id)+k.aead.Overhead()+len(value))
	out = append(append(append(out, magic...), byte(len(id))), id...)
	return k.aead.Seal(out, nil, value, at.data()), nil
}

// Open returns the value that Seal sealed for the same place. The error is a *fault.DataLoss if the key is missing, and for a value
// that is not sealed, was sealed for another place, or was changed.
func (s *Sealer) Open(at Place, sealed string) ([]byte, error) {
	if len(sealed) < len(magic) || sealed[:len(magic)] != magic {
		if s != nil && !s.cfg.AcceptPlaintext {
			return nil, corrupt(at, errors.New("the value is not encrypted"))
		}
		return []byte(sealed), nil
	}
	id, rest, ok := cutID(sealed[len(magic):])
	if !ok {
		return nil, corrupt(at, errors.New("the value has no key id"))
	}
	if s == nil {
		return nil, missing("open "+at.Key, fmt.Errorf("the value is encrypted with key %q, and there are no keys", id))
	}
	k, err := s.keys.Get().byID(at.Store, id)
	if err != nil {
		k, err = s.keys.Refresh().byID(at.Store, id) // the file may just have been replaced
	}
	if err != nil {
		return nil, missing("open "+at.Key, err)
	}
	value, err := k.aead.Open(nil, nil, []byte(rest), at.data())
	if err != nil {
		return nil, corrupt(at, err)
	}
	return value, nil
}

// cutID cuts a key's id, with its length before it, off the beginning of a value.
func cutID(value string) (id, rest string, ok bool) {
	if value == "" {
		return "", "", false
	}
	end := 1 + int(value[0]) // the sum may be more than a byte holds
	if len(value) < end {
		return "", "", false
	}
	return value[1:end], value[end:], true
}

// Marshal seals an encoded message.
func (s *Sealer) Marshal(at Place, m proto.Message) ([]byte, error) {
	raw, err := proto.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", at.Key, err)
	}
	return s.Seal(at, raw)
}

// Unmarshal opens and decodes a message.
func (s *Sealer) Unmarshal(at Place, sealed string, m proto.Message) error {
	raw, err := s.Open(at, sealed)
	if err != nil {
		return err
	}
	if err := proto.Unmarshal(raw, m); err != nil {
		return fmt.Errorf("decode %s: %w", at.Key, err)
	}
	return nil
}

// linePrefix begins a sealed line, in base64.
const linePrefix = "="

// SealLine is Seal for a line of text that does not begin with "=", and returns such a line.
func (s *Sealer) SealLine(at Place, line string) (string, error) {
	if s == nil {
		return line, nil
	}
	sealed, err := s.Seal(at, []byte(line))
	return linePrefix + base64.RawStdEncoding.EncodeToString(sealed), err
}

// OpenLine is Open for a result of SealLine.
func (s *Sealer) OpenLine(at Place, line string) (string, error) {
	if encoded, ok := strings.CutPrefix(line, linePrefix); ok {
		sealed, err := base64.RawStdEncoding.DecodeString(encoded)
		if err != nil {
			return "", corrupt(at, err)
		}
		line = string(sealed)
	}
	value, err := s.Open(at, line)
	return string(value), err
}

// Hash returns a hash of a text that is of use only to those who have the store's keys: HMAC-SHA256 in hexadecimal. The store's
// oldest key makes it, so hashes change when that key is removed. A nil Sealer returns the text itself, which the caller has
// hashed without a key if it must not be readable. The error is a *fault.DataLoss if the store has no key.
func (s *Sealer) Hash(storeID, text string) (string, error) {
	if s == nil {
		return text, nil
	}
	k, err := s.keys.Get().oldest(storeID)
	if err != nil {
		return "", missing("hash for store "+storeID, err)
	}
	return hex.EncodeToString(k.mac(text)), nil
}

func missing(at string, cause error) error {
	return &fault.DataLoss{
		Reason:      commonv1.ErrorReason_ERROR_REASON_STATE_KEY_MISSING,
		Description: "the service lacks the key for the store's encrypted data",
		Err:         fmt.Errorf("%s: %w; see --state-keys", at, cause),
	}
}

func corrupt(at Place, cause error) error {
	return &fault.DataLoss{
		Reason:      commonv1.ErrorReason_ERROR_REASON_STATE_CORRUPT,
		Description: "stored data is not what was written",
		Err:         fmt.Errorf("open %s: %w", at.Key, cause),
	}
}
