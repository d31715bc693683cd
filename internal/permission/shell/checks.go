package shell

import (
	"slices"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/permission"
)

// check is a named look for one kind of trick or danger. docs/shell-checks.md lists them.
type check struct {
	name   string
	effect permission.Effect
	// itself: it is about the command alone, not about others of the line, the folder or variables, so that a rule that
	// covers the command answers it.
	itself bool
	find   func(a *analysis) []string // the findings, in words for people; nil for none
}

const (
	ask  = permission.Ask
	deny = permission.Deny
)

// groups are the tables of checks, by subject. Ask makes a line ask where no rule, grant or mode
// covers it; Deny stands above every rule. They are built for the first command line.
var groups = sync.OnceValue(func() [][]check {
	return [][]check{
		textChecks(), hidingChecks(), expansionChecks(), zshChecks(), environmentChecks(), programChecks(), placeChecks(),
		secretChecks(), writeChecks(), disasterChecks(),
	}
})

// findings runs the checks.
func (a *analysis) findings() []permission.Finding {
	var out []permission.Finding
	for _, group := range groups() {
		for i := range group {
			c := &group[i]
			a.about = a.about[:0]
			found := c.find(a)
			if len(found) == 0 {
				continue
			}
			f := permission.Finding{Check: c.name, Text: sentence(found), Effect: c.effect}
			if c.itself && len(a.about) == len(found) && len(found) < mostFound {
				f.About = slices.Clone(a.about)
			}
			out = append(out, f)
		}
	}
	return out
}

// sentence joins the findings of a check, each text once and shortened.
func sentence(found []string) string {
	var kept []string
	for _, f := range found {
		f = shorten(f)
		if f != "" && !has(kept, f) {
			kept = append(kept, f)
		}
		if len(kept) == 3 {
			break
		}
	}
	return strings.Join(kept, "; ")
}

// shorten keeps the beginning of a long text.
func shorten(text string) string {
	const most = 120
	if len(text) <= most {
		return text
	}
	cut := most
	for cut > 0 && text[cut]&0xc0 == 0x80 {
		cut--
	}
	return text[:cut] + "..."
}

// sees makes a check of a construct that the walk noted.
func sees(text string, kinds ...oddity) func(*analysis) []string {
	return func(a *analysis) []string {
		var out []string
		for _, kind := range kinds {
			for _, shown := range a.odd[kind] {
				out = append(out, strings.TrimSuffix(text+": "+shown, ": "))
			}
		}
		return out
	}
}

// mostFound is how many findings of one check are looked for.
const mostFound = 3

// each makes a check that looks at every command.
func each(f func(a *analysis, c *call) string) func(*analysis) []string {
	return func(a *analysis) []string {
		var out []string
		for _, c := range a.calls {
			if text := f(a, c); text != "" {
				out, a.about = append(out, text), append(a.about, c.raw)
				if len(out) == mostFound {
					return out
				}
			}
		}
		return out
	}
}

// runs makes a check that fires on programs by name.
func runs(text string, names ...string) func(*analysis) []string {
	return each(func(a *analysis, c *call) string {
		switch {
		case !among(c.name, names...), c.use.Class.ReadOnly() && len(c.use.Inner) == 0: // as curl --version
		case c.name == "systemctl" && among(c.arg(1), "show", "cat"): // it asks for what it prints
		case c.name == "xargs" && len(c.use.Inner) == 1 && a.readsKnown(c.use.Inner[0]):
		default:
			return text + ": " + c.raw
		}
		return ""
	})
}

func textChecks() []check {
	return []check{
		{"invisible-character", ask, false, sees("it holds", oddCharacter)},
		{"odd-blank", ask, false, sees("it holds a blank that is none", oddBlank)},
		{"foreign-letter", ask, false, each(func(_ *analysis, c *call) string {
			if strings.ContainsFunc(c.name, func(r rune) bool { return r >= 0x80 }) {
				return "the program's name is not plain ASCII: " + c.name
			}
			return ""
		})},
		{"mixed-letters", ask, false, sees("letters of several alphabets in one word", oddLetters)},
		{"too-long", ask, false, sees("it is longer than 10,000 characters", oddLong)},
		{"does-not-parse", ask, false, sees("it does not parse", oddSyntax)},
		{"too-complex", ask, false, sees("too much to follow", oddTooMuch)},
		{"left-open", ask, false, sees("loops or redirections leave open what happens", oddOpen)},
		{"background", ask, false, sees("it goes on in the background", oddBackground)},
		{"comment-first", ask, false, func(a *analysis) []string {
			if a.class.ReadOnly() || len(a.odd[oddComment]) == 0 || (len(a.odd[oddComment][0]) < 60 && !a.destroys()) {
				return nil
			}
			return []string{"a comment comes before the command"}
		}},
		{"hidden-name", ask, false, each(func(_ *analysis, c *call) string {
			if len(c.words) == 0 || c.sub || c.guess {
				return ""
			}
			w := c.words[0]
			if w.quoted || w.glob || w.braced || (w.worked && !w.unknown) {
				return "the program is spelled " + c.raw
			}
			return ""
		})},
		{"hidden-flag", ask, false, each(func(_ *analysis, c *call) string {
			if c.sub || c.guess {
				return ""
			}
			for _, w := range c.words[min(1, len(c.words)):] {
				if strings.HasPrefix(w.text, "-") && (w.worked && !w.unknown || hiddenFlag(w, c.raw)) {
					return "a flag is spelled so that the text hides it: " + w.text
				}
			}
			return ""
		})},
	}
}

