package program

import "strings"

// judgeSed parses the script: it may hold only commands that print or change the output.
func judgeSed(c *call) {
	defer c.sedInPlace()
	if c.has("-i", "--in-place") || c.has("-f", "--file") {
		c.Literal = true
	}
	if c.has("-i", "--in-place") {
		c.Class, c.Reason = write, "sed -i changes files"
		c.Writes = append(c.Writes, c.Reads...)
	}
	if c.has("--version", "--help") && len(c.ops) == 0 {
		return
	}
	scripts := 0
	for _, f := range c.flags {
		if f.name == "-e" || f.name == "--expression" {
			c.sedScript(f.value)
			scripts++
		}
	}
	if scripts == 0 && len(c.ops) > 0 && !c.has("-f", "--file") {
		c.sedScript(c.ops[0])
	}
}

// sedInPlace: with -i it is an edit of the files that it names and of their backups, where every word is known, the
// script does nothing else, and a backup has the name of its file and a suffix.
func (c *call) sedInPlace() {
	f, ok := c.get("-i", "--in-place")
	if !ok || len(c.strange)+len(c.unsure) > 0 || len(c.Script) > 0 || c.has("-f", "--file") || len(c.Reads) == 0 ||
		c.sedUnread || c.count("-i", "--in-place") > 1 {
		return
	}
	if f.filled {
		suffix := f.value.Text
		if strings.ContainsAny(suffix, "*/") {
			c.Writes = append(c.Writes, strings.ReplaceAll(suffix, "*", "x"))
		}
		if f.value.Unknown || f.value.Glob || strings.ContainsAny(suffix, "*/") {
			return
		}
		for _, file := range c.Reads {
			c.Writes = append(c.Writes, file+suffix)
		}
	}
	c.InPlace = true
}

func (c *call) sedScript(w Word) {
	if w.Unknown {
		c.sedUnread = true
		c.refuse("only running it tells which script sed runs")
		return
	}
	s := sedScript{text: w.Text}
	read := s.script()
	c.Reads, c.Writes = append(c.Reads, s.reads...), append(c.Writes, s.writes...)
	switch {
	case !read:
		c.exact("only running it tells which files the sed script " + w.Text + " reads or writes")
	case len(s.reads)+len(s.writes) > 0:
		c.exact("the sed script " + w.Text + " reads or writes further files")
	default:
		return
	}
	c.sedUnread = true
	if !read {
		for line := range strings.SplitSeq(w.Text, "\n") {
			// The e command runs the rest of its line.
			if before, run, ok := strings.Cut(line, "e "); ok && strings.Trim(before, "0123456789$,;!{} \t") == "" {
				c.Script = append(c.Script, run)
			}
		}
	}
}

// sedScript reads a sed script as far as it is made of the commands p d D g G h H x n N P = l q Q s y z a i c, of
// addresses, blocks, labels and branches, none of which writes, reads another file or runs anything, and of w W r R
// s///w, whose files it notes. Anything else (e F v s///e), and text that goes on in a further line, makes it stop.
type sedScript struct {
	text          string
	at            int
	reads, writes []string
}

func (s *sedScript) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

func (s *sedScript) blanks(set string) {
	for s.at < len(s.text) && strings.IndexByte(set, s.text[s.at]) >= 0 {
		s.at++
	}
}

func (s *sedScript) script() bool {
	depth := 0
	for {
		s.blanks(" \t\n;")
		if s.at >= len(s.text) {
			return depth == 0
		}
		if s.peek() == '}' {
			s.at++
			depth--
			if depth < 0 {
				return false
			}
			continue
		}
		if !s.addresses() {
			return false
		}
		s.blanks(" \t!")
		if s.peek() == '{' {
			s.at++
			depth++
			continue
		}
		if !s.command() {
			return false
		}
	}
}

func (s *sedScript) addresses() bool {
	ok, had := s.address()
	if !ok || !had {
		return ok
	}
	s.blanks(" \t")
	if s.peek() != ',' {
		return true
	}
	s.at++
	s.blanks(" \t")
	if c := s.peek(); c == '+' || c == '~' {
		s.at++
		return s.digits()
	}
	ok, had = s.address()
	return ok && had
}

