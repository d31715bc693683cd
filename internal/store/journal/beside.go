package journal

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// Beside returns a source of the same models whose calls are announced as calls beside the conversation, for the
// debugger's record.
func (j *Journal) Beside(purpose string, get func(context.Context) (llm.Model, error)) func(context.Context) (
	llm.Model, error) {
	return func(ctx context.Context) (llm.Model, error) {
		m, err := get(ctx)
		if err != nil {
			return nil, err
		}
		return beside{m, j, purpose}, nil
	}
}

// BesideNamed is Beside for models that are asked for by name.
func (j *Journal) BesideNamed(purpose string, get func(context.Context, string) (llm.Model, error)) func(
	context.Context, string) (llm.Model, error) {
	return func(ctx context.Context, name string) (llm.Model, error) {
		return j.Beside(purpose, func(ctx context.Context) (llm.Model, error) { return get(ctx, name) })(ctx)
	}
}

// BesideEmbedder is Beside for models that turn texts into vectors.
func (j *Journal) BesideEmbedder(get func(model string) (llm.Embedder, llm.ModelInfo, error)) func(model string) (
	llm.Embedder, llm.ModelInfo, error) {
	return func(model string) (llm.Embedder, llm.ModelInfo, error) {
		e, info, err := get(model)
		if err != nil {
			return nil, info, err
		}
		return besideVectors{e, j}, info, nil
	}
}

type besideVectors struct {
	llm.Embedder
	journal *Journal
}

func (b besideVectors) Embed(ctx context.Context, model string, texts []string) ([][]float32, llm.Usage, error) {
	const purpose = "vectors"
	call, body := uuid.NewString(), event.VectorsRequest(model, texts)
	b.journal.Publish(event.BesideRequest{
		Request: event.Request{Attempt: 1, Bytes: func() []byte { return body }},
		Purpose: purpose, Call: call,
	})
	vectors, usage, err := b.Embedder.Embed(event.WithSide(ctx, purpose, b.journal.chain), model, texts)
	if err == nil {
		said, _ := json.Marshal(vectors) // numbers of a JSON reply
		m := llm.Message{Role: llm.Assistant, Model: model, Parts: []llm.Part{llm.Text{Text: string(said)}}, Usage: &usage}
		b.journal.Publish(event.BesideResponse{Response: event.Response{Message: m}, Purpose: purpose, Call: call})
	}
	return vectors, usage, err
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
				b.journal.Publish(event.BesideRequest{
					Request: event.Request{Attempt: d.Attempt, URL: d.URL, Bytes: d.Body},
					Purpose: b.purpose, Call: call,
				})
			case llm.Done:
				b.journal.Publish(event.BesideResponse{
					Response: event.Response{Message: d.Message}, Purpose: b.purpose,
					Call: call,
				})
			}
			if !yield(d, err) {
				return
			}
		}
	}
}
