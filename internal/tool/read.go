package tool

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
	"github.com/lathe-dev/lathe/internal/tool/document"
)

//go:embed read.md
var readDescription string

// The limits of one Read, unless Limits say otherwise.
const (
	readLines    = 2000
	readLineLen  = 2000
	readChars    = 48_000  // below the 50,000 characters of a result that stays inline
	readWhole    = 8 << 20 // bytes of a file that is read to its end, counted and hashed
	readImageMax = 5 << 20 * 3 / 4
	readEdge     = 2000 // pixels; models see no more, and refuse more where a conversation has many images
	procReadMax  = 1 << 20
)

type readInput struct {
	FilePath string `json:"file_path"`
	Offset   int    `json:"offset,omitempty" jsonschema:"First line, from 1" limits:"minimum=0"`
	Limit    int    `json:"limit,omitempty" limits:"minimum=1"`
	Pages    string `json:"pages,omitempty" jsonschema:"Of a PDF: 1-5"`
}

var readTool = call.Declaration{
	Name: "Read",
	Aliases: []string{
		"LS", "read_file", "read_many_files", "view_image", "read_media_file", "view", "view_file", "cat", "open_file",
		"list", "list_dir", "list_directory", "list_files",
		"read_file_range", "view_subdirectory", "tree",
	},
	Input: schemaOf[readInput](),
	Params: map[string]string{
		"file_path": fileAliases + " " + folderAliases + " relative_workspace_path directory_path dirpath",
		"offset":    "start_line line line_start start start_line_one_indexed line_offset",
		"limit":     "num_lines max_lines lines count n_lines",
		"pages":     "page page_range",

		"end_line": "line_end end_line_one_indexed end_line_one_indexed_inclusive", "paths": "include", "view_range": "",
	},
	Ignored: "should_read_entire_file recursive depth ignore ignore_globs exclude indentation file_filtering_options" +
		" use_default_excludes respect_git_ignore mode=slice",
	Mend:    mendRead,
	Subject: permission.SubjectRead, SubjectIn: []string{"file_path"}, Class: permission.ClassRead,
	Accesses: call.Typed(readAccesses),
}

func readAccesses(in readInput, at call.Place) ([]permission.Access, error) {
	return pathAccess(permission.Read, in.FilePath, at)
}

// reader is what Read uses: files, and a program that reads documents.
type reader struct {
	*Files
	*Programs
}

func newRead(f *Files, p *Programs) agent.Tool {
	return newTool(readTool, readDescription, (&reader{f, p}).prepare)
}

func (t *reader) prepare(ctx context.Context, c llm.ToolCall, in readInput) (*agent.Plan, error) {
	p, err := t.resolve(in.FilePath)
	if err != nil {
		return nil, err
	}
	if !p.Exists() {
		return nil, t.missing(ctx, p)
	}
	if !p.Info.IsDir() {
		if err := files.Regular(p.Info); err != nil {
			return nil, pathError("read", p, err)
		}
	}
	target, err := t.Roots.Hold(p)
	if err != nil {
		return nil, pathError("read", p, err)
	}
	if p.Info.Mode().IsRegular() {
		target.Pin()
	}
	accesses, err := readAccesses(in, t.place(p))
	if err != nil {
		return nil, errors.Join(err, target.Close())
	}
	one := &readCall{env: t, callID: c.ID, in: in, path: p, target: target}
	return &agent.Plan{
		Accesses: accesses,
		Title:    t.Rel(p.Lexical),
		Parallel: true,
		Run:      one.run,
		Close:    func() { _ = one.target.Close() },
	}, nil
}

// missing reports that nothing is there and suggests near names. Names outside the roots are not shown:
// nobody has allowed a look there yet.
func (t *reader) missing(ctx context.Context, p files.Path) error {
	if p.Err != nil {
		return pathError("read", p, p.Err)
	}
	return missingError(ctx, t.Files, "read", p)
}

