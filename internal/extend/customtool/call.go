package customtool

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

// maxOutput is how many bytes of a call's output are kept, of each stream.
const maxOutput = 1 << 20

// Seat is the parts of a session that calls need.
type Seat struct {
	Place   func() call.Place // the working folder and the machine
	Session string            // its id
}

// Tool is a custom tool of a session, with its origin in words.
type Tool struct {
	agent.Tool
	Origin string
	Always bool // each request has its schema
}

// Tools makes the tools of a session. Programs that are not known are asked first.
func (s *Set) Tools(ctx context.Context, seat Seat) (out []Tool) {
	for _, p := range s.load(ctx) {
		spec := llm.ToolSpec{Name: p.about.Name, Description: p.about.Description, Schema: p.about.InputSchema}
		t := agent.NewTool(spec, func(_ context.Context, c llm.ToolCall, in json.RawMessage) (*agent.Plan, error) {
			return s.plan(p, seat, c, in)
		})
		out = append(out, Tool{Tool: t, Origin: p.origin, Always: p.about.AlwaysLoad})
	}
	return out
}

// accesses is the function of the declaration of a name, for the program that has it at the time of the call.
func (s *Set) accesses(name string) func(json.RawMessage, call.Place) ([]permission.Access, error) {
	return func(in json.RawMessage, at call.Place) ([]permission.Access, error) {
		p := s.find(name)
		if p == nil {
			return nil, nil
		}
		return p.about.Touches(in, at)
	}
}

// Touches are the accesses of a call. Where none are declared it is the tool itself, which asks unless a rule allows
// it.
func (d *Description) Touches(in json.RawMessage, at call.Place) ([]permission.Access, error) {
	if d.Accesses == nil {
		return []permission.Access{{Kind: permission.Tool, Target: d.Name}}, nil
	}
	out := call.SessionOnly(d.Name)
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(in, &fields); err != nil {
		return nil, err
	}
	for _, a := range d.Accesses {
		values, err := a.values(fields)
		if err != nil {
			return nil, err
		}
		for _, v := range values {
			out = append(out, a.access(v, at))
		}
	}
	return out, nil
}

// values are the values of an access in an input. A parameter that is not given touches nothing.
func (a Access) values(fields map[string]json.RawMessage) ([]string, error) {
	if a.Param == "" {
		return []string{a.Value}, nil
	}
	raw, ok := fields[a.Param]
	if !ok || string(raw) == "null" {
		return nil, nil
	}
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}, nil
	}
	var list []string
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("the parameter %s is neither a text nor a list of texts", a.Param)
	}
	return list, nil
}

func (a Access) access(value string, at call.Place) permission.Access {
	switch a.Kind {
	case "read":
		r := at.Access(permission.Read, value)
		r.Below = r.Node == permission.Folder
		return r
	case "write":
		return at.Access(permission.Write, value)
	}
	return permission.NetAccess(value)
}

// plan is a call of a program.
func (s *Set) plan(p *program, seat Seat, c llm.ToolCall, in json.RawMessage) (*agent.Plan, error) {
	at := seat.Place()
	accesses, err := p.about.Touches(in, at)
	if err != nil {
		return nil, err
	}
	return &agent.Plan{
		Accesses: accesses, Title: p.about.Name, Preview: event.TextView{Text: indented(in), Language: "json"},
		Parallel: p.about.Parallel,
		Run:      func(ctx context.Context) (*agent.Result, error) { return s.run(ctx, p, seat, at.Dir, c, in) },
	}, nil
}

func indented(in json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, in, "", "  ") != nil {
		return string(in)
	}
	return b.String()
}

// run starts the program and waits for its result.
func (s *Set) run(ctx context.Context, p *program, seat Seat, dir string, c llm.ToolCall, in json.RawMessage) (
	*agent.Result, error,
) {
	if err := p.asTrusted(); err != nil {
		return nil, fmt.Errorf("The tool %s did not run: %w", p.about.Name, err)
	}
	limit := p.about.Limit()
	timed, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not end within %v, its timeout", limit))
	defer cancel()
	out := &live{ctx: ctx}
	errOut := &live{ctx: ctx}
	spec := sandbox.Spec{
		Argv: []string{p.Path}, Dir: dir, Stdin: bytes.NewReader(append(bytes.Clone(in), '\n')),
		Stdout: out, Stderr: errOut,
	}
	done, err := s.confine(p, &spec)
	if err != nil {
		return nil, err
	}
	defer done()
	spec.Env = append(spec.Env, "LATHE_TOOL="+p.about.Name, "LATHE_CALL_ID="+c.ID, "LATHE_SESSION_ID="+seat.Session)
	exit, err := s.o.Runner.Run(timed, spec)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, fmt.Errorf("The tool %s failed: %w\n%s", p.about.Name, err, out.tail())
	}
	return out.result(p, exit, errOut), nil
}

