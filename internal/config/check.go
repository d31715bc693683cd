package config

import (
	"math"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A checker validates one document against the schema. It converts loose values to the types of the schema,
// makes paths absolute, and collects the errors.
type checker struct {
	src      *source
	root     *node // of the document
	home     string
	strict   bool // single bad entries are errors, too
	problems []*Error
	warnings []Warning
	unknown  []keyPath
}

// check validates the whole document and removes invalid values with a warning: any in a file of another
// program, and permission entries that allow in every file. It returns the first error of a file of ours, or one in
// permissions that restrict in any file.
func (c *checker) check(root *node) error {
	c.root = root
	if !c.value(rootSchema(), root, nil) && len(c.problems) == 0 {
		c.problem(root, nil, rootSchema())
	}
	if len(c.problems) == 0 {
		return nil
	}
	first := *c.problems[0]
	first.More = len(c.problems) - 1
	return &first
}

// value checks n and returns whether to keep it. If not, it has reported the reason.
func (c *checker) value(s *schema, n *node, p keyPath) bool {
	if len(s.anyOf) > 0 {
		return c.anyOf(s, n, p)
	}
	if n.loose {
		loosen(s, n)
	}
	if !s.fits(n) {
		return c.problem(n, p, s)
	}
	switch n.kind {
	case '{':
		return c.members(s, n, p)
	case '[':
		return c.elements(s, n, p)
	case '"':
		return c.text(s, n, p)
	}
	if s.format == "text" {
		*n = node{kind: '"', text: string(n.appendJSON(nil)), src: n.src, off: n.off}
	}
	return true
}

func (c *checker) anyOf(s *schema, n *node, p keyPath) bool {
	for _, alt := range s.anyOf {
		trial := checker{src: c.src, home: c.home, strict: true}
		if slices.Contains(alt.types, kindName(n)) && trial.value(alt, n, p) && len(trial.problems) == 0 {
			c.warnings, c.unknown = append(c.warnings, trial.warnings...), append(c.unknown, trial.unknown...)
			return true
		}
	}
	return c.problem(n, p, s)
}

func (c *checker) members(s *schema, n *node, p keyPath) bool {
	if s.open() {
		return true
	}
	whole := true
	n.filter(func(m member) bool {
		sub := s.prop(m.key)
		if sub == nil {
			c.unknownKey(s, m, p)
			return true
		}
		ok := c.value(sub, m.val, p.with(m.key))
		whole = whole && (ok || !slices.Contains(s.required, m.key) && !isEntry(p)) // a rule without its pattern covers more
		return ok
	})
	if !whole {
		return false
	}
	for _, key := range s.required {
		if n.get(key) == nil {
			e := &Error{
				Origin: n.origin(), Key: p.String(), Text: strconv.Quote(key) + " is missing",
				Allowed: s.prop(key).allowed(),
			}
			return c.report(e, p)
		}
	}
	return true
}

func (c *checker) elements(s *schema, n *node, p keyPath) bool {
	if len(n.elems) > s.maxItems {
		return c.problem(n, p, s)
	}
	if s.items == nil {
		return true
	}
	i := -1
	n.elems = slices.DeleteFunc(n.elems, func(e *node) bool {
		i++
		return !c.value(s.items, e, p.with(strconv.Itoa(i)))
	})
	return true
}

func (c *checker) text(s *schema, n *node, p keyPath) bool {
	if len(n.text) < s.minLength || len(s.enum) > 0 && !slices.Contains(s.enum, n.text) {
		return c.problem(n, p, s)
	}
	ok := true
	switch s.format {
	case "url":
		ok = isURL(n.text, "http", "https")
	case "proxy":
		ok = isProxy(n.text)
	case "rule":
		ok = isRule(n.text)
	case "path":
		ok = !strings.ContainsRune(n.text, 0)
		n.text = absolute(n.text, c.home, c.src.base)
	}
	return ok || c.problem(n, p, s)
}

// fits checks the value's kind and the range of a number.
func (s *schema) fits(n *node) bool {
	if n.kind != '0' {
		return len(s.types) == 0 || slices.Contains(s.types, kindName(n))
	}
	f := n.number()
	if f < s.minimum || f <= s.above || math.IsNaN(f) || math.IsInf(f, 0) {
		return false
	}
	if slices.Contains(s.types, "number") || len(s.types) == 0 {
		return true
	}
	if !slices.Contains(s.types, "integer") || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return false
	}
	n.text = strconv.FormatInt(int64(f), 10) // 1e3 and 1.0 are integers, too
	return true
}

