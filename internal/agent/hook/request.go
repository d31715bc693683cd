package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// client follows no redirects: the input would go to a host that nobody named.
func (m *Machine) client() *http.Client {
	if m.Client != nil {
		return m.Client
	}
	return &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// post sends the input to an address. Only an answer with a status of success counts.
func (h *Hooks) post(ctx context.Context, handler *Handler, o occasion, input []byte) (Run, []byte) {
	fail := func(err error) (Run, []byte) { return Run{Exit: -1, Err: err}, nil }
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, handler.URL, bytes.NewReader(input))
	if err != nil {
		return fail(err)
	}
	req.Header.Set("Content-Type", "application/json")
	env := h.m.Environ(handler.place.Foreign)
	for name, value := range handler.Headers {
		req.Header.Set(name, expand(value, handler.EnvVars, env))
	}
	resp, err := h.m.client().Do(req)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostOutput))
	switch {
	case err != nil:
		return fail(err)
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return Run{Exit: -1, Err: fmt.Errorf("%s answered %s", req.URL.Host, resp.Status)}, body
	}
	var r Run
	r.Output, r.Text, r.Err = h.parse(ctx, o.event, body)
	if r.Text != "" {
		r.Text, r.Err = "", errors.New("the answer is neither empty nor a JSON object")
	}
	return r, body
}

// expand fills in $NAME and ${NAME}, for the names in the list only.
func expand(text string, allowed, env []string) string {
	return expandFrom(text, slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return !slices.Contains(allowed, name)
	}))
}

// form is what a model is told to answer with.
const form = "\n\nAnswer with one JSON object and nothing else: {\"ok\": true} if the condition holds, " +
	"or {\"ok\": false, \"reason\": \"why it does not, for the agent\"} if it does not."

// ask puts a question to a model. "Not ok" blocks.
func (h *Hooks) ask(ctx context.Context, handler *Handler, o occasion, input []byte) (Run, []byte) {
	text, err := h.answer(ctx, handler, withArguments(handler.Prompt, input)+form)
	if err != nil {
		return Run{Exit: -1, Err: err}, nil
	}
	var out struct {
		OK         *bool  `json:"ok"`
		Reason     string `json:"reason"`
		Impossible bool   `json:"impossible"`
	}
	if err := json.Unmarshal(object(text), &out); err != nil || out.OK == nil {
		return Run{Exit: -1, Err: fmt.Errorf("the model's answer is not in the form {\"ok\": true}: %s",
			firstLine(bounded(text)))}, []byte(text)
	}
	var r Run
	switch {
	case *out.OK:
	case out.Impossible: // no work could change it
		r.Output.SystemMessage = h.kept(ctx, out.Reason)
	case o.event == "Stop" || o.event == "SubagentStop" || handler.ContinueOnBlock || !stopsOnBlock(o.event):
		r.Output.Decision, r.Output.Reason = "block", h.kept(ctx, out.Reason)
	default:
		no := false
		r.Output.Continue, r.Output.StopReason = &no, h.kept(ctx, out.Reason)
		r.Output.Decision, r.Output.Reason = "block", r.Output.StopReason
	}
	return r, []byte(text)
}

// answer is that of a model, or of an agent with tools that only read.
func (h *Hooks) answer(ctx context.Context, handler *Handler, prompt string) (string, error) {
	if handler.Type == typePrompt {
		return h.askModel(ctx, handler.Model, prompt)
	}
	args := map[string]string{"subagent_type": "Explore", "description": "check for a hook", "prompt": prompt}
	if handler.Model != "" {
		args["model"] = handler.Model
	}
	call, err := json.Marshal(args)
	if err != nil {
		return "", err
	}
	res := h.call(ctx, "Task", call)
	if res.IsError {
		return "", errors.New(firstLine(res.PlainText()))
	}
	return res.PlainText(), nil
}

// askModel puts one question to a model.
func (h *Hooks) askModel(ctx context.Context, name, prompt string) (string, error) {
	m, err := h.s.Models(ctx, name)
	if err != nil {
		return "", err
	}
	var said llm.Message
	for delta, err := range m.Stream(ctx, &llm.Request{
		Messages: []llm.Message{llm.UserText(prompt)}, MaxTokens: 1000,
		Effort: "off",
	}) {
		if err != nil {
			return "", err
		}
		if done, ok := delta.(llm.Done); ok {
			said = done.Message
		}
	}
	if said.Usage != nil {
		h.s.Count("hook", m.Info(), *said.Usage)
	}
	return said.PlainText(), nil
}

// stopsOnBlock reports the events after a call, where a refusal can only end the turn.
func stopsOnBlock(name string) bool { return name == "PostToolUse" || name == "PostToolUseFailure" }

// object is the JSON object in a model's answer.
func object(text string) []byte {
	from, to := strings.Index(text, "{"), strings.LastIndex(text, "}")
	if from < 0 || to < from {
		return nil
	}
	return []byte(text[from : to+1])
}

// withArguments puts the input in the place of $ARGUMENTS, or at the end.
func withArguments(prompt string, input []byte) string {
	const mark = "\x00"
	text := strings.ReplaceAll(prompt, `\$`, mark)
	if strings.Contains(text, "$ARGUMENTS") {
		text = strings.ReplaceAll(text, "$ARGUMENTS", string(input))
	} else {
		text += "\n\n" + string(input)
	}
	return strings.ReplaceAll(text, mark, "$")
}

// fill puts values of the hook's input in the place of ${a.b} in the input of a tool.
func fill(args, input json.RawMessage) (json.RawMessage, error) {
	if len(args) == 0 {
		return json.RawMessage("{}"), nil
	}
	var tree, in any
	if err := errors.Join(json.Unmarshal(args, &tree), json.Unmarshal(input, &in)); err != nil {
		return nil, err
	}
	return json.Marshal(filled(tree, in))
}

func filled(v, in any) any {
	switch v := v.(type) {
	case string:
		return os.Expand(v, func(path string) string { return lookUp(in, path) })
	case map[string]any:
		for k := range v {
			v[k] = filled(v[k], in)
		}
		return v
	case []any:
		for i := range v {
			v[i] = filled(v[i], in)
		}
		return v
	}
	return v
}

// lookUp finds the value at a dotted path.
func lookUp(in any, path string) string {
	for key := range strings.SplitSeq(path, ".") {
		fields, ok := in.(map[string]any)
		if !ok {
			return ""
		}
		in = fields[key]
	}
	switch v := in.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	out, _ := json.Marshal(in)
	return string(out)
}
