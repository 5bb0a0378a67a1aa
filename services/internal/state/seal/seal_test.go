package seal

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/reload"
)

var at = Place{Store: "demo", Key: "quartet:{demo:c1}:cart", Field: "items"}

// fileOf returns a new file with a key for each of some stores.
func fileOf(t testing.TB, stores ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "keys.json")
	for _, store := range stores {
		add(t, file, store, time.Time{})
	}
	return file
}

func add(t testing.TB, file, store string, from time.Time) (id string) {
	t.Helper()
	id, err := AddKey(file, store, from)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func sealerOf(t testing.TB, cfg Config) *Sealer {
	t.Helper()
	cfg.Logger = slog.New(slog.DiscardHandler)
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sealed(t testing.TB, s *Sealer, at Place, value string) string {
	t.Helper()
	out, err := s.Seal(at, []byte(value))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// check checks that a value opens, or fails for a reason.
func check(t *testing.T, s *Sealer, at Place, value, want string, reason commonv1.ErrorReason) {
	t.Helper()
	got, err := s.Open(at, value)
	var lost *fault.DataLoss
	switch {
	case reason == 0 && (err != nil || string(got) != want):
		t.Errorf("Open = %q, %v; want %q", got, err, want)
	case reason != 0 && (!errors.As(err, &lost) || lost.Reason != reason):
		t.Errorf("Open = %q, %v; want %v", got, err, reason)
	}
}

const (
	fine    = commonv1.ErrorReason_ERROR_REASON_UNSPECIFIED
	noKeys  = commonv1.ErrorReason_ERROR_REASON_STATE_KEY_MISSING
	changed = commonv1.ErrorReason_ERROR_REASON_STATE_CORRUPT
)

func TestAValueOpensInItsPlaceOnly(t *testing.T) {
	s := sealerOf(t, Config{File: fileOf(t, "demo", AnyStore)})
	value := sealed(t, s, at, "two lamps")
	if strings.Contains(value, "lamps") {
		t.Errorf("%q holds the text", value)
	}
	if again := sealed(t, s, at, "two lamps"); again == value {
		t.Error("the same text is sealed to the same value twice")
	}
	check(t, s, at, value, "two lamps", fine)
	check(t, s, Place{at.Store, at.Key, "other"}, value, "", changed)
	check(t, s, Place{at.Store, at.Key + "i", "tems"}, value, "", changed)
	check(t, s, Place{at.Store, "quartet:{demo:c2}:cart", at.Field}, value, "", changed)
	check(t, s, Place{"other", at.Key, at.Field}, value, "", noKeys) // demo's own key is not for other stores
	check(t, s, Place{"third", at.Key, at.Field}, sealed(t, s, Place{"other", at.Key, at.Field}, "x"), "", changed)
	for i := range len(value) {
		broken := []byte(value)
		broken[i] ^= 1
		if got, err := s.Open(at, string(broken)); err == nil {
			t.Errorf("with byte %d changed, Open = %q", i, got)
		}
		if got, err := s.Open(at, value[:i]); err == nil {
			t.Errorf("cut to %d bytes, Open = %q", i, got)
		}
	}
}

func TestMessages(t *testing.T) {
	s := sealerOf(t, Config{File: fileOf(t, "demo")})
	for _, s := range []*Sealer{nil, s} {
		raw, err := s.Marshal(at, &cartv1.Cart{Items: []*cartv1.CartItem{{ProductId: "lamp"}}})
		if err != nil {
			t.Fatal(err)
		}
		var cart cartv1.Cart
		if err := s.Unmarshal(at, string(raw), &cart); err != nil || cart.GetItems()[0].GetProductId() != "lamp" {
			t.Errorf("read %v, %v", &cart, err)
		}
		if raw, err = s.Marshal(at, &cartv1.Cart{}); err != nil || s.Unmarshal(at, string(raw), &cart) != nil || len(cart.GetItems()) > 0 {
			t.Errorf("an empty message comes back as %v, %v", &cart, err)
		}
	}
}

func TestLines(t *testing.T) {
	s := sealerOf(t, Config{File: fileOf(t, "demo")})
	for _, s := range []*Sealer{nil, s} {
		line, err := s.SealLine(at, "ava lamp-1 lamp-2")
		if err != nil || strings.Contains(line, "\n") || (s == nil) != strings.Contains(line, "lamp") {
			t.Errorf("sealed %q, %v", line, err)
		}
		if got, err := s.OpenLine(at, line); err != nil || got != "ava lamp-1 lamp-2" {
			t.Errorf("opened %q, %v", got, err)
		}
	}
	for _, line := range []string{"", "ava lamp", "=", "=!", "=YQ"} {
		if got, err := s.OpenLine(at, line); err == nil {
			t.Errorf("%q opens as %q", line, got)
		}
	}
}

func TestPlaintextIsReadOnlyWhenAccepted(t *testing.T) {
	file := fileOf(t, "demo")
	strict, lenient := sealerOf(t, Config{File: file}), sealerOf(t, Config{File: file, AcceptPlaintext: true})
	for _, value := range []string{"", "text", "\x0a\x04"} {
		check(t, nil, at, value, value, fine)
		check(t, lenient, at, value, value, fine)
		check(t, strict, at, value, "", changed)
	}
	value := sealed(t, lenient, at, "x")
	check(t, strict, at, value, "x", fine)
	check(t, nil, at, value, "", noKeys) // never as if it were a message
}

func TestAStoreWithoutAKeyHasNoData(t *testing.T) {
	s := sealerOf(t, Config{File: fileOf(t, "other"), AcceptPlaintext: true})
	var lost *fault.DataLoss
	if out, err := s.Seal(at, []byte("x")); !errors.As(err, &lost) || lost.Reason != noKeys {
		t.Errorf("Seal = %q, %v", out, err)
	}
	if out, err := s.Hash("demo", "x"); !errors.As(err, &lost) || lost.Reason != noKeys {
		t.Errorf("Hash = %q, %v", out, err)
	}
}

func TestRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := fileOf(t)
		first := add(t, file, "demo", time.Now())
		a, b := sealerOf(t, Config{File: file}), sealerOf(t, Config{File: file})
		old := sealed(t, a, at, "old")
		hash, _ := a.Hash("demo", "x")
		second := add(t, file, "demo", time.Now().Add(time.Hour))
		keyOf := func(value string) string {
			id, _, _ := cutID(value[len(magic):])
			return id
		}
		for _, c := range []struct {
			wait time.Duration
			key  string
		}{{0, first}, {reload.Interval, first}, {time.Hour, second}} {
			time.Sleep(c.wait)
			value := sealed(t, a, at, "new")
			if keyOf(value) != c.key {
				t.Errorf("after %v, key %s seals; want %s", c.wait, keyOf(value), c.key)
			}
			check(t, b, at, value, "new", fine)
			check(t, b, at, old, "old", fine)
		}
		if again, err := b.Hash("demo", "x"); again != hash || err != nil {
			t.Errorf("the hash has changed from %s to %s, %v", hash, again, err)
		}

		// Removing a key destroys what it has sealed.
		write(t, file, map[string][]storeKey{"demo": a.keys.Get().keys["demo"][:1]})
		time.Sleep(reload.Interval)
		check(t, b, at, old, "", noKeys)
		check(t, b, at, sealed(t, a, at, "new"), "new", fine)
	})
}

