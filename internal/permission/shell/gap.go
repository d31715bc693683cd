package shell

import (
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission/program"
)

// gap is a place in the safe form of a command that lists files. What is left out is written there once it is known
// that another command reads the files of the list: only behind it in the line.
type gap struct {
	mark           string // stands in the script until then, with ( where it begins and with ) at the end of the command
	at             int    // the word before which it stands
	brackets       bool   // the words behind it are put in brackets
	without        func(files, folders []string) []string
	files, folders []string
}

// newGap makes the gap of a command that can leave files out of the names that it prints; nil for any other.
func (a *analysis) newGap(c *call) *gap {
	if a.mute > 0 || c.guess || c.sub || len(c.words) < 2 && c.name != "find" {
		return nil
	}
	if c.name != "find" && c.name != "rg" && c.name != "git" {
		return nil
	}
	g := &gap{at: len(c.words)}
	switch c.name {
	case "find":
		g.at, g.without = expressionAt(c.words), program.TestsWithout
		if g.brackets = g.at < len(c.words); !balanced(texts(c.words[g.at-1:])) {
			return nil
		}
	case "rg":
		g.without = program.GlobsWithout
		for i, w := range c.words {
			if w.text == "--" {
				g.at = i
				break
			}
		}
		if c.use.Tree != nil || !has(texts(c.words[1:g.at]), "--files") {
			return nil
		}
	case "git":
		if sub := c.arg(1); sub != "ls-files" && (sub != "diff" || !has(texts(c.words), "--name-only")) {
			return nil
		}
		g.without = program.PathspecsWithout
	}
	g.mark = "\x00" + strconv.Itoa(len(a.gaps)) + "\x00"
	a.gaps = append(a.gaps, g)
	return g
}

// expressionAt is where the tests of find begin: behind its folders and the options that count for all of it.
func expressionAt(words []word) int {
	i := 1
	for i < len(words) && !(strings.HasPrefix(words[i].text, "-") && len(words[i].text) > 2 && !strings.HasPrefix(words[i].text, "-O")) && !among(words[i].text, "!", "(", ")", ",") {
		i++
	}
	for i < len(words) {
		switch words[i].text {
		case "-maxdepth", "-mindepth", "-regextype":
			i++
		case "-depth", "-mount", "-xdev", "-noleaf", "-daystart", "-warn", "-nowarn", "-ignore_readdir_race", "-noignore_readdir_race":
		default:
			return min(i, len(words))
		}
		i++
	}
	return len(words)
}

// balanced reports whether no bracket of an expression of find closes one that was opened before it. The word behind a
// test may be its value and no bracket, and those of -exec are not the expression's; words[0] stands before it.
func balanced(words []string) bool {
	depth, exec := 0, false
	for i, w := range words[1:] {
		before := words[i]
		exec = exec || strings.HasPrefix(w, "-exec") || strings.HasPrefix(w, "-ok")
		if w != "(" && w != ")" {
			continue
		}
		if exec || strings.HasPrefix(before, "-") && !among(before, "-o", "-or", "-a", "-and", "-not", "-prune", "-print", "-print0", "-empty", "-true", "-false", "-xdev", "-depth") {
			return false
		}
		if w == "(" {
			depth++
		} else if depth--; depth < 0 {
			return false
		}
	}
	return depth == 0
}

// leave adds names that are left out.
func (g *gap) leave(files, folders []string) {
	g.files, g.folders = append(g.files, files...), append(g.folders, folders...)
}

// fill writes the words into the gaps of a script.
func (a *analysis) fill(script string) string {
	if len(a.gaps) == 0 || script == "" {
		return script
	}
	var pairs []string
	for _, g := range a.gaps {
		before, behind := "", ""
		if len(g.files)+len(g.folders) > 0 {
			for _, w := range g.without(g.files, g.folders) {
				before += " " + quote(w)
			}
			if g.brackets {
				before, behind = before+" '('", " ')'"
			}
		}
		pairs = append(pairs, g.mark+"(", before, g.mark+")", behind)
	}
	return strings.NewReplacer(pairs...).Replace(script)
}
