// Package frontmatter splits a Markdown file into the YAML block at its top and the body below it.
//
// Skills, commands, agents, output styles and memory rules are such files. Many of them were written by hand
// for other agents, and their YAML is often not quite valid ("description: Use when: x"). A block that YAML
// rejects is read line by line instead, so that one colon does not cost a user the whole file.
//
// Promises: Parse never fails and never panics; a block that is not closed is body text; reading a hostile
// block takes bounded time and memory.
package frontmatter

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// MaxBlock is the longest block that is read, in bytes. A longer one is body text.
const MaxBlock = 64 << 10

// Document is a file in two pieces.
type Document struct {
	Fields  Fields
	Body    string // without the block; line ends are \n
	Line    int    // the line of the file on which Body starts, from 1
	Problem string // why the block could not be read as YAML, or empty; Fields may be filled all the same
}

// Parse splits src. Invalid UTF-8 is replaced, and a byte order mark dropped.
func Parse(src []byte) Document {
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	text := strings.ToValidUTF8(string(src), "\uFFFD")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	block, body, line, ok := split(text)
	if !ok {
		return Document{Body: text, Line: 1}
	}
	d := Document{Body: body, Line: line}
	if d.Fields, d.Problem = decode(block); d.Problem == "" {
		return d
	}
	if quoted := quoteBrackets(block); quoted != block {
		if fields, problem := decode(quoted); problem == "" {
			d.Fields, d.Problem = fields, ""
			return d
		}
	}
	d.Fields = lenient(block)
	return d
}

// quoteBrackets makes texts of the values that begin with a bracket and are no list, as in "argument-hint: [a] [b]":
// YAML rejects these, and files for Claude Code have them.
func quoteBrackets(block string) string {
	lines := strings.Split(block, "\n")
	for i, l := range lines {
		key, value, ok := strings.Cut(l, ": ")
		value = strings.TrimSpace(value)
		if ok && strings.HasPrefix(value, "[") && !isList(value) && strings.Contains(value, "]") {
			lines[i] = key + ": '" + strings.ReplaceAll(value, "'", "''") + "'"
		}
	}
	return strings.Join(lines, "\n")
}

// isList reports whether a value is one pair of brackets: the first one is closed at the end and not before.
func isList(value string) bool {
	if !strings.HasPrefix(value, "[") {
		return false
	}
	depth := 0
	for i := range len(value) {
		switch value[i] {
		case '[':
			depth++
		case ']':
			depth--
		}
		if depth == 0 {
			return i == len(value)-1
		}
	}
	return false
}

// split finds the block: a first line "---" and a later one of the same, both alone on their lines.
func split(text string) (block, body string, line int, ok bool) {
	first, rest, found := strings.Cut(text, "\n")
	if !found || strings.TrimRight(first, " \t") != "---" {
		return "", "", 0, false
	}
	for at, n := 0, 2; at <= len(rest) && at <= MaxBlock; n++ {
		end := strings.IndexByte(rest[at:], '\n')
		last := end < 0
		if last {
			end = len(rest) - at
		}
		if l := strings.TrimRight(rest[at:at+end], " \t"); l == "---" || l == "..." {
			block = rest[:at]
			body = rest[min(at+end+1, len(rest)):]
			return block, body, n + 1, true
		}
		if last {
			break
		}
		at += end + 1
	}
	return "", "", 0, false
}

func decode(block string) (fields Fields, problem string) {
	defer func() { // the library is not ours, and the text is a stranger's
		if r := recover(); r != nil {
			fields, problem = nil, fmt.Sprintf("the YAML reader crashed: %v", r)
		}
	}()
	var v map[string]any
	if err := yaml.Unmarshal([]byte(block), &v); err != nil {
		return nil, strings.TrimPrefix(firstLine(err.Error()), "yaml: ")
	}
	return v, ""
}

// lenient reads "key: value" lines and the lists and continued lines below them.
func lenient(block string) Fields {
	out := Fields{}
	key := ""
	for l := range strings.SplitSeq(block, "\n") {
		trimmed := strings.TrimSpace(l)
		indented := l != "" && (l[0] == ' ' || l[0] == '\t')
		switch item, isItem := strings.CutPrefix(trimmed, "- "); {
		case trimmed == "" || strings.HasPrefix(trimmed, "#"):
		case isItem && key != "":
			out.append(key, unquote(item))
		case indented && key != "":
			out.extend(key, trimmed)
		default:
			if k, v, ok := strings.Cut(trimmed, ":"); ok && k != "" && !strings.ContainsAny(k, " \t") {
				key = k
				out[key] = scalar(strings.TrimSpace(v))
			}
		}
	}
	return out
}

