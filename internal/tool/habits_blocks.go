package tool

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// blocksAsPatch makes a patch of blocks with SEARCH and REPLACE: those of Roo and aider (<<<<<<< SEARCH, >>>>>>>
// REPLACE), and of Cline (------- SEARCH, +++++++ REPLACE). A block is whole lines, which a patch has and an Edit has
// not: "x = 1" is not to be found in "max = 10". Without a parameter for the file, the line before a block names it, as
// aider has it. A block with nothing to search for is an Edit that makes a file. It returns the tool that is meant, or
// "".
func blocksAsPatch(fields map[string]json.RawMessage) string {
	text := word(fields, "diff", "patch", "content")
	if !strings.Contains(text, " SEARCH") {
		return ""
	}
	list := searchBlocks(text)
	if list == nil {
		return ""
	}
	if file := fileOf(fields); file != "" {
		for i := range list {
			list[i].file = file
		}
	}
	if slices.ContainsFunc(list, func(b block) bool { return b.file == "" }) {
		return ""
	}
	if list[0].old == "" && len(list) == 1 {
		clear(fields)
		set(fields, "file_path", list[0].file)
		set(fields, "old_string", "")
		set(fields, "new_string", list[0].fresh)
		return "Edit"
	}
	if slices.ContainsFunc(list, func(b block) bool { return b.old == "" }) {
		return ""
	}
	clear(fields)
	set(fields, "patch", patchOf(list))
	return "ApplyPatch"
}

// fileOf is the file that a parameter names, however it is spelt.
func fileOf(fields map[string]json.RawMessage) string {
	for key := range fields {
		plain := strings.ReplaceAll(strings.ToLower(key), "_", "")
		if plain == "filepath" || slices.Contains(strings.Fields(strings.ReplaceAll(fileAliases, "_", "")), plain) {
			return word(fields, key)
		}
	}
	return ""
}

// block is one place of a file: whole lines, and those that take their place.
type block struct {
	file, old, fresh string
	at               int // the line where old begins, from 1; 0 is unknown
}

// patchOf writes blocks as sections of a patch. Those that say where they are count the lines before any change, so
// they are hunks of one section, in their order in the file; the others may name what a block before them wrote.
func patchOf(list []block) string {
	var b strings.Builder
	b.WriteString("*** Begin Patch\n")
	placed := !slices.ContainsFunc(list, func(k block) bool { return k.at == 0 || k.file != list[0].file })
	if placed {
		slices.SortStableFunc(list, func(x, y block) int { return x.at - y.at })
	}
	for i, k := range list {
		if i == 0 || !placed {
			b.WriteString("*** Update File: " + k.file + "\n")
		}
		b.WriteString("@@")
		if k.at > 0 {
			n := strconv.Itoa(k.at)
			b.WriteString(" -" + n + " +" + n + " @@")
		}
		b.WriteByte('\n')
		k.lines(&b)
	}
	b.WriteString("*** End Patch\n")
	return b.String()
}

// lines writes a block as a hunk. The first and last lines that stay are context, so that they keep their bytes.
func (k block) lines(b *strings.Builder) {
	old, fresh := lineList(k.old), lineList(k.fresh)
	head := 0
	for head < len(old) && head < len(fresh) && old[head] == fresh[head] {
		head++
	}
	tail := 0
	for tail < len(old)-head && tail < len(fresh)-head && old[len(old)-1-tail] == fresh[len(fresh)-1-tail] {
		tail++
	}
	put := func(mark string, list []string) {
		for _, l := range list {
			b.WriteString(mark + l + "\n")
		}
	}
	put(" ", old[:head])
	put("-", old[head:len(old)-tail])
	put("+", fresh[head:len(fresh)-tail])
	put(" ", old[len(old)-tail:])
}

