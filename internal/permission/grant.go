package permission

import (
	"path/filepath"
	"slices"
	"strings"
)

// granted says whether the mode lets an access through without a rule, and if not, why. A guard that fired
// was asked about before, or its rule stands above.
func (c *call) granted(i int) (bool, refusal) {
	a := &c.Accesses[i]
	if c.verdict[i].effect != "" {
		return false, refusal{before: c.verdict[i].why}
	}
	if c.isPlan(i) || c.isNote(i) {
		return true, refusal{}
	}
	switch a.Kind {
	case Tool:
		return a.Safe, refusal{before: c.Tool, after: " needs approval"}
	case Read:
		if c.p.readable(a.Target) || c.held() && shown(c.p.Home, a.Target) {
			return true, refusal{}
		}
		return false, refusal{at: a, after: " is outside the working folders"}
	case Write:
		switch {
		case harmlessDevice(a.Target), c.held() && ownTemp(c.p.roots, a.Target):
			return true, refusal{}
		case !inside(c.p.roots, a.Target):
			return false, refusal{at: a, after: " is outside the working folders"}
		case a.Below && !(c.held() && (c.Mode == AcceptEdits || c.Mode == Auto)):
			return false, refusal{
				"files whose names are not known are written into ", a,
				", perhaps hooks of git or settings that programs run",
			}
		case c.Mode == AcceptEdits, c.Mode == Auto && c.held():
			return true, refusal{}
		}
		return false, refusal{"changing ", a, " needs approval"}
	case Exec:
		if a.Command.Held {
			why := c.heldAsks(a.Command)
			return why == "", refusal{before: why}
		}
		ok, why := c.runs(a.Command)
		return ok, refusal{before: why}
	case Net:
		return false, refusal{before: "reaching " + a.Target, after: " needs approval"}
	}
	return false, refusal{before: "lathe does not know the access ", after: string(a.Kind)}
}

// refusal is the reason why a mode does not let an access through: texts around its path, put together when shown.
type refusal struct {
	before string
	at     *Access // nil for none
	after  string
}

func (r refusal) String() string {
	if r.at == nil {
		return r.before + r.after
	}
	return r.before + r.at.where() + r.after
}

// grants reports whether the mode lets an access through without a rule.
func (c *call) grants(i int) bool {
	ok, _ := c.granted(i)
	return ok
}

// where names the path of an access, with its target where it is a link.
func (a *Access) where() string {
	if a.Named != "" && a.Named != a.Target {
		return a.Named + " (a link to " + a.Target + ")"
	}
	return a.Target
}

func (p *Policy) readable(path string) bool {
	return inside(p.roots, path) || inside(p.readRoots, path) || harmlessDevice(path) || slices.Contains(aboutTheMachine,
		slashed(path)) || inside(toolchains, path) || p.Home != "" && slices.ContainsFunc(homeToolchains, func(name string) bool {
		_, in := below(slashed(filepath.Join(p.Home, name)), slashed(path))
		return in
	})
}

// toolchains hold what is installed for everybody: headers, libraries, documentation. homeToolchains are the folders of
// package managers in the home folder, with what they have downloaded and nothing that the user wrote.
var (
	toolchains = []string{
		"/usr/include", "/usr/lib", "/usr/share", "/usr/local/include", "/usr/local/lib", "/usr/local/share", "/usr/local/go",
	}
	homeToolchains = []string{
		"go/pkg/mod", ".cargo/registry/src", ".cargo/git/checkouts", ".rustup/toolchains", ".m2/repository", ".nvm/versions",
		".pyenv/versions", ".gradle/caches", ".nuget/packages", ".pub-cache/hosted", ".rbenv/versions",
	}
)

// aboutTheMachine are files outside that say which system it is, and nothing about who uses it.
var aboutTheMachine = []string{
	"/etc/os-release", "/usr/lib/os-release", "/etc/lsb-release", "/etc/debian_version", "/etc/alpine-release",
	"/etc/fedora-release", "/etc/redhat-release",
	"/etc/issue", "/etc/timezone", "/proc/version", "/proc/cpuinfo", "/proc/meminfo", "/proc/loadavg", "/proc/uptime",
}

// runs reports whether a command may run without a rule: it is read-only, or the mode accepts edits and it only
// edits. The files it reads and writes are accesses of their own.
func (c *call) runs(cmd *Command) (bool, string) {
	for _, f := range cmd.Findings {
		return false, f.Text
	}
	if cmd.Kept {
		return false, "earlier commands of the named shell may have given its words another meaning"
	}
	if !cmd.Exact {
		return false, "part of the command is only known when it runs"
	}
	for i := range cmd.Parts {
		part := &cmd.Parts[i]
		if !part.readOnly() && !c.edits(part) {
			if part.Reason != "" {
				return false, part.Reason
			}
			return false, "running a command needs approval"
		}
	}
	switch {
	case len(cmd.Parts) == 0 && !cmd.Class.ReadOnly(), cmd.Class == ClassDestructive:
		return false, "running a command needs approval"
	case cmd.Outside:
		return false, "it runs outside of the sandbox"
	}
	return true, ""
}