func write(t *testing.T, file string, keys map[string][]storeKey) {
	t.Helper()
	raw, err := json.Marshal(keys)
	if err == nil {
		err = os.WriteFile(file, raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestAStoreMayGetKeysOfItsOwnLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := fileOf(t, AnyStore)
		s := sealerOf(t, Config{File: file})
		before := sealed(t, s, at, "before")
		add(t, file, "demo", time.Now())
		time.Sleep(reload.Interval)
		check(t, s, at, before, "before", fine)
		after := sealed(t, s, at, "after")
		write(t, file, map[string][]storeKey{AnyStore: s.keys.Get().keys[AnyStore]})
		time.Sleep(reload.Interval)
		check(t, s, at, before, "before", fine)
		check(t, s, at, after, "", noKeys)
	})
}

func TestABrokenFileLeavesTheLastKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := fileOf(t, "demo")
		s := sealerOf(t, Config{File: file})
		value := sealed(t, s, at, "x")
		for _, broken := range []func() error{
			func() error { return os.WriteFile(file, []byte("{"), 0o600) },
			func() error { return os.Remove(file) },
		} {
			if err := broken(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(reload.Interval)
			check(t, s, at, value, "x", fine)
		}
	})
}

func TestFilesThatAreRefused(t *testing.T) {
	key := `"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="`
	for name, text := range map[string]string{
		"no JSON":                 `demo`,
		"no key":                  `{"demo": []}`,
		"a short key":             `{"demo": [{"id": "a", "key": "AAECAwQFBgc="}]}`,
		"an id twice":             `{"demo": [{"id": "a", "key": ` + key + `}], "*": [{"id": "a", "key": ` + key + `}]}`,
		"no id":                   `{"demo": [{"key": ` + key + `}]}`,
		"a bad store":             `{"de mo": [{"id": "a", "key": ` + key + `}]}`,
		"a field that is unknown": `{"demo": [{"id": "a", "key": ` + key + `, "until": "2030-01-01T00:00:00Z"}]}`,
		"a key as a number":       `{"demo": [{"id": "a", "key": 77700077700077700}]}`,
	} {
		file := filepath.Join(t.TempDir(), "keys.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := New(Config{File: file})
		if err == nil || strings.Contains(err.Error(), "AAEC") || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := AddKey(file, "demo", time.Time{}); err == nil && name != "no key" {
			t.Errorf("%s: a key was added", name)
		}
	}
	if _, err := New(Config{File: filepath.Join(t.TempDir(), "none")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestOnlyItsOwnerReadsTheFile(t *testing.T) {
	file := fileOf(t, "demo", "demo", AnyStore)
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "*")); len(left) != 1 {
		t.Errorf("the folder holds %v", left)
	}
	if _, err := AddKey(file, "no store", time.Time{}); err == nil {
		t.Error("a key was added for a store that there cannot be")
	}
}

func TestManyStoresShareAKey(t *testing.T) {
	s := sealerOf(t, Config{File: fileOf(t, AnyStore)})
	for i := range 2 * maxDerived {
		at := Place{Store: fmt.Sprint("s", i), Key: "k"}
		check(t, s, at, sealed(t, s, at, "x"), "x", fine)
	}
	if n := len(s.keys.Get().derived); n > maxDerived {
		t.Errorf("%d derived keys are kept, want at most %d", n, maxDerived)
	}
}

// FuzzOpen checks that nothing opens but what was sealed.
func FuzzOpen(f *testing.F) {
	s := sealerOf(f, Config{File: fileOf(f, "demo")})
	good := sealed(f, s, at, "x")
	f.Add(good)
	f.Add(magic)
	f.Add(magic + "\xff")
	f.Add(magic + "\xff" + strings.Repeat("a", 300))
	f.Fuzz(func(t *testing.T, value string) {
		if got, err := s.Open(at, value); err == nil && value != good {
			t.Errorf("%q opens as %q", value, got)
		}
	})
}

func BenchmarkSealer(b *testing.B) {
	s := sealerOf(b, Config{File: fileOf(b, "demo")})
	for _, size := range []int{200, 2_000, 20_000} {
		value := []byte(strings.Repeat("x", size))
		out := sealed(b, s, at, string(value))
		for name, s := range map[string]*Sealer{"on": s, "off": nil} {
			b.Run(fmt.Sprintf("seal/%s/%d", name, size), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := s.Seal(at, value); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		b.Run(fmt.Sprintf("open/on/%d", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Open(at, out); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
