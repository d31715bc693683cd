package cli

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/conversation/extension"
	"github.com/lathe-dev/lathe/internal/ui/tui"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

// looks finds the themes and the bindings of keys beside those of the settings: in the user's folders and in plugins.
// It is asked at each key, so it reads a file again only when that has changed.
type looks struct {
	config  func() *config.Config
	plugins *extension.Folder // nil: those of plugins are not known
	files   map[string]*lookFile
}

func looksOf(inst *conversation.Instance) *looks {
	return &looks{config: inst.Config, plugins: inst.Extensions()}
}

// lookFile is a file as it was read last.
type lookFile struct {
	size     int64
	modified time.Time
	text     []byte
}

// mostLook is the longest file of a theme or of bindings, in bytes.
const mostLook = 256 << 10

// now is the look as it is at this moment.
func (l *looks) now() tui.Look {
	s, paths := l.config().Settings, l.config().Paths()
	out := tui.Look{Theme: themeName(strings.TrimPrefix(s.Theme, "custom:"))}
	if l.plugins != nil {
		out.Commands = l.plugins.PluginKeys()
	}
	for _, dir := range []string{paths.ClaudeHome, paths.ConfigHome} {
		if text := l.read(filepath.Join(dir, "keybindings.json")); text != nil {
			out.Keys = append(out.Keys, text)
		}
	}
	out.Keys = append(out.Keys, s.Keybindings)
	if !slices.Contains(theme.Names(), out.Theme) {
		out.File = l.read(l.themes()[out.Theme])
	}
	return out
}

// themes are the files of themes by name. Those of plugins begin with the plugin's name, so they hide none of the
// user's.
func (l *looks) themes() map[string]string {
	out, paths := map[string]string{}, l.config().Paths()
	if l.plugins != nil {
		out = l.plugins.PluginThemes()
	}
	for _, dir := range []string{paths.ClaudeHome, paths.ConfigHome} {
		files, _ := filepath.Glob(filepath.Join(dir, "themes", "*.json"))
		for _, f := range files {
			out[strings.TrimSuffix(filepath.Base(f), ".json")] = f
		}
	}
	return out
}

// names lists all themes.
func (l *looks) names() []string {
	var own []string
	for name := range l.themes() {
		if !slices.Contains(theme.Names(), name) {
			own = append(own, name)
		}
	}
	slices.Sort(own)
	return append(theme.Names(), own...)
}

// read is the text of a file; nil if there is none.
func (l *looks) read(path string) json.RawMessage {
	st, err := os.Stat(path)
	if path == "" || err != nil || !st.Mode().IsRegular() || st.Size() > mostLook {
		return nil
	}
	if f := l.files[path]; f != nil && f.unchanged(st) {
		return f.text
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	if l.files == nil {
		l.files = map[string]*lookFile{}
	}
	l.files[path] = &lookFile{st.Size(), st.ModTime(), text}
	return text
}

func (f *lookFile) unchanged(st fs.FileInfo) bool {
	return f.size == st.Size() && f.modified.Equal(st.ModTime())
}
