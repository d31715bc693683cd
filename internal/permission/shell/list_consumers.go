package shell

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/program"
)

// xargs: names come one a line or by NUL, and -- keeps them from being flags.
func (a *analysis) xargs(c *call, sc *scope) (string, bool) {
	inner := c.use.Inner[0]
	mark := ""
	if last := inner[len(inner)-1]; !last.Unknown || last.Text != "" || last.Quoted {
		mark = "{}"
	}
	own := len(c.words) - len(inner)
	if mark == "" {
		own++
	}
	if own < 1 || own >= len(c.words) || !c.in.piped || c.in.from >= len(a.calls) {
		return "", false
	}
	flags := texts(c.words[1:own])
	nul := short(flags, '0') || has(flags, "--null")
	lines := false
	for i, f := range flags {
		if f == `-d\n` || f == "-d\n" || f == "-d" && i+1 < len(flags) && (flags[i+1] == `\n` || flags[i+1] == "\n") {
			lines = true
			continue
		}
		if strings.HasPrefix(f, "-d") || strings.HasPrefix(f, "--d") || strings.HasPrefix(f, "-a") || strings.HasPrefix(f,
			"--a") || strings.HasPrefix(f, "-J") {
			return "", false
		}
	}
	for _, w := range c.words {
		if !w.literal() || w.glob {
			return "", false
		}
	}
	calls := a.calls[c.in.from:len(a.calls)]
	prints := among(inner[0].Text, "echo", "basename", "dirname") // they do no more than that with any text
	filled, ok := takesList(inner, mark, program.Env{Dir: sc.dir(), World: a.world})
	commits := mark == "" && a.takesCommits(inner, &nameList{calls: calls})
	past, byLine, git := a.gitListed(inner, mark, calls, sc)
	fixed := len(calls) > 0 && calls[0].gap != nil && calls[0].gap.words()
	switch {
	case git:
		filled, ok = past, !byLine || !nul
	case prints:
		filled, ok = []program.Word{inner[0]}, true
	case commits:
		filled, ok = append(slices.Clone(inner[:len(inner)-1]), program.Word{Text: "HEAD"}), true
	case fixed: // its names are single words, so that xargs takes them as they are
		ok = ok && !nul && a.listedAs(calls, false, oddInWords) == ""
	default:
		ok = ok && a.listed(calls, nul) == ""
	}
	if !ok {
		return "", false
	}
	c.filled = filled
	head, ok := a.programPath(filled[0].Text, sc)
	self, found := a.programPath(c.words[0].text, sc)
	if !ok || !found {
		return "", false
	}
	words := []string{quote(self)}
	if !nul && !lines && (byLine && git || !prints && !commits && !fixed && !git) {
		words = append(words, "'-d' '\\n'")
	}
	for _, w := range c.words[1:own] {
		words = append(words, quote(w.text))
	}
	if git {
		use := program.Analyze(filled, program.Env{Dir: sc.dir(), World: a.world})
		return strings.Join(append(words, rewriteGit(head, c.words[own:], use)...), " "), true
	}
	if commits {
		behind, ok := a.behindCommits(filled, sc)
		if !ok {
			return "", false
		}
		words = append(words, behind...)
	}
	words = append(words, quote(head))
	at := len(inner) - 1 // where the names come in
	for i, w := range inner {
		if w.Unknown {
			at = min(at, i-1)
		}
	}
	return consumer(words, c.words[own+1:], filled[0].Text, at)
}

// takesCommits reports whether a command of git gets hashes of commits behind its own words, and only reads.
func (a *analysis) takesCommits(inner []program.Word, l *nameList) bool {
	if inner[0].Text != "git" || len(inner) < 3 || !among(inner[1].Text, "show", "log", "diff-tree", "name-rev") {
		return false
	}
	for _, w := range inner[:len(inner)-1] {
		if w.Unknown || w.Glob || w.Text == "--" {
			return false
		}
	}
	name, ref, ok := revisionOf(l)
	return ok && !ref && !program.ObjectName(name) // a name may be that of a file's contents
}

