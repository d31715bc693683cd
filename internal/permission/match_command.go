package permission

import (
	"slices"
	"strings"
)

// pattern is the text in the parentheses of a rule on commands: without * an exact text; a trailing " *"
// or ":*" is a prefix that ends at a word's end; any other * stands for any text.
type pattern struct {
	text   string
	prefix string // without the * at its end
	kind   patternKind
}

type patternKind uint8

const (
	patternExact  patternKind = iota // no * in it
	patternWild                      // a * somewhere, and no prefix
	patternPrefix                    // a prefix without *
	patternMixed                     // a prefix with * in it
)

func (r *Rule) spec() pattern { return newPattern(r.Spec) }

func newPattern(text string) pattern {
	t := pattern{text: text}
	ok := false
	if t.prefix, ok = strings.CutSuffix(text, " *"); !ok {
		t.prefix, ok = strings.CutSuffix(text, ":*")
	}
	switch wild := strings.IndexByte(t.prefix, '*') >= 0; {
	case ok && wild:
		t.kind = patternMixed
	case ok:
		t.kind = patternPrefix
	case wild:
		t.kind = patternWild
	}
	return t
}

func (t *pattern) matches(s string) bool {
	switch t.kind {
	case patternExact:
		return t.text == s
	case patternWild:
		return wildcard(t.text, s)
	case patternPrefix:
		return len(s) >= len(t.prefix) && s[:len(t.prefix)] == t.prefix && (len(s) == len(t.prefix) ||
			s[len(t.prefix)] == ' ')
	}
	return wildcard(t.prefix, s) || wildcard(t.prefix+" *", s)
}

// allows holds an allow rule against one part of a command. Parts of which not every word is known, and
// those with options that a pattern's author did not have in mind, are covered by their own text only.
func (t *pattern) allows(p *Part) bool {
	if t.text == p.Text || t.text == p.Raw {
		return true
	}
	return p.Exact && !p.Literal && !p.Beyond && t.matches(p.Text) && !t.climbs(p.Text)
}

// climbs reports whether a * that stands for the rest of a path (src/*) would let the path out again by "..".
func (t *pattern) climbs(s string) bool {
	if !strings.Contains(t.text, "/*") || strings.Contains(t.text, "..") {
		return false
	}
	for word := range strings.FieldsSeq(s) {
		if strings.Contains("/"+word+"/", "/../") {
			return true
		}
	}
	return false
}

// denies holds a deny or ask rule against the texts of a command; the first one is the whole line.
func (t pattern) denies(texts []string) bool {
	return t.text == texts[0] || slices.ContainsFunc(texts, t.matches)
}

// commandTexts are the line, the parts of its command and every other way to see them, also with the program in lower
// case.
func commandTexts(a *Access) []string {
	out := make([]string, 0, 1+2*len(a.Command.Parts))
	out = addFolded(out, strings.TrimSpace(a.Target))
	for i := range a.Command.Parts {
		p := &a.Command.Parts[i]
		out = addFolded(out, p.Text)
		if p.Raw != p.Text {
			out = addFolded(out, p.Raw)
		}
		for _, text := range p.Deep {
			out = addFolded(out, text)
		}
	}
	return out
}

func addFolded(texts []string, text string) []string {
	texts = append(texts, text)
	if folded := foldedProgram(text); folded != "" {
		texts = append(texts, folded)
	}
	return texts
}

// matchesFolded also tries the program in lower case, for file systems that ignore case.
func (t *pattern) matchesFolded(s string) bool {
	if t.matches(s) {
		return true
	}
	folded := foldedProgram(s)
	return folded != "" && t.matches(folded)
}

// foldedProgram is the text of a command with its program in lower case; "" where that is the text itself.
func foldedProgram(s string) string {
	program, rest, _ := strings.Cut(s, " ")
	if lower := strings.ToLower(program); lower != program {
		return strings.TrimSpace(lower + " " + rest)
	}
	return ""
}

// shellActive are bytes by which a command line can be more than one program with fixed arguments.
const shellActive = ";&|<>$`\n\r(){}\\"

// unanalysed is the view of a line that nobody took apart: one part, of which an allow rule may speak when
// the shell cannot turn it into anything else, and a guess at every part for deny and ask rules.
func unanalysed(line string) *Command {
	text := strings.TrimSpace(line)
	exact := !strings.ContainsAny(text, shellActive)
	return &Command{
		Class: ClassWrite, Exact: exact,
		Parts: []Part{{Text: text, Raw: text, Deep: commandParts(text), Class: ClassWrite, Exact: exact}},
	}
}

// commandParts cuts a command line at everything that could start another command and gives each part
// as written, without quotes, and without the assignments and wrappers before its program.
func commandParts(command string) []string {
	cut := func(r rune) bool { return strings.ContainsRune(";&|\n\r(){}`<>", r) }
	var out []string
	add := func(s string) {
		s = strings.TrimSpace(s)
		if s != "" {
			out = append(out, s)
		}
	}
	add(command)
	for _, raw := range strings.FieldsFunc(command, cut) {
		bare := strings.Join(strings.Fields(unquote.Replace(raw)), " ")
		add(raw)
		add(bare)
		for _, rest := range programs(bare) {
			add(rest)
			add(baseProgram(rest))
		}
	}
	return out
}

// maxPrefix is how many words of a command are looked at for the program it runs.
const maxPrefix = 48

// programs lists the ends of a command that may be a command of their own: after assignments and wrappers,
// and after a wrapper's flags, whether a flag takes the next word as its value or not.
func programs(s string) []string {
	var out []string
	words := strings.SplitN(s, " ", maxPrefix+1)
	at := make([]bool, len(words)+2)
	at[0] = true
	offset := 0
	for i, w := range words {
		if at[i] {
			out = append(out, s[offset:])
			if wraps(w) {
				at[i+1] = true
				at[i+2] = at[i+2] || strings.HasPrefix(w, "-")
			}
		}
		offset += len(w) + 1
	}
	return out
}

var unquote = strings.NewReplacer(`"`, "", `'`, "", `\`, "", "$", "")

var wrappers = map[string]bool{
	"sudo": true, "doas": true, "env": true, "timeout": true, "time": true, "nice": true, "nohup": true,
	"command": true, "builtin": true, "exec": true, "xargs": true, "stdbuf": true, "setsid": true,
	"ionice": true, "watch": true, "noglob": true, "eval": true, "bash": true, "sh": true, "zsh": true,
	"then": true, "do": true, "else": true, "if": true, "while": true, "until": true, "!": true,
}

// wraps reports whether another program may follow a word: an assignment, a wrapper, a wrapper's flag or
// number.
func wraps(word string) bool {
	name := word[strings.LastIndexByte(word, '/')+1:]
	assignment := strings.Contains(word, "=") && !strings.HasPrefix(word, "=")
	flag := strings.HasPrefix(word, "-") || (word != "" && word[0] >= '0' && word[0] <= '9')
	return wrappers[name] || assignment || flag
}

// baseProgram turns "/bin/rm x" into "rm x".
func baseProgram(s string) string {
	first, rest, _ := strings.Cut(s, " ")
	name := first[strings.LastIndexByte(first, '/')+1:]
	return strings.TrimSpace(name + " " + rest)
}
