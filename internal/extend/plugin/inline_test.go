package plugin_test

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/extend/plugin"
)

func zipped(t *testing.T, files map[string]string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.zip")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(out)
	for name, text := range files {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func set(t *testing.T, dirs ...string) *plugin.Set {
	return plugin.NewSet(func() *config.Config { return &config.Config{Settings: config.Settings{}} }, store(t), dirs,
		false)
}

func TestAZipFileIsAPlugin(t *testing.T) {
	for _, folder := range []string{"", "demo-1.0/"} {
		s := set(t, zipped(t, map[string]string{folder + ".claude-plugin/plugin.json": `{"name":"demo"}`, folder +
			"commands/hi.md": "hello"}))
		all := s.Enabled()
		if len(all) != 1 || all[0].ID != "demo@inline" || len(all[0].Commands()) != 1 {
			t.Errorf("%q: %v %q", folder, all, s.Notes())
		}
	}
}

func TestAZipFileThatLeadsOutIsRefused(t *testing.T) {
	s := set(t, zipped(t, map[string]string{".claude-plugin/plugin.json": `{"name":"demo"}`, "../../evil": "x"}))
	if all := s.Enabled(); len(all) != 0 || !strings.Contains(strings.Join(s.Notes(), "\n"), "leads out of it") {
		t.Errorf("%v %q", all, s.Notes())
	}
}

func TestAPluginThatIsNeededAndMissingIsNamed(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	put(t, one,
		map[string]string{".claude-plugin/plugin.json": `{"name":"one","dependencies":["two",{"name":"three","marketplace":"corp"},7]}`})
	put(t, two, map[string]string{".claude-plugin/plugin.json": `{"name":"two"}`})
	s := set(t, one, two)
	if len(s.Enabled()) != 2 {
		t.Fatal(s.Notes())
	}
	if notes := s.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "one needs the plugin three@corp") {
		t.Errorf("%q", notes)
	}
	lines, _ := s.Find("one").Report()
	if got := strings.Join(lines, "\n"); got != "needs the plugin two\nneeds the plugin three@corp" {
		t.Errorf("%s", got)
	}
}
