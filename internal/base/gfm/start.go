package gfm

import (
	"strconv"
	"strings"
)

// start finds the block that begins on the line, behind the containers that matched.
func (b *Blocks[T]) start(matched int) {
	para := b.Leaf != nil && b.Leaf.Kind == Paragraph
	lazy, entered := matched < len(b.open), false
	for {
		indent := b.indentation()
		if b.isBlank() {
			break
		}
		if indent >= 4 {
			if !para {
				b.closeTo(matched)
				b.code()
				return
			}
			break
		}
		text := b.line[b.pos+indent:]
		if b.block(text, indent, &matched, para, lazy) {
			return
		}
		if !b.enter(text, indent, matched, para && !lazy, para) {
			break
		}
		matched, para, lazy, entered = len(b.open), false, false, true
	}
	b.text(matched, para, lazy, entered)
}

// block starts a leaf other than a paragraph, if one begins with text.
func (b *Blocks[T]) block(text string, indent int, matched *int, para, lazy bool) bool {
	if para && !lazy && len(b.Leaf.Lines) > 0 {
		if level := setext(text); level > 0 {
			b.Leaf.Kind, b.Leaf.Level = Heading, level
			b.close()
			return true
		}
		if b.beginsTable(text) {
			return true
		}
	}
	start := func(k Kind) *Leaf[T] {
		b.closeTo(*matched)
		return b.begin(k)
	}
	if level, title, ok := atx(text); ok {
		l := start(Heading)
		l.Level, l.Lines = level, []string{title}
		b.close()
		return true
	}
	if c, n, info, ok := opensFence(text); ok {
		l := start(Fence)
		l.fenceChar, l.fenceLen, l.fenceStart, l.Info = c, n, indent, info
		return true
	}
	if end, ok := opensHTML(text, para); ok {
		l := start(HTML)
		l.htmlEnd, l.Lines = end, []string{b.rest()}
		if endsHTML(text, end) {
			b.close()
		}
		return true
	}
	if isRule(text) {
		start(Rule)
		b.close()
		return true
	}
	return false
}

// code starts indented code.
func (b *Blocks[T]) code() {
	l := b.begin(Indented)
	l.Lines = []string{b.rest()[4:]}
}

// enter opens a quote or a list item, if one begins with text. interrupts says that a paragraph is open in
// the same container, which only some items may end.
func (b *Blocks[T]) enter(text string, indent, matched int, interrupts, para bool) bool {
	if matched >= maxDepth {
		return false
	}
	if text[0] == '>' {
		b.closeTo(matched)
		b.close()
		b.inside().last = nil
		b.open = append(b.open, container{quote: true, fresh: true})
		b.pos += indent + 1
		if strings.HasPrefix(b.rest(), " ") {
			b.pos++
		}
		return true
	}
	c, width, ok := item(text, interrupts)
	if !ok {
		return false
	}
	b.closeTo(matched)
	b.close()
	in := b.inside()
	if in.last != nil && in.last.marker == c.marker && c.ordered() {
		c.number = in.last.number + 1
	}
	in.last, in.fresh = nil, false
	b.pos += indent + width
	spaces := b.indentation()
	switch {
	case b.isBlank():
		c.indent, c.ends = indent+width+1, true
		b.pos = len(b.line)
	case spaces >= 5:
		c.indent = indent + width + 1
		b.pos++
	default:
		c.indent = indent + width + spaces
		b.pos += spaces
	}
	c.task = b.task()
	b.open = append(b.open, c)
	if c.ends {
		b.begin(Empty)
		b.close()
	}
	b.inside().fresh = true
	return true
}

// task takes the box of a task list item.
func (b *Blocks[T]) task() byte {
	s := b.rest()
	if len(s) < 4 || s[0] != '[' || s[2] != ']' || s[3] != ' ' || strings.TrimSpace(s[4:]) == "" {
		return 0
	}
	switch s[1] {
	case ' ', 'x', 'X':
		b.pos += 4
		return s[1] | ' '
	}
	return 0
}

