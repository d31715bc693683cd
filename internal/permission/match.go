package permission

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// matchAccess reports whether a rule with a Spec matches one access of a request. Deny and ask look deep
// (any spelling of the target counts), allow looks shallow (every spelling must match).
func (p *Policy) matchAccess(r Rule, req Request, a Access) bool {
	switch a.Kind {
	case Exec:
		return matchCommand(r, a.Target)
	case Read, Write:
		return p.matchPath(r, req, a)
	case Net:
		return matchHost(r.Spec, a.Target)
	}
	return false
}

// matchPath holds a path rule against an access. A write is covered by Edit rules; a read by Read rules,
// and by Edit allow rules, because who may edit a file may read it; a read-deny forbids writing too.
func (p *Policy) matchPath(r Rule, req Request, a Access) bool {
	switch {
	case r.Tool == "Edit" && (a.Kind == Write || r.Effect == Allow):
	case r.Tool == "Read" && (a.Kind == Read || r.Effect == Deny):
	default:
		return false
	}
	target := p.pathMatches(r, req.Dir, a.Target)
	if a.Named == "" || a.Named == a.Target {
		return target
	}
	named := p.pathMatches(r, req.Dir, a.Named)
	if r.Effect == Allow {
		return target && named
	}
	return target || named
}

// pathMatches holds an absolute path against a gitignore-like pattern with one of four anchors:
// //abs, ~/home, /source and relative to the session's folder.
func (p *Policy) pathMatches(r Rule, dir, path string) bool {
	pattern, anchor := filepath.ToSlash(r.Spec), dir
	anyDepth := false
	switch {
	case strings.HasPrefix(pattern, "//"):
		anchor, pattern = "/", pattern[2:]
	case pattern == "~" || strings.HasPrefix(pattern, "~/"):
		anchor, pattern = p.Home, strings.TrimPrefix(pattern[1:], "/")
	case strings.HasPrefix(pattern, "/"):
		pattern = pattern[1:]
		if r.Source.Base != "" {
			anchor = r.Source.Base
		}
	default:
		pattern = strings.TrimPrefix(pattern, "./")
		trimmed := strings.TrimSuffix(strings.TrimSuffix(pattern, "/**"), "/")
		anyDepth = !strings.Contains(pattern, "/") || (r.Effect != Allow && !strings.Contains(trimmed, "/"))
	}
	rel, err := filepath.Rel(anchor, path)
	if err != nil {
		return false
	}
	rel = filepath.ToSlash(rel)
	if rel == ".." || strings.HasPrefix(rel, "../") {
		return false
	}
	return globUnder(strings.TrimSuffix(pattern, "/"), rel, anyDepth)
}

// globUnder matches rel, or any folder above it: a pattern that names a folder covers what is in it.
func globUnder(pattern, rel string, anyDepth bool) bool {
	if pattern == "" || pattern == "**" {
		return true
	}
	if anyDepth {
		pattern = "**/" + pattern
	}
	for p := rel; p != "." && p != ""; p = parentOf(p) {
		if ok, err := doublestar.Match(pattern, p); ok && err == nil {
			return true
		}
	}
	return false
}

func parentOf(p string) string {
	i := strings.LastIndexByte(p, '/')
	if i < 0 {
		return ""
	}
	return p[:i]
}

// matchHost holds "domain:pattern" against a host name; *.example.com covers subdomains, not the apex.
func matchHost(spec, host string) bool {
	pattern, ok := strings.CutPrefix(spec, "domain:")
	if !ok {
		return false
	}
	return wildcard(strings.ToLower(strings.TrimSpace(pattern)), strings.ToLower(host))
}

