package config

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/files/watch"
)

// Change is one difference between two configurations, or the reason why reloading failed.
type Change struct {
	Path    string          `json:"path"`          // dotted; lists change as a whole
	Old     json.RawMessage `json:"old,omitempty"` // nil: it was unset; secrets are masked
	New     json.RawMessage `json:"new,omitempty"` // nil: it is now unset
	Origin  Origin          `json:"origin"`        // of the new value, or of the old one if it is gone
	AtStart bool            `json:"atStart,omitempty"`
	Err     error           `json:"-"`
}

// Later lists the keys among changes that take effect at the next start, and the reasons why reloading failed.
func Later(changes []Change) (keys []string, failed []error) {
	for _, ch := range changes {
		switch {
		case ch.Err != nil:
			failed = append(failed, ch.Err)
		case ch.AtStart:
			keys = append(keys, ch.Path)
		}
	}
	return keys, failed
}

// startOnly are the keys that take effect at the next start: changing the model of a running session would
// lose the prompt cache and the reasoning.
var startOnly = []string{"model", "provider"}

const (
	orgPoll  = time.Hour
	patience = 10 // times the quiet period
)

// Watch reloads the configuration whenever one of its files changes, appears or is removed, and calls fn with
// the new one and the differences; model and provider are reported with AtStart and keep their
// values. If the files are invalid, fn gets the last good configuration and one Change with Err; when they
// become valid again without any difference, or when only BypassForbidden differs, it gets no changes. Warnings of a
// new configuration are only the new ones.
//
// Calls of fn do not overlap. Watch also refreshes the organisation's document at once and then every hour.
// It returns nil when ctx ends, or an error if files cannot be watched.
func (c *Config) Watch(ctx context.Context, fn func(*Config, []Change)) error {
	feed, err := watch.NewFeed()
	if err != nil {
		return &Error{Text: "cannot watch the settings; changes count from the next start", Err: err}
	}
	defer feed.Close()
	feed.Needed = true // they are few, and no one compares settings
	w := &watcher{feed: feed, cur: c, loaded: c.merged, fn: fn, warned: map[Warning]bool{}}
	w.note(c.Warnings)
	if err := w.follow(); len(feed.List()) == 0 {
		return &Error{Text: "cannot watch the settings; changes count from the next start", Err: err}
	} else if err != nil {
		fn(c, []Change{{Err: fmt.Errorf("some settings are not watched: %w", err)}})
	}
	var background sync.WaitGroup
	defer background.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	refreshed := make(chan error, 1)
	if c.orgURL != "" {
		background.Go(func() { c.poll(ctx, refreshed) })
	}
	return w.run(ctx, refreshed)
}

