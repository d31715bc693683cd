package session

import (
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// text renders Markdown.
func (h *htmlPage) text(s string) {
	h.put("<div class=\"md\">\n")
	var run []string // lines without a table
	flush := func() {
		h.markdown(strings.Join(run, "\n"))
		run = nil
	}
	lines, fenced := strings.Split(s, "\n"), false
	for i := 0; i < len(lines); i++ {
		if t := strings.TrimSpace(lines[i]); strings.HasPrefix(t, "```") || strings.HasPrefix(t, "~~~") {
			fenced = !fenced
		}
		n := 0
		if !fenced {
			n = tableRows(lines[i:])
		}
		if n == 0 {
			run = append(run, lines[i])
			continue
		}
		flush()
		h.table(lines[i : i+n])
		i += n - 1
	}
	flush()
	h.put("</div>\n")
}

// markdown renders Markdown without tables. What it does not understand is shown as it is written.
func (h *htmlPage) markdown(s string) {
	if err := pageMarkdown().Convert([]byte(s), h.w); err != nil {
		h.put("%s", s)
	}
}

// tableRows counts the lines of the table that begins here: a row, a row of dashes, and all that follow.
func tableRows(lines []string) (n int) {
	if len(lines) < 2 || !strings.Contains(lines[1], "-") || strings.Trim(lines[1], "|-: \t") != "" {
		return 0
	}
	for n < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[n]), "|") {
		n++
	}
	return n
}

func (h *htmlPage) table(rows []string) {
	h.put("<table>\n")
	for i, row := range rows {
		if i == 1 {
			continue // the dashes
		}
		open, shut := "<td>", "</td>"
		if i == 0 {
			open, shut = "<th>", "</th>"
		}
		h.put("<tr>")
		for cell := range strings.SplitSeq(strings.Trim(strings.TrimSpace(row), "|"), "|") {
			var b strings.Builder
			if pageMarkdown().Convert([]byte(strings.TrimSpace(cell)), &b) != nil {
				continue // a strings.Builder takes everything
			}
			text := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(b.String()), "<p>"), "</p>")
			io.WriteString(h.w, open+text+shut) //nolint:errcheck // bufio keeps the error for Flush
		}
		h.put("</tr>\n")
	}
	h.put("</table>\n")
}

// pageMarkdown renders Markdown, and takes HTML in it for text: nothing foreign becomes markup. The package's extension
// for tables would cost each start of the program a millisecond.
var pageMarkdown = sync.OnceValue(func() goldmark.Markdown {
	without := func(all []util.PrioritizedValue, kind any) []util.PrioritizedValue {
		return slices.DeleteFunc(all, func(v util.PrioritizedValue) bool {
			return reflect.TypeOf(v.Value) == reflect.TypeOf(kind)
		})
	}
	return goldmark.New(
		goldmark.WithParser(parser.NewParser(
			parser.WithBlockParsers(without(parser.DefaultBlockParsers(), parser.NewHTMLBlockParser())...),
			parser.WithInlineParsers(without(parser.DefaultInlineParsers(), parser.NewRawHTMLParser())...),
			parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
		)),
		goldmark.WithRendererOptions(html.WithHardWraps()),
	)
})
