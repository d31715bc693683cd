package patch

import (
	"strconv"
	"strings"
)

// span is what the numbers of a hunk's header say.
type span struct{ oldStart, oldLines, newLines int }

// hunkRange reads "@@ -1,2 +3,4 @@ rest".
func hunkRange(line string) (s span, rest string, ok bool) {
	body, found := strings.CutPrefix(line, "@@ -")
	if !found {
		return s, "", false
	}
	old, body, found := strings.Cut(body, " +")
	if !found {
		return s, "", false
	}
	fresh, rest, found := strings.Cut(body, "@@")
	if !found {
		fresh, rest, _ = strings.Cut(body, " ")
	}
	var ok1, ok2 bool
	s.oldStart, s.oldLines, ok1 = numbers(old)
	_, s.newLines, ok2 = numbers(strings.TrimSpace(fresh))
	return s, strings.TrimSpace(rest), ok1 && ok2
}

// top reports whether a hunk adds lines above the first one.
func (s span) top() bool { return s.oldStart == 0 && s.oldLines == 0 }

// numbers reads "12,3" or "12".
func numbers(s string) (start, count int, ok bool) {
	a, b, two := strings.Cut(s, ",")
	start, err := strconv.Atoi(a)
	count = 1
	if err == nil && two {
		count, err = strconv.Atoi(b)
	}
	return start, count, err == nil && start >= 0 && count >= 0
}

// startsDiff reports whether the unified diff of a file begins at a line.
func startsDiff(lines []string, i int) bool {
	return strings.HasPrefix(lines[i], "diff --git ") || fileHeads(lines, i)
}

// fileHeads reports whether the two lines with a file's names are at i.
func fileHeads(lines []string, i int) bool {
	return strings.HasPrefix(lines[i], "--- ") && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "+++ ")
}

// unified reads unified diffs.
type unified struct {
	lines []string
	at    int
	files []File
}

func parseUnified(lines []string, at int) ([]File, error) {
	p := &unified{lines: lines, at: at}
	for p.at < len(p.lines) {
		if !startsDiff(p.lines, p.at) {
			if l := p.lines[p.at]; strings.HasPrefix(l, "@@ -") {
				return nil, errorAt(p.at+1, "a hunk without a file: put \"--- a/file\" and \"+++ b/file\" before it")
			}
			p.at++ // text between the diffs
			continue
		}
		if err := p.file(); err != nil {
			return nil, err
		}
	}
	return p.files, nil
}

// extended are the lines of git between its header and the hunks.
type extended struct {
	a, b     string // of the "diff --git" line
	from, to string // of a rename
	copied   bool
	added    bool
	deleted  bool
	exec     *bool
}

func (p *unified) file() error {
	f := File{Line: p.at + 1}
	g, err := p.extended()
	if err != nil {
		return err
	}
	old, fresh := g.a, g.b
	if p.at < len(p.lines) && fileHeads(p.lines, p.at) {
		old, fresh = nameOf(p.lines[p.at][4:]), nameOf(p.lines[p.at+1][4:])
		old, fresh = prefixless(old, "a/", fresh, "b/")
		p.at += 2
	}
	if g.from != "" {
		old, fresh = g.from, g.to
	}
	if f.Hunks, err = p.hunks(); err != nil {
		return err
	}
	f.Exec = g.exec
	switch {
	case g.copied:
		return errorAt(f.Line, "it copies %s to %s; write the copy with Write instead", g.from, g.to)
	case g.added || old == devNull:
		f.Op, f.Path = Add, fresh
		f.Content, err = f.added()
		f.Hunks = nil
	case g.deleted || fresh == devNull:
		f.Op, f.Path = Delete, old
	default:
		if f.Path = old; fresh != old {
			f.To = fresh
		}
		if len(f.Hunks) == 0 && f.To == "" && f.Exec == nil {
			err = errorAt(f.Line, "the diff of %s has no hunk", f.Path)
		}
	}
	if err == nil && (f.Path == "" || f.Path == devNull) {
		err = errorAt(f.Line, "the diff names no file: put \"--- a/file\" and \"+++ b/file\" before its hunks")
	}
	p.files = append(p.files, f)
	return err
}

