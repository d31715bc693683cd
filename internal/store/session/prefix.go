package session

import (
	"encoding/hex"
	"hash/fnv"
	"maps"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Prefix identifies the part of the requests that comes before the messages. It is in the log once, and again
// whenever it has changed, because every change makes the provider read the whole conversation again.
type Prefix struct {
	Model  string            `json:"model"`
	Price  llm.Price         `json:"price"`  // of the model, as it was at that time
	System string            `json:"system"` // hash of the system prompt
	Tools  map[string]string `json:"tools"`  // hash of each tool's description and schema, by name
	Effort string            `json:"effort,omitempty"`
}

// Equal reports whether two prefixes are the same.
func (p Prefix) Equal(q Prefix) bool {
	return p.Model == q.Model && p.Price == q.Price && p.System == q.System && p.Effort == q.Effort && maps.Equal(p.Tools,
		q.Tools)
}

// Kind is its name in the log.
func (Prefix) Kind() string { return "prefix" }

// PrefixOf returns the prefix of a request to a model.
func PrefixOf(m llm.ModelInfo, r *llm.Request) Prefix {
	p := Prefix{Model: m.ID, Price: m.Price, Tools: make(map[string]string, len(r.Tools)), Effort: string(r.Effort)}
	system := fnv.New64a()
	for _, part := range r.System {
		if t, ok := part.(llm.Text); ok {
			_, _ = system.Write([]byte(t.Text))
		}
		_, _ = system.Write([]byte{0})
	}
	p.System = hex.EncodeToString(system.Sum(nil))
	for _, t := range r.Tools {
		h := fnv.New64a()
		_, _ = h.Write([]byte(t.Description))
		_, _ = h.Write(t.Schema)
		p.Tools[t.Name] = hex.EncodeToString(h.Sum(nil))
	}
	return p
}
