package app

import (
	"context"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/provider"
)

// ErrNoKey is returned when no key is configured; it names the ways to get one.
var ErrNoKey = provider.ErrNoKey

// Model makes a model by id; "" is the configured one, else the provider's default.
func (i *Instance) Model(ctx context.Context, id string) (llm.Model, error) {
	return i.models.Model(ctx, id)
}

// SmallModel makes the model for small work beside the conversation (titles, summaries of pages).
func (i *Instance) SmallModel(ctx context.Context) (llm.Model, error) {
	return i.models.SmallModel(ctx)
}

// SetSmallModel chooses the small model until lathe ends.
func (i *Instance) SetSmallModel(ctx context.Context, id string) error {
	return i.models.SetSmallModel(ctx, id)
}

// Models lists models to choose from.
func (i *Instance) Models() []llm.ModelInfo { return i.models.Models() }

// Endpoint returns the name and base URL of the current provider.
func (i *Instance) Endpoint() (name, base string) { return i.models.Endpoint() }

// KeySource names the source of the present provider's key, for people.
func (i *Instance) KeySource() string { return i.models.KeySource() }

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }
