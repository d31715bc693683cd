package term

// Sequence is the length of the control sequence that s starts with (ECMA-48, section 5.4, and the strings of
// xterm that end with BEL). s starts with ESC. A sequence that is broken off by a character that cannot be
// part of it ends before that character; complete is false then, and when s ends within the sequence.
func Sequence(s string) (n int, complete bool) {
	if len(s) < 2 {
		return len(s), false
	}
	switch s[1] {
	case '[':
		return controlSequence(s)
	case ']', 'P', 'X', '^', '_':
		_, n, complete = stringSequence(s)
		return n, complete
	}
	n = 1
	for n < len(s) && s[n] >= 0x20 && s[n] <= 0x2f {
		n++
	}
	if n < len(s) && s[n] >= 0x30 && s[n] <= 0x7e {
		return n + 1, true
	}
	return n, false
}

func controlSequence(s string) (n int, complete bool) {
	for i := 2; i < len(s); i++ {
		switch c := s[i]; {
		case c >= 0x40 && c <= 0x7e:
			return i + 1, true
		case c < 0x20 || c > 0x7e:
			return i, false
		}
	}
	return len(s), false
}

// stringSequence reads a sequence that carries a text up to BEL or ST; end is where the text ends.
func stringSequence(s string) (end, n int, complete bool) {
	for i := 2; i < len(s); i++ {
		switch {
		case s[i] == '\a':
			return i, i + 1, true
		case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\':
			return i, i + 2, true
		case s[i] == 0x1b || s[i] == '\n': // nothing swallows the lines after it
			return i, i, false
		}
	}
	return len(s), len(s), false
}

// SGR returns the parameters of the sequence s ("\x1b[1;31m") when it sets how text looks (Select Graphic
// Rendition).
func SGR(s string) (params string, ok bool) {
	if len(s) < 3 || s[0] != 0x1b || s[1] != '[' || s[len(s)-1] != 'm' {
		return "", false
	}
	params = s[2 : len(s)-1]
	for i := range len(params) {
		if c := params[i]; (c < '0' || c > '9') && c != ';' && c != ':' {
			return "", false
		}
	}
	return params, true
}

// OSC returns the text of the sequence s when it is an operating system command ("\x1b]8;;url\x1b\\").
func OSC(s string) (text string, ok bool) {
	if len(s) < 2 || s[0] != 0x1b || s[1] != ']' {
		return "", false
	}
	end, _, complete := stringSequence(s)
	return s[2:end], complete
}
