package syntax

import "strings"

// patch reads a line of a diff.
func patch(s State, code string, emit func(Kind, string)) State {
	k := Plain
	switch {
	case strings.HasPrefix(code, "+++"), strings.HasPrefix(code, "---"), strings.HasPrefix(code, "diff "),
		strings.HasPrefix(code, "index "):
		k = Keyword
	case strings.HasPrefix(code, "@@"):
		k = Tag
	case strings.HasPrefix(code, "+"), strings.HasPrefix(code, ">"):
		k = Added
	case strings.HasPrefix(code, "-"), strings.HasPrefix(code, "<"):
		k = Removed
	}
	if code != "" {
		emit(k, code)
	}
	return s
}

// States of markup and prose.
const (
	inComment = 1 + iota
	inTag
	inFence
)

// markup reads a line of HTML or XML.
func markup(s State, code string, emit func(Kind, string)) State {
	put := func(k Kind, n int) {
		if n > 0 {
			emit(k, code[:n])
			code = code[n:]
		}
	}
	for code != "" {
		switch s.open {
		case inComment:
			end := strings.Index(code, "-->")
			if end < 0 {
				put(Comment, len(code))
				return s
			}
			put(Comment, end+3)
			s.open = 0
		case inTag:
			s = tag(s, code, put)
		default:
			at := strings.IndexByte(code, '<')
			if at < 0 {
				put(Plain, len(code))
				return s
			}
			put(Plain, at)
			if strings.HasPrefix(code, "<!--") {
				s.open = inComment
				continue
			}
			n := 1
			for n < len(code) && strings.IndexByte(" \t/>", code[n]) < 0 || n == 1 && n < len(code) && code[n] == '/' {
				n++
			}
			if n == 1 {
				put(Plain, 1)
				continue
			}
			put(Keyword, n)
			s.open = inTag
		}
	}
	return s
}

// tag reads the next piece inside of a tag.
func tag(s State, code string, put func(Kind, int)) State {
	switch c := code[0]; {
	case c == '>':
		put(Keyword, 1)
		s.open = 0
	case strings.HasPrefix(code, "/>"), strings.HasPrefix(code, "?>"):
		put(Keyword, 2)
		s.open = 0
	case c == '"' || c == '\'':
		end := strings.IndexByte(code[1:], c)
		if end < 0 {
			put(String, len(code))
			return s
		}
		put(String, end+2)
	case c == ' ' || c == '=' || c == '/' || c == '\t' || c == '?':
		put(Plain, 1)
	default:
		n := 1
		for n < len(code) && strings.IndexByte(" \t=/>\"'?", code[n]) < 0 {
			n++
		}
		put(Variable, n)
	}
	return s
}

// prose reads a line of Markdown.
func prose(s State, code string, emit func(Kind, string)) State {
	t := strings.TrimLeft(code, " ")
	fence := strings.HasPrefix(t, "```") || strings.HasPrefix(t, "~~~")
	k := Plain
	switch {
	case fence && s.open == inFence:
		s.open, k = 0, Comment
	case fence:
		s.open, k = inFence, Comment
	case s.open == inFence:
		k = String
	case strings.HasPrefix(t, "#"):
		k = Keyword
	case strings.HasPrefix(t, ">"):
		k = Comment
	case strings.HasPrefix(t, "- "), strings.HasPrefix(t, "* "), strings.HasPrefix(t, "+ "):
		n := len(code) - len(t) + 1
		emit(Tag, code[:n])
		code = code[n:]
	}
	if k != Plain {
		if code != "" {
			emit(k, code)
		}
		return s
	}
	for code != "" { // code spans
		at := strings.IndexByte(code, '`')
		end := -1
		if at >= 0 {
			end = strings.IndexByte(code[at+1:], '`')
		}
		if end < 0 {
			emit(Plain, code)
			return s
		}
		if at > 0 {
			emit(Plain, code[:at])
		}
		emit(String, code[at:at+end+2])
		code = code[at+end+2:]
	}
	return s
}