// readOnly: the part needs no rule.
func (p *Part) readOnly() bool { return p.Exact && p.Class.ReadOnly() && !p.Asks || p.Covered }

func (c *call) edits(p *Part) bool { return c.Mode == AcceptEdits && p.Edits() }

// Edits reports whether a part is an edit like any other, which acceptEdits grants, as in Claude Code. What it
// writes are accesses of their own.
func (p *Part) Edits() bool {
	if !p.Exact || p.Literal && !p.InPlace || p.Class != ClassWrite || p.Path == "" || p.Within != "" {
		return false
	}
	switch p.Program {
	case "mkdir", "touch", "rm", "rmdir", "mv", "cp", "sed":
		return true
	}
	return false
}

// planRefuses: in plan mode nothing may change but the plan, and only a person can allow, call by call, what may change
// something unknown.
func (c *call) planRefuses() (Decision, bool) {
	unknown := c.Accesses == nil || slices.ContainsFunc(c.Accesses,
		func(a Access) bool { return a.Kind == Tool && !a.Safe })
	switch {
	case c.Mode != Plan:
		return Decision{}, false
	case c.changes():
		reason := "the mode is plan: look and think, but change nothing"
		if c.p.plan != "" && len(c.Agent) == 0 {
			reason += " except the plan, " + c.p.plan
		}
		return Decision{Effect: Deny, Layer: LayerMode, Reason: reason}, true
	}
	return Decision{Effect: Ask, Layer: LayerMode, Reason: "the mode is plan, and " + c.Tool + " may change something"},
		unknown
}

// isPlan reports whether an access is to the plan itself: reading it, or in plan mode writing it with a tool for files.
// Neither a link to the file nor a second name of it counts, and subagents may only read it.
func (c *call) isPlan(i int) bool {
	a := &c.Accesses[i]
	if c.p.plan == "" || a.Target != c.p.plan || a.Named != "" && a.Named != a.Target || a.Links > 1 ||
		a.Node == Special || a.Below {
		return false
	}
	return a.Kind == Read || a.Kind == Write && c.Mode == Plan && c.traits.edits() && len(c.Agent) == 0
}

// changes reports whether the call writes, or runs a command that is not read-only.
func (c *call) changes() bool {
	for i, a := range c.Accesses {
		if a.Kind == Write && !harmlessDevice(a.Target) && !c.isPlan(i) && !(c.held() && ownTemp(c.p.roots, a.Target)) ||
			a.Kind == Exec && !a.Command.Class.ReadOnly() && !(a.Command.Held && !a.Command.changes()) {
			return true
		}
	}
	return false
}

func (c *call) grantReason() Decision {
	for _, a := range c.Accesses {
		if a.Kind == Write && !harmlessDevice(a.Target) || a.Kind == Exec && !a.Command.Class.ReadOnly() {
			if c.Mode != AcceptEdits && c.onlyNotes() {
				return Decision{Effect: Allow, Layer: LayerMode, Reason: "it writes the agent's own notes"}
			}
			if c.held() {
				return Decision{Effect: Allow, Layer: LayerMode, Reason: c.heldReason()}
			}
			if c.Mode == Plan {
				return Decision{Effect: Allow, Layer: LayerMode, Reason: "it writes the plan"}
			}
			return Decision{Effect: Allow, Layer: LayerMode, Reason: "the mode is acceptEdits"}
		}
	}
	if len(c.Accesses) > 0 && c.Accesses[0].Kind == Tool {
		return Decision{Effect: Allow, Layer: LayerAnalysis, Reason: "it changes nothing outside the session"}
	}
	return Decision{Effect: Allow, Layer: LayerAnalysis, Reason: "it only reads inside the working folders"}
}

// inside reports whether path is one of the roots or below one.
func inside(roots []string, path string) bool {
	for _, root := range roots {
		if _, ok := below(slashed(root), slashed(path)); ok {
			return true
		}
	}
	return false
}

// harmlessDevice: output there is dropped or shown, and there is no input.
func harmlessDevice(path string) bool {
	switch path {
	case "/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "NUL":
		return true
	}
	n, ok := strings.CutPrefix(filepath.ToSlash(path), "/dev/fd/")
	return ok && len(n) == 1 && n >= "0" && n <= "9"
}
