package lsp

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"time"
	"unicode/utf8"
)

const (
	maxDocument  = 2 << 20 // bytes of a file that servers get
	maxDocuments = 200     // open at a time
)

var errNotSent = errors.New("the file is no UTF-8 text, or too large for a language server")

func plain(data []byte) bool {
	return len(data) <= maxDocument && utf8.Valid(data) && bytes.IndexByte(data, 0) < 0
}

// document is a file that is open in a server.
type document struct {
	text    *text
	version int
	since   int // the count of news when the version was sent
	used    time.Time
}

// touch opens a document that is not open.
func (r *run) touch(path string) error {
	r.mu.Lock()
	d := r.docs[path]
	if d != nil {
		d.used = time.Now()
	}
	r.mu.Unlock()
	if d != nil {
		return nil
	}
	_, err := r.sync(path)
	return err
}

// sync makes the server's text that of the file on disk, and returns the version. One that is gone or cannot be sent is
// closed.
func (r *run) sync(path string) (int, error) {
	r.syncing.Lock()
	defer r.syncing.Unlock()
	now, err := ReadText(path)
	if err != nil {
		r.closeDocument(path)
		if errors.Is(err, fs.ErrNotExist) {
			r.watched([]string{path}, deleted)
		}
		return 0, err
	}
	ctx, cancel := context.WithTimeout(r.s.p.life, time.Second)
	defer cancel()
	r.mu.Lock()
	d := r.docs[path]
	r.used = time.Now()
	if d != nil && d.text.s == now {
		d.used = r.used
		r.mu.Unlock()
		return d.version, nil
	}
	next := &document{text: newText(now), version: 1, since: r.changes, used: r.used}
	if d != nil {
		next.version = d.version + 1
	}
	r.docs[path] = next
	old := r.oldest()
	r.mu.Unlock()
	if old != "" {
		r.closeDocument(old)
	}
	if d == nil {
		err = r.conn.Notify(ctx, "textDocument/didOpen", object{"textDocument": object{
			"uri": uriOf(path), "languageId": r.s.def.language(path), "version": next.version, "text": now,
		}})
	} else {
		err = r.change(ctx, path, d, next)
	}
	return next.version, err
}

// change sends a new version, and that it was saved.
func (r *run) change(ctx context.Context, path string, old, next *document) error {
	o := r.caps.sync()
	id := object{"uri": uriOf(path), "version": next.version}
	change := object{"text": next.text.s}
	if o.Change == 2 {
		start, end, insert := difference(old.text.s, next.text.s)
		change = object{"range": Range{old.text.position(start, r.enc), old.text.position(end, r.enc)}, "text": insert}
	}
	if o.Change > 0 {
		if err := r.conn.Notify(ctx, "textDocument/didChange",
			object{"textDocument": id, "contentChanges": []object{change}}); err != nil {
			return err
		}
	}
	save, whole := o.saves()
	if !save {
		return nil
	}
	saved := object{"textDocument": object{"uri": uriOf(path)}}
	if whole {
		saved["text"] = next.text.s
	}
	return r.conn.Notify(ctx, "textDocument/didSave", saved)
}

// oldest is a document to close, when too many are open. r.mu is held.
func (r *run) oldest() (path string) {
	if len(r.docs) <= maxDocuments {
		return ""
	}
	var at time.Time
	for p, d := range r.docs {
		if path == "" || d.used.Before(at) {
			path, at = p, d.used
		}
	}
	return path
}

func (r *run) closeDocument(path string) {
	r.mu.Lock()
	_, open := r.docs[path]
	delete(r.docs, path)
	delete(r.diags, path)
	r.mu.Unlock()
	if open {
		ctx, cancel := context.WithTimeout(r.s.p.life, time.Second)
		defer cancel()
		_ = r.conn.Notify(ctx, "textDocument/didClose", object{"textDocument": object{"uri": uriOf(path)}})
	}
}

func (r *run) openPaths() map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]bool{}
	for p := range r.docs {
		out[p] = true
	}
	return out
}

// Kinds of a change on disk, as the protocol numbers them.
const (
	created = 1
	changed = 2
	deleted = 3
)

// watched sends a change on disk.
func (r *run) watched(paths []string, kind int) {
	list := make([]object, len(paths))
	for i, p := range paths {
		list[i] = object{"uri": uriOf(p), "type": kind}
	}
	r.mu.Lock()
	r.reloads = true
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(r.s.p.life, time.Second)
	defer cancel()
	_ = r.conn.Notify(ctx, "workspace/didChangeWatchedFiles", object{"changes": list})
}

// filesChanged has the server read changed files again: open ones as new versions, others by name if it wants to hear
// of them.
func (r *run) filesChanged(paths []string) {
	kinds := map[int][]string{}
	for _, p := range paths {
		if !within(p, r.s.root) {
			continue
		}
		r.mu.Lock()
		_, open := r.docs[p]
		wants := r.watches
		r.mu.Unlock()
		if open {
			_, _ = r.sync(p)
			continue
		}
		if kind := r.changeOf(p); wants && kind != 0 {
			kinds[kind] = append(kinds[kind], p)
		}
	}
	for kind, list := range kinds {
		r.watched(list, kind)
	}
}

// changeOf notes the state of a file and returns the kind of its change; 0: it has not changed.
func (r *run) changeOf(path string) int {
	now, there := stamp{}, false
	if info, err := os.Lstat(path); err == nil {
		now, there = stamp{info.ModTime().UnixNano(), info.Size()}, true
	}
	r.scanning.Lock()
	defer r.scanning.Unlock()
	before, known := r.disk[path]
	switch {
	case r.disk == nil && there:
		return changed
	case r.disk == nil:
		return deleted
	case !there && !known, there && known && before == now:
		return 0
	case !there:
		delete(r.disk, path)
		return deleted
	}
	r.disk[path] = now
	if known {
		return changed
	}
	return created
}

// textOf is the document as the server has it; nil: it is not open.
func (r *run) textOf(path string) *text {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d := r.docs[path]; d != nil {
		return d.text
	}
	return nil
}