const devNull = "/dev/null"

// extended reads the lines of git before the hunks, if they are there.
func (p *unified) extended() (extended, error) {
	var g extended
	names, git := strings.CutPrefix(p.lines[p.at], "diff --git ")
	if !git {
		return g, nil
	}
	g.a, g.b = gitNames(names)
	yes, no := true, false
	for p.at++; p.at < len(p.lines) && !startsDiff(p.lines, p.at) && !strings.HasPrefix(p.lines[p.at], "@@"); p.at++ {
		word, rest := p.lines[p.at], ""
		for _, h := range []string{
			"rename from ", "rename to ", "copy from ", "copy to ", "new file mode ",
			"deleted file mode ", "new mode ",
		} {
			if r, ok := strings.CutPrefix(word, h); ok {
				word, rest = h, strings.TrimSpace(r)
			}
		}
		switch word {
		case "rename from ", "copy from ":
			g.from, g.copied = unquote(rest), g.copied || word == "copy from "
		case "rename to ", "copy to ":
			g.to = unquote(rest)
		case "deleted file mode ":
			g.deleted = true
		case "new file mode ", "new mode ":
			g.added = g.added || word == "new file mode "
			if rest == "120000" || rest == "160000" {
				return g, errorAt(p.at+1, "%s is a link or a submodule, which a patch cannot make; use Bash", g.b)
			}
			g.exec = &no
			if strings.HasSuffix(rest, "755") {
				g.exec = &yes
			} else if g.added {
				g.exec = nil
			}
		}
		if strings.HasPrefix(word, "GIT binary patch") || strings.HasPrefix(word, "Binary files ") {
			return g, errorAt(p.at+1, "%s is binary, and only text can be patched; leave it out", g.b)
		}
	}
	return g, nil
}

// gitNames splits "a/x b/x". The names are the same in most diffs, so that blanks in them do no harm.
func gitNames(s string) (a, b string) {
	if strings.HasPrefix(s, `"`) {
		if q, err := strconv.QuotedPrefix(s); err == nil {
			return prefixless(unquote(q), "a/", unquote(strings.TrimSpace(s[len(q):])), "b/")
		}
	}
	if half := len(s) / 2; len(s)%2 == 1 && s[half] == ' ' {
		if a, b = prefixless(s[:half], "a/", s[half+1:], "b/"); a == b {
			return a, b
		}
	}
	a, b, _ = strings.Cut(s, " b/")
	return strings.TrimPrefix(a, "a/"), b
}

// prefixless takes the prefixes of git off two names, if both have them or are no file.
func prefixless(old, a, fresh, b string) (string, string) {
	if (strings.HasPrefix(old, a) || old == devNull) && (strings.HasPrefix(fresh, b) || fresh == devNull) {
		return strings.TrimPrefix(old, a), strings.TrimPrefix(fresh, b)
	}
	return old, fresh
}

// nameOf is the name in a line of a file's head: without a time behind it, quotes or an order of letters as \303\244.
func nameOf(s string) string {
	name, _, _ := strings.Cut(s, "\t")
	return unquote(strings.TrimSpace(name))
}

// unquote takes the quotes off a name, of git (C escapes) or of a shell.
func unquote(s string) string {
	if len(s) < 2 || s[0] != s[len(s)-1] {
		return s
	}
	switch s[0] {
	case '"':
		if u, err := strconv.Unquote(s); err == nil {
			return u
		}
		return s[1 : len(s)-1]
	case '\'', '`':
		return s[1 : len(s)-1]
	}
	return s
}

