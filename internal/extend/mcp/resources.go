package mcp

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/mcp/client"
	"github.com/lathe-dev/lathe/internal/llm"
)

const (
	mostMentioned  = 20  // resources that one message attaches
	mostWatched    = 100 // resources that a session is subscribed to
	mostCompleted  = 50
	resourcesTable = 400 // lines of ListMcpResourcesTool
)

// Attach adds to a message of the user the prompt that it invokes (/mcp__server__prompt) and the resources that it
// names (@server:uri).
func (w *View) Attach(ctx context.Context, m llm.Message) llm.Message {
	text := authored(m)
	if !strings.ContainsAny(text, "/@") {
		return m
	}
	_ = w.set.Load() // reported before the first step
	if len(w.servers()) == 0 {
		return m
	}
	m = w.prompt(ctx, m)
	found := w.mentioned(text)
	if len(found) > mostMentioned {
		w.notice(fmt.Sprintf("of %d resources named with @ the first %d are attached", len(found), mostMentioned))
		found = found[:mostMentioned]
	}
	for _, r := range found {
		mention := r.server.entry.Name + ":" + r.uri
		open := "<mcp-resource name=" + strconv.Quote(mention) + ">"
		if slices.ContainsFunc(m.Parts, func(p llm.Part) bool {
			t, ok := p.(llm.Text)
			return ok && strings.HasPrefix(t.Text, open)
		}) {
			continue // sent again as it was
		}
		text, media, err := w.read(ctx, r.server, r.uri)
		if err != nil {
			w.notice(fmt.Sprintf("not attached: %s: %v", mention, err))
			continue
		}
		text = open + "\n" + strings.ReplaceAll(w.clean(text), "</mcp-resource>", "&lt;/mcp-resource>") + "\n</mcp-resource>"
		m.Parts = append(append(m.Parts[:len(m.Parts):len(m.Parts)], llm.Text{Text: text, Origin: llm.OriginFile}), media...)
	}
	return m
}

type mention struct {
	server *server
	uri    string
}

// mentioned finds the resources that a text names as @server:uri.
func (w *View) mentioned(text string) (out []mention) {
	for word := range strings.FieldsSeq(text) {
		rest, ok := strings.CutPrefix(strings.TrimLeft(word, "(["), "@")
		name, uri, ok2 := strings.Cut(strings.TrimRight(rest, ".,;!?)]\"'"), ":")
		if !ok || !ok2 || uri == "" {
			continue
		}
		if v := w.find(name); v != nil && !v.isDisabled() && !slices.Contains(out, mention{v, uri}) {
			out = append(out, mention{v, uri})
		}
	}
	return out
}

// read reads a resource, as text and images, and subscribes to it.
func (w *View) read(ctx context.Context, v *server, uri string) (string, []llm.Part, error) {
	defer w.serves(v)()
	c, err := v.connect(ctx)
	if err != nil {
		return "", nil, err
	}
	contents, err := c.ReadResource(ctx, uri)
	if err != nil {
		return "", nil, fmt.Errorf("the MCP server %s: %w", v.entry.Name, v.hidden.plain(err))
	}
	var text []string
	var media []llm.Part
	for _, r := range contents {
		if images[r.MIME] && len(r.Blob) > 0 && len(r.Blob) <= maxImage {
			media = append(media, llm.Media{MIME: r.MIME, Data: r.Blob, Name: r.URI})
			continue
		}
		text = append(text, w.resource(ctx, "mcp__"+v.entry.Name, r))
	}
	w.watch(ctx, v, c, uri)
	whole := strings.Join(text, "\n")
	if whole == "" && len(media) == 0 {
		whole = "(the resource is empty)"
	}
	return w.bounded(ctx, "mcp__"+v.entry.Name, whole), media, nil
}

// watch subscribes to a resource that the session read. A failure is a line in the server's log.
func (w *View) watch(ctx context.Context, v *server, c *client.Client, uri string) {
	key := watched{v, uri}
	w.mu.Lock()
	known := w.watching[key] == c || len(w.watching) >= mostWatched
	if !known {
		w.watching[key] = c
	}
	w.mu.Unlock()
	if known {
		return
	}
	if err := c.Subscribe(ctx, uri); err != nil {
		v.log.note("no subscription to " + uri + ": " + err.Error())
	}
}

