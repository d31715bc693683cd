package shell

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

// quote writes text as one literal word for any shell.
func quote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// writeQuoted is quote into b.
func writeQuoted(b *strings.Builder, text string) {
	if strings.IndexByte(text, '\'') >= 0 {
		b.WriteString(quote(text))
		return
	}
	b.WriteByte('\'')
	b.WriteString(text)
	b.WriteByte('\'')
}

// rewrite writes a read-only command anew: every word in quotes, the program by its path.
func (a *analysis) rewrite(c *call, p *permission.Part, inner string) (script string, ok bool) {
	script, ok = a.rewriteWords(c, p, inner)
	if !ok || len(c.assigns) == 0 {
		return script, ok
	}
	if !strings.HasPrefix(script, "'/") && !strings.HasPrefix(script, "builtin ") {
		return "", false // no place for variables before a compound command
	}
	var b strings.Builder
	for _, as := range c.assigns {
		b.WriteString(as.name + "=" + quote(as.text) + " ")
	}
	return b.String() + script, onlyLocale(c.assigns)
}

// rewriteWords is rewrite without the variables before the command.
func (a *analysis) rewriteWords(c *call, p *permission.Part, inner string) (script string, ok bool) {
	if c.back != "" {
		if c.name == "cd" { // it prints where it goes
			return "{ builtin cd " + quote(c.back) + " && builtin echo " + quote(c.back) + "; }", true
		}
		// It prints the folders that are left. Where a pushd before it failed, it stands in another one than supposed.
		to := "builtin cd " + quote(c.back)
		return "{ builtin popd && " + to + " || { " + to + " && builtin false; }; }", true
	}
	if len(c.use.Inner) > 0 {
		return a.rewriteWrapper(c, p, inner)
	}
	if c.compares {
		return a.rewriteTest(c), true
	}
	var b strings.Builder
	head, ok := a.head(c, p)
	if !ok {
		return "", false
	}
	b.Grow(len(head) + len(c.raw) + 3*len(c.words) + 32)
	filtered := c.gap != nil && c.gap.filter != ""
	if filtered {
		b.WriteString(c.gap.mark + "(")
	}
	b.WriteString(head)
	except := a.exceptWords(c)
	if c.use.Tree != nil && c.use.Tree.Instead != nil {
		addWords(&b, c.use.Tree.Instead)
		return b.String() + except, true
	}
	added := 0
	for i, w := range c.words[1:] {
		if i == c.use.AddsAt {
			added = addWords(&b, c.use.Adds)
		}
		if c.ender > 0 && i+1 == c.ender {
			for _, later := range flagsOf(c.words[i+1:]) {
				b.WriteString(" " + quote(later.text))
			}
			b.WriteString(" '--end-of-options'")
		}
		if c.ender > 0 && i+1 > c.ender && !has(texts(c.words[c.ender:i+1]), "--") && aloneFlag().MatchString(w.text) {
			continue
		}
		if c.gap != nil && i+1 == c.gap.at && !filtered {
			b.WriteString(c.gap.mark + "(")
		}
		if len(except) > 0 && i == c.use.Tree.At {
			b.WriteString(except)
			except = ""
		}
		if w.code != "" && w.stays(c, i+1) {
			b.WriteString(" " + w.code)
			continue
		}
		if w.unknown {
			return "", false
		}
		b.WriteByte(' ')
		if !w.glob {
			writeQuoted(&b, w.text)
			if c.gap != nil && c.gap.file != "" && i+1 == c.gap.at {
				b.WriteString(c.gap.mark + ")")
			}
			continue
		}
		text, ok := a.spread(w, c)
		if !ok {
			return "", false
		}
		b.WriteString(text)
	}
	if added == 0 {
		addWords(&b, c.use.Adds)
	}
	b.WriteString(except)
	if c.gap != nil && c.gap.file == "" {
		if c.gap.at == len(c.words) && !filtered {
			b.WriteString(c.gap.mark + "(")
		}
		b.WriteString(c.gap.mark + ")")
	}
	if c.name == "set" { // bash evaluates the PS4 of the environment before each line that set -x prints
		return "{ PS4='+ '; " + b.String() + "; }", true
	}
	if p.Program != "" && strings.HasPrefix(head, "exec ") {
		return "( " + b.String() + " )", true
	}
	return b.String(), true
}

