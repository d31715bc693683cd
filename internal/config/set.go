package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/tailscale/hujson"

	"github.com/lathe-dev/lathe/internal/base/regular"
)

// Target returns the file that Set writes for User, Project or Local; "" for other layers.
func (c *Config) Target(scope Layer) string {
	switch scope {
	case User:
		return filepath.Join(c.paths.ConfigHome, "settings.json")
	case Project:
		return filepath.Join(c.paths.Root, ".lathe", "settings.json")
	case Local:
		return filepath.Join(c.paths.Root, ".lathe", "settings.local.json")
	}
	return ""
}

// Append adds a text to the list at a key of a layer's file.
func (c *Config) Append(key, text string, l Layer) error {
	value, err := json.Marshal(text)
	if err != nil {
		return err
	}
	return c.Set(key+"+", string(value), l)
}

// Set writes one value to lathe's settings file of a scope: User, Project or Local. The value is parsed as
// JSON if the key accepts the result, else taken as text. A path that ends in "+" appends to a list, unless
// the list already contains the value. Comments, order and unknown keys of the file stay. The result is
// validated before writing, and the file is replaced atomically, under a lock shared with other lathes. c
// does not change; see Watch and Load.
func (c *Config) Set(path, value string, scope Layer) error {
	list := strings.HasSuffix(path, "+")
	p, err := settable(strings.TrimSuffix(path, "+"), list)
	if err != nil {
		return err
	}
	val, err := c.parseValue(p, value, scope, list)
	if err != nil {
		return err
	}
	return c.rewrite(scope, func(e *editor) error {
		if !list {
			return e.set(p, val)
		}
		return e.appendAll(p, val)
	})
}

// Unset removes a key from lathe's settings file of a scope. A missing key is an error.
func (c *Config) Unset(path string, scope Layer) error {
	p, err := parsePath(path)
	if err != nil {
		return err
	}
	return c.rewrite(scope, func(e *editor) error {
		if !e.unset(p) {
			return &Error{
				Origin: Origin{Layer: scope, File: c.Target(scope)}, Key: p.String(),
				Text: "this file does not set the key",
			}
		}
		return nil
	})
}

// Drop removes a text from a list of texts in lathe's settings file of a scope. A missing text is an error.
func (c *Config) Drop(path, text string, scope Layer) error {
	p, err := settable(path, true)
	if err != nil {
		return err
	}
	return c.rewrite(scope, func(e *editor) error {
		list := find(&e.root, p)
		if list == nil || list.Value.Kind() != '[' || !e.drop(p, list, text) {
			return &Error{
				Origin: Origin{Layer: scope, File: c.Target(scope)}, Key: p.String(),
				Text: fmt.Sprintf("the list does not have %q", text),
			}
		}
		return nil
	})
}

// drop removes the elements of a list that equal a text.
func (e *editor) drop(p keyPath, list *hujson.Value, text string) (found bool) {
	for i := len(firsts(list)) - 1; i >= 0; i-- {
		if lit, ok := firsts(list)[i].Value.(hujson.Literal); ok && lit.Kind() == '"' && lit.String() == text {
			found = e.unset(p.with(strconv.Itoa(i))) || found
		}
	}
	return found
}

// appendAll adds the elements that the list at p does not have yet.
func (e *editor) appendAll(p keyPath, list *node) error {
	var have []string
	if old := find(&e.root, p); old != nil {
		if old.Value.Kind() != '[' {
			return &Error{
				Key: p.String(), Text: "the file has a single value here, not a list",
				Hint: "set the whole list instead",
			}
		}
		d := document{src: list.src}
		for _, el := range d.node(old, func(string, int) {}).elems {
			have = append(have, string(el.appendJSON(nil)))
		}
	}
	for _, el := range list.elems {
		if slices.Contains(have, string(el.appendJSON(nil))) {
			continue
		}
		if err := e.set(p.with("-"), el); err != nil {
			return err
		}
	}
	return nil
}

// settable checks that the schema knows a key.
func settable(path string, list bool) (keyPath, error) {
	p, err := parsePath(path)
	if err != nil {
		return nil, err
	}
	s := rootSchema()
	for i, seg := range p {
		if s.open() && slices.Contains(s.types, "object") {
			return p, nil // a part that the schema leaves open: hooks, servers
		}
		next := s.find(keyPath{seg})
		if next == nil {
			e := &Error{Key: p[:i+1].String(), Text: "there is no such key", Hint: "`lathe config schema` lists all keys"}
			if near := nearest(seg, s.names()); near != "" {
				e.Hint = "did you mean " + p[:i].with(near).String() + "?"
			}
			return nil, e
		}
		s = next
	}
	if list && !slices.Contains(s.types, "array") && !slices.ContainsFunc(s.anyOf,
		func(a *schema) bool { return slices.Contains(a.types, "array") }) {
		return nil, &Error{Key: p.String(), Text: "the key is not a list", Hint: "leave out the +"}
	}
	return p, nil
}