func kindName(n *node) string {
	switch n.kind {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case '0':
		return "number"
	case 't', 'f':
		return "boolean"
	}
	return "null"
}

// loosen converts text to the type of the schema: a number, a boolean (1, true, yes, on and their opposites),
// a list with commas, headers one per line.
func loosen(s *schema, n *node) {
	if n.kind != '"' || slices.Contains(s.types, "string") {
		return
	}
	text := strings.TrimSpace(n.text)
	for _, t := range s.types {
		switch t {
		case "integer", "number":
			if _, err := strconv.ParseFloat(text, 64); err == nil && !strings.ContainsAny(text, "xXpP_nN") {
				n.kind, n.text = '0', strings.TrimPrefix(text, "+")
			}
		case "boolean":
			switch strings.ToLower(text) {
			case "1", "true", "yes", "on":
				n.kind = 't'
			case "0", "false", "no", "off", "":
				n.kind = 'f'
			}
		case "array":
			n.kind = '['
			n.elems = pieces(n, strings.FieldsFunc(n.text, func(r rune) bool { return r == ',' }))
		case "object":
			if s.extra != nil && slices.Contains(s.extra.types, "string") {
				headers(n)
			}
		}
	}
}

func pieces(n *node, parts []string) []*node {
	var out []*node
	for _, part := range parts {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, &node{kind: '"', text: part, src: n.src, off: n.off, secret: n.secret})
		}
	}
	return out
}

// headers parses "Name: value" lines, the form of ANTHROPIC_CUSTOM_HEADERS. Other text is left unchanged.
func headers(n *node) {
	out := object(n.src)
	out.off = n.off
	for line := range strings.Lines(n.text) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return
		}
		out.set(name, &node{kind: '"', text: strings.TrimSpace(value), src: n.src, off: n.off, secret: n.secret})
	}
	*n = *out
}

func isURL(s string, schemes ...string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Host != "" && slices.Contains(schemes, strings.ToLower(u.Scheme))
}

func isProxy(s string) bool {
	if !strings.Contains(s, "://") {
		return s == "none" || isURL("http://"+s, "http")
	}
	return isURL(s, "http", "https", "socks5", "socks5h")
}

// isRule checks the outer form of permission rules; their meaning is the permission package's business.
func isRule(s string) bool {
	s = strings.TrimSpace(s)
	open := strings.IndexByte(s, '(')
	if open < 0 {
		return s != "" && !strings.ContainsAny(s, ") \t\n")
	}
	return open > 0 && strings.HasSuffix(s, ")") && strings.TrimSpace(s[open+1:len(s)-1]) != ""
}

// absolute makes a path absolute: ~ is the home folder, and a relative path starts from base.
func absolute(path, home, base string) string {
	switch {
	case path == "~":
		return home
	case strings.HasPrefix(path, "~/") || strings.HasPrefix(path, `~\`):
		return filepath.Join(home, path[2:])
	case filepath.IsAbs(path):
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}

func (c *checker) problem(n *node, p keyPath, s *schema) bool {
	e := &Error{Origin: n.origin(), Key: p.String(), Found: found(n), Allowed: s.allowed()}
	if n.secret || secretAt(p) {
		e.Found = "a value that is not shown here"
	}
	if n.kind == '"' {
		if near := nearest(n.text, s.enum); near != "" {
			e.Hint = "did you mean " + strconv.Quote(near) + "?"
		}
	}
	return c.report(e, p)
}

// report records a mistake as an error or a warning. It returns false: the value is not kept.
func (c *checker) report(e *Error, p keyPath) bool {
	restricts := restricts(c.root, p)
	switch {
	case isEntry(p) && !restricts && !c.strict:
		c.warnings = append(c.warnings, e.asWarning("this entry is left out"))
	case c.src.foreign && !restricts:
		c.warnings = append(c.warnings, e.asWarning("this key is left out"))
	default:
		if e.rules = restricts; restricts && e.Hint == "" && !c.strict {
			e.Hint = "correct it or take it out: rules that restrict are never skipped"
		}
		c.problems = append(c.problems, e)
	}
	return false
}
