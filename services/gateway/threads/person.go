package threads

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/redis/go-redis/v9"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/state"
)

//go:embed post.lua
var postLua string

var postScript = redis.NewScript(postLua)

// Post adds a message of a person of the store to a thread, once for the last request id, and mutes the assistant if mute is set. A
// thread that is not there is a *fault.NotFound.
func (s *Store) Post(ctx context.Context, storeID, id, requestID string, m *commonv1.Message, mute bool) error {
	raw, err := s.cfg.Sealer.Marshal(messagePlace(storeID, id), m)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	muted := ""
	if mute {
		muted = "1"
	}
	return s.post(ctx, storeID, id, raw, requestID, muted)
}

// Mute mutes the assistant in a thread, or lets it speak. A thread that is not there is a *fault.NotFound.
func (s *Store) Mute(ctx context.Context, storeID, id string, mute bool) error {
	muted := "0"
	if mute {
		muted = "1"
	}
	return s.post(ctx, storeID, id, nil, "", muted)
}

func (s *Store) post(ctx context.Context, storeID, id string, message []byte, requestID, muted string) error {
	keys := []string{threadKey(storeID, id), messagesKey(storeID, id)}
	found, err := postScript.Run(ctx, s.cfg.Redis, keys, message, MaxMessages, requestID, muted).Bool() // an empty message is none
	if err == nil && !found {
		return NotFound(id)
	}
	return state.Error("write thread", err)
}