// hiddenFlag reports whether the letters of a flag are broken up by quotes or backslashes: -"exec", -e\xec.
func hiddenFlag(w word, raw string) bool {
	if !w.quoted {
		return false
	}
	name, _, _ := strings.Cut(w.text, "=")
	if len(w.text) > 2 && (strings.Contains(raw, w.text[:2]+"'"+w.text[2:]+"'") || strings.Contains(raw, w.text[:2]+`"`+
		w.text[2:]+`"`)) {
		return false // -G'text'
	}
	if strings.Trim(name, "-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" || len(name) < 3 {
		return false
	}
	return !strings.Contains(raw, name)
}

// destroys reports whether a part of the line is destructive.
func (a *analysis) destroys() bool { return rank(a.class) >= rank(permission.ClassDestructive) }

func hidingChecks() []check {
	return []check{
		{"hidden-command", ask, false, each(func(_ *analysis, c *call) string {
			if len(c.words) == 0 && len(c.assigns) > 0 {
				return ""
			}
			if len(c.words) == 0 {
				return "what runs is only known when it runs: " + c.raw
			}
			if c.words[0].unknown && !c.guess {
				return "what runs is only known when it runs: " + c.words[0].show
			}
			return ""
		})},
		{"hidden-script", ask, false, sees("it runs text that is not shown", oddHidden)},
		{"piped-shell", ask, false, sees("it feeds text to an interpreter", oddPipedShell)},
		{"remote-script", ask, false, func(a *analysis) []string {
			if len(a.odd[oddPipedShell])+len(a.odd[oddHidden]) == 0 {
				return nil
			}
			return runs("what another machine sends is run", "curl", "wget", "fetch", "aria2c", "nc", "ncat", "http", "xh",
				"lynx")(a)
		}},
		{"decoded-script", ask, false, sees("it comes out as", oddDecoded)},
		{"escaped-text", ask, false, func(a *analysis) []string {
			for _, text := range a.odd[oddAnsi] {
				if encoded(text) {
					return []string{"text is written in numbers: " + text}
				}
			}
			return nil
		}},
		{"field-separator", ask, false, func(a *analysis) []string {
			out := sees("it uses IFS", oddIFS)(a)
			return append(out, each(func(_ *analysis, c *call) string {
				for _, as := range c.assigns {
					if as.name == "IFS" {
						return "it sets IFS"
					}
				}
				return ""
			})(a)...)
		}},
	}
}

func expansionChecks() []check {
	return []check{
		{"indirect-variable", ask, false, sees("a variable is named by another", oddIndirect)},
		{"transformed-variable", ask, false, sees("it evaluates the value of a variable", oddTransform)},
		{"assigning-expansion", ask, false, sees("it sets a variable within a word", oddAssignExpand)},
		{"evaluated-name", ask, false, sees("a builtin evaluates the name", oddEvaluated)},
		{"subscript", ask, false, sees("a subscript is evaluated", oddSubscript)},
		{"arithmetic", ask, false, sees("arithmetic evaluates names", oddArithmetic)},
		{"substitution", ask, false, sees("a command runs within a word", oddSubst)},
		{"braces", ask, false, func(a *analysis) []string {
			if len(a.odd[oddBraces]) == 0 {
				return nil
			}
			return each(func(_ *analysis, c *call) string {
				for i, w := range c.words {
					if w.braced && (i == 0 || strings.HasPrefix(w.text, "-")) && !c.guess {
						return "braces become " + w.text
					}
				}
				return ""
			})(a)
		}},
		{"shadowed-name", ask, false, sees("it gives a name another meaning", oddFunction, oddShadow)},
		{"coprocess", ask, false, sees("it starts a coprocess", oddCoproc)},
		{"unknown-folder", ask, false, sees("the folder is not known", oddUnknownDir)},
	}
}

// encoded reports whether text for $'...' writes characters as numbers.
func encoded(text string) bool {
	for i := 0; i+1 < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		if i++; strings.IndexByte("xuUc01234567", text[i]) >= 0 {
			return true
		}
	}
	return false
}

func zshChecks() []check {
	return []check{
		{"zsh-module", ask, false, runs("a zsh module", "zmodload", "sysopen", "sysread", "syswrite", "sysseek", "ztcp", "zsocket", "zpty",
			"zselect", "zftp")},
		{"zsh-file-builtin", ask, false, runs("a file builtin of zsh", "zf_*")},
		{"zsh-emulate", ask, false, runs("zsh runs or loads text", "emulate", "autoload", "zcompile", "bindkey", "zle", "zstyle", "vared",
			"sched", "setopt", "unsetopt")},
		{"zsh-precommand", ask, false, runs("zsh runs what follows", "noglob", "nocorrect", "repeat", "foreach", "always", "end")},
		{"zsh-equals", ask, false, sees("zsh reads a path in", oddEquals)},
		{"zsh-qualifier", ask, false, func(a *analysis) []string {
			return append(sees("an extended pattern", oddExtGlob)(a), sees("a form of zsh", oddZsh)(a)...)
		}},
	}
}
