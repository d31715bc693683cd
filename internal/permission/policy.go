package permission

import (
	"fmt"
	"iter"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Policy holds the rules of all sources and the folders that may be touched. It is safe for concurrent
// use; the paths in it are absolute with links resolved.
type Policy struct {
	Home     string // the user's home folder, for ~ in rules
	FoldCase bool   // file names that differ in case only may be the same: deny and ask rules match any case

	mu        sync.RWMutex
	rules     []Rule   // of settings and the command line
	grants    []Rule   // given while the session runs
	roots     []string // working roots
	readRoots []string // folders that may be read but not written: blobs, plans, memory, skills
	noBypass  bool
}

// NewPolicy makes a policy for the given working roots.
func NewPolicy(home string, roots []string, rules []Rule) *Policy {
	return &Policy{Home: home, FoldCase: runtime.GOOS == "windows" || runtime.GOOS == "darwin", roots: roots, rules: rules}
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
	removed := false // by an ordered rule that no later one softens
	for r := range p.all() {
		switch {
		case !r.Ordered && r.Removes(tool):
			return true
		case r.Ordered && r.Effect == Deny:
			removed = removed || r.Removes(tool)
		case r.Ordered && (r.coversTool(tool) || r.class() == fileTools[tool] && r.class() != ""):
			removed = false
		}
	}
	return removed
}

// Decide decides on a request. It never fails; what it does not understand asks.
func (p *Policy) Decide(req Request) Decision {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if r, ok := p.find(Deny, req); ok {
		return ruled(Deny, r)
	}
	last, outcome := p.ordered(req)
	if outcome == Deny {
		return ruled(Deny, last)
	}
	if d, ok := planDenies(req); ok {
		return d
	}
	if r, ok := p.allowed(req, p.grants, true); ok {
		return ruled(Allow, r)
	}
	if r, ok := p.find(Ask, req); ok {
		return p.asked(req, ruled(Ask, r))
	}
	if d, ok := planAsks(req); ok {
		return p.asked(req, d)
	}
	switch outcome {
	case Ask:
		return p.asked(req, ruled(Ask, last))
	case Allow:
		return ruled(Allow, last)
	}
	if r, ok := p.allowed(req, slices.Concat(p.rules, p.grants), false); ok {
		return ruled(Allow, r)
	}
	return p.byMode(req)
}

// byMode decides what no rule speaks of.
func (p *Policy) byMode(req Request) Decision {
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
		if r.Effect != e || r.Ordered {
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
		return r.class() != ""
	}
	return r.coversTool(req.Tool)
}

// ordered finds the outcome of the ordered rules, of which the last that matches counts: the strictest over
// all accesses, and allow only if each access is allowed. "" is no outcome.
func (p *Policy) ordered(req Request) (last Rule, outcome Effect) {
	accesses := req.Accesses
	if len(accesses) == 0 {
		accesses = []Access{{}}
	}
	all := true
	var allow Rule
	for _, a := range accesses {
		r, ok := p.lastOrdered(req, a)
		switch {
		case ok && r.Effect == Deny:
			return r, Deny
		case ok && r.Effect == Ask:
			last, outcome = r, Ask
		case ok && !p.guarded(a):
			allow = r
		default:
			granted, _ := p.granted(req, a)
			all = all && granted
		}
	}
	if outcome == "" && all && allow.Text != "" {
		return allow, Allow
	}
	return last, outcome
}

func (p *Policy) lastOrdered(req Request, a Access) (Rule, bool) {
	for _, r := range slices.Backward(p.rules) {
		if !r.Ordered {
			continue
		}
		whole := r.coversTool(req.Tool) || r.Tool == "Edit" && fileTools[req.Tool] == "Edit"
		if whole && r.Spec == "" || whole && matchParam(r, req.Input) ||
			r.Spec != "" && a.Kind != "" && p.speaksOf(r, req, a) && p.matchAccess(r, req, a) {
			return r, true
		}
	}
	return Rule{}, false
}

// allowed reports whether allow rules cover the whole request: the tool itself, or each access that the
// mode does not grant. Rules of the settings never cover protected paths; the user's own word just now does.
func (p *Policy) allowed(req Request, rules []Rule, byUser bool) (last Rule, ok bool) {
	protects := !byUser && slices.ContainsFunc(req.Accesses, p.guarded)
	for _, r := range rules {
		if r.Effect == Allow && !r.Ordered && r.Spec == "" && r.coversTool(req.Tool) && !protects {
			return r, true
		}
	}
	for _, a := range req.Accesses {
		if ok, _ := p.granted(req, a); ok {
			continue
		}
		r, ok := p.allowRule(rules, req, a)
		if !ok || (!byUser && p.guarded(a)) {
			return Rule{}, false
		}
		last = r
	}
	return last, last.Text != ""
}

// guarded: who may write these may run anything later.
func (p *Policy) guarded(a Access) bool { return a.Kind == Write && protected(p.roots, a.Target) }

func (p *Policy) allowRule(rules []Rule, req Request, a Access) (Rule, bool) {
	for _, r := range rules {
		if r.Effect == Allow && !r.Ordered && r.Spec != "" && p.speaksOf(r, req, a) && p.matchAccess(r, req, a) {
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

// planAsks: in plan mode only a person can let through what may change something unknown.
func planAsks(req Request) (Decision, bool) {
	unsafe := req.Accesses == nil || slices.ContainsFunc(req.Accesses, func(a Access) bool { return a.Kind == Tool && !a.Safe })
	return Decision{Effect: Ask, Reason: "the mode is plan, and " + req.Tool + " may change something"}, req.Mode == Plan && unsafe
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

// protected reports whether a path below one of the roots is protected. Names compare as the most
// forgiving file systems do it: without case, marks that cannot be seen, or what Windows drops at the end.
func protected(roots []string, path string) bool {
	for _, root := range roots {
		if !inside([]string{root}, path) {
			continue
		}
		rel, _ := filepath.Rel(root, path)
		parts := strings.Split(filepath.ToSlash(rel), "/")
		for i, part := range parts {
			part = plainName(part)
			if slices.Contains(protectedDirs, part) || (i == len(parts)-1 && slices.Contains(protectedFiles, part)) {
				return true
			}
		}
	}
	return false
}

// plainName is what file systems of Windows and macOS may take a name for.
func plainName(name string) string {
	name, _, _ = strings.Cut(name, ":") // a stream of NTFS
	name = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
	if name = strings.TrimRight(name, ". "); name == "git~1" {
		return ".git"
	}
	return name
}
