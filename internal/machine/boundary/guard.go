package boundary

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
)

// guard keeps the protected and masked paths of a running command so. The kernel drops the mount over a path when
// somebody outside replaces the file: an editor, or git config. Then the command could write or read the new file. The
// guard mounts the cover again (Linux), ends the command if that fails, and undoes a harmful setting of git's that the
// command made in between.
type guard struct {
	watch          pathWatch
	protect, mask  map[string]bool
	blind          bool // some of the paths are not watched
	mu             sync.Mutex
	proc           *sandbox.Proc
	over           bool // the child has ended, or did not start
	pending        map[string]bool
	configs        map[string]*openConfig
	replaced, gone map[string]bool // of configs: their mount was dropped; they are not there
	lines          []string
}

// begin is called before the command starts: see sandbox.Confinement.Watch.
func (r *Run) begin() func(*sandbox.Proc) {
	if r.began = r.b.o.State != ""; r.began {
		r.b.unswept.begin(r.b.unsweptDir(), r.b.name(), r.watch)
	}
	if r.Support.Tier < confine.Full {
		return func(*sandbox.Proc) {}
	}
	g := &guard{
		protect: map[string]bool{}, mask: map[string]bool{}, pending: map[string]bool{},
		configs: map[string]*openConfig{}, replaced: map[string]bool{}, gone: map[string]bool{},
	}
	r.guard = g
	var masked, protected []string
	for _, path := range r.Policy.Mask {
		if r.covers(path) {
			g.mask[path], masked = true, append(masked, path)
		}
	}
	for _, path := range r.Policy.Protect {
		if !r.covers(path) {
			continue
		}
		g.protect[path], protected = true, append(protected, path)
		if isGitConfig(path) {
			if text, fi, err := readRegular(path); err == nil {
				g.configs[path] = &openConfig{
					path: path, written: r.Policy.Write, text: text, mode: fi.Mode().Perm(),
					aside: filepath.Join(r.b.o.State, "set-aside"),
				}
			}
		}
	}
	g.watch.changed, g.watch.settled = g.changed, g.settled
	g.blind = !g.watch.add(masked, protected)
	return func(p *sandbox.Proc) {
		g.started(p)
		r.limitView(p)
	}
}

// note adds a line for the model.
func (g *guard) note(line string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lines = append(g.lines, line)
}

// covers reports whether a path gets a mount of its own that can be dropped. In a /tmp that shows through, none can.
func (r *Run) covers(path string) bool {
	fi, err := os.Lstat(path)
	return err == nil && fi.Mode()&os.ModeSymlink == 0 && (r.Policy.TempWork == "" || filepath.Dir(path) != "/tmp")
}

// isGitConfig reports whether a file is the configuration of a repository.
func isGitConfig(path string) bool {
	dir, name := filepath.Split(path)
	return name == "config.worktree" || name == "config" && isGitFolder(filepath.Clean(dir))
}

// started takes the child, and covers the paths that were replaced while it started; nil: there is none.
func (g *guard) started(p *sandbox.Proc) {
	if p == nil {
		g.watch.close()
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.proc = p
	g.cover(g.pending)
	for path := range g.pending {
		if c := g.configs[path]; c != nil {
			c.judge()
		}
	}
}

// changed covers what was replaced, and judges git's configuration where more happened to it than one replacement, as
// git and editors do it.
func (g *guard) changed(all []notice, late bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	news, strange, fresh := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, n := range all {
		if n.appeared() {
			strange[n.path] = strange[n.path] || fresh[n.path] || late || !n.moved() || g.gone[n.path]
			news[n.path], fresh[n.path], g.replaced[n.path] = true, true, true
		} else if n.vanished() {
			g.gone[n.path] = true
		} else if g.replaced[n.path] { // written
			strange[n.path] = true
		}
	}
	if g.proc == nil {
		for path := range news {
			g.pending[path] = true
		}
		return
	}
	g.cover(news)
	for path, c := range g.configs {
		switch {
		case strange[path]:
			c.judge()
			c.next = nil
		case news[path] && !c.undone: // git outside may have read a harmful setting before that was undone
			c.next, _, _ = readRegular(path)
		case news[path]:
			c.judge()
		}
		if news[path] {
			g.gone[path] = false
		}
	}
}

// settled takes the replacements that no other change followed.
func (g *guard) settled() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.configs {
		if c.next != nil {
			c.text, c.next = c.next, nil
		}
	}
}

// cover mounts the covers of paths. If that fails, the command must not go on.
func (g *guard) cover(paths map[string]bool) {
	var protect, mask []string
	for path := range paths {
		if g.protect[path] {
			protect = append(protect, path)
		}
		if g.mask[path] {
			mask = append(mask, path)
		}
	}
	if g.over || len(protect)+len(mask) == 0 {
		return
	}
	slices.Sort(protect)
	slices.Sort(mask)
	err := g.proc.Cover(protect, mask)
	if err == nil {
		return
	}
	g.over = true
	if !processGone(err) {
		g.lines = append(g.lines, fmt.Sprintf("the command was ended: a file that it must not change or read was "+
			"replaced, and could not be protected again: %v", err))
		go g.proc.End()
	}
}

// done ends the watch, unless processes of the command stay, and returns lines for the model.
func (g *guard) done() []string {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	p := g.proc
	g.mu.Unlock()
	if len(leaves(p)) == 0 {
		g.watch.close()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	lines := g.lines
	for path, c := range g.configs {
		if g.replaced[path] || g.blind {
			c.judge()
		}
		lines = append(lines, c.lines...)
		c.lines = nil
	}
	return lines
}

// left returns the processes of the ended command that stay.
func (g *guard) left() []int {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	p := g.proc
	g.mu.Unlock()
	return leaves(p)
}

func leaves(p *sandbox.Proc) []int {
	if p == nil {
		return nil
	}
	select {
	case <-p.Done():
		return p.Wait().Left
	default:
		return nil
	}
}

// judge undoes a harmful change.
func (c *openConfig) judge() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, _, err := readRegular(c.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return
	case err != nil:
		c.lines = append(c.lines, setAside(c.path, c.aside))
	default:
		key := c.harmful(string(now))
		if key == "" {
			return
		}
		c.undo(key)
	}
	c.undone = true
	c.restore()
}
