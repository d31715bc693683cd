//go:build linux && (amd64 || arm64)

package boundary_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a plugin keeps in the project's .claude is the command's to write; what configures the agent stays as it is.
func TestPluginsKeepStateInTheAgentsFolder(t *testing.T) {
	const settings = `{"permissions": {"deny": ["Bash(rm:*)"]}}`
	for name, c := range map[string]struct {
		before     map[string]string
		line       string
		kept, gone string // paths below the project; "": none
	}{
		"a new folder":    {nil, "mkdir -p .claude; echo 1 >.claude/loop.local.md", ".claude/loop.local.md", ""},
		"beside settings": {map[string]string{"settings.json": settings}, "echo 1 >.claude/loop.local.md", ".claude/loop.local.md", ""},
		"a replaced file": {
			map[string]string{"settings.json": settings, "loop.local.md": "1"},
			"f=.claude/loop.local.md; echo 2 >$f.tmp.$$; mv $f.tmp.$$ $f; grep 2 $f", ".claude/loop.local.md", "",
		},
		"settings beside new state": {
			nil, "mkdir -p .claude; echo 1 >.claude/loop.local.md; echo '{}' >.claude/settings.json",
			".claude/loop.local.md", ".claude/settings.json",
		},
		"a program beside state": {
			map[string]string{"loop.local.md": "1"},
			"echo evil >.claude/statusline", ".claude/loop.local.md",
			".claude/statusline",
		},
		"new settings":     {map[string]string{"a.md": "x"}, "echo '{}' >.claude/settings.local.json", ".claude/a.md", ".claude/settings.local.json"},
		"a moved folder":   {map[string]string{"settings.json": settings}, "mv .claude gone; mkdir .claude", ".claude/settings.json", "gone"},
		"settings changed": {map[string]string{"settings.json": settings}, "echo '{}' >.claude/settings.json; rm -f .claude/settings.json", ".claude/settings.json", ""},
		"a skill changed":  {map[string]string{"skills/x/SKILL.md": "x"}, "echo evil >.claude/skills/x/SKILL.md; mkdir .claude/skills/y", ".claude/skills/x/SKILL.md", ".claude/skills/y"},
		"a link in its place": {
			map[string]string{"loop.local.md": "1"},
			"mkdir e; echo '{}' >e/settings.json; mv .claude gone; ln -s e .claude",
			"e/settings.json", ".claude",
		},
		"a link as state": {map[string]string{"settings.json": settings}, "ln -s /etc/passwd .claude/x.local.md", "", ".claude/x.local.md"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			b := p.open(t, "")
			for name, text := range c.before {
				write(t, filepath.Join(p.dir, ".claude", name), text)
			}
			_, out, notes, _ := run(t, b, p.dir, c.line)
			if _, err := os.Lstat(filepath.Join(p.dir, c.kept)); err != nil {
				t.Errorf("%s is gone: %s, %q", c.kept, out, notes)
			}
			if _, err := os.Lstat(filepath.Join(p.dir, c.gone)); c.gone != "" && err == nil {
				t.Errorf("%s stays: %s, %q", c.gone, out, notes)
			}
			if text, err := os.ReadFile(filepath.Join(p.dir, ".claude/settings.json")); c.before["settings.json"] != "" &&
				(err != nil || string(text) != settings) {
				t.Errorf("the settings are %s, %v", text, err)
			}
			if strings.Contains(strings.Join(notes, "\n"), "could not") {
				t.Errorf("%q", notes)
			}
		})
	}
}
