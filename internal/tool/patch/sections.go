package patch

import "strings"

// The markers of the form with sections.
const (
	begin      = "*** Begin Patch"
	end        = "*** End Patch"
	addHead    = "*** Add File:"
	updateHead = "*** Update File:"
	deleteHead = "*** Delete File:"
	moveHead   = "*** Move to:"
	endOfFile  = "*** End of File"
	comment    = "*** Environment ID:"
)

// header is the marker that a trimmed line begins with, or "".
func header(line string) string {
	for _, h := range []string{addHead, updateHead, deleteHead} {
		if len(line) >= len(h) && strings.EqualFold(line[:len(h)], h) {
			return h
		}
	}
	return ""
}

// sections reads the form between "*** Begin Patch" and "*** End Patch".
type sections struct {
	lines []string
	at    int
	files []File
}

func parseSections(lines []string, at int) ([]File, error) {
	p := &sections{lines: lines, at: at}
	for p.at < len(p.lines) {
		line := strings.TrimSpace(p.lines[p.at])
		switch h := header(line); {
		case line == end:
			if !p.another() {
				return p.files, nil
			}
		case line == "" || line == begin || strings.HasPrefix(line, comment) || fence(line):
			p.at++
		case h != "":
			if err := p.section(h, strings.TrimSpace(line[len(h):])); err != nil {
				return nil, err
			}
		case len(p.files) > 0 && !strings.HasPrefix(line, "***"):
			return p.files, nil // the end of a here-document, or text after the patch
		default:
			return nil,
				errorAt(p.at+1,
					`%q is no header. The headers are "*** Add File: path", "*** Update File: path" and "*** Delete File: path"`,
					excerpt(line))
		}
	}
	return p.files, nil
}

// another moves to the next patch in the same text, if there is one.
func (p *sections) another() bool {
	for i, l := range p.lines[p.at:] {
		if strings.TrimSpace(l) == begin {
			p.at += i
			return true
		}
	}
	return false
}

// fence reports whether a line begins or ends a block of code or a here-document.
func fence(line string) bool {
	return strings.HasPrefix(line, "```") || line == "EOF" || line == "PATCH"
}

func excerpt(s string) string {
	if r := []rune(s); len(r) > 80 {
		return string(r[:80]) + "…"
	}
	return s
}

func (p *sections) section(head, path string) error {
	f := File{Path: unquote(path), Line: p.at + 1}
	if f.Path == "" {
		return errorAt(p.at+1, `the header names no file; write it as "%s path/to/file"`, head)
	}
	p.at++
	var err error
	switch head {
	case addHead:
		f.Op = Add
		f.Content, err = p.content()
	case deleteHead:
		f.Op = Delete
		err = p.nothing(f.Path)
	default:
		f.To = p.move()
		f.Hunks, err = p.hunks()
		if err == nil && len(f.Hunks) == 0 && f.To == "" {
			err = errorAt(f.Line, "the section of %s has no hunk: add lines that begin with ' ', '-' or '+'", f.Path)
		}
	}
	p.files = append(p.files, f)
	return err
}

// over reports whether a line ends a section.
func over(line string) bool {
	trimmed := strings.TrimSpace(line)
	return trimmed == end || trimmed == begin || header(trimmed) != "" || strings.HasPrefix(line, "*** ") &&
		!strings.EqualFold(trimmed, endOfFile)
}

// move reads the new path of the file, if it is next.
func (p *sections) move() string {
	if p.at >= len(p.lines) {
		return ""
	}
	line := strings.TrimSpace(p.lines[p.at])
	if len(line) < len(moveHead) || !strings.EqualFold(line[:len(moveHead)], moveHead) {
		return ""
	}
	p.at++
	return unquote(strings.TrimSpace(line[len(moveHead):]))
}

// nothing passes over the lines of a deletion, which has none.
func (p *sections) nothing(path string) error {
	for ; p.at < len(p.lines) && !over(p.lines[p.at]); p.at++ {
		line := strings.TrimSpace(p.lines[p.at])
		if fence(line) {
			return nil
		}
		if line != "" && !strings.HasPrefix(line, "@@") && !strings.HasPrefix(line, "-") {
			return errorAt(p.at+1, "%q stands below the deletion of %s, which has no lines", excerpt(line), path)
		}
	}
	return nil
}

