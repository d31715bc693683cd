// Package ruleset reads the permission rules of a configuration.
//
// The words: a source is a settings file or the command line; a note names a rule without effect and the reason; the
// examples of a rule (match, notMatch) are tried on a hypothetical machine.
//
// Promises: rules come in the order of their sources; a rule that cannot be read is a note and takes no other rule
// with it; a rule that fails one of its own examples is an error, since its author meant another one.
package ruleset

import (
	"fmt"
	"path/filepath"
	"strings"

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
// rules that a project may not set. Notes name the rules without effect, and the reason; the error names a rule that fails one
// of its own examples.
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
		b.err = fmt.Errorf("%s: %w; change the rule or the example", src.Name, err)
	}
}

func (b *ruleReader) add(r permission.Rule, err error) {
	if err != nil {
		b.notes = append(b.notes, fmt.Sprintf("%s: %v", r.Source.Name, err))
		return
	}
	b.rules = append(b.rules, r)
	if w := r.Warning(); w != "" {
		b.notes = append(b.notes, r.Source.Name+": "+w)
	}
	if r.Effect != permission.Allow && !strings.ContainsAny(r.Tool, "_*") && !b.o.Tools.Traits(r.Tool).Known { // others may come later
		b.notes = append(b.notes, fmt.Sprintf("%s: the rule %s names no tool of lathe's, so it has no effect", r.Source.Name, r.Text))
	}
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
