package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// Wrap returns a model that encodes requests as inner does and answers from the recording.
func (r *Recording) Wrap(inner llm.Model) llm.Model { return model{inner, r} }

type model struct {
	llm.Model
	from *Recording
}

// Described keeps the recording in front of a model with the user's description.
func (m model) Described(info llm.ModelInfo) llm.Model {
	if d, ok := m.Model.(llm.Describable); ok {
		return model{d.Described(info), m.from}
	}
	return m
}

// Stream encodes the request, and yields the recorded reply to it.
func (m model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		sent, err := m.encode(ctx, req)
		if err != nil {
			yield(nil, err)
			return
		}
		if !yield(sent, nil) {
			return
		}
		reply, err := m.from.find(event.Side(ctx), sent.Body())
		if err != nil {
			yield(nil, &llm.Error{Kind: llm.KindInvalid, Provider: "replay", Message: llm.Clean(err.Error()), Err: err})
			return
		}
		m.from.stream(reply, yield)
	}
}

// encode returns the request as the wire would send it. The wire is stopped before it sends.
func (m model) encode(ctx context.Context, req *llm.Request) (llm.Sent, error) {
	for d, err := range m.Model.Stream(ctx, req) {
		if err != nil {
			return llm.Sent{}, err
		}
		if sent, ok := d.(llm.Sent); ok {
			return sent, nil
		}
	}
	return llm.Sent{}, &llm.Error{Kind: llm.KindProtocol, Provider: "replay", Message: "the model sends nothing"}
}

// stream yields a reply as a provider would that sends each part at once.
func (r *Recording) stream(reply llm.Message, yield func(llm.Delta, error) bool) {
	started := llm.Started{ID: reply.ID, Model: reply.Model}
	if reply.Usage != nil {
		started.Usage = *reply.Usage
	}
	if !yield(started, nil) {
		return
	}
	parts := make([]llm.Part, len(reply.Parts))
	for i, p := range reply.Parts {
		parts[i] = r.moved(p)
		for _, d := range deltas(i, parts[i]) {
			if !yield(d, nil) {
				return
			}
		}
	}
	reply.Parts = parts
	yield(llm.Done{Message: reply}, nil)
}

// moved returns a part that names the working folder of this run.
func (r *Recording) moved(p llm.Part) llm.Part {
	switch p := p.(type) {
	case llm.Text:
		p.Text = r.same.here(p.Text)
		return p
	case llm.ToolCall:
		if moved := r.same.here(asSent(p.Input)); json.Valid([]byte(moved)) {
			p.Input = json.RawMessage(moved)
		}
		return p
	}
	return p
}

// asSent returns a JSON value without the spaces and the escapes that the record added.
func asSent(b []byte) string {
	var compact bytes.Buffer
	if json.Compact(&compact, b) != nil {
		return string(b)
	}
	var out strings.Builder
	for s := compact.String(); s != ""; {
		n := 1
		if s[0] == '\\' && len(s) > 1 {
			n = 2
		}
		switch head := s[:min(len(s), 6)]; head {
		case `\u003c`, `\u003e`, `\u0026`:
			out.WriteByte(map[string]byte{`\u003c`: '<', `\u003e`: '>', `\u0026`: '&'}[head])
			n = 6
		default:
			out.WriteString(s[:n])
		}
		s = s[n:]
	}
	return out.String()
}

// deltas returns the deltas of a whole part.
func deltas(i int, p llm.Part) []llm.Delta {
	switch p := p.(type) {
	case llm.Text:
		return []llm.Delta{llm.TextDelta{Index: i, Text: p.Text}, llm.PartDone{Index: i, Part: p}}
	case llm.Reasoning:
		return []llm.Delta{llm.ReasoningDelta{Index: i, Text: p.Text}, llm.PartDone{Index: i, Part: p}}
	case llm.ToolCall:
		return []llm.Delta{
			llm.ToolDelta{Index: i, ID: p.ID, Name: p.Name},
			llm.ToolDelta{Index: i, JSON: string(p.Input)},
			llm.ToolReady{Index: i, Call: p},
		}
	}
	return []llm.Delta{llm.PartDone{Index: i, Part: p}}
}

// Embed returns the recorded vectors of texts, in whatever requests they were: a run that finds vectors on disk asks
// for fewer.
func (r *Recording) Embed(ctx context.Context, model string, texts []string) (vectors [][]float32, u llm.Usage,
	err error,
) {
	r.mu.Lock()
	known := r.vectors(event.Side(ctx), model)
	r.mu.Unlock()
	for _, text := range texts {
		v := known[key(r.same.sent(text))]
		if v == nil {
			return nil, u, fmt.Errorf("the recording %s has no vector of %s", r.path, excerpt(text, 0))
		}
		vectors = append(vectors, v)
	}
	return vectors, u, nil
}

// vectors are the recorded vectors of a model by their texts. r.mu is held.
func (r *Recording) vectors(side, model string) map[string][]float32 {
	out := map[string][]float32{}
	for _, x := range r.all {
		request, _ := x.request.(map[string]any)
		texts, _ := request["input"].([]any)
		var found [][]float32
		if x.side != side || request["model"] != model || json.Unmarshal([]byte(x.reply.PlainText()), &found) != nil ||
			len(found) != len(texts) {
			continue
		}
		for i, text := range texts {
			out[key(text)] = found[i]
		}
	}
	return out
}

func key(text any) string { b, _ := json.Marshal(text); return string(b) }