// content reads an added file. Models leave the + away, of empty lines or of all.
func (p *sections) content() (string, error) {
	from := p.at
	for p.at < len(p.lines) && !over(p.lines[p.at]) {
		p.at++
	}
	body, first := p.lines[from:p.at], from+1
	for len(body) > 0 && tail(body[len(body)-1]) {
		body = body[:len(body)-1]
	}
	plus := 0
	for _, l := range body {
		if strings.HasPrefix(l, "+") {
			plus++
		}
	}
	var b strings.Builder
	for i, l := range body {
		switch {
		case strings.HasPrefix(l, "+"):
			l = l[1:]
		case plus > 0 && strings.TrimSpace(l) != "":
			if i == 0 && strings.HasPrefix(l, "@@") {
				continue
			}
			return "", errorAt(first+i, "%q does not begin with +, as every line of an added file does", excerpt(l))
		}
		b.WriteString(l)
		b.WriteByte('\n')
	}
	return b.String(), nil
}

// tail reports whether a line at the end of a section does not belong to it.
func tail(l string) bool {
	t := strings.TrimSpace(l)
	return t == "" || fence(t) || strings.EqualFold(t, endOfFile)
}

// hunks reads the hunks of an update.
func (p *sections) hunks() ([]Hunk, error) {
	var out []Hunk
	var h Hunk
	first := p.at + 1
	flush := func() {
		if len(h.Lines) > 0 {
			h.Number = len(out) + 1
			out = append(out, h)
			h = Hunk{}
		}
	}
	for ; p.at < len(p.lines) && !over(p.lines[p.at]); p.at++ {
		line := p.lines[p.at]
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "@@") && !strings.HasPrefix(line, " ") {
			flush()
			h.anchor(trimmed)
			first = p.at + 1
			continue
		}
		if strings.EqualFold(trimmed, endOfFile) {
			h.End = true
			flush()
			continue
		}
		if fence(trimmed) && p.last() {
			continue
		}
		if len(out) == 0 && len(h.Lines) == 0 && fileHeads(p.lines, p.at) { // a unified diff inside of a section
			p.at++
			continue
		}
		h.Lines = append(h.Lines, lineOf(line))
	}
	h.trim()
	flush()
	if len(h.Anchors) > 0 {
		return nil,
			errorAt(first, "the hunk below %q has no lines: give those to change, each with ' ', '-' or '+' before it",
				h.Anchors[len(h.Anchors)-1])
	}
	for i := range out {
		out[i].trim()
	}
	return out, nil
}

// last reports whether nothing but blank lines and the end of the patch follows.
func (p *sections) last() bool {
	for _, l := range p.lines[p.at+1:] {
		if t := strings.TrimSpace(l); t != "" && t != end && !fence(t) {
			return false
		}
	}
	return true
}

// anchor takes the text behind @@: a line of the file, or the numbers of a unified diff.
func (h *Hunk) anchor(line string) {
	if at, _, ok := hunkRange(line); ok {
		h.At, h.Top = at.oldStart, at.top() // the line behind the numbers is git's choice, often far away
		return
	}
	text := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(line, "@@"), "@@"))
	if text != "" && text != "..." && text != "…" { // "@@ ... @@" names no line
		h.Anchors = append(h.Anchors, text)
	}
}

// trim drops empty lines that only separate, at either end of a hunk that has others.
func (h *Hunk) trim() {
	for len(h.Lines) > 0 && h.Lines[0].Bare {
		h.Lines = h.Lines[1:]
	}
	for len(h.Lines) > 0 && h.Lines[len(h.Lines)-1].Bare {
		h.Lines = h.Lines[:len(h.Lines)-1]
	}
}

// lineOf reads one line of a hunk. One without a mark is context.
func lineOf(line string) Line {
	if line == "" {
		return Line{Kind: ' ', Bare: true}
	}
	switch line[0] {
	case ' ', '-', '+':
		return Line{Kind: line[0], Text: line[1:]}
	}
	return Line{Kind: ' ', Text: line}
}
