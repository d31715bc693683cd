package prompt

import "strings"

// parseMemory takes the HTML comments out of a memory file and finds its imports (@path), both outside code:
// text in a fence or between backticks is left as it is. It is linear in the size of the text.
func parseMemory(text string) (out string, imports []string) {
	s := scanner{text: text}
	for s.pos < len(s.text) {
		if s.lineStart() && s.fence() {
			continue
		}
		switch s.text[s.pos] {
		case '<':
			if s.comment() {
				continue
			}
		case '`':
			s.code()
			continue
		case '@':
			if name := s.importName(); name != "" {
				imports = append(imports, name)
				s.copy(1 + len(name))
				continue
			}
		}
		s.copy(1)
	}
	return s.out.String(), imports
}

type scanner struct {
	text    string
	pos     int
	out     strings.Builder
	noClose int // no "-->" from here on
	noTicks map[int]int
}

func (s *scanner) copy(n int) {
	s.out.WriteString(s.text[s.pos : s.pos+n])
	s.pos += n
}

func (s *scanner) lineStart() bool { return s.pos == 0 || s.text[s.pos-1] == '\n' }

// lineEnd is the position after the newline of the line at pos.
func (s *scanner) lineEnd(pos int) int {
	if i := strings.IndexByte(s.text[pos:], '\n'); i >= 0 {
		return pos + i + 1
	}
	return len(s.text)
}

// fence copies a fenced code block that starts here: three or more backticks or tildes, indented by at most
// three spaces, up to a line of at least as many (CommonMark 4.5), or to the end of the text.
func (s *scanner) fence() bool {
	end := s.lineEnd(s.pos)
	mark, n := fenceMark(s.text[s.pos:end])
	if n < 3 {
		return false
	}
	for end < len(s.text) {
		next := s.lineEnd(end)
		line := s.text[end:next]
		end = next
		m, k := fenceMark(line)
		if m == mark && k >= n && strings.Trim(line, " \t\r\n"+string(mark)) == "" {
			break
		}
	}
	s.copy(end - s.pos)
	return true
}

// fenceMark counts the backticks or tildes that a line starts with. Backticks with another one later in the
// line are inline code.
func fenceMark(line string) (mark byte, n int) {
	t := strings.TrimLeft(line, " ")
	if len(line)-len(t) > 3 || t == "" || (t[0] != '`' && t[0] != '~') {
		return 0, 0
	}
	mark = t[0]
	for n < len(t) && t[n] == mark {
		n++
	}
	if mark == '`' && strings.IndexByte(t[n:], '`') >= 0 {
		return 0, 0
	}
	return mark, n
}

// comment drops <!-- ... --> and, when nothing else is on its lines, the line break after it. A comment that
// is never closed stays visible.
func (s *scanner) comment() bool {
	rest := s.text[s.pos:]
	if !strings.HasPrefix(rest, "<!--") || (s.noClose > 0 && s.pos >= s.noClose) {
		return false
	}
	end := strings.Index(rest[4:], "-->")
	if end < 0 {
		s.noClose = max(s.pos, 1)
		return false
	}
	alone := s.lineStart()
	s.pos += 4 + end + 3
	if alone && s.pos < len(s.text) && s.text[s.pos] == '\n' {
		s.pos++
	}
	return true
}

// code copies an inline code span: a run of backticks up to the next run of the same length in the same
// paragraph, or the run alone when there is none.
func (s *scanner) code() {
	n := 0
	for s.pos+n < len(s.text) && s.text[s.pos+n] == '`' {
		n++
	}
	if end, ok := s.ticks(s.pos+n, n); ok {
		s.copy(end - s.pos)
		return
	}
	s.copy(n)
}

// ticks finds the next run of exactly n backticks after from. Failed searches are remembered, so that a text
// of nothing but backticks stays linear.
func (s *scanner) ticks(from, n int) (end int, ok bool) {
	if until, known := s.noTicks[n]; known && from < until {
		return 0, false
	}
	i := from
	for i < len(s.text) && !strings.HasPrefix(s.text[i:], "\n\n") {
		if s.text[i] != '`' {
			i++
			continue
		}
		k := i
		for k < len(s.text) && s.text[k] == '`' {
			k++
		}
		if k-i == n {
			return k, true
		}
		i = k
	}
	if s.noTicks == nil {
		s.noTicks = map[int]int{}
	}
	s.noTicks[n] = i
	return 0, false
}

// importName is the path of an import at pos, or empty. The @ must not follow a letter, as in an address; a
// space in the path is written "\ ".
func (s *scanner) importName() string {
	if s.pos > 0 && !strings.ContainsRune(" \t\n([{\"'*>-:", rune(s.text[s.pos-1])) {
		return ""
	}
	rest := s.text[s.pos+1:]
	end := 0
	for end < len(rest) && !strings.ContainsRune(" \t\r\n`<>\"'()[]{}|", rune(rest[end])) {
		if rest[end] == '\\' && end+1 < len(rest) && rest[end+1] == ' ' {
			end++
		}
		end++
	}
	name := strings.TrimRight(rest[:end], ".,;:!?*")
	if len(name) > 1000 || !strings.ContainsAny(name, "./") && name != strings.ToUpper(name) {
		return ""
	}
	return name
}
