package session

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
)

//go:embed export.css
var exportCSS string

// htmlPage renders a session as one HTML file without scripts. All text is escaped, and the content policy
// forbids the page to load or run anything, should that ever fail. (html/template would cost the whole
// program its removal of unused methods.)
type htmlPage struct {
	w    *bufio.Writer
	open bool // a section
}

// put writes markup of ours; all args are escaped.
func (h *htmlPage) put(format string, args ...string) {
	escaped := make([]any, len(args))
	for i, a := range args {
		escaped[i] = html.EscapeString(a)
	}
	fmt.Fprintf(h.w, format, escaped...)
}

func (h *htmlPage) begin(i Info) {
	name := oneLine(sessionName(i))
	h.put("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	h.put("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; " +
		"img-src data:\">\n")
	h.put("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
	h.put("<meta name=\"color-scheme\" content=\"light dark\">\n<title>%s</title>\n<style>\n", name)
	io.WriteString(h.w, exportCSS) //nolint:errcheck // bufio keeps the error for Flush
	h.put("</style>\n</head>\n<body>\n<header>\n<h1>%s</h1>\n", name)
	h.put("<p>%s</p>\n</header>\n<main>\n", strings.Join(nonEmpty(i.ID, i.Dir, stamp(i.Created), i.Model), " · "))
}

func nonEmpty(all ...string) []string {
	var out []string
	for _, s := range all {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

func (h *htmlPage) section(class, who string, when time.Time) {
	h.close()
	h.open = true
	h.put("<section class=\"%s\">\n<h2>%s <time>%s</time></h2>\n", class, who, stamp(when))
}

func (h *htmlPage) close() {
	if h.open {
		h.put("</section>\n")
	}
	h.open = false
}

func (h *htmlPage) user(u User, when time.Time) {
	switch {
	case u.Synthetic:
		h.section("note", "lathe", when)
	case u.Steered:
		h.section("user", "User, while it worked", when)
	default:
		h.section("user", "User", when)
	}
}

func (h *htmlPage) assistant(m llm.Message, when time.Time) {
	h.section("assistant", strings.TrimSpace("Assistant "+m.Model), when)
	if m.Stop == llm.StopBroken || m.Stop == llm.StopInterrupted {
		h.put("<p class=\"state\">%s</p>\n", string(m.Stop))
	}
}

func (h *htmlPage) reasoning(s string) {
	if s != "" {
		h.put("<details class=\"reasoning\"><summary>Reasoning</summary><div class=\"text\">%s</div></details>\n", s)
	}
}

func (h *htmlPage) media(m llm.Media) {
	if !llm.IsImage(m.MIME) {
		h.put("<p class=\"state\">[%s]</p>\n", fmt.Sprintf("%s %s, %d bytes", m.MIME, m.Name, len(m.Data)))
		return
	}
	h.put("<img alt=\"%s\" src=\"data:%s;base64,%s\">\n", m.Name, m.MIME, base64.StdEncoding.EncodeToString(m.Data))
}

func (h *htmlPage) call(c llm.ToolCall, end CallEnd) {
	h.put("<details class=\"call\"><summary><b>%s</b> %s", c.Name, oneLine(end.Title))
	if s := state(end); s != "" {
		h.put(" <em>%s</em>", s)
	}
	if end.Duration > 0 {
		h.put(" <time>%s</time>", end.Duration.String())
	}
	h.put("</summary>\n<pre>%s</pre>\n", indent(c.Input))
	if d := diffOf(end); d != "" {
		h.diff(d)
	} else {
		h.result(end.Result)
	}
	h.put("</details>\n")
}

func indent(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

func (h *htmlPage) result(r llm.ToolResult) {
	for _, p := range r.Parts {
		switch p := p.(type) {
		case llm.Text:
			if strings.HasPrefix(p.Text, "<system-reminder>") {
				continue
			}
			h.put("<pre class=\"result\">%s</pre>\n", p.Text)
		case llm.Media:
			h.media(p)
		}
	}
}

func (h *htmlPage) diff(unified string) {
	h.put("<pre class=\"diff\">")
	for line := range strings.Lines(unified) {
		switch line[0] {
		case '+':
			h.put("<ins>%s</ins>", line)
		case '-':
			h.put("<del>%s</del>", line)
		default:
			h.put("%s", line)
		}
	}
	h.put("</pre>\n")
}

func (h *htmlPage) end() {
	h.close()
	h.put("</main>\n</body>\n</html>\n")
}
