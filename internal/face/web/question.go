package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/permission"
)

// question is a question as the page shows it. Its texts are shown as texts, the HTML is the renderer's.
type question struct {
	ID         string     `json:"id"`
	Session    string     `json:"session"`
	Title      string     `json:"title"`
	Text       string     `json:"text,omitempty"`
	Evidence   string     `json:"evidence,omitempty"` // HTML
	Options    []option   `json:"options,omitempty"`
	Multi      bool       `json:"multi,omitempty"`
	Free       bool       `json:"free,omitempty"`
	Own        string     `json:"own,omitempty"`
	Parts      []question `json:"parts,omitempty"`
	Permission bool       `json:"permission,omitempty"`
	Local      bool       `json:"local,omitempty"` // only a person at the machine may answer
	Plan       string     `json:"plan,omitempty"`  // the plan to approve, which may be edited
	Open       string     `json:"open,omitempty"`  // a page to open
	Schema     any        `json:"schema,omitempty"`
}

type option struct {
	ID      string `json:"id"`
	Label   string `json:"label"`
	Help    string `json:"help,omitempty"`
	Preview string `json:"preview,omitempty"` // HTML
}

// asking is an open question.
func asking(session string, a event.Asked) question {
	q := a.Attributed()
	out := ask(q)
	out.ID, out.Session = a.ID, session
	return out
}

func ask(q event.Question) question {
	out := question{
		Title: q.Title, Text: q.Text, Multi: q.Multi, Free: q.Free, Own: q.Own, Permission: q.Permission != nil,
		Local: q.Trust,
	}
	for _, o := range q.Options {
		p := option{ID: o.ID, Label: o.Label, Help: o.Help}
		if o.Preview != "" {
			var w writer
			markdown(&w, o.Preview)
			p.Preview = w.String()
		}
		out.Options = append(out.Options, p)
	}
	for _, part := range q.Parts {
		out.Parts = append(out.Parts, ask(part))
	}
	if q.Elicitation != nil {
		if _, ok := checked(q.Elicitation.URL); ok {
			out.Open = q.Elicitation.URL
		}
	}
	if len(q.Schema) > 0 {
		out.Schema = q.Schema
	}
	if q.Consult && q.Call != nil {
		out.Plan = event.CallInput(*q.Call, "plan")
	}
	var w writer
	if q.Permission != nil {
		w.dir = q.Permission.Dir
		switch q.Preview.(type) {
		case event.Command, event.Diff: // it says more than the text
			out.Text = ""
		}
	}
	evidence(&w, q)
	out.Evidence = w.String()
	return out
}

// evidence is what a person decides on: the dangers, the whole command or change, the resolved targets, and why lathe
// asks.
func evidence(w *writer, q event.Question) {
	if q.Permission != nil {
		dangers(w, q.Permission.Accesses)
	}
	switch {
	case q.Preview != nil:
		view(w, q.Preview, true)
	case q.Call != nil && !q.Consult:
		input(w, q.Call.Input)
	}
	w.tag(`<dl class="facts">`)
	if p := q.Permission; p != nil {
		for _, a := range p.Accesses {
			if name, text := access(a, p.Dir); name != "" {
				fact(w, name, text)
			}
		}
		fact(w, "in", p.Dir)
		if len(p.Agent) > 0 {
			fact(w, "agent", strings.Join(p.Agent, " > "))
		}
	}
	fact(w, "why", q.Reason)
	fact(w, "undo", q.Undo)
	fact(w, "outside", q.Outside)
	for _, o := range q.Options {
		if o.ID == event.ChoiceAlways {
			fact(w, "rule", strings.ReplaceAll(o.Help, "\n", ", "))
		}
	}
	w.tag("</dl>")
}

// dangers are the findings of the static checks.
func dangers(w *writer, list []permission.Access) {
	for _, a := range list {
		if a.Command == nil {
			continue
		}
		for _, f := range a.Command.Findings {
			w.element(`<p class="danger">`, f.Text, "</p>")
		}
	}
}

// input shows a call's input where there is no better picture of it.
func input(w *writer, raw json.RawMessage) {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return
	}
	w.tag(`<pre class="cmd" tabindex="0"><code>`)
	for i, s := range strings.Split(b.String(), "\n") {
		if i > 0 {
			w.tag("\n")
		}
		w.line(s)
	}
	w.tag("</code></pre>")
}

func fact(w *writer, name, text string) {
	if text == "" {
		return
	}
	w.element("<dt>", name, "</dt>")
	w.element("<dd>", text, "</dd>")
}

// access describes an access: the resolved target, and the link it was named by.
func access(a permission.Access, dir string) (name, text string) {
	text = relative(a.Target, dir)
	if a.Named != "" && a.Named != a.Target {
		text = relative(a.Named, dir) + " → " + text
	}
	switch {
	case a.Node == permission.Special:
		text += " (a device or pipe)"
	case a.Links > 1 && a.Kind == permission.Write:
		text += fmt.Sprintf(" (the file has %d names)", a.Links)
	}
	switch a.Kind {
	case permission.Read:
		return "reads", text
	case permission.Write:
		return "writes", text
	case permission.Net:
		return "reaches", a.Target
	case permission.Exec:
		return "runs", programs(a)
	}
	return "", ""
}

// relative is a path below dir as people write it.
func relative(path, dir string) string {
	if rel, err := filepath.Rel(dir, path); dir != "" && err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// programs names the files that a command would run.
func programs(a permission.Access) string {
	if a.Command == nil {
		return ""
	}
	var paths []string
	seen := map[string]bool{}
	for _, p := range a.Command.Parts {
		if p.Path != "" && !seen[p.Path] {
			seen[p.Path] = true
			paths = append(paths, p.Path)
		}
	}
	return strings.Join(paths, ", ")
}