// added is the content of a file that the diff makes.
func (f *File) added() (string, error) {
	var b strings.Builder
	for _, h := range f.Hunks {
		for _, l := range h.Lines {
			switch {
			case l.Bare:
				b.WriteByte('\n')
			case l.Kind != '+':
				return "", errorAt(f.Line, "%s is a new file, so each of its lines begins with +, and %q does not", f.Path,
					excerpt(l.Text))
			default:
				b.WriteString(l.Text)
				if !l.Cut {
					b.WriteByte('\n')
				}
			}
		}
	}
	return b.String(), nil
}

// hunks reads the hunks of one file.
func (p *unified) hunks() ([]Hunk, error) {
	var out []Hunk
	for p.at < len(p.lines) && !startsDiff(p.lines, p.at) {
		line := p.lines[p.at]
		if !strings.HasPrefix(line, "@@") {
			p.at++ // text between hunks
			continue
		}
		h := Hunk{Number: len(out) + 1}
		s, rest, ok := hunkRange(line)
		if !ok {
			h.anchor(line)
		} else if h.At, h.Top = s.oldStart, s.top(); rest != "" {
			h.Anchors = nil // git's choice of a line above, often far away: the numbers say more
		}
		p.at++
		p.body(&h, s, ok)
		h.trim()
		if len(h.Lines) == 0 {
			return nil, errorAt(p.at, "the hunk has no lines")
		}
		out = append(out, h)
	}
	return out, nil
}

// body reads the lines of a hunk: as many as its numbers say if the hunk ends there, else all that look like it.
func (p *unified) body(h *Hunk, s span, counted bool) {
	if counted {
		if n, ok := p.count(s); ok {
			for range n {
				p.take(h)
			}
			return
		}
	}
	for p.at < len(p.lines) && !strings.HasPrefix(p.lines[p.at], "@@") && !startsDiff(p.lines, p.at) {
		line := p.lines[p.at]
		if line != "" && !strings.ContainsRune(" +-\\", rune(line[0])) {
			if fence(line) || strings.HasPrefix(line, "***") || p.strange() {
				return
			}
		}
		p.take(h)
	}
}

// strange reports whether no line with a mark follows before the next hunk or file: then this one is text after the
// diff.
func (p *unified) strange() bool {
	for i := p.at; i < len(p.lines) && !strings.HasPrefix(p.lines[i], "@@") && !startsDiff(p.lines, i); i++ {
		if l := p.lines[i]; l != "" && strings.ContainsRune("+-", rune(l[0])) {
			return false
		}
	}
	return true
}

// take reads one line of a hunk.
func (p *unified) take(h *Hunk) {
	line := p.lines[p.at]
	p.at++
	if strings.HasPrefix(line, `\`) { // \ No newline at end of file
		if n := len(h.Lines); n > 0 {
			h.Lines[n-1].Cut = true
		}
		return
	}
	h.Lines = append(h.Lines, lineOf(line))
}

// count is how many lines a hunk has by its numbers, where a boundary follows.
func (p *unified) count(s span) (n int, ok bool) {
	old, fresh := s.oldLines, s.newLines
	at := p.at
	for at < len(p.lines) && (old > 0 || fresh > 0) {
		line := p.lines[at]
		switch {
		case line == "" || line[0] == ' ':
			old, fresh = old-1, fresh-1
		case line[0] == '-':
			old--
		case line[0] == '+':
			fresh--
		case line[0] == '\\':
		default:
			return 0, false
		}
		at++
	}
	if old != 0 || fresh != 0 {
		return 0, false
	}
	if at < len(p.lines) && strings.HasPrefix(p.lines[at], `\`) {
		at++
	}
	if at < len(p.lines) {
		next := p.lines[at]
		if next != "" && next != "-- " && !strings.HasPrefix(next, "@@") && !startsDiff(p.lines, at) && strings.ContainsRune(
			" +-", rune(next[0])) {
			return 0, false
		}
	}
	return at - p.at, true
}
