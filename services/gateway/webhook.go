package gateway

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/metric"

	"github.com/quartet-commerce/quartet/services/gateway/threads"
	"github.com/quartet-commerce/quartet/services/gateway/webhook"
	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// handoffData is what a webhook says of a turn. A turn that was not recorded has its id only.
type handoffData struct {
	StoreID    string  `json:"store_id"`
	TurnID     string  `json:"turn_id"`
	ThreadID   string  `json:"thread_id,omitempty"`
	CustomerID string  `json:"customer_id,omitempty"`
	Message    string  `json:"message,omitempty"`
	Reply      string  `json:"reply,omitempty"`
	Reason     string  `json:"reason,omitempty"`
	Summary    string  `json:"summary,omitempty"`
	Confidence float64 `json:"confidence"`
	Muted      bool    `json:"muted,omitempty"`
}

func (s *Service) newWebhooks(meter metric.Meter) (*webhook.Sender, error) {
	return webhook.New(webhook.Config{
		Redis: s.cfg.Redis, Secrets: s.cfg.WebhookSecrets, Insecure: s.cfg.WebhookInsecure, Meter: meter, Logger: s.cfg.Logger,
		Target: func(ctx context.Context, storeID string) (string, error) {
			store, err := s.stores.cached(ctx, storeID)
			if gone := new(fault.NotFound); errors.As(err, &gone) {
				return "", nil
			}
			return store.GetHandoffWebhook(), err
		},
		Data: func(ctx context.Context, storeID, turnID string) (any, error) {
			t, err := s.threads.Turn(ctx, storeID, turnID, threads.Shopper{All: true})
			if gone := new(fault.NotFound); errors.As(err, &gone) {
				return handoffData{StoreID: storeID, TurnID: turnID}, nil
			}
			r := t.GetReply()
			return handoffData{
				StoreID: storeID, TurnID: turnID, ThreadID: r.GetThreadId(), CustomerID: t.GetCustomerId(), Message: t.GetMessage(), Reply: r.GetText(),
				Reason: r.GetHandoff().GetReason(), Summary: r.GetHandoff().GetSummary(), Confidence: r.GetConfidence(), Muted: r.GetMuted(),
			}, err
		},
	})
}

// WebhookSecret returns the secret with which a store verifies its webhooks, of one of Settings.WebhookSecrets.
func WebhookSecret(secret, storeID string) (string, error) { return webhook.SecretOf(secret, storeID) }
