package approval

import (
	"sync/atomic"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/store/journal"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// sessionScope is the source of rules that were granted while the session ran.
const sessionScope = "this session"

// Rules are the rules in force in one session: those of the settings and those that were granted in it. Grants are
// journaled, so that a resumed session has them.
type Rules struct {
	policy  *permission.Policy
	tools   permission.Tools
	dir     string // of the instance, which paths in granted rules are relative to
	journal *journal.Journal
	version atomic.Uint64
}

// NewRules makes the rules of a session in dir.
func NewRules(p *permission.Policy, tools permission.Tools, dir string, j *journal.Journal) *Rules {
	return &Rules{policy: p, tools: tools, dir: dir, journal: j}
}

// Policy decides by these rules. Rules are changed through Rules.
func (r *Rules) Policy() *permission.Policy { return r.policy }

// Version grows when a rule or the kind of agent changes, and with it which tools there are.
func (r *Rules) Version() uint64 { return r.version.Load() }

// Rules lists the rules in force, those given in this session last.
func (r *Rules) Rules() []permission.Rule { return r.policy.Rules() }

// SetAgent makes the main agent one of another kind from the next call on.
func (r *Rules) SetAgent(k permission.AgentKind) {
	r.policy.SetAgent(k)
	r.version.Add(1)
}

// SetRules replaces the rules of the settings.
func (r *Rules) SetRules(rules []permission.Rule) {
	r.policy.SetRules(rules)
	r.version.Add(1)
}

// Adopt puts a rule in force that another session granted.
func (r *Rules) Adopt(rule permission.Rule) {
	r.policy.Grant(rule)
	r.version.Add(1)
}

// Grant puts a rule in force for this session.
func (r *Rules) Grant(text string, e permission.Effect) error {
	rule, err := r.parse(text, e)
	if err != nil {
		return err
	}
	r.Adopt(rule)
	r.note(rule.Text, e)
	return nil
}

// Ungrant takes a rule of this session back; false when it has none like it.
func (r *Rules) Ungrant(text string, e permission.Effect) bool {
	defer r.version.Add(1)
	rule, err := permission.ParseRule(r.tools, text, e, permission.Source{})
	if err != nil || !r.policy.Ungrant(rule.Text, e) {
		return false
	}
	r.note(rule.Text, "")
	return true
}

// Granted lists the rules that were granted in this session.
func (r *Rules) Granted() (out []permission.Rule) {
	for _, rule := range r.policy.Rules() {
		if rule.Source.Name == sessionScope {
			out = append(out, rule)
		}
	}
	return out
}

// Restore puts a journaled grant in force again.
func (r *Rules) Restore(g session.Grant) error {
	if g.Effect == "" {
		for _, e := range []permission.Effect{permission.Allow, permission.Ask, permission.Deny} {
			r.policy.Ungrant(g.Rule, e)
		}
		return nil
	}
	rule, err := r.parse(g.Rule, permission.Effect(g.Effect))
	if err != nil {
		return err
	}
	r.policy.Grant(rule)
	return nil
}

// JournalGrants writes down the rules that were granted before the first message.
func (r *Rules) JournalGrants() {
	for _, rule := range r.Granted() {
		_ = r.journal.Add(session.Grant{Rule: rule.Text, Effect: string(rule.Effect)})
	}
}

// note writes down a granted rule, or with an empty effect that it was taken back. Before the first message there
// is nothing to resume: JournalGrants writes those of that time. A grant that cannot be written holds until the
// session ends.
func (r *Rules) note(text string, e permission.Effect) {
	if len(r.journal.Messages()) > 0 {
		_ = r.journal.Add(session.Grant{Rule: text, Effect: string(e)})
	}
}

func (r *Rules) parse(text string, e permission.Effect) (permission.Rule, error) {
	return permission.ParseRule(r.tools, text, e, permission.Source{Name: sessionScope, Base: r.dir})
}
