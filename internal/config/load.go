package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A loader collects the layers of one Load.
type loader struct {
	opts  Options
	env   environment
	paths Paths
	home  string

	layers      [Managed + 1][]*node // documents of each layer, lowest first
	later       []*node              // held values, parallel to laterLayer
	laterLayer  []Layer
	settingsEnv *node
	orgURL      string
	orgNode     *node
	strict      bool // single bad entries are errors, too

	held       []Value
	heldDigest string

	projectTools []ToolFile
	trusted      bool
	files        []File

	localDigest string // of lathe's local file when it was read
	warnings    []Warning
	warned      map[Warning]bool
}

func newLoader(opts Options) (*loader, error) {
	opts, env, paths, err := opts.resolve()
	if err != nil {
		return nil, err
	}
	if opts.amended == nil {
		opts.amended = &amendments{}
	}
	return &loader{opts: opts, env: env, paths: paths, home: paths.Home, warned: map[Warning]bool{}}, nil
}

func (l *loader) warn(ws ...Warning) {
	for _, w := range ws {
		if !l.warned[w] {
			l.warned[w] = true
			l.warnings = append(l.warnings, w)
		}
	}
}

// read loads every document; the organisation's last, since the others set its URL.
func (l *loader) read() error {
	for _, f := range l.candidates() {
		if err := l.file(f); err != nil {
			return err
		}
	}
	if err := l.flags(); err != nil {
		return err
	}
	if err := l.managed(); err != nil {
		return err
	}
	l.settingsEnv = l.ownEnv()
	if err := l.environment(); err != nil {
		return err
	}
	return l.organization()
}

// candidates lists the files of the user, the project and its local layer, lowest first.
func (l *loader) candidates() []File {
	p := l.paths
	all := []File{
		{Path: filepath.Join(p.ClaudeHome, "settings.json"), Layer: User, Foreign: true},
		{Path: filepath.Join(p.ConfigHome, "settings.json"), Layer: User},
		{Path: filepath.Join(p.Root, ".claude", "settings.json"), Layer: Project, Foreign: true},
		{Path: filepath.Join(p.Root, ".lathe", "settings.json"), Layer: Project},
		{Path: filepath.Join(p.Root, ".claude", "settings.local.json"), Layer: Local, Foreign: true},
		{Path: filepath.Join(p.Root, ".lathe", "settings.local.json"), Layer: Local},
	}
	return slices.DeleteFunc(all, func(f File) bool {
		skip := l.opts.Sources != nil && !slices.Contains(l.opts.Sources, f.Layer)
		// In the home folder the project's .claude is the user's own, and was already read.
		return skip || f.Layer == Project && f.Path == all[0].Path || f.Layer.inProject() && f.Path == all[1].Path
	})
}

// file loads one settings file, if it exists.
func (l *loader) file(f File) error {
	data, err := ReadFile(f.Path, maxFile)
	f.Found = err == nil
	l.files = append(l.files, f)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	src := l.source(f, data)
	if err == nil {
		if f.Layer == Local && !f.Foreign {
			l.localDigest = digest(data)
		}
		return l.document(src)
	}
	e := &Error{Origin: Origin{Layer: f.Layer, File: f.Path}, Text: "cannot read the settings", Err: err, rules: true}
	if f.Foreign {
		e.Hint = "it may have permission rules; make it readable, or remove it"
	}
	return l.broken(src, e)
}

func (l *loader) source(f File, data []byte) *source {
	dir := filepath.Dir(f.Path)
	src := &source{layer: f.Layer, file: f.Path, data: data, dir: dir, base: dir, foreign: f.Foreign}
	if f.Layer.inProject() {
		src.base = l.paths.Root
	}
	return src
}

// broken turns an unusable file into an error, or into a warning if it is another program's and no rules are lost.
func (l *loader) broken(src *source, err error) error {
	var e *Error
	if !src.foreign || src.layer == Managed || !errors.As(err, &e) || e.rules {
		return err
	}
	l.warn(e.asWarning("this file is left out"))
	return nil
}