func missingError(ctx context.Context, env *Files, what string, p files.Path) error {
	text := fmt.Sprintf("cannot %s %s: it does not exist (the working folder is %s).", what, p.Lexical, env.Dir.Get())
	if !p.Inside() {
		return errors.New(text)
	}
	if near := env.Roots.Near(ctx, p); len(near) > 0 {
		text += " Did you mean:\n" + files.ValidName(strings.Join(near, "\n"))
	}
	return errors.New(text)
}

// readCall is one call of Read.
type readCall struct {
	env    *reader
	callID string
	in     readInput
	path   files.Path
	target *files.Target
}

// run reads. A file that was replaced since it was looked at, as editors and git do by renaming, is looked at once
// more.
func (c *readCall) run(ctx context.Context) (*agent.Result, error) {
	r, err := c.once(ctx)
	if errors.Is(err, files.ErrMoved) && c.again() {
		return c.once(ctx)
	}
	return r, err
}

// again resolves the path anew. It must lead to the very place that was approved, and to a file that has no further
// name there or elsewhere.
func (c *readCall) again() bool {
	p, err := c.env.Roots.Resolve(c.path.Lexical, "")
	if err != nil || p.Real != c.path.Real || p.Info == nil || !p.Info.Mode().IsRegular() || files.Links(p.Info) > 1 {
		return false
	}
	target, err := c.env.Roots.Hold(p)
	if err != nil {
		return false
	}
	target.Pin()
	_ = c.target.Close()
	c.path, c.target = p, target
	return true
}

func (c *readCall) once(ctx context.Context) (*agent.Result, error) {
	if c.path.Info.IsDir() {
		return c.list()
	}
	info, err := c.target.Stat()
	if err != nil || info == nil {
		return nil, pathError("read", c.path, errors.Join(err, errIfNil(info)))
	}
	if files.Virtual(c.path.Real) {
		r, _, err := c.read(ctx)
		if err != nil {
			return nil, pathError("read", c.path, err)
		}
		return r, nil
	}
	editor := c.env.buffered(c.path) // which may have another text than before, although the file is as it was
	if r := c.unchanged(info); r != nil && !editor {
		return r, nil
	}
	key := keyOf("Read", c.in, c.env.Dir.Get())
	if e, ok := c.env.Cache.get(key, c.path.Real, info); ok && !editor {
		c.note(*e.seen)
		return e.result, nil
	}
	r, seen, err := c.read(ctx)
	if err != nil {
		return nil, pathError("read", c.path, err)
	}
	c.note(*seen)
	if len(seen.Shown) == 0 || len(seen.Shown[0].Needs) == 0 { // no diff, which is good for this moment only
		c.env.Cache.put(key, cacheEntry{scope: c.path.Real, state: &seen.State, result: r, seen: seen})
	}
	return r, nil
}

func errIfNil(info fs.FileInfo) error {
	if info == nil {
		return fs.ErrNotExist
	}
	return nil
}

// note records in the tracker the lines that this call showed.
func (c *readCall) note(s Seen) {
	s.Shown = append([]Span(nil), s.Shown...)
	for i := range s.Shown {
		s.Shown[i].CallID = c.callID
	}
	c.env.Reads.Note(c.path.Real, s)
}

// unchanged answers briefly when the model still has the result of the same Read before it.
func (c *readCall) unchanged(info fs.FileInfo) *agent.Result {
	seen, ok := c.env.Reads.Get(c.path.Real)
	if ok && !seen.Same(info) && !c.sameContent(seen, info) {
		c.env.Cache.InvalidateSearches() // who changed this file may have changed others
		return nil
	}
	if !ok || c.env.InContext == nil {
		return nil
	}
	first := max(1, c.in.Offset)
	last := first + c.lines() - 1
	if seen.Lines > 0 {
		last = min(last, seen.Lines)
	}
	if !seen.shows(first, last, c.env.InContext) {
		return nil
	}
	r := agent.TextResult("File unchanged since last read. The content from the earlier Read tool_result in this " +
		"conversation is still current; refer to that instead of re-reading.")
	r.Title = c.env.Rel(c.path.Lexical)
	r.View = event.TextView{Path: c.path.Lexical, Summary: "Unchanged since it was read"}
	r.Meta = map[string]any{"type": "file_unchanged", "file": map[string]any{"filePath": c.path.Lexical}}
	return r
}

