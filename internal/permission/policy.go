package permission

import (
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Policy holds the rules of all sources and the folders that may be touched. It is safe for concurrent
// use; the paths in it are absolute with links resolved.
type Policy struct {
	Home string // the user's home folder, for ~ in rules

	mu        sync.RWMutex
	rules     []Rule   // of settings and the command line
	grants    []Rule   // given while the session runs
	roots     []string // working roots
	readRoots []string // folders that may be read but not written: blobs, plans, memory, skills
	noBypass  bool
}

// NewPolicy makes a policy for the given working roots.
func NewPolicy(home string, roots []string, rules []Rule) *Policy {
	return &Policy{Home: home, roots: roots, rules: rules}
}

// Grant adds a rule while the session runs.
func (p *Policy) Grant(r Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.grants = append(p.grants, r)
}

// SetRules replaces the rules of settings and the command line, after they changed; what was granted in
// this session stays.
func (p *Policy) SetRules(rules []Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = rules
}

// AddRoot makes dir a working root, or one that may only be read.
func (p *Policy) AddRoot(dir string, readOnly bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if readOnly {
		p.readRoots = append(p.readRoots, dir)
		return
	}
	p.roots = append(p.roots, dir)
}

// ForbidBypass makes the bypass mode behave as the default one (managed settings may say so).
func (p *Policy) ForbidBypass() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.noBypass = true
}

// Rules lists the rules in force.
func (p *Policy) Rules() []Rule {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return slices.Collect(p.all())
}