// live keeps an output up to its limit and passes it on as it comes.
type live struct {
	ctx context.Context
	mu  sync.Mutex
	head
}

func (l *live) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.most = maxOutput
	before := len(l.kept)
	n, err := l.head.Write(b)
	if added := l.kept[before:]; len(added) > 0 {
		agent.Output(l.ctx, strings.ToValidUTF8(string(added), "\uFFFD"))
	}
	return n, err
}

func (l *live) text() string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(l.kept), "\uFFFD"))
	if l.dropped > 0 {
		text += fmt.Sprintf("\n[%d more bytes of output were dropped]", l.dropped)
	}
	return text
}

// tail is the end of an output, for messages.
func (l *live) tail() string {
	text := l.text()
	return strings.ToValidUTF8(text[max(0, len(text)-2000):], "")
}

// final is the last line of an output, if the program ends with a result as JSON.
type final struct {
	Result  json.RawMessage `json:"result"`
	Error   string          `json:"error"`
	IsError bool            `json:"is_error"`
}

// block is a part of a result.
type block struct {
	Type string `json:"type"`
	Text string `json:"text"`
	MIME string `json:"mime_type"`
	Data string `json:"data"` // base64
}

// result is the last line where it is JSON with a result or an error, else all of the output.
func (l *live) result(p *program, exit sandbox.Exit, errOut *live) *agent.Result {
	r := &agent.Result{Title: p.about.Name, IsError: exit.Code != 0}
	text := l.text()
	if parts, failed, ok := structured(l.kept); ok {
		r.Parts, r.IsError = parts, r.IsError || failed
	} else if text != "" {
		r.Parts = []llm.Part{llm.Text{Text: text}}
	}
	if exit.Code != 0 {
		r.Parts = append(r.Parts, llm.Text{Text: strings.TrimSpace(fmt.Sprintf("%s ended with exit code %d.\n%s",
			filepath.Base(p.Path), exit.Code, errOut.tail()))})
	}
	if len(r.Parts) == 0 {
		r.Parts = []llm.Part{llm.Text{Text: "(the result is empty)"}}
	}
	if t, ok := r.Parts[0].(llm.Text); ok {
		r.View = event.TextView{Text: t.Text[:min(len(t.Text), 50_000)]}
	}
	r.Meta = map[string]any{"exitCode": exit.Code}
	return r
}

// structured reads the last line of an output as a result.
func structured(out []byte) (parts []llm.Part, failed, ok bool) {
	last := bytes.TrimSpace(out)
	if i := bytes.LastIndexByte(last, '\n'); i >= 0 {
		last = last[i+1:]
	}
	var f final
	if len(last) == 0 || last[0] != '{' || json.Unmarshal(last, &f) != nil || f.Result == nil && f.Error == "" {
		return nil, false, false
	}
	if f.Error != "" {
		return []llm.Part{llm.Text{Text: f.Error}}, true, true
	}
	return blocks(f.Result), f.IsError, true
}

// blocks are the parts of a result: a text, a list of blocks, or any other JSON as its text.
func blocks(raw json.RawMessage) (parts []llm.Part) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []llm.Part{llm.Text{Text: text}}
	}
	var list []block
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		return []llm.Part{llm.Text{Text: string(raw)}}
	}
	for _, b := range list {
		switch data, err := base64.StdEncoding.DecodeString(b.Data); {
		case b.Type == "text":
			parts = append(parts, llm.Text{Text: b.Text})
		case b.Type == "image" && err == nil && images[b.MIME]:
			parts = append(parts, llm.Media{MIME: b.MIME, Data: data})
		default:
			return []llm.Part{llm.Text{Text: string(raw)}}
		}
	}
	return parts
}

// images are the types that models see.
var images = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}
