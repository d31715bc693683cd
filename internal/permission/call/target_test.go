package call_test

import (
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

// decided is the decision on a line under the given rules: "allow Bash(echo *)".
func decided(t *testing.T, mode permission.Mode, line string, rules map[string]permission.Effect) permission.Decision {
	t.Helper()
	m := machine()
	var rs []permission.Rule
	for text, effect := range rules {
		r, err := permission.ParseRule(tools, text, effect, permission.Source{})
		if err != nil {
			t.Fatal(err)
		}
		rs = append(rs, r)
	}
	req, err := m.Request("Bash", object("command", line), call.Fixture{})
	if err != nil {
		t.Fatal(err)
	}
	req.Mode = mode
	return m.Policy(rs).Decide(req)
}

func TestNoRuleCoversAFileThatOnlyRunningTells(t *testing.T) {
	rules := map[string]permission.Effect{
		"Bash(echo *)": permission.Allow, "Bash(cat *)": permission.Allow,
		"Bash(cat)": permission.Allow, "Edit(**)": permission.Allow,
	}
	for _, op := range []string{">", ">>", ">|", "2>", "&>", "&>>", "1<>", "<>", "3>"} {
		for _, target := range []string{
			"$V", `"$V"`, "${V}", `"${V}"`, "${a[0]}", `"${a[@]}"`, "$1", "${V:-x}", "${V:=x}", "${V%x}", "${!V}", "${V@Q}",
			"$(pwd)/$V", "`cmd`", "$(cmd)", "x$V", `"$HOME/$V"`,
			"*.txt", "x?", "$((n))", "~+/x$V", "~nobody/x", "{a,b}",
		} {
			line := "echo x " + op + " " + target
			for _, mode := range []permission.Mode{permission.Default, permission.AcceptEdits} {
				if d := decided(t, mode, line, rules); d.Effect == permission.Allow {
					t.Errorf("%s in %s: %+v", line, mode, d)
				}
			}
		}
	}
	if d := decided(t, permission.Bypass, "echo x > $V",
		map[string]permission.Effect{"Edit(secrets/**)": permission.Deny}); d.Effect != permission.Ask {
		t.Errorf("a deny rule that may be about the file: %+v", d)
	}
	if d := decided(t, permission.Default, "cat < $V", rules); d.Effect == permission.Allow {
		t.Errorf("reading: %+v", d)
	}
	if d := decided(t, permission.Default, "echo x > out.txt", rules); d.Effect != permission.Allow {
		t.Errorf("a plain name: %+v", d)
	}
}
