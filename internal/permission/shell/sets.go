package shell

import (
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/lathe-dev/lathe/internal/permission/program"
)

// sets notes the variables that a builtin gives values, which are then unknown until it runs.
func (a *analysis) sets(c *call, sc *scope) {
	if a.mute > 0 {
		return
	}
	switch c.name {
	case "read", "mapfile", "readarray":
		names := plainWords(texts(c.words[1:]), map[string]string{
			"read": "dinNptu", "mapfile": "dnOsucC",
			"readarray": "dnOsucC",
		}[c.name])
		if len(names) == 0 {
			names = []string{map[string]string{"read": "REPLY"}[c.name], "MAPFILE"}
		}
		for _, name := range names {
			a.blur(name, strings.TrimSpace(c.in.text), sc)
		}
	case "printf":
		words := texts(c.words[1:])
		for i, w := range words {
			switch {
			case w == "-v" && i+2 < len(words):
				text, _ := printf(words[i+2:])
				a.blur(words[i+1], text, sc)
			case strings.HasPrefix(w, "-v") && len(w) > 2 && i+1 < len(words):
				text, _ := printf(words[i+1:])
				a.blur(w[2:], text, sc)
			}
		}
	case "getopts", "unset", "let", "wait", "select", "vared", "sysread", "zparseopts", "ztie":
		for _, w := range c.words[1:] {
			name, _, _ := strings.Cut(w.text, "=")
			a.blur(name, "", sc)
		}
		a.blur("OPTARG", "", sc)
	case "shift":
		sc.args = nil
	case "hash":
		if path, names := hashed(texts(c.words[1:])); path != "" {
			for _, name := range names {
				a.rename(name, path, sc)
			}
		}
	case "source", ".", "eval":
		a.loose = a.loose || c.use.ScriptHides || anyUnknown(c.words)
	case "enable", "shopt", "zmodload", "autoload":
		a.loose = true
	}
	a.copy(c, sc)
}

// plainWords are the words that are no flags; the letters are of flags that take a word.
func plainWords(words []string, valued string) []string {
	var out []string
	for i := 0; i < len(words); i++ {
		w := words[i]
		if w == "--" {
			return append(out, words[i+1:]...)
		}
		if len(w) < 2 || w[0] != '-' {
			out = append(out, w)
			continue
		}
		if at := strings.IndexAny(w, valued); at > 0 && at == len(w)-1 {
			i++
		}
	}
	return out
}

// blur makes the value of a variable unknown until it runs; text is a guess.
func (a *analysis) blur(name, text string, sc *scope) {
	name, _, _ = strings.Cut(name, "[")
	if !syntax.ValidName(name) {
		if name != "" && strings.ContainsAny(name, "$`") {
			a.loose = true
		}
		return
	}
	if had, ok := sc.vars[name]; ok && text == "" {
		text = had.text
	}
	sc.assign(name, binding{text: text})
}

// hashed are the path and the names of hash -p PATH NAME...
func hashed(words []string) (path string, names []string) {
	for i, w := range words {
		if rest, ok := strings.CutPrefix(w, "-p"); ok {
			if rest != "" {
				return rest, words[i+1:]
			}
			if i+1 < len(words) {
				return words[i+1], words[i+2:]
			}
		}
	}
	return "", nil
}

// rename notes that a name runs another program from here on.
func (a *analysis) rename(name, text string, sc *scope) {
	a.saw(oddShadow, name)
	sc.own()
	sc.aliases[name] = text
}

// renames notes BASH_CMDS[name]=path and BASH_ALIASES[name]=text, which act as hash and alias.
func (a *analysis) renames(array string, index syntax.ArithmExpr, text string, sc *scope) {
	if array != "BASH_CMDS" && array != "BASH_ALIASES" && array != "aliases" && array != "commands" &&
		array != "functions" {
		return
	}
	if w, ok := index.(*syntax.Word); ok {
		a.rename(a.look(w, sc), text, sc)
		return
	}
	a.loose = true
}

// copy notes that a command copies or links a program.
func (a *analysis) copy(c *call, sc *scope) {
	if len(c.use.Writes) == 0 || len(c.use.Reads)+len(c.use.Kills) == 0 || !among(c.name, "cp", "mv", "ln", "install",
		"link", "rsync", "scp", "symlink", "dd") {
		return
	}
	for _, source := range append(c.use.Reads[:len(c.use.Reads):len(c.use.Reads)], c.use.Kills...) {
		base := filepath.Base(source)
		for _, target := range c.use.Writes {
			for _, dir := range dirsOrRoot(sc.dirs) {
				at := from(target, dir)
				a.copies[at], a.copies[filepath.Join(at, base)] = base, base
			}
		}
	}
}

// copied looks at a command whose program is a copy that the line made.
func (a *analysis) copied(c *call, sc *scope) {
	if len(a.copies) == 0 || c.words[0].text == "" || c.guess {
		return
	}
	name := ""
	for _, dir := range dirsOrRoot(sc.dirs) {
		if name = a.copies[from(c.words[0].text, dir)]; name != "" {
			break
		}
	}
	if name == "" || program.Plain(name) == c.name || !a.mayInline() {
		return
	}
	guess := sc.inside("a copy of " + name)
	guess.guess = true
	words := append([]word{{text: name, show: name, worked: true}}, c.words[1:]...)
	a.run(&call{words: words, raw: c.raw, in: c.in, sub: true, wrapper: "?"}, guess)
}
