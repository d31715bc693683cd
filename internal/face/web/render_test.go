package web

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
)

// allowed is everything that the renderer may write: text without a bare character of HTML, and these tags.
var allowed = regexp.MustCompile(`^(?:[^<>&"']|&(?:amp|lt|gt|#34|#39);|</?(?:p|h[2-6]|blockquote|ul|ol|li|em|strong|del|ins|code|pre|table|tbody|tr|td|th|div|span|hr|br|a|button|img|details|summary|b|time|section|dl|dt|dd)(?:` + attribute + `)*>)*$`)

const attribute = ` (?:class="[a-zA-Z0-9 -]*"|href="(?:https?|mailto):[^"<>]*"|target="_blank"|rel="noopener noreferrer"` +
	`|tabindex="0"|role="(?:img|region)"|aria-label="[a-z ]*"|aria-(?:pressed|expanded)="false"|type="button"|hidden|open` +
	`|data-act="[a-z]+"|data-path="[^"<>]*"|data-line="[0-9]+"|colspan="4"|scope="col"|value="[0-9]+"` +
	`|loading="lazy"|alt="[^"<>]*"|src="data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]*")`

var tags = regexp.MustCompile(`<(/?)([a-z0-9]+)[^>]*>`)

// check reports markup that is not allowed, or not closed.
func check(tb testing.TB, from, html string) {
	tb.Helper()
	if !allowed.MatchString(html) {
		tb.Fatalf("%q became\n%s", from, html)
	}
	var open []string
	for _, m := range tags.FindAllStringSubmatch(html, -1) {
		switch name := m[2]; {
		case name == "br" || name == "hr" || name == "img":
		case m[1] == "":
			open = append(open, name)
		case len(open) == 0 || open[len(open)-1] != name:
			tb.Fatalf("%q: </%s> closes %v in\n%s", from, name, open, html)
		default:
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		tb.Fatalf("%q leaves %v open in\n%s", from, open, html)
	}
}

// hostile are texts that tried to become HTML elsewhere.
var hostile = []string{
	`<script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, `[a](javascript:alert(1))`, `![a](javascript:alert(1))`,
	`[a](https://x.example/"onmouseover="alert(1))`, `<https://x.example/"onclick=alert(1)>`, "`<b>`", "```\"><script>\n</pre><script>\n```",
	"[a](data:text/html,<script>alert(1)</script>)", "<javascript:alert(1)>", "[a][b]\n\n[b]: javascript:alert(1) 'x'",
	"https://x.example/<script>", "www.x.example/\"'<>", "&lt;script&gt;", "&#60;script&#62;", "| a\" | <b> |\n|---|---|\n| <i> | ' |",
	"- <b>\n  - </li><script>\n\n1. x\n\n> </blockquote>", "\x1b[31m<b>\x1b[0m \u202e <x>", "<svg/onload=alert(1)>", "[x](vbscript:a)",
	"[x](https://user:pass@x.example@y.example/)", "[x](HTTPS://X.example)", "<!-- --><script>", "<div\nonclick=x>\n", "$ <x>\ty",
	"--- a\n+++ b\n@@ -1,2 +1,2 @@ <b>\n-a <b>\n+a <i>\n \"\n\\ <no>\n", "\x1b[38;5;999m<\x1b[38;2;1;2;3mx\x1b[1;4;7;9;48;5;3my",
}

func TestForeignTextNeverBecomesMarkup(t *testing.T) {
	for _, s := range hostile {
		all(t, s)
	}
}

// all renders a text in every way there is.
func all(tb testing.TB, s string) {
	tb.Helper()
	for _, v := range []event.View{
		event.Diff{Path: s, Unified: s, Added: 3, Created: true},
		event.Diff{Path: "a.go", Unified: "@@ -1 +1 @@\n-" + s + "\n+" + s + "x"},
		event.Command{Command: s, Output: s, Warning: []string{s}, Background: s, OutputRef: s, ExitCode: 1},
		event.Listing{Title: s, Items: slices.Repeat([]string{s}, 20), Total: 40},
		event.TextView{Text: s, Path: s, Language: s, Summary: s},
		event.TextView{Text: strings.Repeat(s+"\n", 40), Path: "a.go"},
		event.TextView{Text: s, Language: "markdown"},
		event.Todo{Items: []event.TodoItem{{Content: s, Status: s}, {ActiveForm: s, Status: "in_progress"}}},
		event.Image{MIME: s, Data: []byte(s), Name: s},
		event.Image{MIME: "image/png", Data: []byte(s), Name: s},
		event.Subagent{Agent: s, Title: s, Result: s},
	} {
		var w writer
		view(&w, v, false)
		check(tb, s, w.String())
	}
	var w writer
	markdown(&w, s)
	check(tb, s, w.String())
}

func FuzzRender(f *testing.F) {
	for _, s := range hostile {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, s string, cut int) {
		all(t, s)
		d := newDocument() // as it streams: every state is closed HTML
		for i := 0; i < len(s); {
			n := min(len(s), i+1+(cut&0xf))
			d.add(s[i:n])
			settled, tail := d.changes()
			check(t, s, settled)
			check(t, s, tail)
			i = n
		}
	})
}

func TestMarkdownIsWhatItWasInTheTerminal(t *testing.T) {
	for in, want := range map[string]string{
		"## A\n\n### B\n\ntext *b* **c** `d` ~~e~~": "<h2>A</h2><h3>B</h3><p>text <em>b</em> <strong>c</strong> " +
			"<code>d</code> <del>e</del></p>",
		"- a\n  - b\n- c": "<ul><li><p>a</p><ul><li><p>b</p></li></ul></li><li><p>c</p></li></ul>",
		"see `main.go:12` and a.b": `<p>see <code><button type="button" class="file" data-act="file" data-path="main.go" ` +
			`data-line="12">main.go:12</button></code> and a.b</p>`,
		"3. a\n4. b":      `<ol><li value="3"><p>a</p></li><li value="4"><p>b</p></li></ol>`,
		"> a\n> - b\n\nc": "<blockquote><p>a</p><ul><li><p>b</p></li></ul></blockquote><p>c</p>",
		"a\\\nb":          "<p>a<br>b</p>",
		"- [x] a\n- [ ] b": `<ul><li class="task"><span class="box" role="img" aria-label="done">☑</span> <p>a</p></li>` +
			`<li class="task"><span class="box" role="img" aria-label="open">☐</span> <p>b</p></li></ul>`,
		"[x](https://a.example/b)": `<p><a href="https://a.example/b" target="_blank" rel="noopener noreferrer">x</a>` +
			` <span class="url">(a.example)</span></p>`,
	} {
		var w writer
		markdown(&w, in)
		if got := w.String(); got != want {
			t.Errorf("%q became\n%s, not\n%s", in, got, want)
		}
	}
}

func TestATextThatGrewIsTheTextAsAWhole(t *testing.T) {
	text := strings.Repeat("# T\n\n- a\n  - b `c`\n\n> q\n\n```go\nfunc x() {}\n```\n\n"+
		"| a | b |\n|---|---|\n| 1 | 2 |\n\np *q*\n\n", 3) +
		"```go\n" + strings.Repeat("x := 1\n", 300) + "```\n"
	var whole writer
	markdown(&whole, text)
	for _, size := range []int{1, 7, 100} {
		d := newDocument()
		var got strings.Builder
		for i := 0; i < len(text); i += size {
			d.add(text[i:min(i+size, len(text))])
			settled, tail := d.changes()
			got.WriteString(settled)
			check(t, text, tail)
		}
		d.end()
		settled, tail := d.changes()
		got.WriteString(settled)
		if tail != "" || got.String() != whole.String() {
			t.Errorf("in pieces of %d it became\n%s\nand the tail %q", size, got.String(), tail)
		}
	}
}
