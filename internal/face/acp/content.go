package acp

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// partsOf turns the content of a prompt into the parts of a message.
func partsOf(blocks []content) ([]llm.Part, error) {
	var out []llm.Part
	for _, b := range blocks {
		p, err := b.part()
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		return nil, badParams("the prompt is empty")
	}
	return out, nil
}

func (c content) part() (llm.Part, error) {
	switch {
	case c.Type == "text" && c.Text != nil:
		return llm.Text{Text: *c.Text}, nil
	case c.Type == "image" && c.Data != nil && c.MIME != "":
		return media(c.MIME, *c.Data, nameOf(c.URI))
	case c.Type == "resource_link" && c.URI != "" && c.Name != "":
		return llm.Text{Text: mention(c)}, nil
	case c.Type == "resource" && c.Resource != nil && c.Resource.URI != "":
		return c.Resource.part()
	case c.Type == "audio":
		return nil, badParams("lathe takes no audio")
	}
	return nil, badParams("a content of the type %q is not known, or lacks a part", c.Type)
}

// part is an embedded text, which may be newer than the file, or a file by value.
func (r resource) part() (llm.Part, error) {
	switch {
	case r.Text != nil:
		lines := strings.Count(strings.TrimSuffix(*r.Text, "\n"), "\n") + 1
		return session.AttachedText(pathOf(r.URI), fmt.Sprintf("%d lines", lines), *r.Text), nil
	case r.Blob != nil:
		return media(r.MIME, *r.Blob, nameOf(r.URI))
	}
	return nil, badParams("the resource %q has neither a text nor a blob", r.URI)
}

// media is a file by value, of the kinds that models take.
func media(mime, data, name string) (llm.Part, error) {
	b, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return nil, badParams("the data of a %s is not base64", mime)
	}
	if !strings.HasPrefix(mime, "image/") && mime != "application/pdf" {
		return nil, badParams("lathe takes images and PDF files, not %q", mime)
	}
	return llm.Media{MIME: mime, Data: b, Name: name}, nil
}

// mention is a link as it is typed: a file as @path, which lathe attaches.
func mention(c content) string {
	if path := pathOf(c.URI); path != c.URI {
		if strings.ContainsAny(path, " \t\"") {
			return `@"` + path + `"`
		}
		return "@" + path
	}
	return "[" + c.Name + "](" + c.URI + ")"
}

// pathOf is the path that a file URI names; another URI is returned as it is.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || !filepath.IsAbs(u.Path) {
		return uri
	}
	return u.Path
}

func nameOf(uri string) string {
	if uri == "" {
		return ""
	}
	return filepath.Base(pathOf(uri))
}

func mediaContent(m llm.Media) *content {
	data := base64.StdEncoding.EncodeToString(m.Data)
	if strings.HasPrefix(m.MIME, "image/") {
		return &content{Type: "image", Data: &data, MIME: m.MIME}
	}
	name := m.Name
	if name == "" {
		name = "file"
	}
	return &content{Type: "resource", Resource: &resource{URI: "file:///" + url.PathEscape(name), MIME: m.MIME, Blob: &data}}
}

// mostShown is how many bytes of a text are shown.
const mostShown = 64 << 10

func clip(s string) string {
	if len(s) <= mostShown {
		return s
	}
	return strings.ToValidUTF8(s[:mostShown], "") + "\n[...]"
}

func contents(s string) []toolContent {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	return []toolContent{{Type: "content", Content: text(clip(s))}}
}

// fenced is a text as a block of code in Markdown.
func fenced(s, language string) string {
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + language + "\n" + strings.TrimRight(s, "\n") + "\n" + fence
}

// viewContent shows a view. Paths are made absolute from dir.
func viewContent(v event.View, dir string) []toolContent {
	switch v := v.(type) {
	case event.Diff:
		var out []toolContent
		for _, one := range v.Each() {
			out = append(out, diffContent(one, dir)...)
		}
		return out
	case event.Command:
		s := strings.Join(v.Warning, "\n")
		if v.Output != "" {
			s = strings.TrimSpace(s + "\n\n" + fenced(clip(v.Output), ""))
		}
		return contents(s)
	case event.Listing:
		return contents(v.Title + "\n" + fenced(strings.Join(v.Items, "\n"), ""))
	case event.TextView:
		if v.Language == "markdown" {
			return contents(v.Text)
		}
		return contents(fenced(clip(v.Text), v.Language))
	case event.Image:
		return []toolContent{{Type: "content", Content: mediaContent(llm.Media{MIME: v.MIME, Data: v.Data, Name: v.Name})}}
	case event.Subagent:
		return contents(v.Result)
	}
	return nil
}

// diffContent is the diff of a file: each part with its old and its new lines.
func diffContent(d event.Diff, dir string) []toolContent {
	path := d.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	var out []toolContent
	for _, h := range d.Hunks() {
		var before, after strings.Builder
		for _, l := range h.Lines {
			if l == "" || l[0] == '\\' {
				continue
			}
			if l[0] != '+' {
				before.WriteString(l[1:] + "\n")
			}
			if l[0] != '-' {
				after.WriteString(l[1:] + "\n")
			}
		}
		was, is := before.String(), after.String()
		c := toolContent{Type: "diff", Path: path, NewText: &is}
		if len(out) == 0 {
			c.patch = d.Unified
		}
		if !d.Created {
			c.OldText = &was
		}
		out = append(out, c)
	}
	return out
}
