package tool

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/tool/document"
	"github.com/lathe-dev/lathe/internal/tool/notebook"
)

// The limits of a notebook in one Read.
const (
	notebookMax    = 256 << 20 // bytes of the file
	notebookOutput = 4000      // characters of one output
	notebookImages = 4
	notebookImage  = 1 << 20 // bytes of an image of an output
)

// cellPage collects the cells that one Read shows.
type cellPage struct {
	b           strings.Builder
	first, last int // numbers of cells from 1
	most, chars int
	full        bool
	images      []llm.Part
}

// notebook shows a notebook as cells with their outputs; offset and limit count cells.
func (c *readCall) notebook(ctx context.Context, f io.ReadSeeker, info fs.FileInfo) (*agent.Result, *Seen, error) {
	if info.Size() > notebookMax {
		return nil, nil, errors.New("it is too large; read parts of it with jq in Bash")
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, nil, err
	}
	hash := sha256.New()
	r := io.TeeReader(f, hash)
	p := &cellPage{first: max(1, c.in.Offset), most: c.lines()}
	p.last = p.first - 1
	total, err := notebook.Read(r, func(i int, cell *notebook.Cell) error {
		if i+1 >= p.first && !p.full && i+1 < p.first+p.most {
			p.add(i, cell)
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, nil, err
	}
	if _, err := io.Copy(io.Discard, r); err != nil {
		return nil, nil, err
	}
	if p.last < total && total > 0 {
		fmt.Fprintf(&p.b, "\n[Showing cells %d-%d of %d. Use offset=%d to read on.]\n", p.first, p.last, total, p.last+1)
	}
	if total == 0 {
		p.b.WriteString("[A notebook without cells.]\n")
	}
	res := agent.TextResult(p.b.String())
	res.Parts = append(res.Parts, p.images...)
	res.Title = c.env.Rel(c.path.Lexical)
	res.View = event.TextView{Text: p.b.String(), Language: "markdown", Summary: count(max(0, p.last-p.first+1), "cell",
		"cells")}
	res.Meta = map[string]any{"type": "notebook", "file": map[string]any{"filePath": c.path.Lexical, "totalCells": total}}
	seen := &Seen{
		State: StateOf(info, [sha256.Size]byte(hash.Sum(nil))), Lines: total,
		Shown: []Span{{First: p.first, Last: p.last}},
	}
	return res, seen, nil
}

// add shows a cell, if there is room for it.
func (p *cellPage) add(i int, cell *notebook.Cell) {
	var b strings.Builder
	fmt.Fprintf(&b, "<cell id=%q type=%q>\n%s\n</cell>\n", cell.Name(i), cell.Type, strings.TrimRight(string(cell.Source),
		"\n"))
	for _, o := range cell.Outputs {
		if text := strings.TrimRight(p.output(o), "\n"); text != "" {
			fmt.Fprintf(&b, "<output>\n%s\n</output>\n", text)
		}
	}
	text := b.String()
	if p.chars += utf8.RuneCountInString(text); p.chars > readChars {
		if p.full = true; p.last >= p.first {
			return
		}
		text = cutLine(text, readChars) + "\n[The cell is cut.]\n"
	}
	p.last = i + 1
	p.b.WriteString(text)
}

// colours are the sequences with which tracebacks are coloured.
var colours = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("\x1b\\[[0-9;]*m") })

func (p *cellPage) output(o notebook.Output) string {
	switch {
	case o.Type == "error":
		trace := strings.Join(o.Traceback, "\n")
		if trace == "" {
			trace = o.Name + ": " + o.Value
		}
		return clipOutput(colours().ReplaceAllString(trace, ""))
	case o.Data == nil:
		return clipOutput(string(o.Text))
	}
	for _, mime := range []string{"image/png", "image/jpeg"} {
		if raw, ok := o.Data[mime]; ok {
			return p.picture(mime, raw)
		}
	}
	for _, mime := range []string{"text/markdown", "text/plain", "text/latex", "text/html"} {
		var t notebook.Text
		if raw, ok := o.Data[mime]; ok && json.Unmarshal(raw, &t) == nil {
			return clipOutput(string(t))
		}
	}
	return ""
}

// picture shows an image of an output, where there is room for it and it is whole.
func (p *cellPage) picture(mime string, raw json.RawMessage) string {
	note := fmt.Sprintf("[%s, %s]", mime, size(int64(len(raw))*3/4))
	var t notebook.Text
	if len(p.images) >= notebookImages || len(raw) > notebookImage*4/3 || json.Unmarshal(raw, &t) != nil {
		return note
	}
	data, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(string(t), "\n", ""))
	if err != nil || llm.ImageType(data) != mime || checkImage(mime, data) != nil {
		return note
	}
	if c, err := document.Config(strings.NewReader(string(data))); err != nil || max(c.Width, c.Height) > readEdge {
		return note
	}
	p.images = append(p.images, llm.Media{MIME: mime, Data: data})
	return fmt.Sprintf("[image %d below]", len(p.images))
}

func clipOutput(s string) string {
	if utf8.RuneCountInString(s) <= notebookOutput {
		return s
	}
	return cutLine(s, notebookOutput) + "… [cut]"
}