// document turns a text into a checked tree and adds it to its layer.
func (l *loader) document(src *source) error {
	root, err := l.parse(src)
	if err != nil {
		return l.broken(src, err)
	}
	if src.layer == Organization {
		forbidRemote(root, func(w Warning) { l.warn(w) })
	}
	if !src.layer.inProject() {
		l.layers[src.layer] = append(l.layers[src.layer], root)
		return nil
	}
	now, later := split(root)
	l.layers[src.layer] = append(l.layers[src.layer], now)
	if src.layer == Local && (l.opts.TrustLocal || l.paths.writtenHere(src.file, src.data)) {
		l.layers[src.layer] = append(l.layers[src.layer], later)
		return nil
	}
	l.later, l.laterLayer = append(l.later, later), append(l.laterLayer, src.layer)
	return nil
}

// parse reads, expands and checks one document. One that cannot be parsed may have had rules.
func (l *loader) parse(src *source) (*node, error) {
	lost := src.layer != Organization        // an organisation's may be a proxy's error page
	if len(bytes.TrimSpace(src.data)) == 0 { // cut off by a full disk or a crash
		return nil, &Error{
			Origin: src.origin(0), Text: "the file is empty",
			Hint: "restore its text, or write {} if there is nothing to set", rules: lost,
		}
	}
	doc, err := parseDocument(src)
	if err != nil {
		if e, ok := errors.AsType[*Error](err); ok {
			e.rules = lost
		}
		return nil, err
	}
	if !src.foreign {
		if err := doc.checkVersion(); err != nil {
			return nil, err
		}
	}
	return l.digest(doc)
}

// digest makes a checked tree from a parsed document.
func (l *loader) digest(doc *document) (*node, error) {
	src := doc.src
	var first *Error
	fail := func(e *Error, restricts bool, left string) {
		switch e.rules = restricts; {
		case left != "" && !restricts:
			l.warn(e.asWarning(left))
		case first == nil:
			first = e
		}
	}
	inForeign := func(left string) string {
		if src.foreign {
			return left
		}
		return ""
	}
	root := doc.tree(func(key string, off int) {
		e := &Error{
			Origin: src.origin(off), Key: keyPath{key}.String(), Text: "the key appears twice in this object",
			Hint: "remove one",
		}
		fail(e, key == "permissions" || slices.Contains(restricting, key), inForeign("the last one counts"))
	})
	applyAliases(root)
	if src.layer.inProject() {
		forbid(root, func(w Warning) { l.warn(w) })
	}
	x := expander{src: src, env: l.env.lookup, home: l.home, root: l.paths.Root, report: func(e *Error, p keyPath) {
		left := inForeign("this key is left out")
		if isEntry(p) && !l.strict {
			left = "this entry is left out"
		}
		fail(e, restricts(root, p), left)
	}}
	x.value(root, nil)
	c := checker{src: src, home: l.home, strict: l.strict}
	err := c.check(root)
	l.warn(c.warnings...)
	if first != nil {
		return nil, first
	}
	return root, err
}

// flags loads --settings and then the single flags.
func (l *loader) flags() error {
	if arg := strings.TrimSpace(l.opts.SettingsFlag); strings.HasPrefix(arg, "{") {
		src := &source{layer: Flags, file: "--settings", data: []byte(arg), dir: l.paths.Dir, base: l.paths.Dir}
		if err := l.document(src); err != nil {
			return err
		}
	} else if arg != "" {
		if err := l.settingsFile(absolute(arg, l.home, l.paths.Dir)); err != nil {
			return err
		}
	}
	if text := l.opts.amended.get(); text != "" {
		src := &source{layer: Flags, file: "the host's settings", data: []byte(text), dir: l.paths.Dir, base: l.paths.Dir}
		if err := l.document(src); err != nil {
			return err
		}
	}
	for _, f := range l.opts.Flags {
		root, err := l.flag(f)
		if err != nil {
			return err
		}
		l.layers[Flags] = append(l.layers[Flags], root)
	}
	return nil
}

func (l *loader) settingsFile(path string) error {
	data, err := ReadFile(path, maxFile)
	if err != nil {
		e := &Error{
			Origin: Origin{Layer: Flags, Name: "--settings"}, Text: "cannot read " + printable(path), Err: err,
			Hint: "give a file or a JSON object",
		}
		if errors.Is(err, fs.ErrNotExist) {
			e.Text, e.Err = "there is no file "+printable(path), nil
		}
		return e
	}
	f := File{Path: path, Layer: Flags, Found: true}
	l.files = append(l.files, f)
	return l.document(l.source(f, data))
}

