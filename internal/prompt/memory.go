package prompt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/glob"
)

// Bounds of memory. Characters are bytes here.
const (
	entryLimit  = 40_000
	memoryLimit = 80_000
	fileLimit   = 4 << 20
	importDepth = 5
	importCount = 100
)

// localSource is the source of the user's files beside those of a project.
const localSource = "the user, for this project"

// Entry is one memory file as the model gets it.
type Entry struct {
	Path   string // as it was found
	Source string // who wrote it, in words: "your organisation", "the user, for all projects", "the project", ...
	By     string // the file that imported it, or empty
	Text   string // without comments, shortened to 40,000 bytes
	Size   int    // of the text before it was shortened

	level level
	globs []string // the patterns of the files that it is for; nil: all
}

// Memory is the files found, from the most general to the most specific, as they are sent.
type Memory struct {
	Entries []Entry
	Notes   []string // for the model: files left out, with the reason, and patterns that cannot be used

	warnings []string // the notes that concern the user: all but missing imports
}

// ManagedFiles are where an organisation puts its memory: Claude Code's place and lathe's own.
func ManagedFiles() []string {
	switch runtime.GOOS {
	case "windows":
		return []string{`C:\Program Files\ClaudeCode\CLAUDE.md`, `C:\ProgramData\lathe\AGENTS.md`}
	case "darwin":
		return []string{"/Library/Application Support/ClaudeCode/CLAUDE.md", "/Library/Application Support/lathe/AGENTS.md"}
	}
	return []string{"/etc/claude-code/CLAUDE.md", "/etc/lathe/AGENTS.md"}
}

// projectFiles are the names searched for in each folder from the top of the file system to the working folder; a
// later file weighs more. Rules follow them, and a person's own CLAUDE.local.md is last.
var projectFiles = []string{
	".github/copilot-instructions.md", "GEMINI.md", "AGENTS.md", "CLAUDE.md",
	".claude/CLAUDE.md",
}

// LoadMemory reads the memory files of a session. It never fails: a file that cannot be read is a note.
func LoadMemory(o ContextOptions) *Memory {
	l := newLoader(o)
	l.all()
	return &l.Memory
}

func newLoader(o ContextOptions) *loader {
	l := &loader{o: o, seen: map[string]bool{}, content: map[string]bool{}}
	for _, pattern := range o.Excludes {
		full := pattern
		if rest, ok := strings.CutPrefix(pattern, "~/"); ok {
			full = filepath.ToSlash(o.Home) + "/" + rest
		}
		g, err := glob.Compile(full)
		if err != nil {
			l.warn("claudeMdExcludes: the pattern %q leaves no file out: %v", oneLine(pattern, 100), err)
			continue
		}
		l.exclude = append(l.exclude, g)
	}
	return l
}

// all loads the memory that every conversation of the folder begins with.
func (l *loader) all() {
	managed := l.o.Managed
	if managed == nil {
		managed = ManagedFiles()
	}
	for _, path := range managed {
		l.load(file{path: path, source: "your organisation", level: organisation})
	}
	if !l.o.NoUser {
		of := file{source: "the user, for all projects", level: user}
		for _, path := range userFiles(l.o) {
			of.path = path
			l.load(of)
		}
		for _, home := range []string{l.o.ClaudeHome, l.o.ConfigHome} {
			if home != "" {
				l.loadRuleFolder(filepath.Join(home, "rules"), ".md", l.top(), of)
			}
		}
	}
	for _, dir := range ancestors(l.o.Dir) {
		l.project(dir)
	}
	if l.o.Notes != "" {
		l.load(file{
			path: l.o.Notes, source: "notes of earlier sessions, kept by the tool Memory", level: project,
			bound: filepath.Dir(l.o.Notes),
		})
	}
}

// project loads the memory files and rules of one folder.
func (l *loader) project(dir string) {
	of := file{source: "the project", level: project, bound: l.bound(dir)}
	if !l.o.NoProject {
		for _, name := range projectFiles {
			if name == "AGENTS.md" && !l.o.BothMemories && hasClaudeMemory(dir) {
				continue
			}
			of.path = filepath.Join(dir, filepath.FromSlash(name))
			l.load(of)
		}
		l.loadRules(dir, of)
	}
	if !l.o.NoLocal {
		of.source, of.path = localSource, filepath.Join(dir, "CLAUDE.local.md")
		l.load(of)
	}
}