// text handles the rest: a blank line, a row of a table, or the text of a paragraph. entered says that a
// container began on the line.
func (b *Blocks[T]) text(matched int, para, lazy, entered bool) {
	if b.isBlank() {
		b.closeTo(matched)
		b.close()
		if !entered {
			b.blank = b.any
		}
		return
	}
	text := strings.TrimLeft(b.rest(), " ")
	if para || b.Leaf != nil && b.Leaf.Kind == Table && !lazy && !entered {
		b.Proceed(text)
		return
	}
	b.closeTo(matched)
	b.begin(Paragraph)
	b.Proceed(text)
}

// item reads the marker of a list item and its width in columns.
func item(s string, interrupts bool) (c container, width int, ok bool) {
	switch s[0] {
	case '-', '+', '*':
		c.marker, width = s[0], 1
	default:
		for width < len(s) && width < 9 && '0' <= s[width] && s[width] <= '9' {
			width++
		}
		if width == 0 || width == len(s) || s[width] != '.' && s[width] != ')' {
			return c, 0, false
		}
		c.number, _ = strconv.Atoi(s[:width])
		c.marker = s[width]
		width++
	}
	if width < len(s) && s[width] != ' ' {
		return c, 0, false
	}
	if interrupts && (strings.TrimSpace(s[width:]) == "" || c.ordered() && c.number != 1) {
		return c, 0, false
	}
	return c, width, true
}

// setext reads the line below a heading: 1, 2, or 0 if it does not underline one.
func setext(s string) int {
	t := strings.TrimRight(s, " ")
	switch {
	case strings.Trim(t, "=") == "":
		return 1
	case strings.Trim(t, "-") == "":
		return 2
	}
	return 0
}

// atx reads a heading of the form "## title ##".
func atx(s string) (level int, title string, ok bool) {
	for level < len(s) && s[level] == '#' {
		level++
	}
	if level == 0 || level > 6 || level < len(s) && s[level] != ' ' {
		return 0, "", false
	}
	title = strings.Trim(s[level:], " ")
	if t := strings.TrimRight(title, "#"); t == "" || strings.HasSuffix(t, " ") {
		title = strings.TrimRight(t, " ")
	}
	return level, title, true
}

// opensFence reads the start of fenced code.
func opensFence(s string) (char byte, n int, info string, ok bool) {
	char = s[0]
	if char != '`' && char != '~' {
		return 0, 0, "", false
	}
	for n < len(s) && s[n] == char {
		n++
	}
	info = strings.Trim(s[n:], " ")
	return char, n, info, n >= 3 && (char != '`' || !strings.Contains(info, "`"))
}

func (b *Blocks[T]) closesFence(l *Leaf[T]) bool {
	indent := b.indentation()
	t := strings.TrimRight(b.rest()[indent:], " ")
	return indent <= 3 && len(t) >= l.fenceLen && strings.Trim(t, string(l.fenceChar)) == ""
}

// isRule reports a thematic break.
func isRule(s string) bool {
	c, n := s[0], 0
	if c != '-' && c != '*' && c != '_' {
		return false
	}
	for i := range len(s) {
		switch s[i] {
		case c:
			n++
		case ' ':
		default:
			return false
		}
	}
	return n >= 3
}

// tabWidth is the distance of tab stops in Markdown (CommonMark, section "Tabs").
const tabWidth = 4

// expand replaces tabs by spaces, and drops a carriage return at the end.
func expand(s string) string {
	s = strings.TrimSuffix(s, "\r")
	if strings.IndexByte(s, '\t') < 0 {
		return s
	}
	var b strings.Builder
	col := 0
	for _, r := range s {
		if r == '\t' {
			n := tabWidth - col%tabWidth
			b.WriteString("    "[:n])
			col += n
			continue
		}
		b.WriteRune(r)
		col++
	}
	return b.String()
}

