package permission

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/lathe-dev/lathe/internal/base/glob"
)

// doubt finds a deny rule that may match the call, where nobody can know before it runs. Then a person
// decides, in every mode, with any allow rules and grants.
func (c *call) doubt() (Decision, bool) {
	for r := range c.strict() {
		if r.Effect != Deny {
			continue
		}
		for i := range c.Accesses {
			if why := c.mayTouch(r, &c.Accesses[i]); why != "" {
				return Decision{
					Effect: Ask, Layer: LayerDeny, Rule: r.Text, Source: r.Source.Name,
					Reason: fmt.Sprintf("the rule %s (%s) may deny it: %s", r.Text, r.Source.Name, why),
				}, true
			}
		}
	}
	return Decision{}, false
}

// mayTouch says why a deny rule might be about an access that it does not plainly match.
func (c *call) mayTouch(r *Rule, a *Access) string {
	if a.Below && a.Kind == Read && r.class() == "Read" && !c.held() && c.p.mayMatchBelow(r, c.Dir, a) {
		return "everything below " + a.where() + " is read, and what lies there is not known"
	}
	if a.Below && a.Kind == Write && (r.class() == "Edit" || r.class() == "Read") && c.p.mayMatchBelow(r, c.Dir, a) {
		return "files are written below " + a.where() + " whose names are not known"
	}
	switch {
	case a.Kind == Exec && r.Spec != "" && r.coversTool(c.Tool):
		t := r.spec()
		return t.mayDeny(a.Command)
	case a.Kind == Exec && r.class() == "Read" && r.Spec != "":
		return c.p.mayRead(r, c.Dir, a.Command)
	case a.Kind == Net && (r.Tool == "WebFetch" || r.coversTool(c.Tool)):
		return mayReach(r, a.Target)
	case a.Kind == Exec && r.Tool == "WebFetch" && r.Spec != "":
		return mentionsHost(r, a.Command)
	}
	if a.Kind == Read && a.Node == Missing && r.class() == "Read" && c.p.mayStandFor(r, a.Target) {
		return "the pattern " + a.Target + " may stand for it"
	}
	if a.Node == Unknown && !filepath.IsAbs(a.Target) && (r.class() == "Read" || r.class() == "Edit" && a.Kind == Write) {
		return "only running it tells which file " + a.Target + " is"
	}
	return ""
}

// mayDeny says why a pattern could be about something that a command runs and that its text does not show.
func (t *pattern) mayDeny(cmd *Command) string {
	if cmd.Unseen != "" {
		return cmd.Unseen
	}
	for _, text := range cmd.Begins {
		if t.begins(text) {
			return "only running it tells the rest of: " + text
		}
	}
	for _, text := range cmd.Alike {
		if t.matchesFolded(text) {
			return "it has the same effect as: " + cut(text)
		}
	}
	for _, text := range cmd.Mentions {
		if t.within(text) {
			return "a program may run what stands in: " + cut(text)
		}
	}
	return ""
}

// begins reports whether some text that begins with s matches.
func (t *pattern) begins(s string) bool {
	prefix, ok := strings.CutSuffix(t.text, ":*")
	if ok {
		t := newPattern(prefix + " *")
		return t.begins(s)
	}
	at := map[int]bool{0: true} // places in the pattern that s may have reached
	for i := range len(s) {
		next := map[int]bool{}
		for p := range at {
			for p < len(t.text) && t.text[p] == '*' {
				next[p] = true
				p++
			}
			if p < len(t.text) && t.text[p] == s[i] {
				next[p+1] = true
			}
		}
		if at = next; len(at) == 0 {
			return false
		}
	}
	return true
}

// within reports whether a command that the pattern matches may stand somewhere in a text: in quotes, in code, behind
// words of a program that runs others.
func (t *pattern) within(text string) bool {
	words := strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune("\"'`()[]{},;&|<>$\\!=", r)
	})
	if len(words) > maxMention {
		words = words[:maxMention]
	}
	size := len(strings.Fields(t.text))
	for i, w := range words {
		words[i] = w[strings.LastIndexByte(w, '/')+1:]
		rest := strings.Join(words[i:min(len(words), i+size)], " ")
		if t.matchesFolded(rest) || t.matchesFolded(strings.Join(words[i:min(len(words), i+size+2)], " ")) {
			return true
		}
	}
	return false
}

