package tui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/colorprofile"

	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

func newLook(o Options) look {
	l := look{now: time.Now, reduced: o.ReducedMotion, links: true}
	l.profile = profile(o)
	l.name, l.made, l.dark = o.Theme, o.File, darkBackground(o.Getenv)
	th, err := l.load(l.dark)
	if err != nil {
		th = theme.Must("auto", l.dark, l.profile)
		l.problem = err
	}
	l.theme = th
	return l
}

// load makes the theme.
func (l look) load(dark bool) (*theme.Theme, error) {
	if l.made != nil {
		return theme.Read(l.name, l.made, dark, l.profile)
	}
	return theme.Load(l.name, dark, l.profile)
}

// profile is how many colours the terminal shows.
func profile(o Options) colorprofile.Profile {
	switch depth := term.ColorDepth(o.Getenv, true, runtime.GOOS); {
	case depth >= term.TrueColor:
		return colorprofile.TrueColor
	case depth >= term.Color256:
		return colorprofile.ANSI256
	case depth >= term.Color16:
		return colorprofile.ANSI
	}
	return colorprofile.ASCII
}

// darkBackground is a first guess, until the terminal answers: some terminals put it in COLORFGBG.
func darkBackground(getenv func(string) string) bool {
	switch fgbg := getenv("COLORFGBG"); {
	case fgbg == "":
		return true
	default:
		last := fgbg[len(fgbg)-1]
		white := last == '7' || len(fgbg) > 1 && fgbg[len(fgbg)-2] == '1' && last == '5'
		return !white
	}
}

func spinner(n int) string { return theme.Spinner[n%len(theme.Spinner)] }

// loadKeys makes the keymap of the settings, and reports the bindings that do not hold.
func (m *model) loadKeys() {
	keymap, problems := keys.LoadAll(m.options.Commands, m.options.Keys...)
	m.keymap, m.keys = keymap, keys.NewResolver(keymap)
	if !m.options.Inline { // printed lines cannot be expanded
		m.look.key = keymap.Key(keys.ToggleTranscript)
	}
	m.misbound = nil
	for _, p := range problems {
		m.misbound = append(m.misbound, "keybindings: "+p.String())
	}
	m.tellMisbound()
}

// tellMisbound reports the bindings that do not hold. The first session takes what was in the transcript before away.
func (m *model) tellMisbound() {
	for _, text := range m.misbound {
		m.tell("warning", text)
	}
}

// follow takes changes of the settings while lathe runs.
func (m *model) follow() {
	if m.options.Follow == nil {
		return
	}
	old, now := m.options.Look, m.options.Follow()
	m.options.Look = now
	if !slices.EqualFunc(now.Keys, old.Keys, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) ||
		!maps.Equal(now.Commands, old.Commands) {
		m.loadKeys()
	}
	if now.Theme != old.Theme || !bytes.Equal(now.File, old.File) {
		m.setTheme(now.Theme, now.File)
	}
}

// chooseTheme takes the theme that the user chose; one of a file comes with the changed settings.
func (m *model) chooseTheme(name string) {
	if m.options.Follow == nil || slices.Contains(theme.Names(), name) {
		m.setTheme(name, nil)
	}
}

// setTheme changes how everything looks.
func (m *model) setTheme(name string, file []byte) {
	next := m.look
	next.name, next.made = name, file
	th, err := next.load(next.dark)
	if err != nil {
		m.tell("warning", err.Error())
		return
	}
	m.look.name, m.look.made = name, file
	m.wear(th)
}

// background takes the terminal's report of its background.
func (m *model) background(dark bool) {
	if dark == m.look.dark {
		return
	}
	m.look.dark = dark
	if th, err := m.look.load(dark); err == nil {
		m.wear(th)
	}
}

// wear redraws everything with a theme.
func (m *model) wear(th *theme.Theme) {
	m.look.theme = th
	m.edit.SetTheme(th)
	for _, it := range m.log.items {
		if it.stream != nil {
			it.stream.text.SetOptions(m.look.markdown())
		}
	}
	m.log.restyle()
}

// fileURL is the address of a file that a reply names. Whether it is there is not looked up: the loop does not
// wait for disks.
func (m *model) fileURL(path string, line int) string {
	if m.front.Dir == "" || strings.HasPrefix(path, "~") {
		return ""
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(m.front.Dir, path)
	}
	u := url.URL{Scheme: "file", Host: m.host, Path: filepath.ToSlash(path)}
	if line > 0 {
		u.Fragment = fmt.Sprint("L", line)
	}
	return u.String()
}