func lineList(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// blockReader reads blocks line by line.
type blockReader struct {
	state      int
	before     string // the last line outside that may name a file
	hinted     bool
	now        block
	old, fresh strings.Builder
	out        []block
	bad        bool
}

const (
	outsideBlock = iota
	searching
	replacing
)

// searchBlocks reads blocks, with the file that stands before each or before one above. It returns nil where a block is
// not whole, or could be read in two ways.
func searchBlocks(text string) []block {
	var r blockReader
	for line := range strings.Lines(strings.ReplaceAll(text, "\r\n", "\n")) {
		r.line(line)
	}
	if r.bad || r.state != outsideBlock {
		return nil
	}
	return r.out
}

func (r *blockReader) line(line string) {
	mark := strings.TrimRight(line, " \n")
	separator := len(mark) >= 5 && len(mark) <= 9 && strings.Trim(mark, "=") == ""
	switch {
	case r.state == outsideBlock && isMark(mark, "<-", "SEARCH"):
		r.begin()
	case r.state == outsideBlock:
		if mark != "" && !strings.HasPrefix(strings.TrimSpace(mark), "```") {
			r.before = mark
		}
	case isMark(mark, "<-", "SEARCH") || r.state == searching && isMark(mark, ">+", "REPLACE") || separator &&
		r.state == replacing:
		r.bad = true
	case r.state == searching && r.old.Len() == 0 && r.hint(mark):
	case r.state == searching && separator:
		r.state = replacing
	case r.state == replacing && isMark(mark, ">+", "REPLACE"):
		r.end()
	case r.state == searching:
		r.old.WriteString(unmasked(line))
	default:
		r.fresh.WriteString(unmasked(line))
	}
}

// begin starts a block. A line before it names its file, if it can be a name; else it is in the file of the block
// before.
func (r *blockReader) begin() {
	file := nameOf(r.before)
	if file == "" && len(r.out) > 0 {
		file = r.out[len(r.out)-1].file
	}
	r.state, r.before, r.now, r.hinted = searching, "", block{file: file}, false
	r.old.Reset()
	r.fresh.Reset()
}

// hint reads Roo's lines that say where the text is: ":start_line:3", maybe ":end_line:5", and "-------" below them.
func (r *blockReader) hint(mark string) bool {
	if r.hinted && mark == "-------" {
		r.hinted = false
		return true
	}
	word, rest, ok := strings.Cut(strings.TrimPrefix(mark, ":"), ":")
	if !ok || mark[0] != ':' || word != "start_line" && word != "end_line" {
		return false
	}
	r.hinted = true
	if n, err := strconv.Atoi(strings.Trim(strings.TrimSpace(rest), "[]")); err == nil && word == "start_line" {
		r.now.at = n
	}
	return true
}

func (r *blockReader) end() {
	r.now.old, r.now.fresh = withoutPipes(r.old.String(), r.fresh.String())
	r.out = append(r.out, r.now)
	r.state, r.before = outsideBlock, ""
}

// piped matches text in which every line has a number and a bar, as Roo's reader shows files.
var piped = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:\s*\d+ \|(?: [^\n]*)?(?:\n|$))+$`) })

var pipe = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^\s*\d+ \| ?`) })

// withoutPipes takes the numbers of lines off, where all lines have one.
func withoutPipes(old, fresh string) (string, string) {
	if !piped().MatchString(old) || fresh != "" && !piped().MatchString(fresh) {
		return old, fresh
	}
	return pipe().ReplaceAllString(old, ""), pipe().ReplaceAllString(fresh, "")
}

// unmasked is a line that looks like a mark and is content, which Roo writes with a backslash before it.
func unmasked(line string) string {
	rest, ok := strings.CutPrefix(line, `\`)
	for _, mark := range []string{"<<<<<<<", "=======", ">>>>>>>", "-------", "+++++++", ":start_line:", ":end_line:"} {
		if ok && strings.HasPrefix(rest, mark) {
			return rest
		}
	}
	return line
}

// isMark reports whether a line is at least five of one of the signs, and a word.
func isMark(line, signs, word string) bool {
	run, ok := strings.CutSuffix(strings.TrimSuffix(line, ">"), " "+word)
	return ok && len(run) >= 5 && strings.Trim(run, run[:1]) == "" && strings.Contains(signs, run[:1])
}

// nameOf is the file that a line before a block names.
func nameOf(line string) string {
	line = strings.Trim(strings.TrimSpace(line), "`*#:\"' ")
	if line == "" || line == "..." || strings.ContainsAny(line, " \t<>|") {
		return ""
	}
	return line
}
