package process

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/prompt"
)

// Seat is the parts of a session that processes need.
type Seat struct {
	Session  string // its id
	Agent    []string
	Messages func() []llm.Message
	Events   func(context.Context) *event.Subscription // the events of the session; nil: none
	// Record writes an answer that had an effect to the log.
	Record func(process, method string, input, output any, took time.Duration)
	Notice func(text string) // warns the user; foreign text
}

// Joined is a session with processes.
type Joined struct {
	s    *Set
	seat Seat
	who  Session

	mu     sync.Mutex
	events bool // a goroutine sends events
	stop   context.CancelFunc
	sent   sync.WaitGroup
}

// Install ties the processes to the loop of a session. Close the result with the session. Where no process is declared,
// a step costs a comparison.
func (s *Set) Install(seat Seat, cfg *agent.Config) *Joined {
	j := &Joined{s: s, seat: seat, who: Session{SessionID: seat.Session, Agent: strings.Join(seat.Agent, "/")}}
	if s == nil {
		return j
	}
	cfg.BeforeTool = append(cfg.BeforeTool, agent.BeforeTool{Name: "plugin process", Run: j.beforeTool})
	cfg.AfterTool = append(cfg.AfterTool, agent.AfterTool{Name: "plugin process", Run: j.afterTool})
	cfg.BeforeStep = append(cfg.BeforeStep, agent.BeforeStep{Name: "plugin processes", Run: j.beforeStep})
	cfg.Adjust = j.adjust
	if system := cfg.System; system != nil && len(seat.Agent) == 0 {
		cfg.System = func(ctx context.Context) ([]llm.Part, error) {
			parts, err := system(ctx)
			return append(slices.Clip(parts), j.system(ctx)...), err
		}
	}
	admit := cfg.Admit
	cfg.Admit = func(ctx context.Context, m llm.Message, steered bool) (llm.Message, error) {
		if admit != nil {
			var err error
			if m, err = admit(ctx, m, steered); err != nil {
				return m, err
			}
		}
		return j.admit(ctx, m)
	}
	return j
}

// Close ends the stream of events.
func (j *Joined) Close() error {
	j.mu.Lock()
	stop := j.stop
	j.mu.Unlock()
	if stop != nil {
		stop()
		j.sent.Wait()
	}
	return nil
}

// answer is that of one process.
type answer[T any] struct {
	by  *Process
	out T
}

