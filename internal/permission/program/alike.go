package program

import (
	"slices"
	"strings"
)

// alike notes commands that deny rules may name instead: rm for a program that removes files, git push for one that
// changes a remote repository.
func (c *call) alike(name string) {
	if c.row.has("removes") || name == "gio" && c.phrase("trash|remove") || c.row.has("packages") &&
		slices.ContainsFunc(operands(c.args), removerPackage) {
		c.likeRm(operands(c.args))
	}
	if c.row.has("pushes") || slices.ContainsFunc(c.row.pushes, c.phrase) {
		c.Alike = append(c.Alike, "git push")
	}
}

// removerPackage reports whether a package, perhaps with its registry, scope and version, removes files.
func removerPackage(name string) bool {
	name = name[strings.LastIndexAny(name, "/:")+1:]
	name, _, _ = strings.Cut(name, "@")
	r := find(name)
	return r != nil && r.has("removes")
}

// likeRm notes the ways to remove these with rm.
func (c *call) likeRm(files []string) {
	names := strings.Join(files, " ")
	for _, rm := range []string{"rm ", "rm -r ", "rm -f ", "rm -rf "} {
		c.Alike = append(c.Alike, rm+names)
	}
}

// operands are the words that are not flags.
func operands(words []Word) []string {
	var out []string
	for _, w := range words {
		if !strings.HasPrefix(w.Text, "-") && w.Text != "" {
			out = append(out, w.Text)
		}
	}
	return out
}

// phrase reports whether the words appear among the arguments in this order. A word known only at run time may be any.
func (c *call) phrase(words string) bool {
	at := 0
	for want := range strings.FieldsSeq(words) {
		i := slices.IndexFunc(c.args[at:], func(w Word) bool { return w.Unknown || w.Glob || isOneOf(w.Text, want) })
		if i < 0 {
			return false
		}
		at += i + 1
	}
	return true
}

func isOneOf(text, list string) bool {
	for want := range strings.SplitSeq(list, "|") {
		prefix, ok := strings.CutSuffix(want, "*")
		if text == want || ok && strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return false
}