// flag makes a document from a single flag.
func (l *loader) flag(f Flag) (*node, error) {
	src := &source{layer: Flags, name: f.Name, dir: l.paths.Dir, base: l.paths.Dir}
	path, err := parsePath(f.Key)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(f.Value)
	if err != nil {
		return nil, fmt.Errorf("flag %s: %w", f.Name, err)
	}
	parsed := *src
	parsed.data = data
	n, err := valueNode(&parsed)
	if err != nil {
		return nil, fmt.Errorf("flag %s: %w", f.Name, err)
	}
	unplace(n, src)
	n.loose = n.kind == '"'
	root := object(src)
	root.put(path, n)
	c := checker{src: src, home: l.home}
	err = c.check(root)
	l.warn(c.warnings...)
	return root, err
}

// unplace drops positions that are useless to the user.
func unplace(n *node, src *source) {
	n.src, n.off = src, -1
	for _, m := range n.members {
		unplace(m.val, src)
	}
	for _, e := range n.elems {
		unplace(e, src)
	}
}

// managed loads the administrator's policy. It must not be lost silently: a file that cannot be read or
// parsed is an error, even Claude Code's.
func (l *loader) managed() error {
	for _, path := range l.opts.ManagedPaths {
		owner := filepath.Base(filepath.Dir(path))
		foreign := owner == "claude-code" || owner == "ClaudeCode"
		for _, p := range append([]string{path}, dropIns(path)...) {
			if err := l.file(File{Path: p, Layer: Managed, Foreign: foreign}); err != nil {
				return err
			}
		}
	}
	return l.hostPolicy()
}

// dropIns lists managed-settings.d/*.json beside managed-settings.json, in the order of their names.
func dropIns(path string) []string {
	dir := dropInDir(path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // usually missing; an unreadable file in it is an error
	}
	var out []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".json") && !strings.HasPrefix(e.Name(), ".") {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out
}

func dropInDir(path string) string { return strings.TrimSuffix(path, ".json") + ".d" }

// ownEnv merges the env objects that lathe itself obeys.
func (l *loader) ownEnv() *node {
	env := object(&source{layer: SettingsEnv})
	for _, layer := range []Layer{User, Flags, Managed} {
		for _, doc := range l.layers[layer] {
			if e := doc.get("env"); e != nil {
				env = merge(env, e, keyPath{"env"})
			}
		}
	}
	return env
}

func (l *loader) environment() error {
	process, err := l.envLayer(l.processVariable)
	if err != nil {
		return err
	}
	settings, err := l.envLayer(l.settingsVariable)
	if err != nil {
		return err
	}
	l.layers[Environment] = []*node{process}
	l.layers[SettingsEnv] = []*node{settings}
	return nil
}

// merge merges all layers.
func (l *loader) merge() (*node, error) {
	l.decideTrust()
	out := defaultTree()
	for layer := Organization; layer <= Managed; layer++ {
		docs := l.layers[layer]
		if l.trusted {
			for i, doc := range l.later {
				if l.laterLayer[i] == layer {
					docs = append(docs[:len(docs):len(docs)], doc)
				}
			}
		}
		for _, doc := range docs {
			if layer == Managed {
				doc = startModel(out, doc)
			}
			out = merge(out, doc, nil)
		}
	}
	return l.settle(out), nil
}

// startModel drops the managed model where the user chose another one for this run: as in Claude Code, a
// managed model is only the default of new sessions.
func startModel(below, managed *node) *node {
	m := below.get("model")
	if m == nil || m.src.layer < Environment || m.src.layer == Managed || managed.get("model") == nil {
		return managed
	}
	doc := managed.clone()
	doc.remove("model")
	return doc
}

// settle applies keys that affect other keys.
func (l *loader) settle(root *node) *node {
	l.warnIdle(root)
	mode := root.at(keyPath{"permissions", "defaultMode"})
	if mode == nil {
		return root
	}
	why := modeForbidden(root, l.waiting(), mode.text)
	if why == nil {
		return root
	}
	l.warn(Warning{
		Origin: mode.origin(), Key: "permissions.defaultMode",
		Text: mode.text + " is forbidden by " + why.Origin.String() + " (" + why.Key + "); the mode is default",
	})
	src := &source{layer: why.Origin.Layer, file: why.Origin.File, name: why.Origin.Name}
	safe := object(src)
	safe.put(keyPath{"permissions", "defaultMode"}, &node{kind: '"', text: "default", src: src, off: -1})
	return merge(root, safe, nil)
}
