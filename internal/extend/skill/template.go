package skill

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// PartKind is the kind of a piece of a body.
type PartKind int

// A piece is text, a command whose output takes its place, or a file to attach.
const (
	PartText PartKind = iota
	PartCommand
	PartFile
)

// Part is a piece of a body. Text is the text, the command line, or the path.
type Part struct {
	Kind PartKind
	Text string
}

// Template is a body cut at its commands and files, with placeholders for arguments still in it.
type Template struct {
	parts []Part
	names []string // of positional arguments
	takes bool     // it has a placeholder for arguments
}

// Call is one invocation.
type Call struct {
	Arguments string            // as typed after the name
	Variables map[string]string // for ${NAME}: CLAUDE_SKILL_DIR, CLAUDE_PROJECT_DIR, CLAUDE_SESSION_ID, ...
}

var (
	// placeholder: \$x (escaped), $ARGUMENTS[n], $ARGUMENTS, $n, ${NAME}, $name.
	placeholder = lazy(
		`\\\$(?:ARGUMENTS|[0-9]|[A-Za-z_])|\$ARGUMENTS\[[0-9]{1,4}\]|\$ARGUMENTS\b|\$[0-9]{1,4}|\$\{[A-Za-z_][A-Za-z0-9_.]*\}|\$[A-Za-z_][A-Za-z0-9_-]*`)
	// inlineCommand is at the start of a line or after a blank.
	inlineCommand = lazy("(?:^|[ \t\n])!`([^`\n]+)`")
	// mention is @path; an e-mail address or a package name such as @types/node in code is none.
	mention = lazy(`(?:^|[\s(])@((?:\\ |[^\s\x60'"<>(),;@])+)`)
)

// lazy compiles an expression when it is first used, since every start of lathe would pay for it.
func lazy(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// NewTemplate cuts a body. arguments are the names declared in the frontmatter.
func NewTemplate(body string, arguments []string) *Template {
	t := &Template{names: arguments}
	for _, block := range blocks(body) {
		switch {
		case block.command:
			t.parts = append(t.parts, Part{PartCommand, strings.TrimSpace(block.text)})
		case block.code:
			t.text(block.text)
		default:
			t.cut(block.text)
		}
	}
	for _, p := range t.parts {
		t.takes = t.takes || t.hasPlaceholder(p.Text)
	}
	return t
}

// block is a run of lines: prose, fenced code, or a fence that is a command.
type block struct {
	text          string
	code, command bool
}

// blocks separates fenced code from prose: an @ or a ! in code is code.
func blocks(body string) []block {
	var out []block
	var now strings.Builder
	fence, command := "", false
	flush := func(code, command bool) {
		if now.Len() > 0 {
			out = append(out, block{now.String(), code, command})
			now.Reset()
		}
	}
	for _, line := range strings.SplitAfter(body, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case fence == "" && (strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~")):
			flush(false, false)
			fence = trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, trimmed[:1]))]
			if command = strings.HasPrefix(trimmed[len(fence):], "!"); !command {
				now.WriteString(line)
			}
		case fence != "" && strings.HasPrefix(trimmed, fence) && strings.Trim(trimmed, fence[:1]) == "":
			if !command {
				now.WriteString(line)
			}
			flush(true, command)
			if command && strings.HasSuffix(line, "\n") {
				now.WriteString("\n")
			}
			fence, command = "", false
		default:
			now.WriteString(line)
		}
	}
	flush(fence != "", command)
	return out
}

// cut finds the commands and files of prose. Inline code is left alone but for commands, whose syntax it is.
func (t *Template) cut(prose string) {
	for {
		at := inlineCommand().FindStringSubmatchIndex(prose)
		if at == nil {
			t.files(prose)
			return
		}
		start := strings.IndexByte(prose[at[0]:], '!') + at[0]
		t.files(prose[:start])
		t.parts = append(t.parts, Part{PartCommand, prose[at[2]:at[3]]})
		prose = prose[at[1]:]
	}
}

