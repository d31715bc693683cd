package boundary

import (
	"cmp"
	"os"
	"path/filepath"
)

// goProxy is the GOPROXY of commands: the user's module cache, which is read-only inside, then where lathe's own would
// look. So a module that is there already needs no network.
func (b *Boundary) goProxy() string {
	rest := cmp.Or(os.Getenv("GOPROXY"), "https://proxy.golang.org,direct")
	mods := cmp.Or(os.Getenv("GOMODCACHE"), filepath.Join(
		cmp.Or(filepath.SplitList(os.Getenv("GOPATH") + string(filepath.ListSeparator))[0], filepath.Join(b.o.Home, "go")),
		"pkg", "mod"))
	if fi, err := os.Stat(filepath.Join(mods, "cache", "download")); err != nil || !fi.IsDir() {
		return rest
	}
	return "file://" + filepath.ToSlash(filepath.Join(mods, "cache", "download")) + "," + rest
}

// goCache is the user's folder of Go's build cache, "" if there is none.
func (b *Boundary) goCache() string {
	dir := cmp.Or(os.Getenv("GOCACHE"), filepath.Join(cmp.Or(os.Getenv("XDG_CACHE_HOME"),
		filepath.Join(b.o.Home, ".cache")), "go-build"))
	real, err := filepath.EvalSymlinks(dir)
	if fi, serr := os.Stat(dir); err != nil || serr != nil || !fi.IsDir() {
		return ""
	}
	return real
}
