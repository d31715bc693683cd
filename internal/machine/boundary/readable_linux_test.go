//go:build amd64 || arm64

package boundary_test

import (
	"strings"
	"testing"
)

func TestAllowReadOpensWhatIsDenied(t *testing.T) {
	p := newPlace(t)
	write(t, p.home+"/.ssh/known_hosts", "KNOWN")
	write(t, p.home+"/.ssh/id_rsa", "PRIVATE")
	write(t, p.dir+"/data/a/secret", "SECRET")
	write(t, p.dir+"/data/a/open", "OPEN")
	write(t, p.dir+"/data/b", "BESIDE")
	line := "cat ~/.ssh/known_hosts ~/.ssh/id_rsa data/a/secret data/a/open data/b .env; true"
	write(t, p.dir+"/.env", "ENV")
	line = strings.ReplaceAll(line, "~", p.home)
	for settings, want := range map[string]string{
		`{"enabled": true, "filesystem": {"denyRead": ["data"]}}`:                                                     "",
		`{"enabled": true, "filesystem": {"denyRead": ["data"], "allowRead": ["data/a/open", "~/.ssh/known_hosts"]}}`: "KNOWN OPEN",
		`{"enabled": true, "filesystem": {"denyRead": ["data"], "allowRead": ["data", ".env"]}}`:                      "SECRET OPEN BESIDE ENV",
		`{"enabled": true, "filesystem": {"denyRead": ["data"], "allowRead": ["data/a/missing"]}}`:                    "",
	} {
		_, out, _, _ := run(t, p.open(t, settings), p.dir, line)
		for _, text := range []string{"KNOWN", "PRIVATE", "SECRET", "OPEN", "BESIDE", "ENV"} {
			if strings.Contains(out, text) != strings.Contains(want, text) {
				t.Errorf("%s: %s: %s", settings, text, out)
			}
		}
	}
}
