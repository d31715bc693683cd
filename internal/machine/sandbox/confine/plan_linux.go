//go:build amd64 || arm64

package confine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine/inside"
)

// newPlan resolves a policy to a plan, without the paths that do not exist.
func newPlan(p *Policy, s Support, dir string) *inside.Plan {
	out := &inside.Plan{
		Namespaces: s.Tier == Full, Carried: s.Tier == Full && s.Carrier != "", ABI: s.ABI, Dir: dir, Temp: p.Temp,
		TempWork: p.TempWork, Private: p.Private, HostNet: p.HostNetwork, Processes: p.Processes,
		Proxy: p.Proxy && !p.HostNetwork, Local: p.Local && !p.HostNetwork, Sockets: p.Sockets, Leave: p.Leave,
	}
	var changes []string // folders that the command changes, by itself or in its view
	for _, o := range p.Overlay {
		out.Overlay = append(out.Overlay, inside.Overlay(o))
	}
	for _, o := range p.View {
		out.View = append(out.View, inside.Overlay(o))
		changes = append(changes, o.Dir)
	}
	if p.Mode == Workspace {
		out.Write = there(p.Write)
	} else {
		out.Show = there(p.Write)
	}
	out.Show = append(out.Show, there(p.Show)...)
	changes = append(changes, out.Write...)
	if enclosing(slices.Concat(changes, out.Show), dir) == "" {
		out.Show = append(out.Show, there([]string{dir})...)
	}
	out.Empty = there(p.Empty)
	private := append([]string{"/tmp", "/dev"}, out.Empty...)
	out.Show = slices.DeleteFunc(out.Show, func(path string) bool { return enclosing(private, path) == "" })
	out.Mask = there(p.Mask)
	out.Protect = slices.DeleteFunc(there(p.Protect), func(path string) bool { return enclosing(changes, path) == "" })
	for _, c := range p.Copies {
		if slices.Contains(out.Protect, c.Path) && p.Private != "" {
			out.Copies = append(out.Copies, inside.Copy(c))
		}
	}
	for _, path := range out.Protect {
		root := enclosing(changes, path)
		for dir := filepath.Dir(path); dir != root && len(dir) > len(root); dir = filepath.Dir(dir) {
			out.Pin = append(out.Pin, dir)
		}
	}
	for _, path := range out.Mask { // a masked file must not be renamed with a parent either
		if root := enclosing(changes, path); root != "" {
			for dir := filepath.Dir(path); dir != root && len(dir) > len(root); dir = filepath.Dir(dir) {
				out.Pin = append(out.Pin, dir)
			}
		}
	}
	slices.Sort(out.Pin)
	out.Pin = slices.Compact(out.Pin)
	return out
}

// there sorts paths, parents first, without duplicates, links and missing ones.
func there(paths []string) []string {
	var out []string
	for _, p := range paths {
		p = filepath.Clean(p)
		if fi, err := os.Lstat(p); err == nil && fi.Mode()&os.ModeSymlink == 0 && filepath.IsAbs(p) {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// enclosing returns the deepest of roots that contains path.
func enclosing(roots []string, path string) string {
	best := ""
	for _, r := range roots {
		if len(r) > len(best) && (path == r || r == "/" || strings.HasPrefix(path, r+"/")) {
			best = r
		}
	}
	return best
}
