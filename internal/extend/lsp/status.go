package lsp

import (
	"cmp"
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/usage"
)

// Status describes a server for people.
type Status struct {
	Name     string
	Root     string // empty: it was not started
	Program  string // its path; empty: not installed
	State    string // starting, ready, indexing, stopped, failed, given up, installed, not installed, disabled
	Detail   string // why it failed; foreign text
	Memory   int64  // bytes, with its children; 0: not known
	Errors   int
	Warnings int
	Open     int      // documents
	For      []string // extensions and names of files
	Install  string
	Source   string // built-in, settings or the name of a plugin
}

// Status lists the servers that were started.
func (p *Pool) Status() (out []Status) {
	for _, s := range p.each() {
		out = append(out, s.status())
	}
	return out
}

func (s *server) status() Status {
	st := Status{Name: s.name(), Root: s.root, Program: s.argv[0], State: "stopped"}
	s.mu.Lock()
	r := s.run
	switch {
	case s.gaveUp != nil:
		st.State, st.Detail = "given up", s.gaveUp.Error()
	case r == nil && s.last != nil:
		st.State, st.Detail = "failed", s.last.Error()
	}
	s.mu.Unlock()
	if r == nil {
		return st
	}
	st.State = "starting"
	if !r.isReady() {
		return st
	}
	st.State = "ready"
	r.mu.Lock()
	text, working := r.working()
	r.mu.Unlock()
	st.Detail = text
	if working {
		st.State = "indexing"
	}
	st.Memory = usage.Of(r.proc.Pid()).Memory
	list, _ := r.current()
	for _, diags := range list {
		for _, d := range diags {
			switch d.Severity {
			case Error:
				st.Errors++
			case Warning:
				st.Warnings++
			}
		}
	}
	st.Open = len(r.openPaths())
	return st
}

// Known lists all definitions with their programs, as seen from a folder.
func (p *Pool) Known(dir string) (out []Status) {
	set := p.o.Settings()
	for _, d := range p.definitions(set) {
		st := Status{
			Name: d.Name, State: "not installed", Install: d.Install, Source: "built-in",
			For: slices.Sorted(maps.Keys(d.Languages)),
		}
		if _, ok := set.Servers[d.Name]; ok {
			st.Source = "settings"
		} else if d.Plugin != "" {
			st.Source = d.Plugin
		}
		argv, err := p.program(d, dir, dir)
		switch {
		case d.Disabled || !set.Enabled:
			st.State = "disabled"
		case err == nil:
			st.State, st.Program = "installed", argv[0]
		case err != errNotInstalled: //nolint:errorlint // it is never wrapped
			st.State, st.Detail = "not usable", err.Error()
		}
		out = append(out, st)
	}
	return out
}

// Restart ends servers with a name ("" for all) and starts them again. It returns how many there were.
func (p *Pool) Restart(name string) int {
	n := 0
	for _, s := range p.each() {
		if name == "" || s.name() == name {
			s.restart()
			n++
		}
	}
	return n
}

// Diagnose returns the diagnostics of files, and starts servers for them. It waits until the servers have read their
// projects, as long as ctx and the settings allow. served is false if no server serves any of the files.
func (p *Pool) Diagnose(ctx context.Context, list []File) (out []Diagnostic, served bool, err error) {
	set := p.o.Settings()
	ctx, cancel := context.WithTimeout(ctx, ms(set.StartMs))
	defer cancel()
	want := map[string]bool{}
	targets := map[*run][]string{}
	for _, f := range list {
		want[f.Path] = true
		for _, s := range p.serve(f) {
			if r := s.current(); r != nil {
				targets[r] = append(targets[r], f.Path)
			}
		}
	}
	for r, paths := range targets {
		if e := r.wait(ctx); e != nil {
			err = e
			continue
		}
		served = true
		r.settle(ctx)
		r.update(ctx, paths)
		now, _ := r.current()
		for path, diags := range now {
			if want[path] {
				out = append(out, diags...)
			}
		}
	}
	sortDiagnostics(out)
	return out, served, err
}

// All returns the diagnostics of all running servers below a folder.
func (p *Pool) All(dir string) (out []Diagnostic) {
	for _, s := range p.each() {
		r := s.current()
		if r == nil || !r.isReady() {
			continue
		}
		now, _ := r.current()
		for path, diags := range now {
			if within(path, dir) {
				out = append(out, diags...)
			}
		}
	}
	sortDiagnostics(out)
	return out
}

func sortDiagnostics(list []Diagnostic) {
	slices.SortStableFunc(list, func(a, b Diagnostic) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Severity, b.Severity))
	})
}

// Sample returns one file per language below a folder for which a server is installed, so that servers read their
// projects.
func (p *Pool) Sample(root string, paths []string) (out []File) {
	seen := map[string]bool{}
	for _, path := range paths {
		for _, d := range p.definitions(p.o.Settings()) {
			f := File{Path: path, Root: root}
			if d.Disabled || d.language(path) == "" {
				continue
			}
			dir, ok := d.rootOf(f)
			key := d.Name + "\x00" + filepath.Clean(dir)
			if ok && !seen[key] {
				seen[key] = true
				out = append(out, f)
			}
		}
	}
	return slices.Compact(out)
}
