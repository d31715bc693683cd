package shell

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
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

	filter   string // sed, which takes names out of a list of the past; "" for none
	file     string // the file that the word before which it stands names: its text may take the place of the word
	word     string // that word
	text     string // its text
	filtered bool   // the list is used
}

// words reports whether the names are single words in any case.
func (g *gap) words() bool { return g.file != "" || g.filter != "" }

// newGap makes the gap of a command that can leave files out of the names that it prints; nil for any other.
func (a *analysis) newGap(c *call) *gap {
	if a.mute > 0 || c.guess || c.sub || len(c.words) < 2 && c.name != "find" {
		return nil
	}
	switch c.name {
	case "find", "rg", "git":
	case "cat", "head", "tail", "sort", "uniq", "grep", "egrep", "fgrep":
		if g := a.fileGap(c); g != nil {
			return a.marked(g)
		}
		return nil
	default:
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
		g.without = program.PathspecsWithout
		switch sub := c.arg(1); sub {
		case "ls-files":
			return a.marked(g)
		case "diff":
			if args := texts(c.words[2:]); !has(args, "--name-only") {
				return nil
			} else if !comparesCommits(args) {
				return a.marked(g)
			} else if !onlyNames("git diff", args) {
				return nil
			}
		case "log", "show", "diff-tree", "ls-tree":
			if anyUnknown(c.words) || !printsPast(sub, texts(c.words[2:])) {
				return nil
			}
		default:
			return nil
		}
		sed, ok := a.programPath("sed", &scope{dirs: c.dirs})
		if !ok {
			return nil
		}
		g.filter = sed
	}
	return a.marked(g)
}

// fileGap is the gap of a command that prints lines of one file: its text may stand in the place of the name.
func (a *analysis) fileGap(c *call) *gap {
	if _, reads := a.world.(permission.Texts); !reads || !c.use.Class.ReadOnly() || len(c.use.Reads) != 1 ||
		c.use.Tree != nil || len(c.dirs) != 1 || len(c.assigns) > 0 || c.in.any {
		return nil
	}
	at := 0
	var args []string
	for i, w := range c.words[1:] {
		switch {
		case !w.literal() || w.glob:
			return nil
		case w.text == c.use.Reads[0] && at == 0 && w.text != "" && w.text[0] != '-':
			at = i + 1
		default:
			args = append(args, w.text)
		}
	}
	if at == 0 || !(c.name == "cat" && len(args) == 0 || passesLines(c, args)) || has(args, "--") || c.name == "tail" &&
		(short(args, 'f') || short(args, 'F') || len(args) > 0 && strings.HasPrefix(args[0], "--")) {
		return nil
	}
	return &gap{at: at, file: from(c.words[at].text, c.dirs[0]), word: c.words[at].text}
}

// linesOf are the lines of the file that a command prints.
func (a *analysis) linesOf(c *call) (lines []string, ok bool) {
	text, ok := a.fileText(c.gap.file)
	if !ok || strings.Contains(text, "\x00") {
		return nil, false
	}
	c.gap.text = text
	lines = slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return line == "" })
	return lines, len(lines) > 0 && len(lines) <= maxKnownNames
}

// marked gives a gap its mark.
func (a *analysis) marked(g *gap) *gap {
	g.mark = "\x00" + strconv.Itoa(len(a.gaps)) + "\x00"
	a.gaps = append(a.gaps, g)
	return g
}

// expressionAt is where the tests of find begin: behind its folders and the options that count for all of it.
func expressionAt(words []word) int {
	i := 1
	for i < len(words) && !(strings.HasPrefix(words[i].text, "-") && len(words[i].text) > 2 && !strings.HasPrefix(
		words[i].text, "-O")) && !among(words[i].text, "!", "(", ")", ",") {
		i++
	}
	for i < len(words) {
		switch words[i].text {
		case "-maxdepth", "-mindepth", "-regextype":
			i++
		case "-depth", "-mount", "-xdev", "-noleaf", "-daystart", "-warn", "-nowarn", "-ignore_readdir_race",
			"-noignore_readdir_race":
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
		if exec || strings.HasPrefix(before, "-") && !among(before, "-o", "-or", "-a", "-and", "-not", "-prune", "-print",
			"-print0", "-empty", "-true", "-false", "-xdev", "-depth") {
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

// input is a redirection from the text of the file. <<< ends the last line, which the file may not.
func (g *gap) input() string {
	if text, ended := strings.CutSuffix(g.text, "\n"); ended {
		return "<<<" + quote(text)
	}
	return "< <(builtin printf %s " + quote(g.text) + ")"
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
		if g.file != "" && g.filtered {
			pairs = append(pairs, g.mark+"( "+quote(g.word)+g.mark+")", " "+g.input())
		}
		if g.filter != "" {
			if g.filtered {
				before, behind = "{ ", " | "+quote(g.filter)+quoted(expressionsWithout(g.files, g.folders))+"; }"
			}
			pairs = append(pairs, g.mark+"(", before, g.mark+")", behind)
			continue
		}
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