// maxMention is how many words of one text are looked at.
const maxMention = 2000

// mayRead is the reason why a rule on files may match a command: it gets file names unknown until it runs, or a
// file that the rule matches is among the words of a program that may read it.
func (p *Policy) mayRead(r *Rule, dir string, cmd *Command) string {
	if why := cmp.Or(cmd.UnseenFiles, cmd.Unseen); why != "" {
		return why
	}
	for i := range cmd.Parts {
		part := &cmd.Parts[i]
		if part.readOnly() && !part.Covered {
			continue
		}
		words := strings.FieldsFunc(part.Text, func(
			r rune,
		) bool {
			return unicode.IsSpace(r) || strings.ContainsRune("\"'`(){},;&|<>$\\=@:", r)
		})
		for _, w := range words[:min(len(words), maxMention)] {
			at := strings.TrimPrefix(w, "//") // of an address: file://.env
			switch {
			case strings.HasPrefix(at, "~/"):
				at = p.Home + at[1:]
			case !filepath.IsAbs(at):
				at = dir + "/" + at
			}
			if p.pathMatches(r, dir, at) || p.mayStandFor(r, at) {
				return w + " is named: " + cut(part.Text)
			}
		}
	}
	return ""
}

// mayStandFor reports whether a word with * or ? in its last part may stand for the file that a rule names.
func (p *Policy) mayStandFor(r *Rule, word string) bool {
	base, want := path.Base(slashed(word)), path.Base(strings.TrimSuffix(r.Spec, "/**"))
	if !strings.ContainsAny(base, "*?[") || strings.Trim(base, "*?[]!^") == "" || strings.ContainsAny(want, "*?[{") {
		return false
	}
	return glob.Match(foldName(base), foldName(want))
}

// mayReach says why a rule on hosts may be about a machine that it does not name.
func mayReach(r *Rule, target string) string {
	spec, ok := strings.CutPrefix(r.Spec, "domain:")
	if !ok {
		return ""
	}
	name, rule := readHost(target).name, readHost(spec).name
	if subdomain(spec, name) {
		return target + " lies below the host that it names"
	}
	at, isAt := address(name)
	ruleAt, byAddress := address(rule)
	switch local := isAt && (at.IsLoopback() || at.IsUnspecified()); {
	case isAt && !byAddress && (!local || privateHost(rule)):
		return target + " may be the address of the host that it names"
	case byAddress && ruleAt.IsLoopback() && (local || !isAt && privateHost(name)):
		return target + " may be the same machine"
	}
	return ""
}

// mentionsHost says why a rule on hosts may be about a command: the host's name stands in it.
func mentionsHost(r *Rule, cmd *Command) string {
	spec, ok := strings.CutPrefix(r.Spec, "domain:")
	if !ok {
		return ""
	}
	if why := cmp.Or(cmd.UnseenHosts, cmd.Unseen); why != "" {
		return why
	}
	spec = strings.TrimSuffix(strings.ToLower(strings.TrimSpace(spec)), ".")
	texts := slices.Clone(cmd.Mentions) // texts that a program may run
	for i := range cmd.Parts {
		part := &cmd.Parts[i]
		if !part.readOnly() {
			texts = append(texts, part.Text)
		}
	}
	for _, text := range texts {
		if host := hostIn(text, spec); host != "" {
			return "the host " + host + " is named"
		}
	}
	return ""
}

// hostIn finds a name in a text that a rule on hosts is about, or returns "".
func hostIn(text, spec string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !(r == '.' || r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r > 0x7f)
	})
	for _, w := range words {
		if name := canonicalHost(strings.Trim(w, ".")); strings.Contains(w, ".") && (hostMatches(spec, name) ||
			subdomain(spec, name)) {
			return w
		}
	}
	return ""
}
