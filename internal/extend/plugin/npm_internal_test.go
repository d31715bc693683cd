package plugin

import "testing"

func TestPackagesAreThoseOfARegistry(t *testing.T) {
	for name, want := range map[string]bool{
		"left-pad": true, "@scope/name": true, "a.b_c": true,
		"": false, "-x": false, "--registry": false,
		"git+file:///repo": false, "../x": false, "/x": false, "user/repo": false, "github:user/repo": false,
		"https://h/x.tgz": false, "x@1": false, "@a/b/c": false, "a b": false, ".": false,
	} {
		if got := packageName().MatchString(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
	for version, want := range map[string]bool{
		"1.2.3": true, "^1.0.0": true, "latest": true, "1.0.0-rc.1+b": true,
		"file:x": false, "git+x": false, "npm:y": false, "../x": false, "-x": false,
	} {
		if got := packageVersion().MatchString(version); got != want {
			t.Errorf("%q: %v, want %v", version, got, want)
		}
	}
}
