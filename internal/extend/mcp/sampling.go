package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// Sampling: a server has the user's model answer, on the user's money.

const (
	sampleTokens  = 50_000 // that a server may use in one session, of prompts and answers; samplingTokens of its entry
	sampleAnswer  = 4_000  // tokens of one answer at most
	maxSampleText = 200_000
)

// Codes of refusals.
const refused = -1 // "user rejected sampling request", as the protocol's examples have it

// maySample reports whether a request could be answered at all.
func (v *server) maySample() bool {
	if v.entry.Sampling == "deny" {
		return false
	}
	return v.sampler() != nil
}

// sampler is a session that can answer: it has a model, and somebody who allows it or an entry that does.
func (v *server) sampler() *View {
	return v.caller(func(w *View) bool {
		return w.seat.Models != nil && (w.seat.Ask != nil || v.entry.SamplingAllowed())
	})
}

// sampleRequest is a server's request. What the server wants of the conversation (includeContext) is never given.
type sampleRequest struct {
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"` // one piece, or a list
	} `json:"messages"`
	System    string   `json:"systemPrompt"`
	MaxTokens int      `json:"maxTokens"`
	Stop      []string `json:"stopSequences"`
	Prefers   struct {
		Cost         float64 `json:"costPriority"`
		Speed        float64 `json:"speedPriority"`
		Intelligence float64 `json:"intelligencePriority"`
	} `json:"modelPreferences"`
}

// sample has the model answer, if the user allows it and the budget lasts.
func (v *server) sample(ctx context.Context, params json.RawMessage) (any, *jsonrpc.Error) {
	w := v.sampler()
	if w == nil || v.entry.Sampling == "deny" {
		return nil, &jsonrpc.Error{Code: refused, Message: "requests to the model are not allowed here"}
	}
	var in sampleRequest
	if err := json.Unmarshal(params, &in); err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.InvalidParams, Message: err.Error()}
	}
	request, err := in.request()
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.InvalidParams, Message: err.Error()}
	}
	budget := v.entry.SamplingBudget(sampleTokens)
	need := llm.EstimateRequest(request)
	w.mu.Lock()
	left := budget - w.sampled[v.entry.Name]
	if need < left { // others at the same time find less
		w.sampled[v.entry.Name] += need + request.MaxTokens
	}
	w.mu.Unlock()
	if need >= left {
		return nil, &jsonrpc.Error{Code: refused, Message: fmt.Sprintf(
			"the budget of this session for requests of the server is used up: %d tokens (samplingTokens)", budget)}
	}
	used := 0
	defer func() {
		w.mu.Lock()
		w.sampled[v.entry.Name] += used - need - request.MaxTokens
		w.mu.Unlock()
	}()
	if !v.allowsSample(ctx, w, &in, request, left, budget) {
		return nil, &jsonrpc.Error{Code: refused, Message: "the user rejected the request"}
	}
	used = need // also of a request that fails
	return v.answerSample(ctx, w, &in, request, &used)
}

// request makes the request to the model. Images and audio are left to servers that need them to do without.
func (in *sampleRequest) request() (*llm.Request, error) {
	out := &llm.Request{MaxTokens: sampleAnswer, Effort: "off", Stop: in.Stop[:min(len(in.Stop), 4)]}
	if in.MaxTokens > 0 {
		out.MaxTokens = min(in.MaxTokens, sampleAnswer)
	}
	if in.System != "" {
		out.System = []llm.Part{llm.Text{Text: in.System}}
	}
	size := len(in.System)
	for _, m := range in.Messages {
		text, err := sampleText(m.Content)
		if err != nil {
			return nil, err
		}
		size += len(text)
		role := llm.User
		if m.Role == "assistant" {
			role = llm.Assistant
		}
		out.Messages = append(out.Messages, llm.Message{Role: role, Parts: []llm.Part{llm.Text{Text: text}}})
	}
	if len(out.Messages) == 0 || size > maxSampleText {
		return nil, fmt.Errorf("a request has messages, of %d bytes at most", maxSampleText)
	}
	return out, nil
}