func (s *sedScript) digits() bool {
	from := s.at
	s.blanks("0123456789")
	return s.at > from
}

func (s *sedScript) address() (ok, had bool) {
	switch c := s.peek(); {
	case c >= '0' && c <= '9':
		s.digits()
		if s.peek() == '~' {
			s.at++
			return s.digits(), true
		}
		return true, true
	case c == '$':
		s.at++
		return true, true
	case c == '/':
		s.at++
		if !s.until('/', true) {
			return false, true
		}
		s.blanks("IM")
		return true, true
	case c == '\\':
		return false, true
	}
	return true, false
}

// until goes past the next end that is not escaped, nor, in a pattern, within brackets.
func (s *sedScript) until(end byte, pattern bool) bool {
	for s.at < len(s.text) {
		c := s.text[s.at]
		switch {
		case c == '\\':
			s.at += 2
			continue
		case c == '\n':
			return false
		case c == end:
			s.at++
			return true
		case c == '[' && pattern:
			i := strings.IndexByte(s.text[s.at+1:], ']')
			if i < 0 || strings.IndexByte(s.text[s.at:s.at+1+i], end) < 0 {
				break
			}
			// A delimiter in brackets ends the pattern for some versions: nothing in the script may then do harm.
			if strings.ContainsAny(s.text, "wWerRFv") {
				return false
			}
			s.at += i + 1
		}
		s.at++
	}
	return false
}

func (s *sedScript) command() bool {
	c := s.peek()
	s.at++
	switch c {
	case 'p', 'd', 'D', 'g', 'G', 'h', 'H', 'x', 'n', 'N', 'P', '=', 'z':
		return s.end()
	case 'q', 'Q', 'l':
		s.blanks(" \t")
		s.digits()
		return s.end()
	case 'b', 't', 'T', ':':
		s.blanks(" \t")
		for isLetter(s.peek()) {
			s.at++
		}
		return s.end()
	case 'a', 'i', 'c':
		return s.line()
	case 's':
		return s.substitute()
	case 'y':
		end := s.peek()
		s.at++
		return delimiter(end) && s.until(end, false) && s.until(end, false) && s.end()
	case 'r', 'R':
		s.reads = append(s.reads, s.file())
		return true
	case 'w', 'W':
		s.writes = append(s.writes, s.file())
		return true
	}
	return false
}

// file takes the name of a file: the rest of the line.
func (s *sedScript) file() string {
	s.blanks(" \t")
	from := s.at
	if i := strings.IndexByte(s.text[from:], '\n'); i >= 0 {
		s.at += i
	} else {
		s.at = len(s.text)
	}
	return s.text[from:s.at]
}

// line takes the text of a, i and c: the rest of the line, which must not go on in the next one.
func (s *sedScript) line() bool {
	end := strings.IndexByte(s.text[s.at:], '\n')
	if end < 0 {
		end = len(s.text) - s.at
	}
	text := s.text[s.at : s.at+end]
	s.at += end
	return strings.TrimSpace(text) != "" && !strings.HasSuffix(text, `\`) && strings.TrimSpace(text)[0] != '\\'
}

func delimiter(b byte) bool {
	return b > ' ' && b < 0x7f && b != '\\' && b != '[' && b != ']' && !isLetter(b) && b != ';' && b != '}' && b != '{'
}

func (s *sedScript) substitute() bool {
	end := s.peek()
	s.at++
	if !delimiter(end) || !s.until(end, true) || !s.until(end, false) {
		return false
	}
	s.blanks("gpiIM0123456789")
	if s.peek() == 'w' {
		s.at++
		s.writes = append(s.writes, s.file())
		return true
	}
	return s.end()
}

// end: a command is over.
func (s *sedScript) end() bool {
	s.blanks(" \t")
	switch s.peek() {
	case 0:
		return s.at >= len(s.text)
	case ';', '\n', '}':
		return true
	}
	return false
}
