package config

import (
	"path/filepath"
	"testing"
)

func TestWindowsPlacesAreWindowsOwnUnlessXDGSaysOtherwise(t *testing.T) {
	abs := func(elem ...string) string {
		return filepath.Join(append([]string{filepath.Clean(t.TempDir())}, elem...)...)
	}
	roaming, local, xdg := abs(), abs(), abs()
	p := Paths{ConfigHome: "c", DataHome: "d", StateHome: filepath.Join(xdg, "lathe"), CacheHome: "k"}
	env := environment{"APPDATA": roaming, "LOCALAPPDATA": local, "XDG_STATE_HOME": xdg}
	p.windows(env)
	want := Paths{
		ConfigHome: filepath.Join(roaming, "lathe"), DataHome: filepath.Join(local, "lathe", "data"),
		StateHome: filepath.Join(xdg, "lathe"), CacheHome: filepath.Join(local, "lathe", "cache"),
	}
	if p != want {
		t.Errorf("%+v\nwant %+v", p, want)
	}
}
