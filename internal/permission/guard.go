package permission

import (
	"strings"
)

// verdict is the outcome of the guards for one access: nothing, ask or deny. Rules and modes do not lift a deny.
type verdict struct {
	effect Effect
	why    string // names the danger, in words for the user
	strict bool   // ask: no rule of the settings lifts it, not even one that names exactly this
	final  bool   // deny: there is nothing that a person could reasonably confirm

	general bool // the guard of a file or host that the command touches gives a better reason
}

// guard is the fixed check of one access. A held command that reads a file which only running tells gets no file that
// is hidden from it.
func (p *Policy) guard(a *Access, held bool) verdict {
	switch a.Kind {
	case Exec:
		return guardCommand(a.Command)
	case Net:
		return guardNet(a)
	case Read, Write:
	default:
		return verdict{}
	}
	for _, path := range [2]string{a.Target, a.Named} {
		if strings.IndexByte(path, 0) >= 0 {
			return verdict{
				effect: Deny, why: "the path holds a NUL character, behind which a program sees another path",
				final: true,
			}
		}
	}
	v := p.guardPath(a.Kind, a.Target)
	if a.Named != "" && a.Named != a.Target {
		v = worse(v, p.guardPath(a.Kind, a.Named))
		if v.effect != "" {
			v.why = a.where() + ": " + v.why
		}
	}
	switch {
	case !held:
	case a.Kind == Read && a.Node == Unknown:
		return v
	case a.Kind == Write && v.effect == Ask && a.Named == "" && ownTemp(p.roots, a.Target):
		v = verdict{} // nothing runs or reads what lies there
	}
	return worse(v, guardNode(a))
}

func worse(a, b verdict) verdict {
	if a.effect == "" || b.effect != "" && rank(b.effect) > rank(a.effect) {
		return b
	}
	return a
}

// guardCommand passes on the findings that no rule lifts.
func guardCommand(cmd *Command) (v verdict) {
	for _, f := range cmd.Findings {
		if f.Effect != Deny {
			continue
		}
		if v = (verdict{effect: Deny, why: f.Text, general: f.Check == protectedWrite}); !v.general {
			return v
		}
	}
	return v
}

// protectedWrite is the check on commands that covers the same files as guardPath.
const protectedWrite = "protected-write"

// guardNode checks the kind of file at the path.
func guardNode(a *Access) verdict {
	if harmlessDevice(a.Target) {
		return verdict{}
	}
	switch {
	case a.Node == Special:
		return verdict{effect: Ask, why: a.where() + " is a device, a pipe or a socket, and no file"}
	case a.Node == Unknown:
		return verdict{effect: Ask, strict: true, why: "it cannot be told what lies at " + a.where()}
	case a.Kind == Read && a.Node == File && a.Links > 1 && !sharedByDesign(a.Target):
		return verdict{effect: Ask, why: a.where() +
			" is a hard link: the same file has another name elsewhere, perhaps outside the working folders"}
	case a.Kind == Write && a.Node == File && a.Links > 1:
		return verdict{effect: Ask, strict: true, why: a.where() +
			" is a hard link: the same file has another name elsewhere, which changes too"}
	}
	return verdict{}
}

// sharedByDesign: package managers and git fill these folders with hard links.
func sharedByDesign(path string) bool {
	for part := range strings.SplitSeq(slashed(path), "/") {
		if part == "node_modules" || part == ".git" || part == ".venv" || part == "venv" {
			return true
		}
	}
	return false
}

// guardPath checks a path. What lies in a working root is judged by its path from there, so that a root
// inside a protected folder can be worked in.
func (p *Policy) guardPath(k Kind, path string) verdict {
	path = slashed(path)
	if v := p.guardHome(k, path); v.effect == Deny {
		return v
	}
	rel, insideRoot := fromRoot(p.roots, path)
	if k == Read {
		return guardRead(path, rel)
	}
	return guardPlace(path, rel, p.Home, insideRoot, guardWrite)
}

