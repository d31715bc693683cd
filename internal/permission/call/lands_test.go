package call_test

import (
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
)

func TestWhatComesWithACopyIsLookedAt(t *testing.T) {
	for line, want := range map[string]permission.Effect{
		"cp a b":                       permission.Allow,
		"cp a.txt src/":                permission.Allow,
		"mv a.txt src/b.txt":           permission.Allow,
		"mkdir -p a/b && touch a/b/c":  permission.Allow,
		"cp -r t/. .":                  permission.Ask, // the files in t are unknown
		"cp -a t .":                    permission.Ask,
		"cp t/.mcp.json .":             permission.Deny,
		"cp t/pre-commit .git/hooks":   permission.Deny,
		"cp t/.envrc .":                permission.Ask,
		"cp -t . t/.mcp.json":          permission.Deny,
		"mv t/.vscode .":               permission.Deny,
		"mv t/.bashrc ..":              permission.Deny,
		"cp t/AGENTS.md .":             permission.Ask,
		"mv notes.md CLAUDE.md":        permission.Ask,
		"touch .cursorrules":           permission.Ask,
		"cp a GEMINI.md":               permission.Ask,
		"sed -i s/a/b/ docs/agents.md": permission.Ask,
		"tar xf a.tar":                 permission.Ask,
		"unzip a.zip":                  permission.Ask,
		"patch -p1 < a.diff":           permission.Ask,
		"git apply a.diff":             permission.Ask,
		"rsync -a t/ .":                permission.Ask,
	} {
		if d := decided(t, permission.AcceptEdits, line, nil); d.Effect != want {
			t.Errorf("%q: %s (%s), want %s", line, d.Effect, d.Reason, want)
		}
	}
}
