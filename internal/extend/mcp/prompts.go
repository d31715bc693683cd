package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/mcp/client"
	"github.com/lathe-dev/lathe/internal/llm"
)

// Prompt is a server's prompt as a slash command. All texts but Name are foreign.
type Prompt struct {
	Name   string // mcp__server__prompt
	Server string
	Args   string // "<code> [style]"
	Help   string
	server *server
	prompt client.Prompt
}

// Prompts lists the prompts that are known, of all servers.
func (s *Set) Prompts() []Prompt {
	if s == nil {
		return nil
	}
	_ = s.Load() // reported before the first step
	var out []Prompt
	for _, v := range s.list() {
		if v.isDisabled() {
			continue
		}
		for _, p := range v.knownPrompts() {
			if strings.TrimSpace(p.Name) == "" {
				continue
			}
			one := Prompt{Name: ToolName(v.entry.Name, p.Name), Server: v.entry.Name, Help: firstOf(p.Description, p.Title,
				p.Name), server: v, prompt: p}
			for _, a := range p.Arguments {
				if a.Required {
					one.Args += " <" + a.Name + ">"
				} else {
					one.Args += " [" + a.Name + "]"
				}
			}
			one.Args = strings.TrimSpace(one.Args)
			out = append(out, one)
		}
	}
	return out
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t = strings.Join(strings.Fields(t), " "); t != "" {
			return t
		}
	}
	return ""
}

// IsPrompt reports whether a slash command may be a prompt of a server, by its form.
func IsPrompt(name string) bool {
	return strings.HasPrefix(name, Prefix) || strings.Contains(name, ":")
}

// FindPrompt returns the prompt of a slash command: mcp__server__prompt or server:prompt.
func (s *Set) FindPrompt(name string) (Prompt, bool) {
	if !IsPrompt(name) {
		return Prompt{}, false
	}
	all := s.Prompts()
	at := slices.IndexFunc(all, func(p Prompt) bool {
		return strings.EqualFold(name, p.Name) || strings.EqualFold(name, p.Server+":"+plain(p.prompt.Name))
	})
	if at < 0 {
		return Prompt{}, false
	}
	return all[at], true
}

// PromptNamed is FindPrompt, which starts the server that the name names where its prompts are not known. The error is
// that of its start.
func (s *Set) PromptNamed(ctx context.Context, name string) (Prompt, bool, error) {
	p, ok := s.FindPrompt(name)
	if ok || s == nil {
		return p, ok, nil
	}
	server, _, split := strings.Cut(strings.TrimPrefix(name, Prefix), "__")
	if !strings.HasPrefix(name, Prefix) {
		server, _, split = strings.Cut(name, ":")
	}
	if !split {
		return p, false, nil
	}
	_ = s.Load() // reported before the first step
	v := s.find(server)
	if v == nil || v.isDisabled() {
		return p, false, nil
	}
	c, err := v.connect(ctx)
	if err != nil {
		return p, false, err
	}
	v.learn(ctx, c)
	p, ok = s.FindPrompt(name)
	return p, ok, nil
}

// Parse reads the arguments of a prompt as they are typed: words in the order of the arguments, or name=value. Quotes
// keep a text with blanks together; the last argument takes all that is left. The error names the arguments.
func (p Prompt) Parse(typed string) (map[string]string, error) {
	out := map[string]string{}
	args := p.prompt.Arguments
	for next := 0; ; {
		typed = strings.TrimSpace(typed)
		if typed == "" {
			break
		}
		if name, _, ok := strings.Cut(typed, "="); ok && p.takes(name) {
			out[name], typed = word(typed[len(name)+1:])
			continue
		}
		for next < len(args) && hasKey(out, args[next].Name) {
			next++
		}
		if next >= len(args) {
			return nil, fmt.Errorf("/%s takes %s", p.Name, orNothing(p.Args))
		}
		if next == len(args)-1 && !quoted(typed) {
			out[args[next].Name], typed = typed, ""
			continue
		}
		out[args[next].Name], typed = word(typed)
	}
	for _, a := range args {
		if a.Required && !hasKey(out, a.Name) {
			return nil, fmt.Errorf("/%s needs %s; it takes %s", p.Name, a.Name, p.Args)
		}
	}
	return out, nil
}

func hasKey(m map[string]string, k string) bool { _, ok := m[k]; return ok }

func orNothing(args string) string {
	if args == "" {
		return "no arguments"
	}
	return args
}

func (p Prompt) takes(name string) bool {
	return slices.ContainsFunc(p.prompt.Arguments, func(a client.Argument) bool { return a.Name == name })
}

func quoted(s string) bool { return s != "" && (s[0] == '"' || s[0] == '\'') }

// word takes the first word of a text, which may be in quotes.
func word(s string) (first, rest string) {
	if quoted(s) {
		if end := strings.IndexByte(s[1:], s[0]); end >= 0 {
			return s[1 : 1+end], s[end+2:]
		}
	}
	if end := strings.IndexAny(s, " \t\n"); end >= 0 {
		return s[:end], s[end:]
	}
	return s, ""
}