// guardPlace judges writing a file outside of the folders of lathe and the user.
func guardPlace(path, rel, home string, insideRoot bool, names func(parts []string) verdict) verdict {
	if !insideRoot {
		if v := guardSystem(path); v.effect != "" {
			return v
		}
	}
	v := names(strings.Split(rel, "/"))
	if v.why == startUpFile && !insideRoot && !isHome(path, home) {
		v.effect = Ask
	}
	return v
}

// NamedWrite returns what the guards say of writing a file, by the names of its path alone: where it lies in the
// system, the home folder or below the innermost of the working roots.
func NamedWrite(roots []string, home, path string) Effect {
	path = slashed(path)
	if rel, ok := below(foldName(slashed(home)), foldName(path)); ok && home != "" {
		v := guardLathe(Write, rel)
		if v.effect == "" && !underRoot(roots, path, home) {
			v = guardHomeWrite(rel)
		}
		if v.effect != "" {
			return v.effect
		}
	}
	rel, insideRoot := fromRoot(roots, path)
	if rel == "" {
		return ""
	}
	return guardPlace(path, rel, home, insideRoot, guardNames).effect
}

// fromRoot is the path from the innermost of the roots that it lies in, "" for the root itself; where there is none,
// the path without its first slash.
func fromRoot(roots []string, path string) (rel string, inside bool) {
	rel = strings.TrimPrefix(path, "/")
	for _, root := range roots {
		if r, ok := below(slashed(root), path); ok && (!inside || len(r) < len(rel)) {
			rel, inside = r, true
		}
	}
	return rel, inside
}

// GuardedWrite reports whether a guard objects to writing a file of this path, slashed, in any folder.
func GuardedWrite(rel string) bool { return guardWrite(strings.Split(rel, "/")).effect != "" }

// isHome reports whether a file lies right in the home folder of somebody.
func isHome(file, home string) bool {
	dir := parentOf(file)
	return dir == slashed(home) || dir == "/root" || strings.Count(dir, "/") == 2 && (strings.HasPrefix(dir, "/home/") ||
		strings.HasPrefix(dir, "/Users/"))
}

const mine = "lathe's own settings and state: who changes them decides what lathe may do"

// guardLathe guards lathe's own folders by the folded path from the home folder.
func guardLathe(k Kind, rel string) verdict {
	for _, dir := range []string{".lathe", ".config/lathe", ".local/share/lathe", ".local/state/lathe"} {
		in, ok := below(dir, rel)
		switch {
		case !ok:
		case k == Write:
			return verdict{effect: Deny, why: mine}
		case dir == ".lathe":
			return verdict{effect: Deny, why: "lathe's own credentials may lie there"}
		default:
			return credentials(k, in, false)
		}
	}
	return verdict{}
}

// guardHome guards the files of lathe, shells and other programs in the user's home.
func (p *Policy) guardHome(k Kind, path string) verdict {
	for _, dir := range p.Own {
		if rel, ok := below(foldName(slashed(dir)), foldName(path)); ok {
			if k == Write && !inside(p.readRoots, path) {
				return verdict{effect: Deny, why: mine}
			}
			return credentials(k, rel, inside(p.readRoots, path))
		}
	}
	if p.Home == "" || inside(p.readRoots, path) && k == Read {
		return verdict{}
	}
	rel, ok := below(foldName(slashed(p.Home)), foldName(path))
	if !ok {
		return verdict{}
	}
	if v := guardLathe(k, rel); v.effect != "" {
		return v
	}
	if k == Write && !underRoot(p.roots, path, p.Home) {
		return guardHomeWrite(rel)
	}
	return verdict{}
}

// credentials: reading lathe's own settings may show keys.
func credentials(k Kind, rel string, declared bool) verdict {
	if k == Read && !declared && !strings.Contains(rel, "/") && (strings.HasSuffix(rel, ".json") || strings.Contains(rel,
		"credential") || strings.Contains(rel, "auth")) {
		return verdict{effect: Deny, why: "lathe's own settings and credentials lie there"}
	}
	return verdict{}
}

// underRoot reports whether path lies in a root that is itself below home, which then judges it.
func underRoot(roots []string, path, home string) bool {
	for _, root := range roots {
		if _, ok := below(slashed(root), path); ok && slashed(root) != slashed(home) {
			_, in := below(slashed(home), slashed(root))
			return in
		}
	}
	return false
}
