package tool

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/files"
)

// page is the part of a file that one Read shows.
type page struct {
	first int      // number of the first line
	lines []string // as shown: cut to the longest a line may be
	cut   int      // how many lines were cut
	total int      // lines of the file; 0 when it was not read to its end
	more  bool     // the file goes on after the page
	full  bool     // the page ended early because of its characters
	chars int
}

// add takes one more line and reports whether the page has room for another.
func (p *page) add(line string, maxLen, maxLines, maxChars int) bool {
	if len(line) > maxLen {
		if n := utf8.RuneCountInString(line); n > maxLen {
			line = cutLine(line, maxLen) + fmt.Sprintf("… [cut: the line has %d characters]", n)
			p.cut++
		}
	}
	if p.chars += utf8.RuneCountInString(line) + 8; p.chars > maxChars && len(p.lines) > 0 {
		p.full = true
		return false
	}
	p.lines = append(p.lines, line)
	return len(p.lines) < maxLines
}

func cutLine(s string, runes int) string {
	for i := range s {
		if runes--; runes < 0 {
			return s[:i]
		}
	}
	return s
}

// number writes lines with their numbers: number, tab, text. Padding would cost a fifth more bytes and say nothing.
func number(b *strings.Builder, first int, lines []string) {
	for i, l := range lines {
		b.WriteString(strconv.Itoa(first + i))
		b.WriteByte('\t')
		b.WriteString(l)
		b.WriteByte('\n')
	}
}

// text reads a text file: to its end when it is not large, else only as far as asked.
func (c *readCall) text(ctx context.Context, f io.ReadSeeker, info fs.FileInfo, head []byte) (*agent.Result, *Seen,
	error,
) {
	if info.Size() > readWhole {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return nil, nil, err
		}
		return c.stream(ctx, f, info, head)
	}
	limit := int64(readWhole)
	if info.Size() == 0 { // as files of the kernel say
		limit = procReadMax
	}
	rest, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return nil, nil, err
	}
	data := append(head, rest...)
	if unsaved := c.env.unsaved(ctx, c.path, data); unsaved != nil {
		data = unsaved
	}
	text := files.Decode(data)
	p := c.paginate(text.View)
	if err := ctx.Err(); err != nil {
		return nil, nil, err // lines that are not shown must not be noted as shown
	}
	seen := &Seen{State: StateOf(info, HashOf(data)), Lines: p.total}
	seen.Shown = []Span{{First: p.first, Last: p.first + len(p.lines) - 1}}
	if diff, from := c.diff(p, text); diff != "" {
		seen.Shown[0].Needs = []string{from}
		return c.changed(p, diff), seen, nil
	}
	if p.whole() {
		c.env.Reads.full.add(c.path.Real, keptText{seen.State, text.Encoding, text.View, c.callID})
	}
	return c.result(p, info, text.Encoding), seen, nil
}

func (c *readCall) lineLen() int {
	if c.env.Limits.LineChars > 0 {
		return c.env.Limits.LineChars
	}
	return readLineLen
}

// paginate takes the asked lines of a whole text.
func (c *readCall) paginate(view string) *page {
	p := &page{first: max(1, c.in.Offset)}
	p.total = strings.Count(view, "\n")
	if view != "" && !strings.HasSuffix(view, "\n") {
		p.total++
	}
	at := 0
	for n := 1; n < p.first && at < len(view); n++ {
		i := strings.IndexByte(view[at:], '\n')
		if i < 0 {
			at = len(view)
			break
		}
		at += i + 1
	}
	room := true
	for room && at < len(view) {
		line, _, _ := strings.Cut(view[at:], "\n")
		if room = p.add(line, c.lineLen(), c.lines(), readChars); !p.full {
			at += len(line) + 1
		}
	}
	p.more = p.first+len(p.lines) <= p.total
	return p
}

// stream reads only the asked lines of a large file.
func (c *readCall) stream(ctx context.Context, f io.Reader, info fs.FileInfo, head []byte) (*agent.Result, *Seen,
	error,
) {
	if bytes.HasPrefix(head, []byte{0xFF, 0xFE}) || bytes.HasPrefix(head, []byte{0xFE, 0xFF}) {
		return nil, nil, fmt.Errorf("it is UTF-16 and has %s, more than is read at once; convert a part of it with iconv "+
			"in Bash", size(info.Size()))
	}
	p := &page{first: max(1, c.in.Offset)}
	s := lineScanner{r: bufio.NewReaderSize(f, 256<<10), keep: c.lineLen()*utf8.UTFMax + 1}
	for n := 1; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		line, err := s.next(n >= p.first)
		if errors.Is(err, io.EOF) {
			p.total = n - 1
			break
		}
		if err != nil {
			return nil, nil, err
		}
		if n == 1 {
			line = strings.TrimPrefix(line, "\uFEFF")
		}
		if n >= p.first && !p.add(line, c.lineLen(), c.lines(), readChars) {
			_, end := s.r.Peek(1)
			if p.more = p.full || end == nil; !p.more {
				p.total = n
			}
			break
		}
	}
	seen := &Seen{State: StateOf(info, [sha256.Size]byte{}), Lines: p.total}
	seen.Shown = []Span{{First: p.first, Last: p.first + len(p.lines) - 1}}
	return c.result(p, info, files.UTF8), seen, nil
}