// parseValue parses a value as JSON, else as text, depending on the schema at p.
func (c *Config) parseValue(p keyPath, value string, scope Layer, list bool) (*node, error) {
	src := &source{layer: scope, data: []byte(value)}
	var first error
	if n, err := valueNode(src); err == nil {
		unplace(n, &source{layer: scope})
		if list && n.kind != '[' {
			n = &node{kind: '[', elems: []*node{n}, src: n.src}
		}
		if first = c.trial(p, n, scope); first == nil {
			return n, nil
		}
	}
	n := stringNode(value, &source{layer: scope}, -1)
	if list {
		n = &node{kind: '[', elems: []*node{n}, src: n.src}
	}
	err := c.trial(p, n, scope)
	if err != nil && first != nil {
		err = first
	}
	return n, err
}

// trial validates one value like a file of the scope.
func (c *Config) trial(p keyPath, val *node, scope Layer) error {
	if scope.inProject() && judge(p, val) == never {
		return &Error{
			Key: p.String(), Text: "a project may not set this",
			Hint: "write it to your own settings, with scope user",
		}
	}
	doc := val.clone()
	for _, seg := range slices.Backward(p) {
		wrap := object(val.src)
		if isIndex(seg) {
			wrap = &node{kind: '[', elems: []*node{doc}, src: val.src}
		} else {
			wrap.set(seg, doc)
		}
		doc = wrap
	}
	target := c.Target(scope)
	src := &source{layer: scope, data: doc.appendJSON(nil), dir: filepath.Dir(target), base: c.paths.Dir}
	l := loader{opts: c.opts, env: c.env, paths: c.paths, home: c.paths.Home, warned: map[Warning]bool{}, strict: true}
	_, err := l.parse(src)
	var e *Error
	if errors.As(err, &e) {
		plain := *e
		plain.Origin = Origin{}
		return &plain
	}
	return err
}

// rewrite changes a scope's file under the lock.
func (c *Config) rewrite(scope Layer, change func(*editor) error) error {
	path := c.Target(scope)
	if path == "" {
		return &Error{
			Text: fmt.Sprintf("settings of the layer %s cannot be written", scope),
			Hint: "choose user, project or local",
		}
	}
	unlock, err := lockFile(c.paths.StateHome, path)
	if err != nil {
		return err
	}
	defer unlock()
	target, err := c.writable(path, scope)
	if err != nil {
		return err
	}
	old, err := ReadFile(target, maxFile)
	isNew := errors.Is(err, fs.ErrNotExist)
	if err != nil && !isNew {
		return &Error{Origin: Origin{Layer: scope, File: path}, Text: "cannot read the settings", Err: err}
	}
	data, err := c.edited(path, scope, old, isNew, change)
	if err != nil {
		return err
	}
	seen := (c.trusted || c.opts.TrustLocal) && digest(old) == c.localDigest
	own := scope == Local && (isNew || seen || c.paths.writtenHere(path, old))
	if err := c.write(scope, target, data, isNew); err != nil {
		return err
	}
	if own {
		return c.paths.noteWritten(path, data)
	}
	return nil
}

// edited returns the new text of a file, validated as a whole.
func (c *Config) edited(path string, scope Layer, old []byte, isNew bool, change func(*editor) error) ([]byte, error) {
	l := loader{opts: c.opts, env: c.env, paths: c.paths, home: c.paths.Home, warned: map[Warning]bool{}}
	src := l.source(File{Path: path, Layer: scope}, old)
	doc, err := parseDocument(src)
	if err != nil {
		return nil, err
	}
	if err := doc.checkVersion(); err != nil {
		return nil, err
	}
	e := newEditor(doc)
	if isNew && find(&e.root, keyPath{"version"}) == nil {
		if err := e.set(keyPath{"version"}, &node{kind: '0', text: fmt.Sprint(Version), src: src}); err != nil {
			return nil, err
		}
	}
	if err := change(e); err != nil {
		return nil, err
	}
	data := e.root.Pack()
	if isNew {
		data = append(data, '\n')
	}
	if len(old) > len(src.data) { // there was a byte order mark
		data = append(slices.Clone(bom), data...)
	}
	if len(data) > maxFile {
		return nil, &Error{Origin: Origin{Layer: scope, File: path}, Text: fmt.Sprintf("the file would grow beyond %d bytes",
			maxFile)}
	}
	_, err = l.parse(l.source(File{Path: path, Layer: scope}, slices.Clone(data)))
	return data, err
}