// flagsOf are the flags among words, up to --.
func flagsOf(words []word) []word {
	var out []word
	for _, w := range words {
		if w.text == "--" {
			break
		}
		if aloneFlag().MatchString(w.text) {
			out = append(out, w)
		}
	}
	return out
}

// addWords appends words to the script and returns their number.
func addWords(b *strings.Builder, words []string) int {
	for _, word := range words {
		b.WriteString(" " + quote(word))
	}
	return len(words)
}

// exceptWords are the words added to a command so that it leaves out files that may not be read.
func (a *analysis) exceptWords(c *call) string {
	if c.spares == nil {
		return quoted(c.except)
	}
	return quoted(c.except) + c.spares()
}

// quoted are words for the script, each with a blank before it.
func quoted(words []string) string {
	var b strings.Builder
	for _, word := range words {
		b.WriteString(" " + quote(word))
	}
	return b.String()
}

// rewriteWrapper writes timeout 9 ls anew: its own words, then the inner command as that was written.
func (a *analysis) rewriteWrapper(c *call, p *permission.Part, inner string) (script string, ok bool) {
	if !c.use.Transparent || len(c.use.Inner) != 1 || inner == "" {
		return "", false
	}
	own := len(c.words) - len(c.use.Inner[0])
	if own < 1 {
		return "", false
	}
	switch c.name {
	case "command", "builtin", "noglob":
		return inner, true // the inner command is found by its path anyway
	}
	if !strings.HasPrefix(inner, "'/") || p.Path == "" {
		return "", false // a wrapper can only start a program
	}
	words := make([]string, 0, own+1)
	words = append(words, quote(p.Path))
	for _, w := range c.words[1:own] {
		if !w.literal() || w.glob {
			return "", false
		}
		words = append(words, quote(w.text))
	}
	return strings.Join(append(words, inner), " "), true
}

// head names the program: a builtin as such, another by its path. A program that is one of many in one file
// needs its own name as argument zero.
func (a *analysis) head(c *call, p *permission.Part) (string, bool) {
	name := c.words[0].text
	switch {
	case builtins.has(name):
		return "builtin " + quote(name), true
	case p.Path == "":
		return "", false
	case filepath.Base(p.Path) != filepath.Base(name):
		return "exec -a " + quote(filepath.Base(name)) + " " + quote(p.Path), true
	}
	return quote(p.Path), true
}

// spread writes a pattern as the files that it stands for now.
func (a *analysis) spread(w word, c *call) (string, bool) {
	if len(c.dirs) != 1 || len(c.assigns) > 0 {
		return "", false
	}
	names, ok := a.spreadNames(w, c.dirs[0])
	for i := range names {
		names[i] = quote(names[i])
	}
	return strings.Join(names, " "), ok
}

// spreadNames are the files that a pattern stands for now, as the shell would name them: relative patterns give
// relative names, and one that finds nothing stays as it is. No name can be taken for a flag.
func (a *analysis) spreadNames(w word, dir string) (names []string, ok bool) {
	pattern, folders := strings.CutSuffix(w.text, "/")
	found, more := a.world.Glob(pattern, dir, maxGlob)
	if more {
		return nil, false
	}
	if folders {
		found = slices.DeleteFunc(found, func(f string) bool { return a.world.Stat(f).Kind != permission.Folder })
	}
	for _, f := range found {
		name := f
		if !filepath.IsAbs(w.text) {
			rel, err := filepath.Rel(dir, f)
			if err != nil {
				return nil, false
			}
			name = filepath.ToSlash(rel)
			if strings.HasPrefix(w.text, "./") || strings.HasPrefix(name, "-") || strings.HasPrefix(name, "@") {
				name = "./" + name
			}
		}
		if folders {
			name += "/"
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		names = []string{unescape(w.text)}
	}
	return names, true
}
