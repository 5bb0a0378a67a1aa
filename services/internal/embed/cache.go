package embed

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/redis/go-redis/v9"
)

// Cache keeps vectors by key. It is safe for concurrent use.
type Cache interface {
	// Get returns the vectors that are there.
	Get(ctx context.Context, keys []string) (map[string]Vector, error)
	// Put keeps vectors.
	Put(ctx context.Context, vs map[string]Vector) error
}

const (
	// cacheTTL is how long a vector is kept after it was made. What is still sold then is embedded again.
	cacheTTL = 30 * 24 * time.Hour
	// cacheBatch bounds the keys of one round trip.
	cacheBatch = 256
)

// RedisCache keeps vectors in Redis for 30 days, 4 bytes for each dimension: 20,000 products of 1,024 dimensions are 80 MB.
// The keys are hashes; no text is kept. Stores that sell the same share a vector.
type RedisCache struct {
	// Redis is where. Required; the caller owns its lifecycle.
	Redis redis.UniversalClient
}

var _ Cache = RedisCache{}

// Get implements Cache. What is not a vector counts as missing.
func (c RedisCache) Get(ctx context.Context, keys []string) (map[string]Vector, error) {
	out := make(map[string]Vector)
	for len(keys) > 0 {
		some := keys[:min(cacheBatch, len(keys))]
		keys = keys[len(some):]
		commands := make([]*redis.StringCmd, len(some))
		_, err := c.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, key := range some {
				commands[i] = p.Get(ctx, key)
			}
			return nil
		})
		if err != nil && !errors.Is(err, redis.Nil) {
			return nil, fmt.Errorf("read vectors: %w", err)
		}
		for i, command := range commands {
			if b, err := command.Bytes(); err == nil {
				if v := decode(b); v != nil {
					out[some[i]] = v
				}
			}
		}
	}
	return out, nil
}

// Put implements Cache.
func (c RedisCache) Put(ctx context.Context, vs map[string]Vector) error {
	_, err := c.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for key, v := range vs {
			p.Set(ctx, key, encode(v), cacheTTL)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("keep vectors: %w", err)
	}
	return nil
}

// cached fills in what the cache has.
func (c *Client) cached(ctx context.Context, texts []string, out []Vector) error {
	if c.cfg.Cache == nil {
		return nil
	}
	keys := make([]string, len(texts))
	for i, t := range texts {
		keys[i] = c.key(t)
	}
	kept, err := c.cfg.Cache.Get(ctx, keys)
	if err != nil {
		return err
	}
	for i, key := range keys {
		out[i] = kept[key]
	}
	return nil
}

// key names a document's vector: by the endpoint, the model, how it is asked, and the text.
func (c *Client) key(text string) string {
	h := sha256.New()
	for _, part := range []string{c.cfg.URL, c.cfg.Model, c.cfg.DocumentType, fit(text)} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return "quartet:embedding:" + hex.EncodeToString(h.Sum(nil))
}

func encode(v Vector) []byte {
	out := make([]byte, 0, 4*len(v))
	for _, n := range v {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(n))
	}
	return out
}

// decode returns nil for what encode has not made.
func decode(b []byte) Vector {
	if len(b)%4 != 0 || len(b) > 4*maxDimension {
		return nil
	}
	numbers := make([]float64, len(b)/4)
	for i := range numbers {
		numbers[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
	}
	v, err := unit(numbers)
	if err != nil {
		return nil
	}
	return v
}
