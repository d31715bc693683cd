package ruleset

import (
	"encoding/json"
	"path/filepath"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

// Covers reports whether a rule covers a call, as it would if it denied: with all spellings and programs of the same
// effect. Links are not followed.
func Covers(o Options, rule, tool string, input json.RawMessage) (bool, error) {
	r, err := permission.ParseRule(o.Tools, rule, permission.Deny, permission.Source{Name: "a hook", Base: o.Dir})
	if err != nil {
		return false, err
	}
	m := call.NewMachine(o.Tools, filepath.ToSlash(o.Dir), o.Home)
	req, err := m.Request(tool, input, call.Fixture{})
	if err != nil {
		return false, err
	}
	return m.Policy([]permission.Rule{r}).Decide(req).Rule == r.Text, nil
}