// ask asks all processes that are up and want the method, side by side. Those that fail are reported and left out.
func ask[T any](ctx context.Context, j *Joined, method string, wants func(*about) bool, params any) []answer[T] {
	var asked []*Process
	for _, p := range j.s.All() {
		if a := p.about(); a != nil && a.calls[method] && (wants == nil || wants(a)) {
			asked = append(asked, p)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	all, errs := make([]answer[T], len(asked)), make([]error, len(asked))
	one := func(i int) {
		began := time.Now()
		all[i].by = asked[i]
		var raw json.RawMessage
		if errs[i] = asked[i].Call(ctx, method, params, &raw, 0); errs[i] != nil {
			return
		}
		if errs[i] = json.Unmarshal(raw, &all[i].out); errs[i] == nil && effective(raw) && j.seat.Record != nil {
			j.seat.Record(asked[i].spec.Name, method, params, raw, time.Since(began))
		}
	}
	if len(asked) == 1 {
		one(0)
	} else {
		var wg sync.WaitGroup
		for i := range asked {
			wg.Go(func() { one(i) })
		}
		wg.Wait()
	}
	var out []answer[T]
	for i, err := range errs {
		switch {
		case err == nil:
			out = append(out, all[i])
		case ctx.Err() == nil:
			j.s.note(err.Error() + "; the call went on without it")
		}
	}
	return out
}

// effective reports an answer that says something.
func effective(raw json.RawMessage) bool {
	text := strings.TrimSpace(string(raw))
	return text != "{}" && text != "null" && text != ""
}

// matches reports whether tool/before and tool/after are for a tool.
func (a *about) matches(tool string) bool { return len(a.match) == 0 || slices.Contains(a.match, tool) }

func (j *Joined) beforeTool(ctx context.Context, c llm.ToolCall) (agent.Verdict, error) {
	answers := ask[BeforeResult](ctx, j, MethodBefore, func(a *about) bool { return a.matches(c.Name) },
		BeforeParams{Session: j.who, CallID: c.ID, Name: c.Name, Input: c.Input})
	if len(answers) == 0 {
		return agent.Verdict{}, nil
	}
	names, verdicts := make([]string, len(answers)), make([]agent.Verdict, len(answers))
	var texts []string
	for i, a := range answers {
		names[i], verdicts[i] = "process "+a.by.spec.Name, a.out.verdict()
		if a.out.Context != "" {
			texts = append(texts, cut(a.out.Context, maxAppend))
		}
	}
	merged, err := agent.MergeVerdicts(names, verdicts)
	if err != nil {
		return agent.Verdict{Effect: permission.Deny, Reason: err.Error()}, nil
	}
	return agent.Verdict{
		Effect: merged.Effect, Reason: merged.Reason, Input: merged.Input,
		Context: strings.Join(texts, "\n"),
	}, nil
}

// verdict is that of an answer. It never allows.
func (r BeforeResult) verdict() agent.Verdict {
	v := agent.Verdict{Reason: cut(r.Reason, maxAppend)}
	if input := r.Input; len(input) > 0 && string(input) != "null" {
		v.Input = input
	}
	switch r.Decision {
	case "deny":
		v.Effect = permission.Deny
	case "ask":
		v.Effect = permission.Ask
	}
	return v
}

func (j *Joined) afterTool(ctx context.Context, c llm.ToolCall, res *agent.Result) (v agent.Verdict, err error) {
	var text string
	wants := func(a *about) bool {
		if text == "" {
			text = cut(plain(res), maxResult)
		}
		return a.matches(c.Name)
	}
	var params AfterParams
	for _, p := range j.s.All() { // the text is only made where somebody reads it
		if a := p.about(); a != nil && a.calls[MethodAfter] && wants(a) {
			params = AfterParams{Session: j.who, CallID: c.ID, Name: c.Name, Input: c.Input, Result: text, IsError: res.IsError}
			break
		}
	}
	if params.Name == "" {
		return v, nil
	}
	var texts []string
	for _, a := range ask[AfterResult](context.WithoutCancel(ctx), j, MethodAfter, wants, params) {
		if a.out.Context != "" {
			texts = append(texts, cut(a.out.Context, maxAppend))
		}
		if a.out.Result != nil {
			replace(res, cut(*a.out.Result, maxResult))
		}
		v.Stop = cmp.Or(v.Stop, cut(a.out.Stop, 1000))
	}
	v.Context = strings.Join(texts, "\n")
	return v, nil
}

// replace puts a text in the place of the texts of a result.
func replace(res *agent.Result, text string) {
	parts := []llm.Part{llm.Text{Text: text}}
	for _, p := range res.Parts {
		if _, ok := p.(llm.Text); !ok {
			parts = append(parts, p)
		}
	}
	res.Parts = parts
}

func plain(res *agent.Result) string {
	var b strings.Builder
	for _, p := range res.Parts {
		if t, ok := p.(llm.Text); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

func reminder(p *Process, text string) llm.Text {
	return llm.Text{Text: "<system-reminder>\nPlugin " + p.spec.Name + ": " + prompt.Sanitize(cut(text, maxAppend)) +
		"\n</system-reminder>", Origin: llm.OriginHook}
}

// admit lets the processes add to a message of the user, or refuse it.
func (j *Joined) admit(ctx context.Context, m llm.Message) (llm.Message, error) {
	j.s.Up(ctx)
	j.stream()
	var texts []string
	for _, p := range m.Parts {
		if t, ok := p.(llm.Text); ok && t.Origin == llm.OriginAuthor {
			texts = append(texts, t.Text)
		}
	}
	var parts []llm.Part
	if len(j.seat.Agent) == 0 && j.count() == 0 {
		parts = j.sections(ctx)
	}
	parts = append(parts, m.Parts...)
	for _, a := range ask[AppendResult](ctx, j, MethodMessage, nil, MessageParams{
		Session: j.who,
		Text:    strings.Join(texts, "\n"),
	}) {
		if a.out.Block != "" {
			return m, &agent.Blocked{Reason: "the process " + a.by.spec.Name + ": " + cut(a.out.Block, 1000)}
		}
		if a.out.Append != "" {
			parts = append(parts, reminder(a.by, a.out.Append))
		}
	}
	m.Parts = parts
	return m, nil
}

// beforeStep starts processes that are due again, shows the notes, and lets the processes add a message.
func (j *Joined) beforeStep(ctx context.Context) (out []llm.Message, err error) {
	for _, p := range j.s.All() {
		p.kick()
	}
	for _, n := range j.s.Notes() {
		if j.seat.Notice != nil {
			j.seat.Notice(n)
		}
	}
	for _, a := range ask[AppendResult](ctx, j, MethodStep, nil, StepParams{Session: j.who, Messages: j.count()}) {
		if a.out.Append != "" {
			out = append(out, llm.Message{Role: llm.User, Parts: []llm.Part{reminder(a.by, a.out.Append)}})
		}
	}
	return out, nil
}

func (j *Joined) count() int {
	if j.seat.Messages == nil {
		return 0
	}
	return len(j.seat.Messages())
}

// system is the parts of the system prompt.
func (j *Joined) system(ctx context.Context) (out []llm.Part) {
	for _, p := range j.s.Up(ctx) {
		if a := p.about(); a != nil {
			for _, text := range a.system {
				out = append(out, llm.Text{Text: "\n\n# From the plugin " + p.spec.Name + "\n\n" + prompt.Sanitize(text)})
			}
		}
	}
	return out
}

// adjust lets the processes change the parameters of a request, in order of their names; the later one counts.
func (j *Joined) adjust(ctx context.Context, info llm.ModelInfo, req *llm.Request) context.Context {
	params := RequestParams{
		Session: j.who, Model: info.ID, Host: info.Host, Temperature: req.Temperature,
		MaxTokens: req.MaxTokens, Effort: string(req.Effort),
	}
	for _, a := range ask[RequestResult](ctx, j, MethodRequest, nil, params) {
		if t := a.out.Temperature; t != nil && *t >= 0 && *t <= 2 {
			req.Temperature = t
		}
		if n := a.out.MaxTokens; n > 0 && (req.MaxTokens == 0 || n < req.MaxTokens) {
			req.MaxTokens = n
		}
		if e := llm.Effort(a.out.Effort); e != "" && slices.Contains(info.Efforts, e) {
			req.Effort = e
		}
		if len(a.out.Headers) > 0 {
			h := http.Header{}
			for name, value := range a.out.Headers {
				h.Set(name, value)
			}
			ctx = llm.WithHeaders(ctx, h)
		}
	}
	return ctx
}

// sections are the texts for the first message of a main conversation.
func (j *Joined) sections(ctx context.Context) (out []llm.Part) {
	type section struct {
		by         *Process
		name, text string
	}
	var all []*section
	var wg sync.WaitGroup
	for _, p := range j.s.All() {
		a := p.about()
		if a == nil {
			continue
		}
		for _, name := range a.context {
			one := &section{by: p, name: name}
			all = append(all, one)
			wg.Go(func() {
				var res ContextResult
				if err := p.Call(ctx, MethodContext, ContextParams{Session: j.who, Name: name}, &res, 0); err != nil &&
					ctx.Err() == nil {
					j.s.note(err.Error())
				}
				one.text = cut(res.Text, maxSystem)
			})
		}
	}
	wg.Wait()
	for _, one := range all {
		if one.text != "" {
			out = append(out, reminder(one.by, one.name+":\n"+one.text))
		}
	}
	return out
}

// stream begins to send events where a process wants some.
func (j *Joined) stream() {
	wanted := slices.ContainsFunc(j.s.All(), func(
		p *Process,
	) bool {
		a := p.about()
		return a != nil && len(a.events) > 0
	})
	j.mu.Lock()
	defer j.mu.Unlock()
	if !wanted || j.events || j.seat.Events == nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	j.events, j.stop = true, stop
	sub := j.seat.Events(ctx)
	j.sent.Go(func() {
		for e := range sub.All(ctx) {
			if e.Session == j.seat.Session { // subagents have the same bus
				j.s.Send(e)
			}
		}
	})
}

// Send hands an event to the processes that want its kind. It never blocks.
func (s *Set) Send(e event.Event) {
	var body []byte
	for _, p := range s.All() {
		l := p.up()
		if l == nil || e.Body == nil || !l.about.wants(e.Body) {
			continue
		}
		if body == nil {
			var err error
			if body, err = json.Marshal(e.Body); err != nil {
				return
			}
		}
		line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": NotifyEvent, "params": EventParams{
			Session: Session{SessionID: e.Session, Agent: strings.Join(e.Agent, "/")}, Kind: e.Body.Kind(), Body: body,
			Dropped: p.dropped.Load(),
		}})
		if err == nil {
			p.send(l, append(line, '\n'))
		}
	}
}

// wants reports a kind of events that was asked for; * is all but pieces of text as they stream.
func (a *about) wants(b event.Body) bool {
	if _, delta := b.(event.Delta); delta {
		return a.events[b.Kind()]
	}
	return a.events["*"] || a.events[b.Kind()]
}