func (p *Policy) all() iter.Seq[Rule] {
	return func(yield func(Rule) bool) {
		for _, rs := range [][]Rule{p.rules, p.grants} {
			for _, r := range rs {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// Removed reports whether a deny rule takes the tool away altogether, so that the model is not told of it.
func (p *Policy) Removed(tool string) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for r := range p.all() {
		if r.Removes(tool) {
			return true
		}
	}
	return false
}

// Decide decides on a request. It never fails; what it does not understand asks.
func (p *Policy) Decide(req Request) Decision {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if r, ok := p.find(Deny, req); ok {
		return ruled(Deny, r)
	}
	if d, ok := planDenies(req); ok {
		return d
	}
	if r, ok := p.find(Ask, req); ok {
		return p.asked(req, ruled(Ask, r))
	}
	if r, ok := p.allowed(req); ok {
		return ruled(Allow, r)
	}
	if req.Mode == Bypass && !p.noBypass {
		return Decision{Effect: Allow, Reason: "the mode is bypassPermissions"}
	}
	for _, a := range req.Accesses {
		if ok, why := p.granted(req, a); !ok {
			return p.asked(req, Decision{Effect: Ask, Reason: why})
		}
	}
	if req.Accesses == nil {
		return p.asked(req, Decision{Effect: Ask, Reason: "lathe cannot tell what " + req.Tool + " would touch"})
	}
	return Decision{Effect: Allow, Reason: grantReason(req)}
}

// asked turns an ask into a deny in the mode that never asks.
func (p *Policy) asked(req Request, d Decision) Decision {
	if req.Mode == DontAsk {
		d.Effect = Deny
		d.Reason += "; the mode is dontAsk"
	}
	return d
}

// find returns the first rule of an effect that matches the request or any of its accesses.
func (p *Policy) find(e Effect, req Request) (Rule, bool) {
	for r := range p.all() {
		if r.Effect != e {
			continue
		}
		if r.coversTool(req.Tool) && (r.Spec == "" || matchParam(r, req.Input)) {
			return r, true
		}
		if r.Spec == "" {
			continue
		}
		for _, a := range req.Accesses {
			if p.speaksOf(r, req, a) && p.matchAccess(r, req, a) {
				return r, true
			}
		}
	}
	return Rule{}, false
}

// speaksOf: path rules count for whatever tool touches the path; other rules for their own tool.
func (p *Policy) speaksOf(r Rule, req Request, a Access) bool {
	if a.Kind == Read || a.Kind == Write {
		return r.Tool == "Read" || r.Tool == "Edit"
	}
	return r.coversTool(req.Tool)
}

// allowed reports whether allow rules cover the whole request: the tool itself, or each access.
func (p *Policy) allowed(req Request) (Rule, bool) {
	var last Rule
	covered := len(req.Accesses) > 0
	for r := range p.all() {
		if r.Effect == Allow && r.Spec == "" && r.coversTool(req.Tool) {
			return r, true
		}
	}
	for _, a := range req.Accesses {
		if ok, _ := p.granted(req, a); ok && a.Kind != Write && a.Kind != Exec {
			continue
		}
		r, ok := p.allowRule(req, a)
		if !ok {
			return Rule{}, false
		}
		last, covered = r, covered && true
	}
	return last, covered && last.Text != ""
}

func (p *Policy) allowRule(req Request, a Access) (Rule, bool) {
	for r := range p.all() {
		if r.Effect == Allow && r.Spec != "" && p.speaksOf(r, req, a) && p.matchAccess(r, req, a) {
			return r, true
		}
	}
	return Rule{}, false
}

// granted says whether the mode lets an access through without a rule, and if not, why.
func (p *Policy) granted(req Request, a Access) (bool, string) {
	switch a.Kind {
	case Tool:
		return a.Safe, req.Tool + " needs approval"
	case Read:
		if inside(p.roots, a.Target) || inside(p.readRoots, a.Target) {
			return true, ""
		}
		return false, a.Target + " is outside the working folders"
	case Write:
		switch {
		case !inside(p.roots, a.Target):
			return false, a.Target + " is outside the working folders"
		case req.Mode == AcceptEdits && !protected(p.roots, a.Target):
			return true, ""
		case req.Mode == AcceptEdits:
			return false, a.Target + " is a protected path"
		}
		return false, "changing " + a.Target + " needs approval"
	case Exec:
		return false, "running a command needs approval"
	case Net:
		return false, "reaching " + a.Target + " needs approval"
	}
	return false, fmt.Sprintf("lathe does not know the access %q", a.Kind)
}

// planDenies: in plan mode nothing may change.
func planDenies(req Request) (Decision, bool) {
	if req.Mode != Plan {
		return Decision{}, false
	}
	for _, a := range req.Accesses {
		if a.Kind == Write || a.Kind == Exec {
			return Decision{Effect: Deny, Reason: "the mode is plan: look and think, but change and run nothing"}, true
		}
	}
	return Decision{}, false
}

func ruled(e Effect, r Rule) Decision {
	verb := map[Effect]string{Allow: "allowed", Ask: "to be asked", Deny: "denied"}[e]
	return Decision{
		Effect: e, Rule: r.Text, Source: r.Source.Name,
		Reason: fmt.Sprintf("%s by the rule %s (%s)", verb, r.Text, r.Source.Name),
	}
}

func grantReason(req Request) string {
	for _, a := range req.Accesses {
		if a.Kind == Write {
			return "the mode is acceptEdits"
		}
	}
	return "it only reads inside the working folders"
}

// inside reports whether path is one of the roots or below one.
func inside(roots []string, path string) bool {
	for _, root := range roots {
		rel, err := filepath.Rel(root, path)
		if err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

// protectedDirs and protectedFiles configure shells, version control, editors and agents: who may write
// them may run anything later, so acceptEdits does not cover them.
var (
	protectedDirs = []string{
		".git", ".claude", ".lathe", ".vscode", ".idea", ".husky", ".cargo", ".devcontainer", ".yarn", ".mvn",
		".codex", ".cursor", ".gemini",
	}
	protectedFiles = []string{
		".gitconfig", ".gitmodules", ".bashrc", ".bash_profile", ".bash_login", ".bash_aliases", ".bash_logout",
		".zshrc", ".zprofile", ".zshenv", ".zlogin", ".zlogout", ".profile", ".envrc", ".npmrc", ".yarnrc",
		".yarnrc.yml", ".pnp.cjs", ".pnp.loader.mjs", ".pnpmfile.cjs", "bunfig.toml", ".bunfig.toml", ".bazelrc",
		".bazelversion", ".bazeliskrc", ".pre-commit-config.yaml", "lefthook.yml", "lefthook.yaml",
		".lefthook.yml", ".lefthook.yaml", "gradle-wrapper.properties", "maven-wrapper.properties",
		".devcontainer.json", ".ripgreprc", "pyrightconfig.json", ".mcp.json", ".claude.json",
	}
)

// protected reports whether a path below one of the roots is protected. Names compare without case, as
// some file systems do.
func protected(roots []string, path string) bool {
	for _, root := range roots {
		rel, err := filepath.Rel(root, path)
		if err != nil || strings.HasPrefix(rel, "..") {
			continue
		}
		parts := strings.Split(strings.ToLower(filepath.ToSlash(rel)), "/")
		for i, part := range parts {
			for _, d := range protectedDirs {
				if part == d {
					return true
				}
			}
			if i == len(parts)-1 {
				for _, f := range protectedFiles {
					if part == f {
						return true
					}
				}
			}
		}
	}
	return false
}
