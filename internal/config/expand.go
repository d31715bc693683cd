package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

const maxExpansion = 1 << 20 // bytes of a file named by {file:}

// An expander replaces {env:NAME} and {file:path} in the string values of one document. A backslash before
// the brace escapes it.
type expander struct {
	src     *source
	env     func(string) (string, bool)
	home    string
	root    string // of the project; its files may not read outside it
	report  func(e *Error, p keyPath)
	touched []string // files that were read
}

// value expands everything below n and returns whether to keep n. If not, it has reported the reason.
func (x *expander) value(n *node, p keyPath) bool {
	switch n.kind {
	case '{':
		had := len(n.members)
		n.filter(func(m member) bool { return x.value(m.val, p.with(m.key)) })
		return !isEntry(p) || len(n.members) == had // a rule without its pattern covers more
	case '[':
		kept := n.elems[:0]
		for i, e := range n.elems {
			if x.value(e, p.with(fmt.Sprint(i))) {
				kept = append(kept, e)
			}
		}
		n.elems = kept
	case '"':
		if strings.Contains(n.text, "{env:") || strings.Contains(n.text, "{file:") {
			return x.text(n, p)
		}
	}
	return true
}

func (x *expander) text(n *node, p keyPath) bool {
	var out strings.Builder
	rest := n.text
	for {
		i, kind := nextExpansion(rest)
		if i < 0 {
			break
		}
		if i > 0 && rest[i-1] == '\\' {
			out.WriteString(rest[:i-1] + kind)
			rest = rest[i+len(kind):]
			continue
		}
		out.WriteString(rest[:i])
		name, after, closed := strings.Cut(rest[i+len(kind):], "}")
		if !closed {
			return x.fail(n, p, &Error{Text: kind + " has no closing brace"})
		}
		val, secret, err := x.lookup(kind, name)
		if err != nil {
			return x.fail(n, p, err)
		}
		n.secret = n.secret || secret
		n.fromEnv = n.fromEnv || kind == "{env:"
		n.loose = true
		out.WriteString(val)
		rest = after
	}
	out.WriteString(rest)
	n.text = out.String()
	return true
}

func nextExpansion(s string) (at int, kind string) {
	e, f := strings.Index(s, "{env:"), strings.Index(s, "{file:")
	if e < 0 || f >= 0 && f < e {
		return f, "{file:"
	}
	return e, "{env:"
}

func (x *expander) fail(n *node, p keyPath, e *Error) bool {
	e.Origin, e.Key = n.origin(), p.String()
	x.report(e, p)
	return false
}

func (x *expander) lookup(kind, name string) (val string, secret bool, e *Error) {
	name = strings.TrimSpace(name)
	if kind == "{env:" {
		return x.variable(name)
	}
	val, e = x.file(name)
	return val, true, e
}

func (x *expander) variable(name string) (string, bool, *Error) {
	project := x.src.layer.inProject()
	if SecretName(name) && project {
		return "", true, &Error{
			Text: fmt.Sprintf("a project's file may not use {env:%s}, which looks like a secret", printable(name)),
			Hint: "write this key in your own settings",
		}
	}
	val, ok := x.env(name)
	if !ok {
		return "", true, &Error{
			Text: fmt.Sprintf("{env:%s}: the variable is not set", printable(name)),
			Hint: "set it, or take it out of the file",
		}
	}
	return val, SecretName(name) || project, nil // a value that a repository chose must not appear in a log
}

func (x *expander) file(name string) (string, *Error) {
	shown := "{file:" + printable(name) + "}"
	if x.src.layer == Organization {
		return "", &Error{Text: shown + ": the organisation's settings may not read files here"}
	}
	if name == "" {
		return "", &Error{Text: shown + ": a path is missing"}
	}
	path := absolute(name, x.home, x.src.dir)
	if x.src.layer.inProject() {
		real, err := filepath.EvalSymlinks(path)
		if err == nil && !inside(real, x.root) || err != nil && !inside(path, x.root) {
			return "", &Error{
				Text: shown + ": a project's file may only read files inside the project",
				Hint: "write this key in your own settings",
			}
		}
	}
	data, err := ReadFile(path, maxExpansion)
	if errors.Is(err, fs.ErrNotExist) {
		return "", &Error{
			Text: fmt.Sprintf("%s: there is no file %s", shown, printable(path)),
			Hint: "create it, or take it out of the settings",
		}
	}
	if err != nil {
		return "", &Error{Text: shown, Err: err}
	}
	x.touched = append(x.touched, path)
	return strings.TrimRight(string(data), "\r\n"), nil
}

// inside reports whether path is root or below it, after following root's links.
func inside(path, root string) bool {
	if real, err := filepath.EvalSymlinks(root); err == nil && within(path, real) {
		return true
	}
	return within(path, root)
}

func within(path, root string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && filepath.IsLocal(rel)
}
