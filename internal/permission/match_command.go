package permission

import (
	"slices"
	"strings"
)

// pattern is the text in the parentheses of a rule on commands: without * an exact text; a trailing " *"
// or ":*" is a prefix that ends at a word's end; any other * stands for any text.
type pattern struct{ text string }

func (r Rule) spec() pattern { return pattern{r.Spec} }

func (t pattern) matches(s string) bool {
	prefix, ok := strings.CutSuffix(t.text, " *")
	if !ok {
		prefix, ok = strings.CutSuffix(t.text, ":*")
	}
	switch {
	case !ok:
		return wildcard(t.text, s)
	case strings.IndexByte(prefix, '*') < 0:
		return strings.HasPrefix(s, prefix) && (len(s) == len(prefix) || s[len(prefix)] == ' ')
	}
	return wildcard(prefix, s) || wildcard(prefix+" *", s)
}

// allows holds an allow rule against one part of a command. Parts of which not every word is known, and
// those with options that a pattern's author did not have in mind, are covered by their own text only.
func (t pattern) allows(p Part) bool {
	if t.text == p.Text || t.text == p.Raw {
		return true
	}
	return p.Exact && !p.Literal && t.matches(p.Text) && !t.climbs(p.Text)
}

// climbs reports whether a * that stands for the rest of a path (src/*) would let the path out again by "..".
func (t pattern) climbs(s string) bool {
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

// denies holds a deny or ask rule against every part of a command and every other way to see it.
func (t pattern) denies(a Access) bool {
	if t.text == strings.TrimSpace(a.Target) || t.matchesFolded(strings.TrimSpace(a.Target)) {
		return true
	}
	for _, p := range a.Command.Parts {
		if t.matchesFolded(p.Text) || p.Raw != p.Text && t.matchesFolded(p.Raw) || slices.ContainsFunc(p.Deep, t.matchesFolded) {
			return true
		}
	}
	return false
}

// matchesFolded also tries the program in lower case, for file systems that ignore case.
func (t pattern) matchesFolded(s string) bool {
	if t.matches(s) {
		return true
	}
	program, rest, _ := strings.Cut(s, " ")
	if lower := strings.ToLower(program); lower != program {
		return t.matches(strings.TrimSpace(lower + " " + rest))
	}
	return false
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
