package journal

import (
	"context"
	"iter"

	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// Beside returns a source of the same models whose calls are announced as calls beside the conversation, for the debugger's record.
func (j *Journal) Beside(purpose string, get func(context.Context) (llm.Model, error)) func(context.Context) (llm.Model, error) {
	return func(ctx context.Context) (llm.Model, error) {
		m, err := get(ctx)
		if err != nil {
			return nil, err
		}
		return beside{m, j, purpose}, nil
	}
}

// BesideNamed is Beside for models that are asked for by name.
func (j *Journal) BesideNamed(purpose string, get func(context.Context, string) (llm.Model, error)) func(context.Context, string) (llm.Model, error) {
	return func(ctx context.Context, name string) (llm.Model, error) {
		return j.Beside(purpose, func(ctx context.Context) (llm.Model, error) { return get(ctx, name) })(ctx)
	}
}

type beside struct {
	llm.Model
	journal *Journal
	purpose string
}

func (b beside) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		call := uuid.NewString()
		for d, err := range b.Model.Stream(event.WithSide(ctx, b.purpose, b.journal.chain), req) {
			switch d := d.(type) {
			case llm.Sent:
				b.journal.Publish(event.BesideRequest{Request: event.Request{Attempt: d.Attempt, URL: d.URL, Bytes: d.Body}, Purpose: b.purpose, Call: call})
			case llm.Done:
				b.journal.Publish(event.BesideResponse{Response: event.Response{Message: d.Message}, Purpose: b.purpose, Call: call})
			}
			if !yield(d, err) {
				return
			}
		}
	}
}