// htmlStarts are the beginnings of HTML blocks of the first five kinds, and their ends.
var htmlStarts = []struct{ start, end string }{
	{"<!--", "-->"},
	{"<?", "?>"},
	{"<![cdata[", "]]>"},
	{"<script", "</script>"},
	{"<pre", "</pre>"},
	{"<style", "</style>"},
	{"<textarea", "</textarea>"},
}

// htmlBlocks are the tags that begin a block wherever they stand (CommonMark, section "HTML blocks").
const htmlBlocks = " address article aside base basefont blockquote body caption center col colgroup dd details " +
	"dialog dir div dl dt fieldset figcaption " +
	"figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html iframe legend li link main menu menuitem " +
	"nav noframes ol optgroup option p param " +
	"search section summary table tbody td tfoot th thead title tr track ul "

// opensHTML reports whether an HTML block begins, and its end marker: "" for a blank line.
func opensHTML(s string, para bool) (end string, ok bool) {
	if s[0] != '<' || len(s) < 2 {
		return "", false
	}
	lower := strings.ToLower(s[:min(len(s), 64)])
	for _, h := range htmlStarts {
		if rest, ok := strings.CutPrefix(lower, h.start); ok && (h.start[1] < 'a' || rest == "" || strings.ContainsRune(" >",
			rune(rest[0]))) {
			return h.end, true
		}
	}
	if lower[1] == '!' && len(lower) > 2 && 'a' <= lower[2] && lower[2] <= 'z' {
		return ">", true
	}
	name := strings.TrimPrefix(lower[1:], "/")
	n := 0
	for n < len(name) && ('a' <= name[n] && name[n] <= 'z' || '0' <= name[n] && name[n] <= '9') {
		n++
	}
	after := name[n:]
	if n > 0 && strings.Contains(htmlBlocks, " "+name[:n]+" ") && (after == "" || after[0] == ' ' || after[0] == '>' ||
		strings.HasPrefix(after, "/>")) {
		return "", true
	}
	return "", !para && wholeTag(s)
}

// wholeTag reports that a line is one complete tag, whose name may be any (CommonMark, section "Raw HTML").
func wholeTag(s string) bool {
	s = strings.TrimRight(s, " ")
	s, closing := strings.CutPrefix(s[1:], "/")
	n := 0
	for n < len(s) && (asciiLetter(s[n]) || n > 0 && (s[n] == '-' || '0' <= s[n] && s[n] <= '9')) {
		n++
	}
	if n == 0 {
		return false
	}
	s = s[n:]
	for !closing {
		rest := strings.TrimLeft(s, " ")
		next, ok := attribute(rest)
		if !ok || rest == s {
			break
		}
		s = next
	}
	s = strings.TrimLeft(s, " ")
	return s == ">" || s == "/>" && !closing
}

func asciiLetter(c byte) bool { return 'a' <= c|' ' && c|' ' <= 'z' }

// attribute takes an attribute of a tag from the start of s.
func attribute(s string) (rest string, ok bool) {
	n := 0
	for n < len(s) && (asciiLetter(s[n]) || s[n] == '_' || s[n] == ':' || n > 0 && (s[n] == '.' || s[n] == '-' ||
		'0' <= s[n] && s[n] <= '9')) {
		n++
	}
	if n == 0 {
		return s, false
	}
	s = s[n:]
	value, ok := strings.CutPrefix(strings.TrimLeft(s, " "), "=")
	if !ok {
		return s, true
	}
	value = strings.TrimLeft(value, " ")
	if value == "" {
		return s, false
	}
	if q := value[0]; q == '"' || q == '\'' {
		end := strings.IndexByte(value[1:], q)
		if end < 0 {
			return s, false
		}
		return value[end+2:], true
	}
	n = strings.IndexAny(value, " \"'=<>`")
	if n == 0 {
		return s, false
	}
	if n < 0 {
		n = len(value)
	}
	return value[n:], true
}

func endsHTML(s, end string) bool {
	return end != "" && strings.Contains(strings.ToLower(s), end)
}
