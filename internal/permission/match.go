package permission

import (
	"encoding/json"
	"path"
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
	case r.class() == "Edit" && (a.Kind == Write || r.Effect == Allow):
	case r.class() == "Read" && (a.Kind == Read || r.Effect == Deny):
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
func (p *Policy) pathMatches(r Rule, dir, target string) bool {
	pattern, anchor := strings.ReplaceAll(r.Spec, `\`, "/"), dir
	if !hasDrive(dir) {
		pattern = filepath.ToSlash(r.Spec)
	}
	anyDepth := false
	switch {
	case hasDrive(pattern):
		anchor, pattern = "/", slashed(pattern)[1:]
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
	if pattern != "" {
		pattern = path.Clean(pattern)
	}
	anchor, target = slashed(anchor), slashed(target)
	for pattern == ".." || strings.HasPrefix(pattern, "../") {
		anchor, anyDepth = path.Dir(anchor), false
		pattern = strings.TrimPrefix(pattern[2:], "/")
	}
	if p.FoldCase && r.Effect != Allow {
		pattern, anchor, target = strings.ToLower(pattern), strings.ToLower(anchor), strings.ToLower(target)
	}
	rel, ok := below(anchor, target)
	return ok && globUnder(pattern, rel, anyDepth)
}

// below is the path of target from anchor, both slashed; false when target is not in there.
func below(anchor, target string) (string, bool) {
	if anchor == target {
		return "", true
	}
	if anchor != "/" {
		anchor += "/"
	}
	return strings.CutPrefix(target, anchor)
}

// slashed writes an absolute path as rules do, on every system: C:\a\b is /c/a/b.
func slashed(p string) string {
	switch {
	case hasDrive(p):
		p = "/" + strings.ToLower(p[:1]) + "/" + strings.ReplaceAll(p[2:], `\`, "/")
	case strings.HasPrefix(p, `\\`):
		p = strings.ReplaceAll(p, `\`, "/")
	}
	return path.Clean(filepath.ToSlash(p))
}

func hasDrive(p string) bool {
	return len(p) >= 3 && p[1] == ':' && (p[2] == '\\' || p[2] == '/') && (p[0]|0x20 >= 'a' && p[0]|0x20 <= 'z')
}

// globUnder matches rel, or any folder above it: a pattern that names a folder covers what is in it.
func globUnder(pattern, rel string, anyDepth bool) bool {
	if pattern == "" || pattern == "." || pattern == "**" {
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
		for _, rest := range programs(bare) {
			add(rest)
			add(baseProgram(rest))
		}
	}
	return out
}

// maxPrefix is how many words of a command are looked at for the program it runs.
const maxPrefix = 48

// programs lists the ends of a command that may be a command of their own: after assignments and wrappers,
// and after a wrapper's flags, whether a flag takes the next word as its value or not.
func programs(s string) []string {
	var out []string
	words := strings.SplitN(s, " ", maxPrefix+1)
	at := make([]bool, len(words)+2)
	at[0] = true
	offset := 0
	for i, w := range words {
		if at[i] {
			out = append(out, s[offset:])
			if wraps(w) {
				at[i+1] = true
				at[i+2] = at[i+2] || strings.HasPrefix(w, "-")
			}
		}
		offset += len(w) + 1
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

// wraps reports whether another program may follow a word: an assignment, a wrapper, a wrapper's flag or
// number.
func wraps(word string) bool {
	name := word[strings.LastIndexByte(word, '/')+1:]
	assignment := strings.Contains(word, "=") && !strings.HasPrefix(word, "=")
	flag := strings.HasPrefix(word, "-") || (word != "" && word[0] >= '0' && word[0] <= '9')
	return wrappers[name] || assignment || flag
}

// baseProgram turns "/bin/rm x" into "rm x".
func baseProgram(s string) string {
	first, rest, _ := strings.Cut(s, " ")
	name := first[strings.LastIndexByte(first, '/')+1:]
	return strings.TrimSpace(name + " " + rest)
}
