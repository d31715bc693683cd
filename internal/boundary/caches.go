package boundary

import (
	"cmp"
	"os"
	"path/filepath"
)

// goProxy is the GOPROXY of commands: the user's module cache, which is read-only inside, then where lathe's own would look.
// So a module that is there already needs no network.
func (b *Boundary) goProxy() string {
	rest := cmp.Or(os.Getenv("GOPROXY"), "https://proxy.golang.org,direct")
	mods := cmp.Or(os.Getenv("GOMODCACHE"), filepath.Join(cmp.Or(filepath.SplitList(os.Getenv("GOPATH") + string(filepath.ListSeparator))[0], filepath.Join(b.o.Home, "go")), "pkg", "mod"))
	if fi, err := os.Stat(filepath.Join(mods, "cache", "download")); err != nil || !fi.IsDir() {
		return rest
	}
	return "file://" + filepath.ToSlash(filepath.Join(mods, "cache", "download")) + "," + rest
}
