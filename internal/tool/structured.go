package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

// StructuredName names the tool by which the model hands over an answer that fits a schema.
const StructuredName = "StructuredOutput"

// maxStructuredTries is how often the model is reminded to hand over its answer, and how often an answer
// that does not fit goes back to it.
const maxStructuredTries = 5

// ErrNoStructuredOutput ends a turn whose model did not hand over an answer that fits the schema.
var ErrNoStructuredOutput = fmt.Errorf("the model gave no answer that fits the JSON schema after %d tries",
	maxStructuredTries)

// Structured holds the answer of a session that has an output schema.
type Structured struct {
	mu      sync.Mutex
	value   json.RawMessage
	tries   int // reminders
	misfits int // answers that did not fit
}

// Take is the answer, or nil.
func (o *Structured) Take() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.value
}

// Reset begins a turn.
func (o *Structured) Reset() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.value, o.tries, o.misfits = nil, 0, 0
}

// CheckSchema reports whether a JSON Schema can be used for an answer.
func CheckSchema(schema []byte) error {
	if t := bytes.TrimSpace(schema); json.Valid(t) && t[0] != '{' {
		return errors.New("--json-schema is not a valid JSON Schema: it must be a JSON object")
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		if bad, ok := errors.AsType[*json.UnmarshalTypeError](err); ok { // its text has the library's types
			err = fmt.Errorf("there is %s where it cannot be, at byte %d", bad.Value, bad.Offset)
		}
		return fmt.Errorf("--json-schema is not a valid JSON Schema: %w", err)
	}
	if s.Type != "" && s.Type != "object" {
		return errors.New("--json-schema is not a valid JSON Schema for an answer: its type must be object")
	}
	if _, err := s.Resolve(nil); err != nil {
		return fmt.Errorf("--json-schema is not a valid JSON Schema: %w", err)
	}
	return nil
}

var structuredTool = call.Declaration{
	Name: StructuredName, Class: permission.ClassNeutral,
	Accesses: call.Session(StructuredName),
}

// Tool makes the tool; its input is checked against the schema before Prepare, as every tool's.
func (o *Structured) Tool(schema json.RawMessage) agent.Tool {
	spec := llm.ToolSpec{
		Name: StructuredName,
		Description: "Hand over the final answer as data. Call this exactly once, when the work is done; the input is the " +
			"answer.",
		Schema: withType(schema),
	}
	return agent.NewTool(spec, func(_ context.Context, _ llm.ToolCall, in json.RawMessage) (*agent.Plan, error) {
		return &agent.Plan{
			Accesses: call.SessionOnly(StructuredName),
			Title:    "answer",
			Run: func(context.Context) (*agent.Result, error) {
				o.mu.Lock()
				o.value = in
				o.mu.Unlock()
				return &agent.Result{
					Parts: []llm.Part{llm.Text{Text: "The answer was taken."}}, EndTurn: true,
					View: event.TextView{Text: string(in), Language: "json"},
				}, nil
			},
		}, nil
	})
}

// Hook makes the loop insist on an answer that fits the schema.
func (o *Structured) Hook(cfg *agent.Config) {
	const name = "structured output"
	cfg.BeforeStep = append(cfg.BeforeStep, agent.BeforeStep{Name: name, Run: o.beforeStep})
	cfg.BeforeStop = append(cfg.BeforeStop, agent.BeforeStop{Name: name, Run: o.beforeStop})
	publish, record := cfg.Publish, cfg.Record
	cfg.Publish = func(b event.Body) { o.watch(b); publish(b) }
	cfg.Record = func(write func() error, bodies ...event.Body) error {
		for _, b := range bodies {
			o.watch(b)
		}
		return record(write, bodies...)
	}
}

// beforeStop sends the model back until it has handed over its answer.
func (o *Structured) beforeStop(context.Context, llm.Message) ([]llm.Message, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.value != nil {
		return nil, nil
	}
	if o.tries++; o.tries > maxStructuredTries {
		return nil, ErrNoStructuredOutput
	}
	return []llm.Message{llm.UserText("Hand over the final answer now by calling " + StructuredName + ".")}, nil
}

// watch counts the answers that did not fit the schema: those calls fail before they are prepared.
func (o *Structured) watch(b event.Body) {
	end, ok := b.(event.ToolEnd)
	if !ok || end.Call.Name != StructuredName || !end.Result.IsError {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.misfits++
}

// beforeStep ends the turn of a model whose answers never fit.
func (o *Structured) beforeStep(context.Context) ([]llm.Message, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.misfits > maxStructuredTries {
		return nil, ErrNoStructuredOutput
	}
	return nil, nil
}

// withType adds the type, which providers require of a tool's schema and many people leave out.
func withType(schema json.RawMessage) json.RawMessage {
	var s struct{ Type json.RawMessage }
	rest, ok := bytes.CutPrefix(bytes.TrimSpace(schema), []byte("{"))
	if json.Unmarshal(schema, &s) != nil || s.Type != nil || !ok {
		return schema
	}
	if rest = bytes.TrimSpace(rest); rest[0] != '}' {
		rest = append([]byte(","), rest...)
	}
	return append([]byte(`{"type":"object"`), rest...)
}