// matchParam holds "param:value" against a top-level scalar of the input. Only deny and ask rules may use it.
func matchParam(r Rule, input json.RawMessage) bool {
	name, want, ok := strings.Cut(r.Spec, ":")
	if !ok || r.Effect == Allow {
		return false
	}
	var m map[string]any
	if json.Unmarshal(input, &m) != nil {
		return false
	}
	switch v := m[strings.TrimSpace(name)].(type) {
	case string:
		return wildcard(strings.TrimSpace(want), v)
	case bool, float64:
		b, err := json.Marshal(v)
		return err == nil && wildcard(strings.TrimSpace(want), string(b))
	}
	return false
}

// shellActive are bytes by which a command line can be more than one program with fixed arguments.
const shellActive = ";&|<>$`\n\r(){}\\"

// matchCommand holds a Bash rule against a command line. An allow rule needs an exact view: a command
// that the shell could turn into something else never matches one. Deny and ask rules are held against
// every part that could be a command of its own.
func matchCommand(r Rule, command string) bool {
	command = strings.TrimSpace(command)
	if r.Effect == Allow {
		if strings.TrimSpace(r.Spec) == command {
			return true
		}
		return !strings.ContainsAny(command, shellActive) && commandPattern(r.Spec, command)
	}
	for _, part := range commandParts(command) {
		if commandPattern(r.Spec, part) {
			return true
		}
	}
	return false
}

// commandPattern: a trailing " *" or ":*" is a prefix at a word's end, any other * is any text.
func commandPattern(pattern, s string) bool {
	pattern = strings.TrimSpace(pattern)
	prefix, ok := strings.CutSuffix(pattern, " *")
	if !ok {
		prefix, ok = strings.CutSuffix(pattern, ":*")
	}
	if ok {
		return wildcard(prefix, s) || wildcard(prefix+" *", s)
	}
	return wildcard(pattern, s)
}

// commandParts cuts a command line at everything that could start another command and gives each part
// as written, without quotes, and without the assignments and wrappers before its program.
func commandParts(command string) []string {
	cut := func(r rune) bool { return strings.ContainsRune(";&|\n\r(){}`<>", r) }
	var out []string
	add := func(s string) {
		s = strings.TrimSpace(s)
		if s != "" {
			out = append(out, s)
		}
	}
	add(command)
	for _, raw := range strings.FieldsFunc(command, cut) {
		bare := strings.Join(strings.Fields(unquote.Replace(raw)), " ")
		add(raw)
		add(bare)
		for rest := bare; rest != ""; {
			rest = stripWrapper(rest)
			add(rest)
			add(baseProgram(rest))
		}
	}
	return out
}

var unquote = strings.NewReplacer(`"`, "", `'`, "", `\`, "", "$", "")

var wrappers = map[string]bool{
	"sudo": true, "doas": true, "env": true, "timeout": true, "time": true, "nice": true, "nohup": true,
	"command": true, "builtin": true, "exec": true, "xargs": true, "stdbuf": true, "setsid": true,
	"ionice": true, "watch": true, "noglob": true, "eval": true, "bash": true, "sh": true, "zsh": true,
	"then": true, "do": true, "else": true, "if": true, "while": true, "until": true, "!": true,
}

// stripWrapper drops the first word when another program may follow it: an assignment, a wrapper, a
// wrapper's flag or number. It returns "" when nothing was dropped.
func stripWrapper(s string) string {
	first, rest, ok := strings.Cut(s, " ")
	if !ok {
		return ""
	}
	name := first[strings.LastIndexByte(first, '/')+1:]
	assignment := strings.Contains(first, "=") && !strings.HasPrefix(first, "=")
	flag := strings.HasPrefix(first, "-") || (first[0] >= '0' && first[0] <= '9')
	if wrappers[name] || assignment || flag {
		return rest
	}
	return ""
}

// baseProgram turns "/bin/rm x" into "rm x".
func baseProgram(s string) string {
	first, rest, _ := strings.Cut(s, " ")
	name := first[strings.LastIndexByte(first, '/')+1:]
	return strings.TrimSpace(name + " " + rest)
}
