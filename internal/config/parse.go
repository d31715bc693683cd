package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

const (
	maxFile  = 2 << 20 // bytes of one settings file; Claude Code's limit for --settings
	maxDepth = 64      // levels of nesting
)

// newsWait bounds the read of a kernel file that looks like an empty regular one and waits for news (/proc/kmsg).
const newsWait = time.Second

var bom = []byte("\xef\xbb\xbf")

// ReadFile reads a regular file of at most limit bytes. A missing file is (nil, fs.ErrNotExist).
func ReadFile(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path) // before opening: a FIFO would block
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%s has %d bytes; %d are read at most", path, info.Size(), limit)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	_ = f.SetReadDeadline(time.Now().Add(newsWait)) // a file on disk has no deadline and needs none
	buf := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead))
	if _, err := buf.ReadFrom(io.LimitReader(f, limit+1)); errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, fmt.Errorf("%s never ends: the kernel adds to it as news comes; name a file on disk", path)
	} else if err != nil {
		return nil, err
	}
	if int64(buf.Len()) > limit {
		return nil, fmt.Errorf("%s grew beyond %d bytes while it was read", path, limit)
	}
	return buf.Bytes(), nil
}

// document is a parsed settings file: its syntax tree, for rewriting, without interpretation.
type document struct {
	src  *source
	root hujson.Value
}

// parseDocument parses JSON with comments. An empty file, or one with only comments, counts as {}.
func parseDocument(src *source) (*document, error) {
	src.data = bytes.TrimPrefix(src.data, bom)
	if err := checkText(src); err != nil {
		return nil, err
	}
	text := src.data
	if onlyRemarks(text) {
		if text = slices.Clip(text); len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
			text = append(text, '\n')
		}
		text = append(text, "{}"...)
	}
	root, err := parseText(text)
	if err != nil {
		return nil, syntaxError(src, err)
	}
	if root.Value.Kind() != '{' {
		return nil, &Error{
			Origin: src.origin(root.StartOffset), Found: found(literalKind(root.Value.Kind())),
			Allowed: "an object: { \"key\": value, ... }",
		}
	}
	return &document{src: src, root: root}, nil
}

// parseText is hujson.Parse that accepts a comment in the last line without a line break after it.
func parseText(text []byte) (hujson.Value, error) {
	root, err := hujson.Parse(text)
	if err == nil || bytes.HasSuffix(text, []byte("\n")) {
		return root, err
	}
	if again, retryErr := hujson.Parse(append(slices.Clip(text), '\n')); retryErr == nil {
		return again, nil
	}
	return root, err
}

// checkText refuses text that the parser would misread or crash on: other encodings, and nesting that would
// exhaust the stack.
func checkText(src *source) error {
	data := src.data
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return &Error{Origin: src.origin(0), Text: "the file is UTF-16", Hint: "save it as UTF-8"}
	}
	if !utf8.Valid(data) {
		off := 0
		for rest := data; ; {
			r, n := utf8.DecodeRune(rest)
			if r == utf8.RuneError && n <= 1 {
				break
			}
			off, rest = off+n, rest[n:]
		}
		return &Error{Origin: src.origin(off), Text: "this is not UTF-8", Hint: "save the file as UTF-8"}
	}
	if off := tooDeep(data); off >= 0 {
		return &Error{
			Origin: src.origin(off), Text: fmt.Sprintf("nested more than %d levels deep", maxDepth),
			Hint: "a bracket may be missing above",
		}
	}
	return nil
}

// tooDeep returns the offset of the first bracket deeper than maxDepth, or -1. It skips strings and comments.
func tooDeep(data []byte) int {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			if depth++; depth > maxDepth {
				return i
			}
		case '}', ']':
			depth--
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '/':
			i = skipComment(data, i)
		}
	}
	return -1
}

// onlyRemarks reports whether data is only white space and complete comments.
func onlyRemarks(data []byte) bool {
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case ' ', '\t', '\r', '\n':
		case '/':
			end := skipComment(data, i)
			if end == i || end == len(data)-1 && data[i+1] == '*' && !bytes.HasSuffix(data[i+2:], []byte("*/")) {
				return false
			}
			i = end
		default:
			return false
		}
	}
	return true
}

// skipComment returns the offset of the last byte of the comment that begins at i, or i.
func skipComment(data []byte, i int) int {
	end := ""
	switch {
	case bytes.HasPrefix(data[i:], []byte("//")):
		end = "\n"
	case bytes.HasPrefix(data[i:], []byte("/*")):
		end = "*/"
	default:
		return i
	}
	n := bytes.Index(data[i+2:], []byte(end))
	if n < 0 {
		return len(data) - 1
	}
	return i + 2 + n + len(end) - 1
}

// syntaxError converts hujson's "hujson: line 3, column 7: message" to the form of other errors.
func syntaxError(src *source, err error) *Error {
	e := &Error{Origin: src.origin(0), Text: strings.TrimPrefix(err.Error(), "hujson: ")}
	var line, col int
	if _, scanErr := fmt.Sscanf(e.Text, "line %d, column %d:", &line, &col); scanErr == nil {
		_, e.Text, _ = strings.Cut(e.Text, ": ")
		e.Origin.Line, e.Origin.Column = line, col
	}
	e.Text = "not valid JSON: " + printable(e.Text)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		e.Hint = "a bracket or a quote is not closed"
	}
	return e
}

// tree converts the syntax tree to nodes. Duplicate keys are reported to dup; the last one counts.
func (d *document) tree(dup func(key string, off int)) *node {
	return d.node(&d.root, dup)
}

func (d *document) node(v *hujson.Value, dup func(string, int)) *node {
	n := &node{kind: byte(v.Value.Kind()), src: d.src, off: v.StartOffset}
	switch val := v.Value.(type) {
	case *hujson.Object:
		n.members = make([]member, 0, len(val.Members))
		for i := range val.Members {
			m := &val.Members[i]
			key := unquote(m.Name.Value.(hujson.Literal))
			if n.add(member{key, m.Name.StartOffset, d.node(&m.Value, dup)}) {
				dup(key, m.Name.StartOffset)
			}
		}
	case *hujson.Array:
		n.elems = make([]*node, len(val.Elements))
		for i := range val.Elements {
			n.elems[i] = d.node(&val.Elements[i], dup)
		}
	case hujson.Literal:
		if n.kind == '"' {
			n.text = unquote(val)
		} else if n.kind == '0' {
			n.text = string(val)
		}
	}
	return n
}

// unquote is Literal.String, which is slow, with a fast path for strings without escapes.
func unquote(lit hujson.Literal) string {
	if bytes.IndexByte(lit, '\\') < 0 {
		return string(lit[1 : len(lit)-1])
	}
	return lit.String()
}

func literalKind(k hujson.Kind) *node { return &node{kind: byte(k)} }

// found describes a value for an error: its JSON when short, else its kind.
func found(n *node) string {
	switch n.kind {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		if r := []rune(n.text); len(r) > 60 {
			return strconv.Quote(string(r[:57]) + "...")
		}
		return strconv.Quote(n.text)
	}
	return string(n.appendJSON(nil))
}

// valueNode parses a text that is a single value.
func valueNode(src *source) (*node, error) {
	if err := checkText(src); err != nil {
		return nil, err
	}
	v, err := hujson.Parse(src.data)
	if err != nil {
		return nil, syntaxError(src, err)
	}
	d := &document{src: src, root: v}
	var twice error
	n := d.tree(func(key string, off int) {
		twice = &Error{Origin: src.origin(off), Key: key, Text: "the key appears twice in this object", Hint: "remove one"}
	})
	return n, twice
}