// writable follows links to the file that is written. A project's file may not link out of the project: a
// repository could make lathe write to the user's own settings.
func (c *Config) writable(path string, scope Layer) (string, error) {
	dir := filepath.Dir(path)
	mode := fs.FileMode(0o755)
	if scope == User {
		mode = 0o700
	}
	if err := os.MkdirAll(dir, mode); err != nil {
		return "", &Error{Origin: Origin{Layer: scope, File: path}, Text: "cannot make the folder", Err: err}
	}
	target, err := followLinks(path)
	if err != nil {
		return "", &Error{Origin: Origin{Layer: scope, File: path}, Text: "cannot follow the link", Err: err}
	}
	if scope.inProject() && !inside(target, c.paths.Root) {
		return "", &Error{
			Origin: Origin{Layer: scope, File: path}, Text: "this is a link to " + printable(target) + ", outside the project",
			Hint: "replace it by a file",
		}
	}
	return target, nil
}

// followLinks is filepath.EvalSymlinks for a file that need not exist.
func followLinks(path string) (string, error) {
	for range 40 {
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return "", err
		}
		path = filepath.Join(dir, filepath.Base(path))
		to, err := os.Readlink(path)
		if err != nil {
			return path, nil // no link, or missing
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(dir, to)
		}
		path = to
	}
	return "", errors.New("too many links")
}

// write replaces the file. A new local file is hidden from git, since it is the user's own.
func (c *Config) write(scope Layer, target string, data []byte, isNew bool) error {
	mode := fs.FileMode(0o600)
	if scope == Project {
		mode = 0o644
	}
	// Under the lock, leftover temporary files belong to interrupted writes.
	if left, err := filepath.Glob(filepath.Join(globQuote(filepath.Dir(target)), tempName(target))); err == nil {
		for _, name := range left {
			os.Remove(name)
		}
	}
	if err := replaceFile(target, data, mode); err != nil {
		return &Error{
			Origin: Origin{Layer: scope, File: target},
			Text:   "cannot write the settings; the old ones are unchanged", Err: err,
		}
	}
	if scope != Local || !isNew {
		return nil
	}
	ignore := filepath.Join(filepath.Dir(target), ".gitignore")
	f, err := os.OpenFile(ignore, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil // shared with the team
	}
	if err == nil {
		_, err = f.WriteString("/settings.local.json\n/.gitignore\n")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return &Error{
			Origin: Origin{Layer: scope, File: ignore},
			Text:   "the settings are written, but cannot be hidden from git", Err: err,
		}
	}
	return nil
}

// lockFile waits, five seconds at most, until no other lathe writes the file.
func lockFile(stateHome, path string) (unlock func(), err error) {
	dir := filepath.Join(stateHome, "locks")
	name := filepath.Join(dir, digest([]byte(path))[:32]+".lock")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, &Error{Text: "cannot lock the settings", Err: err, Hint: "make the state folder writable"}
	}
	lock := flock.New(name)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if _, err := lock.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = errors.New("another lathe holds the lock for five seconds")
		}
		return nil, &Error{Origin: Origin{File: path}, Text: "cannot lock the settings", Err: err, Hint: "try again"}
	}
	return func() { _ = lock.Close() }, nil // closing unlocks, as does the end of the process
}

// replaceFile replaces a file atomically: a reader or a crash sees the old or the new text. An existing file
// keeps its mode.
func replaceFile(path string, data []byte, mode fs.FileMode) (err error) {
	if info, statErr := os.Stat(path); statErr == nil {
		mode = info.Mode().Perm()
	}
	dir := filepath.Dir(path)
	tmp, err := os.CreateTemp(dir, tempName(path))
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			tmp.Close()
			os.Remove(tmp.Name())
		}
	}()
	if _, err = tmp.Write(data); err != nil {
		return err
	}
	if err = tmp.Chmod(mode); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err = tmp.Sync(); err != nil {
		return err
	}
	if err = tmp.Close(); err != nil {
		return err
	}
	if err = os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	syncDir(dir)
	return nil
}

// tempName is the name pattern of temporary files.
func tempName(path string) string { return "." + filepath.Base(path) + "-*.tmp" }

// globQuote escapes a folder's name for use in a pattern.
func globQuote(dir string) string {
	if filepath.Separator == '\\' {
		return dir // Windows has no escaping, and forbids * and ? in names
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// syncDir makes the new name durable where the system can; the data is already synced.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		d.Close()
	}
}

// writtenHere reports whether lathe itself wrote this text to a local settings file last. Such a file is the
// user's own, not part of a repository.
func (p Paths) writtenHere(path string, data []byte) bool {
	note, err := regular.ReadFile(p.noteFile(path))
	return err == nil && string(note) == digest(data)
}

// noteWritten records a text for writtenHere.
func (p Paths) noteWritten(path string, data []byte) error {
	file := p.noteFile(path)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return replaceFile(file, []byte(digest(data)), 0o600)
}

func (p Paths) noteFile(path string) string {
	return filepath.Join(p.StateHome, "local", digest([]byte(path))[:32])
}
