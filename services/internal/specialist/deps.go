package specialist

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/bundle"
	"github.com/quartet-commerce/quartet/services/internal/prompt"
	"github.com/quartet-commerce/quartet/services/internal/state/seal"
)

// Deps are the dependencies that all specialist services share. Each service embeds them in its Config.
type Deps struct {
	// Redis keeps the service's data. Required by services that keep data. The caller owns it and closes it after the service
	// has stopped.
	Redis redis.UniversalClient
	// Sealer encrypts what the service keeps of customers. Nil: it is kept in plaintext.
	Sealer *seal.Sealer
	// Model writes the specialist's answers. Required.
	Model agentloop.Model
	// Price of the model's tokens. Nil: costs are unknown.
	Price *agentloop.Price
	// NamedModel returns a model that a store has chosen. Nil: stores choose none.
	NamedModel prompt.NamedModel
	// CaptureContent puts tool arguments and results on spans. They may contain customer text.
	CaptureContent bool
	// Tools are offered beside those of the service, in every store. They see nothing of the shopper but their arguments. Nil: none.
	Tools []agentloop.Tool
	// Tape records turns or plays one back. Nil: neither.
	Tape bundle.Tape
	// Now is the clock that decides what "today" is. Nil: time.Now.
	Now func() time.Time
	// Logger gets one line for each answer, and errors; never customer text. Nil: slog.Default().
	Logger *slog.Logger
}

// Validate reports what is missing for the named service, which keeps data in Redis.
func (d Deps) Validate(service string) error {
	switch {
	case d.Redis == nil:
		return fmt.Errorf("%s: Redis is required", service)
	case d.Model == nil:
		return fmt.Errorf("%s: Model is required", service)
	}
	return nil
}

// Log returns the logger: Logger, or the default one.
func (d Deps) Log() *slog.Logger {
	if d.Logger == nil {
		return slog.Default()
	}
	return d.Logger
}