// sampleText is the text of a message's content: a piece, or a list of pieces.
func sampleText(raw json.RawMessage) (string, error) {
	type piece struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	var list []piece
	if json.Unmarshal(raw, &list) != nil {
		var one piece
		if err := json.Unmarshal(raw, &one); err != nil {
			return "", err
		}
		list = []piece{one}
	}
	var text []string
	for _, p := range list {
		if p.Type != "text" {
			return "", fmt.Errorf("content of the type %q is not taken; send text", p.Type)
		}
		text = append(text, strings.ToValidUTF8(p.Text, "\uFFFD"))
	}
	return strings.Join(text, "\n"), nil
}

// allowsSample asks the user, unless the entry or an earlier answer allows it.
func (v *server) allowsSample(ctx context.Context, w *View, in *sampleRequest, r *llm.Request, left, budget int) bool {
	w.mu.Lock()
	granted := w.maySample[v.entry.Name]
	w.mu.Unlock()
	if granted || v.entry.SamplingAllowed() {
		return true
	}
	var b strings.Builder
	if in.System != "" {
		b.WriteString("system: " + in.System + "\n")
	}
	for _, m := range r.Messages {
		fmt.Fprintf(&b, "%s: %s\n", m.Role, m.PlainText())
	}
	a, err := w.seat.Ask(ctx, event.Question{
		Title:   "May the MCP server " + v.entry.Name + " have the model answer this?",
		Preview: event.TextView{Text: b.String()},
		Reason: fmt.Sprintf("the request is the server's and the cost is yours; about %d tokens and an answer of up to "+
			"%d, of %d that are left of %d in this session", llm.EstimateRequest(r), r.MaxTokens, left, budget),
		Options: []event.Option{
			{ID: event.ChoiceOnce, Label: "Yes, this one"},
			{ID: event.ChoiceSession, Label: "Yes, within its budget in this session"},
			{ID: event.ChoiceNo, Label: "No"},
		},
	})
	if err != nil || a.Canceled {
		return false
	}
	if a.Choice == event.ChoiceSession {
		w.mu.Lock()
		w.maySample[v.entry.Name] = true
		w.mu.Unlock()
	}
	return a.Choice == event.ChoiceSession || a.Choice == event.ChoiceOnce
}

// answerSample sends the request and counts its tokens.
func (v *server) answerSample(ctx context.Context, w *View, in *sampleRequest, r *llm.Request, used *int) (any,
	*jsonrpc.Error,
) {
	id := "" // the small one
	if w.seat.Model != nil && max(in.Prefers.Cost, in.Prefers.Speed) <= in.Prefers.Intelligence {
		id = w.seat.Model().ID
	}
	m, err := w.seat.Models(ctx, id)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.Internal, Message: "there is no model: " + err.Error()}
	}
	var said llm.Message
	for delta, err := range m.Stream(ctx, r) {
		if err != nil {
			v.log.note("its request to the model failed: " + err.Error())
			return nil, &jsonrpc.Error{Code: jsonrpc.Internal, Message: "the request to the model failed"}
		}
		if done, ok := delta.(llm.Done); ok {
			said = done.Message
		}
	}
	text := said.PlainText()
	*used += llm.EstimateText(len(text))
	if said.Usage != nil {
		*used = said.Usage.Prompt() + said.Usage.Output
		if w.seat.Count != nil {
			w.seat.Count("request of the MCP server "+v.entry.Name, m.Info(), *said.Usage)
		}
	}
	reason := "endTurn"
	if said.Stop == llm.StopMaxTokens {
		reason = "maxTokens"
	}
	return map[string]any{
		"role": "assistant", "content": map[string]string{"type": "text", "text": text},
		"model": m.Info().ID, "stopReason": reason,
	}, nil
}