// Complete completes the argument that is being typed, by asking the server.
func (p Prompt) Complete(ctx context.Context, typed string) []event.Candidate {
	before, value := "", typed
	if end := strings.LastIndexAny(typed, " \t"); end >= 0 {
		before, value = typed[:end+1], typed[end+1:]
	}
	relaxed := p
	relaxed.prompt.Arguments = slices.Clone(p.prompt.Arguments)
	for i := range relaxed.prompt.Arguments {
		relaxed.prompt.Arguments[i].Required = false
	}
	known, err := relaxed.Parse(before)
	if err != nil {
		return nil
	}
	name, lead := "", ""
	if n, v, ok := strings.Cut(value, "="); ok && p.takes(n) {
		name, lead, value = n, n+"=", v
	} else if at := slices.IndexFunc(p.prompt.Arguments,
		func(a client.Argument) bool { return !hasKey(known, a.Name) }); at >= 0 {
		name = p.prompt.Arguments[at].Name
	}
	if name == "" {
		return nil
	}
	c, err := p.server.connect(ctx)
	if err != nil {
		return nil
	}
	values, err := c.Complete(ctx, client.Ref{Type: "ref/prompt", Name: p.prompt.Name}, name, value, known)
	if err != nil {
		return nil
	}
	var out []event.Candidate
	for _, v := range values {
		if strings.ContainsAny(v, " \t\n") {
			continue // it would be read as several
		}
		out = append(out, event.Candidate{Text: before + lead + v, Label: v, Help: name})
	}
	return out
}

// maxPrompt is how much of a prompt's text reaches the model, in bytes.
const maxPrompt = 200_000

// promptHead begins the part that a prompt adds to a message.
const promptHead = "<mcp-prompt server="

// prompt adds to a message the text of the prompt that it invokes.
func (w *View) prompt(ctx context.Context, m llm.Message) llm.Message {
	text := authored(m)
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), "/")
	if !ok {
		return m
	}
	name, args := word(rest)
	p, ok, err := w.set.PromptNamed(ctx, name)
	if err != nil {
		w.notice(fmt.Sprintf("the prompt /%s was not fetched: %v", name, err))
		return m
	}
	if !ok || slices.ContainsFunc(m.Parts, isPrompt) {
		return m
	}
	parts, err := w.fetch(ctx, p, args)
	if err != nil {
		w.notice(fmt.Sprintf("the prompt /%s was not fetched: %v", p.Name, err))
		parts = []llm.Part{llm.Text{Text: fmt.Sprintf("%s%q name=%q>\n(The prompt could not be fetched: %s)\n</mcp-prompt>",
			promptHead, p.Server, p.prompt.Name, w.clean(err.Error())), Origin: llm.OriginCommand}}
	}
	m.Parts = append(m.Parts[:len(m.Parts):len(m.Parts)], parts...)
	return m
}

// Expander knows the commands of files.
type Expander interface {
	Expansion(m llm.Message) (name, args, source, line string, ok bool)
}

// Expand returns the command that a message invokes, for the hooks: that of a file, else a prompt of a server, whose
// source is "mcp". A server whose prompts are not known is started.
func (w *View) Expand(m llm.Message, files Expander) (name, args, source, line string, ok bool) {
	if name, args, source, line, ok = files.Expansion(m); ok {
		return name, args, source, line, ok
	}
	line = authored(m)
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), "/")
	if !ok {
		return "", "", "", "", false
	}
	typed, args := word(rest)
	p, ok, err := w.set.PromptNamed(w.set.life, typed)
	if err != nil || !ok || slices.ContainsFunc(m.Parts, isPrompt) { // Attach reports the error
		return "", "", "", "", false
	}
	return p.Name, strings.TrimSpace(args), "mcp", line, true
}

// isPrompt reports whether a part is a prompt that was added already.
func isPrompt(p llm.Part) bool {
	t, ok := p.(llm.Text)
	return ok && strings.HasPrefix(t.Text, promptHead)
}

// fetch gets a prompt's messages as parts of a message of the user.
func (w *View) fetch(ctx context.Context, p Prompt, args string) ([]llm.Part, error) {
	values, err := p.Parse(args)
	if err != nil {
		return nil, err
	}
	c, err := p.server.connect(ctx)
	if err != nil {
		return nil, err
	}
	messages, err := c.GetPrompt(ctx, p.prompt.Name, values)
	if err != nil {
		return nil, p.server.hidden.plain(err)
	}
	if len(messages) == 0 {
		return nil, errors.New("the server sent no text")
	}
	var b strings.Builder
	var media []llm.Part
	for _, m := range messages {
		if m.Role == "assistant" {
			b.WriteString("[said by the assistant in the prompt] ")
		}
		if m.Content.Type == "image" && images[m.Content.MIME] && len(m.Content.Data) <= maxImage {
			media = append(media, llm.Media{MIME: m.Content.MIME, Data: m.Content.Data})
			continue
		}
		b.WriteString(w.text(ctx, p.Name, m.Content) + "\n")
	}
	text := b.String()
	if len(text) > maxPrompt {
		text = strings.ToValidUTF8(text[:maxPrompt], "") + "\n[... the prompt is longer ...]"
	}
	text = fmt.Sprintf("%s%q name=%q>\n%s\n</mcp-prompt>", promptHead, p.Server, p.prompt.Name,
		strings.TrimSpace(strings.ReplaceAll(w.clean(text), "</mcp-prompt>", "&lt;/mcp-prompt>")))
	return append([]llm.Part{llm.Text{Text: text, Origin: llm.OriginCommand}}, media...), nil
}

// authored is the first text of a message that its author wrote.
func authored(m llm.Message) string {
	for _, p := range m.Parts {
		if t, ok := p.(llm.Text); ok && t.Origin == llm.OriginAuthor {
			return t.Text
		}
	}
	return ""
}