// lineScanner reads lines of any length but keeps only the first bytes of each.
type lineScanner struct {
	r    *bufio.Reader
	keep int
}

// next returns the next line without its end, or "" when it is not wanted.
func (s *lineScanner) next(want bool) (string, error) {
	var line []byte
	for read := false; ; read = true {
		part, err := s.r.ReadSlice('\n')
		if want && len(line) < s.keep {
			line = append(line, part[:min(len(part), s.keep-len(line))]...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if errors.Is(err, io.EOF) && (read || len(part) > 0) {
			err = nil
		}
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		return files.Decode(line).View, err
	}
}

// result shows a page to the model and to people.
func (c *readCall) result(p *page, info fs.FileInfo, enc files.Encoding) *agent.Result {
	var b strings.Builder
	b.Grow(p.chars + 200)
	number(&b, p.first, p.lines)
	b.WriteString(p.notice(info.Size(), enc))
	last := p.first + len(p.lines) - 1
	total := p.total
	if total == 0 && p.more {
		total = last
	}
	content := strings.Join(p.lines, "\n")
	summary := count(len(p.lines), "line", "lines")
	if p.more || p.first > 1 {
		summary = fmt.Sprintf("lines %d-%d", p.first, last)
	}
	return &agent.Result{
		Parts: []llm.Part{llm.Text{Text: b.String()}},
		Title: c.env.Rel(c.path.Lexical),
		View:  event.TextView{Text: content, Path: c.path.Lexical, Summary: summary},
		Meta: map[string]any{"type": "text", "file": map[string]any{
			"filePath": c.path.Lexical, "content": content, "numLines": len(p.lines), "startLine": p.first, "totalLines": total,
		}},
	}
}

// notice names the lines that the page leaves out and how to go on.
func (p *page) notice(bytes int64, enc files.Encoding) string {
	var notes []string
	last := p.first + len(p.lines) - 1
	switch {
	case len(p.lines) == 0 && p.total == 0:
		notes = append(notes, "The file is empty.")
	case len(p.lines) == 0:
		notes = append(notes, fmt.Sprintf("The file has only %s; offset %d is past its end.",
			count(p.total, "line", "lines"), p.first))
	case p.more && p.total > 0:
		notes = append(notes, fmt.Sprintf("Showing lines %d-%d of %d. Use offset=%d to read on.", p.first, last, p.total,
			last+1))
	case p.more:
		notes = append(notes, fmt.Sprintf("Showing lines %d-%d of a file of %s. Use offset=%d to read on.", p.first, last,
			size(bytes), last+1))
	}
	if p.cut > 0 {
		notes = append(notes, fmt.Sprintf("%d long lines are cut.", p.cut))
	}
	switch enc {
	case files.Latin1, files.Mixed:
		notes = append(notes, "Bytes that are not UTF-8 are shown as Latin-1.")
	}
	if len(notes) == 0 {
		return ""
	}
	return "\n[" + strings.Join(notes, " ") + "]\n"
}

// listMax is how many entries of a folder are shown.
const listMax = 1000

// list shows a folder: folders with a slash, links with where they lead.
func (c *readCall) list() (*agent.Result, error) {
	entries, err := c.target.ReadDir()
	if err != nil {
		return nil, pathError("list", c.path, err)
	}
	names := make([]string, 0, min(len(entries), listMax))
	for _, e := range entries[:min(len(entries), listMax)] {
		name := files.ValidName(e.Name())
		if e.IsDir() {
			name += "/"
		} else if e.Type()&fs.ModeSymlink != 0 {
			name += "@"
		}
		names = append(names, name)
	}
	text := fmt.Sprintf("A folder with %d entries:\n%s\n", len(entries), strings.Join(names, "\n"))
	if len(entries) == 0 {
		text = "An empty folder.\n"
	}
	if len(entries) > listMax {
		text += fmt.Sprintf("[%d more are not shown; use Glob.]\n", len(entries)-listMax)
	}
	r := agent.TextResult(text)
	r.Title = c.env.Rel(c.path.Lexical)
	r.View = event.Listing{Title: r.Title, Items: names, Total: len(entries), Truncated: len(entries) > listMax}
	r.Meta = map[string]any{"type": "directory", "file": map[string]any{"filePath": c.path.Lexical, "entries": names}}
	return r, nil
}