// files finds the mentions outside inline code.
func (t *Template) files(prose string) {
	for i, piece := range strings.Split(prose, "`") {
		if i > 0 {
			t.text("`")
		}
		if i%2 == 1 && strings.Count(prose, "`") > i {
			t.text(piece)
			continue
		}
		last := 0
		for _, at := range mention().FindAllStringSubmatchIndex(piece, -1) {
			path := strings.TrimRight(piece[at[2]:at[3]], ".:!?")
			if path == "" || strings.HasPrefix(path, "agent-") {
				continue
			}
			t.text(piece[last : at[2]-1])
			t.parts = append(t.parts, Part{PartFile, strings.ReplaceAll(path, `\ `, " ")})
			last = at[2] + len(path)
		}
		t.text(piece[last:])
	}
}

func (t *Template) text(s string) {
	if s == "" {
		return
	}
	if n := len(t.parts); n > 0 && t.parts[n-1].Kind == PartText {
		t.parts[n-1].Text += s
		return
	}
	t.parts = append(t.parts, Part{PartText, s})
}

// hasPlaceholder reports whether a text takes arguments; variables do not count.
func (t *Template) hasPlaceholder(s string) bool {
	for _, p := range placeholder().FindAllString(s, -1) {
		if strings.HasPrefix(p, `\`) || strings.HasPrefix(p, "${") {
			continue
		}
		if strings.HasPrefix(p, "$ARGUMENTS") || p[1] >= '0' && p[1] <= '9' || t.index(p[1:]) >= 0 {
			return true
		}
	}
	return false
}

// index is the position of a named argument, or -1.
func (t *Template) index(name string) int {
	for i, n := range t.names {
		if n == name {
			return i
		}
	}
	return -1
}

// Render puts the arguments into every piece. A body without a placeholder gets them at its end. Commands are
// to be run and files read by the caller, whose results take their places.
func (t *Template) Render(c Call) []Part {
	args := SplitArguments(c.Arguments)
	out := make([]Part, 0, len(t.parts)+1)
	for _, p := range t.parts {
		out = append(out, Part{p.Kind, t.substitute(p.Text, c, args)})
	}
	if rest := strings.TrimSpace(c.Arguments); rest != "" && !t.takes {
		out = append(out, Part{PartText, "\n\nARGUMENTS: " + rest})
	}
	return out
}

func (t *Template) substitute(s string, c Call, args []string) string {
	if !strings.Contains(s, "$") {
		return s
	}
	return placeholder().ReplaceAllStringFunc(s, func(p string) string {
		switch {
		case p[0] == '\\':
			return p[1:]
		case p == "$ARGUMENTS":
			return strings.TrimSpace(c.Arguments)
		case strings.HasPrefix(p, "$ARGUMENTS["):
			return argument(p, p[len("$ARGUMENTS["):len(p)-1], args)
		case p[1] >= '0' && p[1] <= '9':
			return argument(p, p[1:], args)
		case strings.HasPrefix(p, "${"):
			if v, ok := c.Variables[p[2:len(p)-1]]; ok {
				return v
			}
			return p
		}
		return t.named(p, args)
	})
}

// named puts in a declared argument; any other $word stays (it is a shell variable, or a price).
func (t *Template) named(p string, args []string) string {
	name, tail := p[1:], ""
	for t.index(name) < 0 { // "$file-name" may be $file followed by -name
		i := strings.LastIndexByte(name, '-')
		if i < 0 {
			return p
		}
		name, tail = name[:i], name[i:]+tail
	}
	if i := t.index(name); i < len(args) {
		return args[i] + tail
	}
	return tail
}

// argument is the n-th argument, counted from 0; one that was not given leaves its placeholder.
func argument(whole, n string, args []string) string {
	if i, err := strconv.Atoi(n); err == nil && i < len(args) {
		return args[i]
	}
	return whole
}

// SplitArguments splits arguments as a shell does: at blanks outside quotes, with backslashes outside single
// quotes. A quote that is not closed holds the rest.
func SplitArguments(s string) []string {
	var out []string
	var word strings.Builder
	inside, quote := false, byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && quote != '\'' && i+1 < len(s) && strings.IndexByte("\\\"' \t", s[i+1]) >= 0:
			i++
			word.WriteByte(s[i])
			inside = true
		case quote == 0 && (c == '"' || c == '\''):
			quote, inside = c, true
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			if inside {
				out = append(out, word.String())
				word.Reset()
				inside = false
			}
		default:
			word.WriteByte(c)
			inside = true
		}
	}
	if inside {
		out = append(out, word.String())
	}
	return out
}
