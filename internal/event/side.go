package event

import (
	"context"
	"encoding/json"
	"strings"
)

type sideKey struct{}

// WithSide marks a call of a model as one beside the conversation, with its purpose and its agent.
func WithSide(ctx context.Context, purpose string, agent []string) context.Context {
	return context.WithValue(ctx, sideKey{}, SideName(purpose, agent))
}

// Side returns the name of the call that WithSide marked; "" for a call of the conversation.
func Side(ctx context.Context) string {
	name, _ := ctx.Value(sideKey{}).(string)
	return name
}

// SideName is the name of the calls with a purpose that an agent makes.
func SideName(purpose string, agent []string) string {
	return purpose + " of " + strings.Join(append([]string{"main"}, agent...), "/")
}

// VectorsRequest is the recorded form of a request for the vectors of texts.
func VectorsRequest(model string, texts []string) []byte {
	b, _ := json.Marshal(map[string]any{"model": model, "input": texts}) // strings can always be written
	return b
}