// behindCommits are the words before a command of git that shows commits which xargs puts at its end: a shell adds
// pathspecs behind those. ok is false where it shows files that cannot be left out.
func (a *analysis) behindCommits(words []program.Word, sc *scope) (before []string, ok bool) {
	c := &call{name: "git", use: program.Analyze(words, program.Env{Dir: sc.dir(), World: a.world})}
	t := c.use.Tree
	if t == nil || !t.All {
		return nil, true
	}
	past := a.world.Tree(a.start, permission.TreeOptions{Past: true})
	if len(t.Hashes) > 0 {
		return nil, false // names and hashes before the commits may be those of files
	}
	if !t.Specs {
		return nil, t.Safe || past.Past.Free
	}
	if a.leavePast(c, past); len(c.except) == 0 && c.spares == nil {
		return nil, true
	}
	bash, ok := a.programPath("bash", sc)
	return []string{quote(bash), "--noprofile", "--norc", "-c", quote(`exec "$@"` + a.exceptWords(c)), "git"}, ok
}

// consumer writes the words of the command that gets the names, the first one at that place among them.
func consumer(words []string, rest []word, name string, at int) (string, bool) {
	// the first operand ends their flags; echo prints its arguments, git gets hashes
	plain := among(name, "echo", "awk", "gawk", "mawk", "git")
	if !plain && !endsFlags.has(name) {
		return "", false
	}
	for i := 0; i <= len(rest); i++ {
		if i == at && !plain {
			words = append(words, "'--'")
		}
		if i == len(rest) {
			break
		}
		if w := rest[i].text; w == "--" || i > at && strings.HasPrefix(w, "-") {
			return "", false
		}
		words = append(words, quote(rest[i].text))
	}
	return strings.Join(words, " "), true
}

// findExec: find gives names that begin with the folder where it started.
func (a *analysis) findExec(c *call, sc *scope) (string, bool) {
	at := -1
	for i, w := range c.words {
		if !w.literal() && !w.stays(c, i) {
			return "", false
		}
		switch w.text {
		case "-exec":
			if at >= 0 {
				return "", false
			}
			at = i
		case "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fls", "-fprintf":
			return "", false
		}
	}
	if at < 1 || at+2 >= len(c.words) {
		return "", false
	}
	filled, ok := takesList(withNames(c.use.Inner[0]), "{}", program.Env{Dir: sc.dir(), World: a.world})
	plain := program.Analyze(findWithout(c.words, at), program.Env{Dir: sc.dir(), World: a.world})
	if !ok || !plain.Class.ReadOnly() {
		return "", false
	}
	c.filled = filled
	self, found := a.programPath(c.words[0].text, sc)
	head, ok := a.programPath(filled[0].Text, sc)
	if !ok || !found || c.gap == nil {
		return "", false
	}
	lister := *c
	lister.use, lister.words = plain, append(append([]word{}, c.words[:at]...), word{text: "-print", show: "-print"})
	for _, dir := range plain.Reads {
		if strings.HasPrefix(dir, "-") {
			return "", false
		}
	}
	if a.listed([]*call{&lister}, true) != "" {
		return "", false
	}
	words := []string{quote(self)}
	for i, w := range c.words[1:] {
		if i+1 == c.gap.at {
			words[i] += c.gap.mark + "("
		}
		switch {
		case w.glob:
			return "", false
		case i == at:
			words = append(words, quote(head))
		default:
			words = append(words, quote(w.text))
		}
	}
	return strings.Join(words, " ") + c.gap.mark + ")", true
}

// withNames are the words of a command with a word that is nothing but {} as one that is not known.
func withNames(words []program.Word) []program.Word {
	out := make([]program.Word, len(words))
	for i, w := range words {
		if w.Unknown && w.Text == "{}" {
			w = program.Word{Unknown: true}
		}
		out[i] = w
	}
	return out
}

// findWithout are the words of find with -print in the place of -exec and its command.
func findWithout(words []word, at int) []program.Word {
	var out []program.Word
	for _, w := range words[:at] {
		out = append(out, w.program())
	}
	out = append(out, program.Word{Text: "-print"})
	end := at
	for end < len(words) && words[end].text != ";" && !(words[end].text == "+" && words[end-1].text == "{}") {
		end++
	}
	for _, w := range words[min(end+1, len(words)):] {
		out = append(out, w.program())
	}
	return out
}

// programPath is where a program of the system lies.
func (a *analysis) programPath(name string, sc *scope) (string, bool) {
	if strings.ContainsAny(name, `/\`) {
		return "", false
	}
	full := a.world.Program(name, sc.dir())
	return full, full != "" && filepath.Base(full) == name && !a.rooted(full)
}
