package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
)

// Files in the user's folders and in plugins are found while lathe runs, and read again when they have changed.
func TestThemesAndKeysAreFoundWhileItRuns(t *testing.T) {
	home, dir, demo := t.TempDir(), t.TempDir(), t.TempDir()
	write := func(text string, path ...string) {
		t.Helper()
		file := filepath.Join(path...)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"name": "demo"}`, demo, ".claude-plugin", "plugin.json")
	write(`{"alt+q": "command:greet", "alt+z": "confirm:yes"}`, demo, "keybindings.json")
	write(`{"base": "light"}`, demo, "themes", "paper.json")
	write(`{"theme": "custom:night", "keybindings": {"alt+s": "chat:stash"}}`, home, ".config", "lathe", "settings.json")
	env := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=k"}
	cfg, err := config.Load(config.Options{Dir: dir, Home: home, Environ: env, ManagedPaths: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	inst, err := conversation.Open(conversation.Options{Config: cfg, Dir: dir, Environ: env, PluginDirs: []string{demo}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = inst.Close() })
	l := looksOf(inst)
	look := l.now()
	if look.Theme != "night" || look.File != nil || look.Commands["alt+q"] != "demo:greet" || len(look.Commands) != 1 {
		t.Errorf("%+v", look)
	}
	if names := strings.Join(l.names(), " "); !strings.HasSuffix(names, " none demo:paper") {
		t.Errorf("the themes are %s", names)
	}
	write(`{"base": "dark"}`, home, ".claude", "themes", "night.json")
	write(`{"bindings": [{"context": "Chat", "bindings": {"alt+x": "chat:stash"}}]}`, home, ".claude", "keybindings.json")
	look = l.now()
	m, problems := keys.LoadAll(look.Commands, look.Keys...)
	if string(look.File) != `{"base": "dark"}` || len(problems) > 0 || m.Key("chat:stash") != "alt+s" {
		t.Errorf("the theme is %s, stash is on %s; problems %v", look.File, m.Key("chat:stash"), problems)
	}
	write(`{"base": "high-contrast"}`, home, ".claude", "themes", "night.json")
	if look = l.now(); string(look.File) != `{"base": "high-contrast"}` {
		t.Errorf("the changed theme is %s", look.File)
	}
}