type watched struct {
	server *server
	uri    string
}

// updated notes that a resource changed, for the sessions that read it.
func (v *server) updated(uri string) {
	for _, w := range v.views() {
		w.mu.Lock()
		if _, ok := w.watching[watched{v, uri}]; ok && !slices.Contains(w.changed, watched{v, uri}) {
			w.changed = append(w.changed, watched{v, uri})
		}
		w.mu.Unlock()
	}
}

// CompleteResource completes @server:uri from the resources and templates of a server; text is without the @. Without a
// colon it offers the servers that have resources.
func (s *Set) CompleteResource(ctx context.Context, text string, limit int) (out []event.Candidate) {
	if s == nil {
		return nil
	}
	_ = s.Load() // reported before the first step
	name, typed, colon := strings.Cut(text, ":")
	for _, v := range s.list() {
		switch {
		case v.isDisabled() || !v.offersResources():
		case !colon && text != "" && strings.HasPrefix(v.entry.Name, name):
			out = append(out, event.Candidate{Text: v.entry.Name + ":", Help: "resources of the MCP server"})
		case colon && v.entry.Name == name:
			out = append(out, v.completeResource(ctx, typed)...)
		}
	}
	if limit <= 0 {
		limit = mostCompleted
	}
	return out[:min(limit, len(out))]
}

func (v *server) completeResource(ctx context.Context, typed string) (out []event.Candidate) {
	resources, templates, err := v.listResources(ctx)
	if err != nil {
		return nil
	}
	for _, r := range resources {
		if strings.Contains(strings.ToLower(r.URI+" "+r.Name), strings.ToLower(typed)) && !strings.ContainsAny(r.URI,
			" \t\n") {
			out = append(out, event.Candidate{Text: v.entry.Name + ":" + r.URI, Help: firstOf(r.Title, r.Description, r.Name)})
		}
	}
	for _, t := range templates {
		out = append(out, v.completeTemplate(ctx, t, typed)...)
	}
	return out
}

// completeTemplate completes the variable of a template that is being typed. Only plain variables are known: {name}.
func (v *server) completeTemplate(ctx context.Context, t client.Resource, typed string) (out []event.Candidate) {
	at := fillTemplate(t.Template, typed)
	help := firstOf(t.Title, t.Description, t.Name)
	if at.variable == "" {
		if at.fixed != "" && strings.HasPrefix(at.fixed, typed) {
			out = append(out, event.Candidate{
				Text: v.entry.Name + ":" + at.fixed, Label: v.entry.Name + ":" + t.Template,
				Help: help,
			})
		}
		return out
	}
	c, err := v.connect(ctx)
	if err != nil {
		return nil
	}
	values, err := c.Complete(ctx, client.Ref{Type: "ref/resource", URI: t.Template}, at.variable, at.value, at.known)
	if err != nil {
		return nil
	}
	for _, value := range values {
		if !strings.ContainsAny(value, " \t\n") {
			out = append(out, event.Candidate{
				Text: v.entry.Name + ":" + at.fixed + value + at.after,
				Help: cmp.Or(help, at.variable),
			})
		}
	}
	return out
}

// filled is how far a text fills a template.
type filled struct {
	fixed    string // the text before the variable that is typed; with variable "" the template up to its first variable
	variable string // that is being typed
	value    string // of it so far
	after    string // the fixed text after it
	known    map[string]string
}

func fillTemplate(template, typed string) filled {
	out := filled{known: map[string]string{}}
	fixed, rest, ok := strings.Cut(template, "{")
	if !ok || !strings.HasPrefix(typed, fixed) {
		out.fixed = fixed
		return out
	}
	done := fixed
	typed = typed[len(fixed):]
	for ok {
		name, after, _ := strings.Cut(rest, "}")
		var lit string
		lit, rest, ok = strings.Cut(after, "{")
		at := -1
		if lit != "" {
			at = strings.Index(typed, lit)
		}
		if at < 0 {
			out.fixed, out.variable, out.value, out.after = done, name, typed, lit
			return out
		}
		out.known[name] = typed[:at]
		done += typed[:at] + lit
		typed = typed[at+len(lit):]
	}
	return filled{} // complete
}