// hasClaudeMemory reports whether a folder has a CLAUDE.md, beside which an AGENTS.md usually says the same again.
func hasClaudeMemory(dir string) bool {
	for _, name := range []string{"CLAUDE.md", ".claude/CLAUDE.md"} {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err == nil {
			return true
		}
	}
	return false
}

// top is the project's folder.
func (l *loader) top() string {
	if l.o.Root != "" {
		return l.o.Root
	}
	return l.o.Dir
}

func userFiles(o ContextOptions) []string {
	var out []string
	add := func(dir string, names ...string) {
		for _, n := range names {
			if dir != "" {
				out = append(out, filepath.Join(dir, filepath.FromSlash(n)))
			}
		}
	}
	add(o.ClaudeHome, "CLAUDE.md")
	add(o.Home, ".codex/AGENTS.md")
	add(o.ConfigHome, "AGENTS.md", "CLAUDE.md")
	return out
}

// ancestors lists dir and the folders above it, the topmost first.
func ancestors(dir string) []string {
	if dir == "" {
		return nil
	}
	var out []string
	for {
		out = append(out, dir)
		parent := filepath.Dir(dir)
		if parent == dir {
			slices.Reverse(out)
			return out
		}
		dir = parent
	}
}

// file is one to load. Bound is the folder that it and its imports must not leave; empty means anywhere.
type file struct {
	path, source, by, bound string
	base                    string   // of a rule file: the folder that its patterns start from
	patterns                []string // of a file that a rule imports: the rule's
	level                   level
	depth                   int
}

// from names the file, and the one that imports it.
func (f file) from() string {
	if f.by == "" {
		return f.path
	}
	return f.path + ", which " + f.by + " imports,"
}

// outside is the reason why a file outside of the project is not read.
func (f file) outside(real string) string {
	if real == f.path {
		return "it lies outside of the project"
	}
	return "it leads out of the project to " + real
}

type loader struct {
	Memory
	o       ContextOptions
	seen    map[string]bool // real paths
	content map[string]bool
	imports int
	rules   []rule // for some files only
	exclude []glob.Glob
}

// bound is the folder that files found in dir may not import from outside of: the project's if dir is in
// it, else dir itself, for a file above the project.
func (l *loader) bound(dir string) string {
	root := l.top()
	if !within(root, dir) {
		root = dir
	}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		return real
	}
	return root
}

func (l *loader) note(format string, args ...any) {
	l.Notes = append(l.Notes, fmt.Sprintf(format, args...))
}

// warn adds a note that the user gets too.
func (l *loader) warn(format string, args ...any) {
	l.note(format, args...)
	l.warnings = append(l.warnings, l.Notes[len(l.Notes)-1])
}

// load reads one file and its imports. A missing file gets a note only if it was imported.
func (l *loader) load(f file) {
	real, err := filepath.EvalSymlinks(f.path)
	if err != nil {
		if f.by != "" && looksLikeFile(f.path) {
			l.note("%s imports %s, which is not there", f.by, f.path)
		}
		return
	}
	if l.seen[real] || l.excluded(f.path, real) {
		return
	}
	if f.bound != "" && !within(f.bound, real) {
		l.warn("%s is left out: %s", f.from(), f.outside(real))
		return
	}
	if why := l.refused(f, real); why != "" {
		l.warn("%s is left out: %s", f.from(), why)
		return
	}
	raw, err := readMemory(real)
	if err != nil {
		l.warn("%s is left out: %v", f.from(), err)
		return
	}
	l.seen[real] = true
	content := string(raw)
	if f.base != "" && f.by == "" {
		content, f.patterns = scope(raw)
	}
	text, imports := parseMemory(content)
	text = strings.TrimSpace(sanitize(text))
	if text != "" && !l.content[text] {
		l.content[text] = true
		l.keep(Entry{
			Path: f.path, Source: f.source, level: f.level, By: f.by, Text: shorten(text, entryLimit),
			Size: len(text),
		}, f.base, f.patterns)
	}
	l.follow(f, imports)
}

// refused says why a file that another one names, by an import or a link, is not for the model.
func (l *loader) refused(f file, real string) string {
	if l.o.Refused == nil || f.by == "" && filepath.Base(real) == filepath.Base(f.path) {
		return ""
	}
	return l.o.Refused(real, f.bound == "")
}