// poll refreshes the cached document of the organisation. It sends nil when the text changed, and each error
// once.
func (c *Config) poll(ctx context.Context, refreshed chan<- error) {
	tick := time.NewTicker(orgPoll)
	defer tick.Stop()
	last := ""
	for {
		changed, err := c.Refresh(ctx)
		if ctx.Err() != nil {
			return
		}
		if changed || err != nil && err.Error() != last {
			select {
			case refreshed <- err:
			case <-ctx.Done():
				return
			}
		}
		if last = ""; err != nil {
			last = err.Error()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Reload loads the same files again, once, and lists the differences; as with Watch, start-only keys keep
// their values. c itself does not change.
func (c *Config) Reload() (*Config, []Change, error) {
	next, err := Load(c.opts)
	if err != nil {
		return nil, nil, err
	}
	changes := differences(c.merged, next.merged)
	return next, changes, next.keep(c)
}

type watcher struct {
	feed   *watch.Feed
	cur    *Config
	loaded *node // the merged tree of the last load, before start-only keys were restored
	fn     func(*Config, []Change)
	failed string // the last reported error, "" after a success
	warned map[Warning]bool
	rounds int             // consecutive rounds with an emptied file
	names  map[string]bool // files and missing folders whose events matter
	dirs   map[string]bool // folders to watch
}

func (w *watcher) run(ctx context.Context, refreshed <-chan error) error {
	quiet := w.cur.opts.Debounce
	if quiet <= 0 {
		quiet = 100 * time.Millisecond
	}
	timer := time.NewTimer(0) // reload at once: files may have changed between Load and Watch
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case ev := <-w.feed.Events:
			if w.matters(ev.Name) {
				timer.Reset(quiet)
			}
		case <-w.feed.Lost:
			timer.Reset(quiet)
		case err := <-refreshed:
			if err != nil {
				w.fn(w.cur, []Change{{Err: err}})
				continue
			}
			timer.Reset(0)
		case <-timer.C:
			if w.emptied() {
				timer.Reset(quiet)
				continue
			}
			if err := w.follow(); err != nil {
				w.fn(w.cur, []Change{{Err: fmt.Errorf("some settings are not watched: %w", err)}})
			}
			w.reload()
		}
	}
}

func (w *watcher) matters(name string) bool {
	name = filepath.Clean(name)
	return w.names[name] || strings.HasSuffix(name, ".json") && w.names[filepath.Join(filepath.Dir(name), "*.json")]
}

// follow watches the folders of all settings files. For a missing folder it watches the nearest existing
// parent; for a link, also the folder of its target.
func (w *watcher) follow() error {
	w.names = map[string]bool{}
	dirs := map[string]bool{}
	for _, f := range w.cur.watchable() {
		w.names[f] = true
		dirs[w.present(filepath.Dir(f))] = true
		if real, err := filepath.EvalSymlinks(f); err == nil && real != f {
			w.names[real] = true
			dirs[filepath.Dir(real)] = true
		}
	}
	var errs []error
	for dir := range dirs {
		// Add again each time: the folder may have been replaced.
		if err := w.feed.Add(dir); err != nil && !w.dirs[dir] {
			errs = append(errs, fmt.Errorf("%s: %w", dir, err))
		}
	}
	for _, dir := range w.feed.List() {
		if !dirs[dir] {
			w.feed.Remove(dir)
		}
	}
	w.dirs = dirs
	return errors.Join(errs...)
}

// present returns dir or its nearest existing parent, and notes every folder on the way: its creation or
// removal matters.
func (w *watcher) present(dir string) string {
	for {
		w.names[dir] = true
		if isDir(dir) {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return dir
		}
		dir = parent
	}
}

// watchable lists the files to watch; a name in managed-settings.d represents its folder.
func (c *Config) watchable() []string {
	var out []string
	for _, f := range c.files {
		out = append(out, f.Path)
	}
	for _, path := range c.opts.ManagedPaths {
		if dir := dropInDir(path); isDir(dir) {
			out = append(out, filepath.Join(dir, "*.json"))
		} else {
			out = append(out, dir)
		}
	}
	return out
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (w *watcher) note(ws []Warning) (fresh []Warning) {
	for _, warn := range ws {
		if !w.warned[warn] {
			w.warned[warn] = true
			fresh = append(fresh, warn)
		}
	}
	return fresh
}

// emptied reports whether a file became empty. Usually a writer is about to fill it; after patience rounds it counts as
// a mistake.
func (w *watcher) emptied() bool {
	for _, f := range w.cur.files {
		if info, err := os.Stat(f.Path); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
			w.rounds++
			return w.rounds <= patience
		}
	}
	w.rounds = 0
	return false
}

func (w *watcher) reload() {
	next, err := Load(w.cur.opts)
	if err != nil {
		if text := err.Error(); text != w.failed {
			w.failed = text
			w.fn(w.cur, []Change{{Err: err}})
		}
		return
	}
	recovered := w.failed != ""
	w.failed = ""
	changes := differences(w.loaded, next.merged)
	w.loaded = next.merged
	next.Warnings = w.note(next.Warnings)
	if err := next.keep(w.cur); err != nil {
		w.fn(w.cur, []Change{{Err: err}})
		return
	}
	bypass := w.cur.bypassText()
	w.cur = next
	if len(changes) > 0 || len(next.Warnings) > 0 || recovered || bypass != next.bypassText() {
		w.fn(next, changes)
	}
}

// bypassText is why bypassPermissions may not be used. It can change without a change of any setting, since it
// also depends on held values.
func (c *Config) bypassText() string {
	if err := c.BypassForbidden(); err != nil {
		return err.Error()
	}
	return ""
}

// keep restores the start-only keys from the configuration in use.
func (c *Config) keep(from *Config) error {
	root := *c.merged
	root.members = slices.Clone(root.members)
	root.reindex()
	for _, key := range startOnly {
		if old := from.merged.get(key); old != nil {
			root.set(key, old)
		} else {
			root.remove(key)
		}
	}
	c.merged = &root
	return c.decode()
}

// differences lists the differences between two merged trees, in the order of the new one.
func differences(before, after *node) []Change {
	old, now := flat(before, nil), flat(after, nil)
	was := make(map[string]entry, len(old))
	for _, e := range old {
		was[e.path.String()] = e
	}
	var out []Change
	for _, e := range now {
		path := e.path.String()
		prev, had := was[path]
		delete(was, path)
		if had && bytes.Equal(prev.n.appendJSON(nil), e.n.appendJSON(nil)) {
			continue
		}
		ch := Change{Path: path, New: e.shown(), Origin: e.n.origin(), AtStart: slices.Contains(startOnly, path)}
		if had {
			ch.Old = prev.shown()
		}
		out = append(out, ch)
	}
	for _, e := range old {
		path := e.path.String()
		if _, gone := was[path]; gone {
			out = append(out, Change{Path: path, Old: e.shown(), Origin: e.n.origin(), AtStart: slices.Contains(startOnly,
				path)})
		}
	}
	return out
}

// Touches reports whether one of the keys of settings, or something below it, changed.
func Touches(changes []Change, keys ...string) bool {
	return slices.ContainsFunc(changes, func(ch Change) bool {
		top, _, _ := strings.Cut(ch.Path, ".")
		return slices.Contains(keys, top)
	})
}

type entry struct {
	path keyPath
	n    *node
}

func (e entry) shown() json.RawMessage {
	c := e.n.clone()
	maskTree(c, e.path)
	return c.appendJSON(nil)
}

// flat lists scalars and empty objects.
func flat(n *node, p keyPath) []entry {
	if n.kind != '{' || len(n.members) == 0 {
		return []entry{{p, n}}
	}
	var out []entry
	for _, m := range n.members {
		out = append(out, flat(m.val, p.with(m.key))...)
	}
	return out
}
