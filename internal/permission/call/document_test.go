package call_test

import (
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

// A rule covers its command whatever joins the line's parts, and with arguments and input out of here-documents.
func TestHereDocumentsMatchTheRuleOfTheirCommand(t *testing.T) {
	message := "\"$(cat <<'EOF'\nfix: it's \"done\" (now)\n\nBody: $x `y`; rm -rf z\nEOF\n)\""
	for _, tt := range []struct {
		rule, line string
		want       permission.Effect
	}{
		{"git push *", "git push && echo ok", permission.Allow},
		{"git push *", "git push; git status", permission.Allow},
		{"git push *", "git push 2>&1 | tail -5", permission.Allow},
		{"git push *", "git push && touch x", permission.Ask},
		{"git commit *", "git commit -m " + message, permission.Allow},
		{"git commit *", "git commit -m " + message + " && git log -1 | head -3", permission.Allow},
		{"git commit *", "git commit -F - <<'EOF'\nfix: it\n\nrm -rf x\nEOF", permission.Allow},
		{"git commit *", "git commit -m \"$(cat <<EOF\n$(touch x)\nEOF\n)\"", permission.Ask},
		{"git commit *", "git commit -F ../message", permission.Ask},
		{"gh pr create *", "gh pr create --title x --body " + message, permission.Allow},
		{"gh pr create *", "gh pr create --title x --body-file - <<'EOF'\ntext\nEOF", permission.Allow},
		{"python3 *", "python3 - <<'EOF'\nprint(1)\nEOF", permission.Allow},
		{"bash *", "bash <<'EOF'\ntouch x\nEOF", permission.Ask},
	} {
		m := machine()
		r, err := permission.ParseRule(tools, "Bash("+tt.rule+")", permission.Allow, permission.Source{})
		if err != nil {
			t.Fatal(err)
		}
		req, err := m.Request("Bash", object("command", tt.line), call.Fixture{})
		if d := m.Policy([]permission.Rule{r}).Decide(req); d.Effect != tt.want || err != nil {
			t.Errorf("%s: %q: %s (%s), want %s %v", tt.rule, tt.line, d.Effect, d.Reason, tt.want, err)
		}
	}
}