// sameContent compares the content of a file that was moved or touched, as Edit does.
func (c *readCall) sameContent(seen Seen, info fs.FileInfo) bool {
	if !seen.Hashed() || seen.Size != info.Size() {
		return false
	}
	data, now, err := c.target.Read(readWhole)
	if err != nil || HashOf(data) != seen.Hash {
		return false
	}
	seen.State = StateOf(now, seen.Hash)
	c.env.Reads.Note(c.path.Real, seen)
	return true
}

func (c *readCall) lines() int {
	most := readLines
	if c.env.Limits.ReadLines > 0 {
		most = c.env.Limits.ReadLines
	}
	if c.in.Limit > 0 {
		return c.in.Limit
	}
	return most
}

func (c *readCall) read(ctx context.Context) (*agent.Result, *Seen, error) {
	file, info, err := c.target.Open()
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	if err := bounded(c.path.Real); err != nil {
		return nil, nil, err
	}
	f, release := newPatient(ctx, file)
	defer release()
	head := make([]byte, 8000)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, nil, err
	}
	head = head[:n]
	if n == 0 && f.waited {
		return nil, nil, fmt.Errorf("nothing came within %s: it waits for news and never ends; use a command with a limit "+
			"in Bash", newsWait)
	}
	return c.kind(ctx, file, f, info, head)
}

// kind reads a file by what its beginning says it is.
func (c *readCall) kind(ctx context.Context, file *os.File, f *patient, info fs.FileInfo, head []byte) (*agent.Result,
	*Seen, error,
) {
	kind := files.BinaryKind(head)
	switch mime := llm.ImageType(head); {
	case kind == "PDF":
		return c.pdf(ctx, file, info)
	case c.in.Pages != "":
		return nil, nil, errors.New("it is no PDF, so it has no pages; leave pages out")
	case mime != "":
		return c.image(ctx, file, f, info, head, mime)
	case document.Listable(kind):
		return c.listing(ctx, file, info, kind)
	case files.Binary(head):
		if kind == "binary" {
			return nil, nil, fmt.Errorf("it is a binary file of %s in a format that is not known here; in Bash, `file` may "+
				"name it, and `xxd FILE | head` and `strings` show parts of it", size(info.Size()))
		}
		return nil, nil, fmt.Errorf("it is a binary file (%s, %s), which is not text; use Bash with a program for that "+
			"format%s",
			kind, size(info.Size()), programsFor(kind))
	case strings.EqualFold(filepath.Ext(c.path.Real), ".ipynb"):
		if r, seen, err := c.notebook(ctx, f, info); err == nil {
			return r, seen, nil
		}
		if _, err := f.Seek(int64(len(head)), io.SeekStart); err != nil { // it is shown as the text that it is
			return nil, nil, err
		}
	}
	return c.text(ctx, f, info, head)
}

// bounded refuses the kernel's files about processes: lathe's own keys
// are in their environments.
func bounded(real string) error {
	if !files.Within("/proc", real) {
		return nil
	}
	part, _, _ := strings.Cut(strings.TrimPrefix(real, "/proc/"), "/")
	if strings.Trim(part, "0123456789") == "" {
		return errors.New("it shows the inside of a process; use Bash with ps")
	}
	return nil
}

// size writes a number of bytes for people.
func size(n int64) string {
	const unit = 1024
	switch {
	case n < unit:
		return fmt.Sprintf("%d bytes", n)
	case n < unit*unit:
		return fmt.Sprintf("%.1f kB", float64(n)/unit)
	case n < unit*unit*unit:
		return fmt.Sprintf("%.1f MB", float64(n)/unit/unit)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/unit/unit/unit)
}
