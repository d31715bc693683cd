package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
)

// Tool is something the model can ask for.
type Tool interface {
	// Spec is constant for the life of the tool.
	Spec() llm.ToolSpec
	// Prepare resolves the effects of the call, without any side effect; it may be called more than
	// once for one call, and each Plan is then closed. An error is the call's result, as text for
	// the model. Input was validated against the schema before.
	Prepare(ctx context.Context, call llm.ToolCall) (*Plan, error)
}

// Plan is a resolved call. The zero value is the unsafe one: unknown accesses, alone.
type Plan struct {
	Accesses []permission.Access // everything it would touch; nil means unknown, so ask
	Title    string              // a few words for people: the path, the command, the pattern
	Preview  event.View          // for a dialog: the diff, the whole command
	Parallel bool                // may run beside other calls, for this input
	Run      func(ctx context.Context) (*Result, error)
	Close    func() // releases everything that Prepare holds; called exactly once, after Run too; may be nil
}

// Writes reports whether the plan may change something outside the session.
func (p *Plan) Writes() bool {
	if p.Accesses == nil {
		return true
	}
	for _, a := range p.Accesses {
		if a.Kind == permission.Write || a.Kind == permission.Exec && !readOnly(a) || a.Kind == permission.Tool && !a.Safe {
			return true
		}
	}
	return false
}

// readOnly reports whether a command runs from its parsed form and changes nothing.
func readOnly(a permission.Access) bool {
	return a.Command != nil && a.Command.Reads()
}

// Result is the result of a call: Parts (Text, Media) for the model, View and Title for people, Meta for
// machines (the ecosystem's structured output of that tool).
type Result struct {
	Parts   []llm.Part
	IsError bool
	Title   string
	View    event.View
	Meta    map[string]any
	// Unstored are keys of Meta whose long texts only live readers get: the log has nothing they could be rebuilt from.
	Unstored []string
	Took     time.Duration // how long the call ran, for AfterTool
	EndTurn  bool          // the turn is over when the calls of this step have their results
}

// TextResult is a result of one text.
func TextResult(text string) *Result { return &Result{Parts: []llm.Part{llm.Text{Text: text}}} }

type decisionKey struct{}

// Decided returns the decision that let the running call run; without a call the zero one.
func Decided(ctx context.Context) permission.Decision {
	d, _ := ctx.Value(decisionKey{}).(permission.Decision)
	return d
}

// WithDecision gives Run the decision that let it run.
func WithDecision(ctx context.Context, d permission.Decision) context.Context {
	return context.WithValue(ctx, decisionKey{}, d)
}

type outputKey struct{}

// WithOutput gives Run a place for live output.
func WithOutput(ctx context.Context, f func(text string)) context.Context {
	return context.WithValue(ctx, outputKey{}, f)
}

// Output sends live output of the running call to whoever watches; it never blocks for long.
func Output(ctx context.Context, text string) {
	if f, ok := ctx.Value(outputKey{}).(func(string)); ok {
		f(text)
	}
}

// NewTool makes a Tool whose Prepare gets its input decoded into In, beside the call itself.
func NewTool[In any](spec llm.ToolSpec, prepare func(context.Context, llm.ToolCall, In) (*Plan, error)) Tool {
	return &typedTool[In]{spec, prepare}
}

type typedTool[In any] struct {
	spec    llm.ToolSpec
	prepare func(context.Context, llm.ToolCall, In) (*Plan, error)
}

func (t *typedTool[In]) Spec() llm.ToolSpec { return t.spec }

func (t *typedTool[In]) Prepare(ctx context.Context, call llm.ToolCall) (*Plan, error) {
	var in In
	if err := json.Unmarshal(call.Input, &in); err != nil {
		return nil, fmt.Errorf("the input does not fit %s: %w", t.spec.Name, err)
	}
	return t.prepare(ctx, call, in)
}