// keep adds an entry, or with patterns a rule.
func (l *loader) keep(e Entry, base string, patterns []string) {
	if len(patterns) == 0 {
		l.Entries = append(l.Entries, e)
		return
	}
	e.globs = patterns
	l.rules = append(l.rules, rule{Entry: e, base: base, patterns: l.patterns(e.Path, patterns)})
}

func (l *loader) follow(f file, imports []string) {
	for _, name := range imports {
		path := l.importPath(f, name)
		if f.depth == importDepth || l.imports == importCount {
			l.note("%s imports %s: not read, there are too many levels or files of imports", f.path, name)
			return
		}
		l.imports++
		imported := f
		imported.path, imported.by, imported.depth = path, f.path, f.depth+1
		l.load(imported)
	}
}

func (l *loader) importPath(f file, name string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		return filepath.Join(l.o.Home, unescape(rest))
	}
	if filepath.IsAbs(name) {
		return filepath.Clean(unescape(name))
	}
	return filepath.Join(filepath.Dir(f.path), filepath.FromSlash(unescape(name)))
}

func (l *loader) excluded(paths ...string) bool {
	for _, g := range l.exclude {
		for _, p := range paths {
			if g.Match(filepath.ToSlash(p)) {
				return true
			}
		}
	}
	return false
}

// looksLikeFile distinguishes a path from a mention such as @types/node, which is no import.
func looksLikeFile(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".md", ".mdc", ".txt", ".markdown", ".rst":
		return true
	}
	return false
}

// readMemory reads a regular file of at most 4 MiB that looks like text.
func readMemory(path string) ([]byte, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, cause(err)
	}
	if !fi.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	if fi.Size() > fileLimit {
		return nil, fmt.Errorf("it has %d MiB, more than the 4 that are read", fi.Size()>>20)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, cause(err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, fileLimit))
	if err != nil {
		return nil, cause(err)
	}
	if bytes.IndexByte(b, 0) >= 0 {
		return nil, errors.New("it is not UTF-8 text")
	}
	return b, nil
}

// cause is the reason without the path, which the note names already.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func within(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// shorten cuts the text of a file at a line's end and adds a note.
func shorten(text string, limit int) string {
	head := cutLines(text, limit)
	if head == text {
		return text
	}
	return fmt.Sprintf("%s\n[shortened: %d of %d characters; read the file for the rest]", head, len(head), len(text))
}

// cutLines cuts text at a line's end.
func cutLines(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	head := strings.TrimSuffix(cut(text, limit), "…")
	if i := strings.LastIndexByte(head, '\n'); i > limit/2 {
		head = head[:i]
	}
	return head
}

const memoryIntro = "Instructions that were written down for you. They hold unless the user says otherwise in this " +
	"conversation; " +
	"where two disagree, the later one, which is the more specific, wins. Use what applies to the task."

// Text is the memory as the model gets it, or empty when there is none. When all entries together have more than
// 40,000 characters, some are shortened or left out; see budget.
func (m *Memory) Text() string {
	if len(m.Entries) == 0 && len(m.Notes) == 0 {
		return ""
	}
	texts := m.fit()
	var b strings.Builder
	b.WriteString(memoryIntro + "\n")
	for i, e := range m.Entries {
		from := e.Source
		if e.By != "" {
			from += ", imported by " + oneLine(e.By, 1000)
		}
		fmt.Fprintf(&b, "\nContents of %s (from %s):\n\n", oneLine(e.Path, 1000), from)
		if texts[i] == "" {
			texts[i] = fmt.Sprintf("[left out: all instructions together are over %d characters; read the file]", memoryLimit)
		}
		b.WriteString(texts[i] + "\n")
	}
	for i, n := range m.Notes {
		if i == 20 {
			fmt.Fprintf(&b, "\nNote: and %d more\n", len(m.Notes)-i)
			break
		}
		b.WriteString("\nNote: " + oneLine(n, 1000) + "\n")
	}
	return b.String()
}

// paths lists the files of the memory.
func (m *Memory) paths() []string {
	out := make([]string, len(m.Entries))
	for i, e := range m.Entries {
		out[i] = e.Path
	}
	return out
}

func unescape(name string) string { return strings.ReplaceAll(name, `\ `, " ") }
