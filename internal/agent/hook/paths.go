package hook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// FileChanged reports a change of a file: change, add or unlink. Matchers are compared with the file's name without
// folders.
func (h *Hooks) FileChanged(ctx context.Context, path, how string) {
	if h.Any("FileChanged") {
		h.watch(h.shown(h.fire(ctx, occasion{event: "FileChanged", subject: path, fields: map[string]any{
			"file_path": path,
			"event":     how,
		}})))
	}
}

// Watched lists the files that hooks of FileChanged want to hear about: names in the working folder, and absolute
// paths.
func (h *Hooks) Watched() (names []string) {
	if h == nil {
		return nil
	}
	for _, handler := range h.handlers("FileChanged") {
		names = append(names, nameList(handler.Matcher)...)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	names = append(names, h.watched...)
	slices.Sort(names)
	return slices.Compact(names)
}

// nameList splits a matcher that is a list of names.
func nameList(matcher string) []string {
	names := strings.FieldsFunc(matcher, func(r rune) bool { return r == '|' || r == ',' })
	for i, n := range names {
		names[i] = strings.TrimSpace(n)
	}
	return slices.DeleteFunc(names, func(n string) bool { return n == "" || n == "*" })
}

// mostWatched bounds the paths that hooks add to those of matchers.
const mostWatched = 1000

// watch keeps the files that hooks ask to be watched.
func (h *Hooks) watch(runs []Run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range runs {
		for _, p := range r.Output.Specific.WatchPaths {
			if p = filepath.Clean(p); filepath.IsAbs(p) && len(h.watched) < mostWatched && !slices.Contains(h.watched, p) {
				h.watched = append(h.watched, p)
			}
		}
	}
}

// CreateWorktree has the hooks of WorktreeCreate make a worktree in the place of git, and returns its folder. ok is
// false where there are no such hooks.
func (h *Hooks) CreateWorktree(ctx context.Context, name string) (path string, ok bool, err error) {
	if !h.Any("WorktreeCreate") {
		return "", false, nil
	}
	for _, r := range h.fire(ctx, occasion{event: "WorktreeCreate", fields: map[string]any{"name": name}}) {
		if r.Err != nil || r.Exit != 0 {
			why := cmp.Or(r.Stderr, "it gave no reason")
			if r.Err != nil {
				why = r.Err.Error()
			}
			return "", true, fmt.Errorf("the hook %s made no worktree: %s", r.Handler.Text(), why)
		}
		path = cmp.Or(path, r.Output.Specific.WorktreePath, lastLine(r.Text))
	}
	if path == "" {
		return "", true, errors.New("the hooks of WorktreeCreate printed no path; the last line of their output must be " +
			"the folder that they made")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(h.s.Dir(), path)
	}
	return path, true, nil
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

// WorktreeRemoved reports a worktree of CreateWorktree that is no longer used; true: hooks remove it.
func (h *Hooks) WorktreeRemoved(ctx context.Context, path string) bool {
	if !h.Any("WorktreeRemove") {
		return false
	}
	h.shown(h.fire(ctx, occasion{event: "WorktreeRemove", fields: map[string]any{"worktree_path": path}}))
	return true
}
