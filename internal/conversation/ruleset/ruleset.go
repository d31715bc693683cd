// Package ruleset reads the permission rules of a configuration.
//
// The words: a source is a settings file or the command line; a note names a rule without effect and the reason; the
// examples of a rule (match, notMatch) are tried on a hypothetical machine.
//
// Promises: rules come in the order of their sources. A deny or ask rule that cannot be read, has no effect or names a
// misspelled tool is an error, since the call that it should stop would run; such an allow rule is a note and drops no
// other rule. A rule that fails one of its own examples is an error, since it does not do what its author meant.
package ruleset

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/fuzzy"
	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

// Options place the rules of a configuration.
type Options struct {
	Tools      *call.Catalogue
	Dir        string // the working folder
	Home       string
	Allowed    []string // rules of the command line
	Disallowed []string
	Resolve    func(path string) string // follows links, as the paths of accesses have them followed
}

// Read reads the permission rules of all sources. The configuration has already left out the
// rules that a project may not set. Notes name the rules without effect, and the reason; the error names the first rule
// that denies or asks and cannot be enforced, or that fails one of its own examples.
func Read(c *config.Config, o Options) (rules []permission.Rule, notes []string, err error) {
	b := ruleReader{o: o, root: c.Paths().Root}
	for _, r := range c.Rules() {
		b.setting(r)
	}
	line := permission.Source{Name: "command line", Base: o.Dir}
	for _, t := range o.Allowed {
		b.add(permission.ParseRule(o.Tools, t, permission.Allow, line))
	}
	for _, t := range o.Disallowed {
		b.add(permission.ParseRule(o.Tools, t, permission.Deny, line))
	}
	return b.rules, b.notes, b.err
}

// Of reads the rules in the file of an agent, whose name is their source. Of these also one that allows and cannot be
// read is an error, since it has a place among few.
func Of(o Options, name string, allow, ask, deny []string) ([]permission.Rule, error) {
	b := ruleReader{o: o}
	src := permission.Source{Name: name, Base: o.Dir}
	for effect, texts := range map[permission.Effect][]string{
		permission.Allow: allow, permission.Ask: ask,
		permission.Deny: deny,
	} {
		for _, t := range texts {
			b.add(permission.ParseRule(o.Tools, t, effect, src))
		}
	}
	if b.err == nil && len(b.notes) > 0 && len(b.rules) < len(allow)+len(ask)+len(deny) {
		return nil, errors.New(b.notes[0])
	}
	return b.rules, b.err
}

type ruleReader struct {
	o     Options
	root  string
	rules []permission.Rule
	notes []string
	err   error
	on    *call.Machine // where examples are tried
}

// setting reads one rule of the settings and tries its examples.
func (b *ruleReader) setting(c config.Rule) {
	src, effect := permission.Source{Name: c.Origin.String(), Base: b.base(c.Origin)}, permission.Effect(c.Action)
	var r permission.Rule
	var err error
	if c.Text != "" {
		r, err = permission.ParseRule(b.o.Tools, c.Text, effect, src)
	} else {
		r, err = permission.ParseOrdered(b.o.Tools, c.Permission, c.Pattern, effect, src)
	}
	r.Match, r.NotMatch = c.Match, c.NotMatch
	b.add(r, err)
	if err != nil || b.err != nil || len(c.Match)+len(c.NotMatch) == 0 {
		return
	}
	if b.on == nil {
		b.on = call.NewMachine(b.o.Tools, b.o.Dir, b.o.Home)
	}
	if err := b.on.Try(r); err != nil {
		b.fail(fmt.Errorf("%s: %w; change the rule or the example", src.Name, err))
	}
}

func (b *ruleReader) add(r permission.Rule, err error) {
	warning := ""
	if err != nil {
		warning = err.Error()
	} else {
		b.rules = append(b.rules, r)
		warning = cmp.Or(b.misspelled(r), r.Warning())
	}
	restricts := r.Effect != permission.Allow
	switch {
	case warning != "" && restricts:
		b.fail(fmt.Errorf("%s: %s; correct the rule or take it out: one that restricts is never skipped", r.Source.Name,
			warning))
	case warning != "":
		b.notes = append(b.notes, r.Source.Name+": "+warning)
	case restricts && !strings.ContainsAny(r.Tool, "_*") && !b.o.Tools.Traits(r.Tool).Known: // others may come later
		b.notes = append(b.notes, fmt.Sprintf("%s: the rule %s names no tool of lathe's, so it has no effect", r.Source.Name,
			r.Text))
	}
}

func (b *ruleReader) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// misspelled returns a hint if a rule's tool, or the word before the colon of its pattern, is most likely misspelled,
// else "". Any other unknown tool may belong to a server or plugin that is not loaded now.
func (b *ruleReader) misspelled(r permission.Rule) string {
	traits := b.o.Tools.Traits(r.Tool)
	if !traits.Known && !strings.Contains(r.Tool, "*") && !strings.HasPrefix(r.Tool, "mcp__") {
		if near := b.o.Tools.Nearest(r.Tool); near != "" && r.Tool != permission.ExternalDirectory &&
			r.Tool != permission.DoomLoop {
			return fmt.Sprintf("the rule %s names no tool; did you mean %s?", r.Text, near)
		}
	}
	if name, _, ok := strings.Cut(r.Spec, ":"); ok && traits.Subject == permission.SubjectHost && name != "domain" &&
		fuzzy.Distance(strings.ToLower(name), "domain", 2) <= 2 {
		return fmt.Sprintf("the rule %s has no effect; did you mean %s(domain:...)?", r.Text, r.Tool)
	}
	return ""
}

// base is the folder for which a leading slash in a path pattern stands: the project for its files, the folder of
// the settings file for others.
func (b *ruleReader) base(o config.Origin) string {
	switch {
	case o.Layer == config.Project || o.Layer == config.Local:
		return b.o.Resolve(b.root)
	case filepath.IsAbs(o.File):
		return b.o.Resolve(filepath.Dir(o.File))
	}
	return b.o.Dir
}