// scalar is one value as the lenient reader takes it.
func scalar(v string) any {
	switch {
	case v == "" || v == "|" || v == ">" || v == "|-" || v == ">-":
		return nil
	case isList(v):
		var out []any
		for _, item := range strings.Split(v[1:len(v)-1], ",") {
			if s := unquote(strings.TrimSpace(item)); s != "" {
				out = append(out, s)
			}
		}
		return out
	}
	return unquote(v)
}

func unquote(v string) string {
	if n := len(v); n >= 2 && (v[0] == '"' || v[0] == '\'') && v[n-1] == v[0] {
		return v[1 : n-1]
	}
	return v
}

func (f Fields) append(key, item string) {
	switch v := f[key].(type) {
	case nil:
		f[key] = []any{item}
	case []any:
		f[key] = append(v, item)
	default:
		f[key] = []any{v, item}
	}
}

// extend joins a continued line to a text.
func (f Fields) extend(key, line string) {
	switch v := f[key].(type) {
	case nil:
		f[key] = line
	case string:
		f[key] = v + " " + line
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// Fields are the values of a block by name, as YAML gives them.
type Fields map[string]any

// Has reports whether a field is there, with a value or without.
func (f Fields) Has(name string) bool {
	_, ok := f[name]
	return ok
}

// Text is a field as one string: a number or a boolean as it is written, a list joined with commas; empty
// when the field is absent or a map.
func (f Fields) Text(name string) string { return text(f[name]) }

func text(v any) string {
	switch v := v.(type) {
	case nil, map[string]any:
		return ""
	case string:
		return strings.TrimSpace(v)
	case []any:
		items := make([]string, 0, len(v))
		for _, e := range v {
			items = append(items, text(e))
		}
		return strings.Join(items, ", ")
	default:
		return fmt.Sprint(v)
	}
}

// Bool is a field as a boolean: true, yes, on and 1, in any case, and their opposites. ok is false when the
// field is absent or something else.
func (f Fields) Bool(name string) (value, ok bool) {
	switch v := f[name].(type) {
	case bool:
		return v, true
	case int:
		return v != 0, v == 0 || v == 1
	case string:
		switch strings.ToLower(strings.TrimSpace(v)) {
		case "true", "yes", "on", "1", "y":
			return true, true
		case "false", "no", "off", "0", "n":
			return false, true
		}
	}
	return false, false
}

// Int is a field as a whole number.
func (f Fields) Int(name string) (int, bool) {
	switch v := f[name].(type) {
	case int:
		return v, true
	case string:
		n, err := strconv.Atoi(strings.TrimSpace(v))
		return n, err == nil
	}
	return 0, false
}

// List is a field as a list: a YAML list, or one string split at commas outside parentheses, braces and
// quotes, and, when it has none, at blanks outside them ("Read, Bash(git log *)", "Read Grep").
func (f Fields) List(name string) []string {
	switch v := f[name].(type) {
	case []any:
		var out []string
		for _, e := range v {
			if s := text(e); s != "" {
				out = append(out, s)
			}
		}
		return out
	case string:
		if out := splitOutside(v, func(c byte) bool { return c == ',' || c == '\n' }); len(out) > 1 {
			return out
		}
		return splitOutside(v, func(c byte) bool { return c == ',' || c == ' ' || c == '\t' || c == '\n' })
	case nil:
		return nil
	default:
		return []string{text(v)}
	}
}

// splitOutside splits at separators that are outside brackets.
func splitOutside(s string, sep func(byte) bool) []string {
	var out []string
	depth, start := 0, 0
	add := func(end int) {
		if item := unquote(strings.TrimSpace(s[start:end])); item != "" {
			out = append(out, item)
		}
		start = end + 1
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '(' || c == '{':
			depth++
		case (c == ')' || c == '}') && depth > 0:
			depth--
		case depth == 0 && sep(c):
			add(i)
		}
	}
	if start <= len(s) {
		add(len(s))
	}
	return out
}

// Map is a field as a map of texts, or nil.
func (f Fields) Map(name string) map[string]string {
	m, ok := f[name].(map[string]any)
	if !ok {
		return nil
	}
	out := make(map[string]string, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out[k] = text(m[k])
	}
	return out
}
