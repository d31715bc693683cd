package conversation

import (
	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation/ruleset"
	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/permission"
)

// rules gathers the rules of all sources.
func (i *Instance) rules(c *config.Config) (rules []permission.Rule, notes []string, err error) {
	return ruleset.Read(c, ruleset.Options{
		Tools: i.tools, Dir: i.opts.Dir, Home: i.paths.Home, Allowed: i.opts.Allowed, Disallowed: i.opts.Disallowed,
		Resolve: files.Resolved,
	})
}

// newPolicy makes the policy of a session; the second result lists faulty rules.
func (i *Instance) newPolicy() (*permission.Policy, []string, error) {
	rules, notes, err := i.rules(i.conf.Load())
	p := permission.NewPolicy(i.tools, files.Resolved(i.paths.Home), nil, rules)
	for _, dir := range []string{i.paths.ConfigHome, i.paths.StateHome, i.paths.DataHome} {
		p.Own = append(p.Own, files.Resolved(dir))
	}
	p.ForbidBypass(i.conf.Load().BypassForbidden() != nil)
	return p, notes, err
}

// keepRule writes a rule that a session granted to the project's local settings, and puts it in force for the other
// open sessions.
func (s *Session) keepRule(r permission.Rule) error {
	if err := s.inst.conf.Load().Append("permissions."+string(r.Effect), r.Text, config.Local); err != nil {
		return err
	}
	for _, other := range s.inst.running() {
		if other.Authority != s.Authority {
			other.Authority.Adopt(r)
		}
	}
	return nil
}
