package tool

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/base/glob"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

//go:embed glob.md
var globDescription string

const (
	globResults = 100
	searchBound = 20 * time.Second // then the files found so far are shown
)

type globInput struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path,omitempty" jsonschema:"Folder to search"`
}

// searcher is what Glob and Grep use: files, ripgrep, and whether a command may change files meanwhile.
type searcher struct {
	*Files
	*Programs
	*Jobs
}

type globber struct{ env *searcher }

var globTool = call.Declaration{
	Name: "Glob",
	Aliases: []string{
		"find_files", "file_search", "glob_files", "find", "glob_file_search", "file_glob_search",
		"find_path", "find_by_name", "find_file",
	},
	Input:   schemaOf[globInput](),
	Params:  map[string]string{"pattern": "glob glob_pattern query file_name", "path": folderAliases + " search_directory"},
	Ignored: "max_results limit offset include_dirs respect_git_ignore case_sensitive file_filtering_options",
	Mend:    mendGlob,
	Subject: permission.SubjectRead, SubjectIn: []string{"path"}, Class: permission.ClassList,
	Accesses: call.Typed(globAccesses),
}

// globAccesses: a pattern that goes up behind a wildcard may lead anywhere.
func globAccesses(in globInput, at call.Place) ([]permission.Access, error) {
	folder, pattern := splitGlob(in.Path, in.Pattern)
	out := []permission.Access{searchAccess(folder, at)}
	if strings.Contains("/"+pattern+"/", "/../") {
		out = append(out, at.Access(permission.Read, filepath.VolumeName(at.Dir)+string(filepath.Separator)))
	}
	return out, nil
}

// searchAccess is the access of searching a folder; empty is the working folder.
func searchAccess(folder string, at call.Place) permission.Access {
	return at.Access(permission.Read, cmp.Or(folder, at.Dir))
}

func newGlob(env *searcher) agent.Tool {
	return newTool(globTool, globDescription, (&globber{env}).prepare)
}

// globCall is one call of Glob: a pattern below a folder.
type globCall struct {
	env     *searcher
	in      globInput
	start   files.Path
	pattern string // relative to start, with slashes
}

func (t *globber) prepare(ctx context.Context, _ llm.ToolCall, in globInput) (*agent.Plan, error) {
	if in.Pattern == "" {
		return nil, errors.New("the pattern is empty; give one such as **/*.go")
	}
	folder, pattern := splitGlob(in.Path, in.Pattern)
	if _, err := glob.Compile("**/" + pattern); err != nil { // find may widen it so
		return nil, fmt.Errorf("the pattern %.200q is malformed: %w; a literal [ or { needs a backslash", in.Pattern, err)
	}
	start, err := t.env.searchFolder(ctx, folder)
	if err != nil {
		return nil, err
	}
	accesses, err := globAccesses(in, t.env.place(start))
	if err != nil {
		return nil, err
	}
	c := &globCall{t.env, in, start, pattern}
	return &agent.Plan{
		Accesses: accesses,
		Title:    in.Pattern,
		Parallel: true,
		Run:      c.run,
	}, nil
}

// splitGlob moves the part of a pattern without wildcards into the folder.
func splitGlob(folder, pattern string) (string, string) {
	pattern = filepath.ToSlash(pattern)
	if strings.HasPrefix(pattern, "~/") || filepath.IsAbs(filepath.FromSlash(pattern)) {
		return doublestar.SplitPattern(pattern)
	}
	base, rest := doublestar.SplitPattern(strings.TrimPrefix(pattern, "./"))
	if base == "." || base == "" {
		return folder, rest
	}
	return joinPath(folder, base), rest
}

func joinPath(folder, rel string) string {
	if folder == "" {
		return rel
	}
	return strings.TrimRight(folder, `/`) + "/" + rel
}

// searchFolder resolves the folder of a search; empty is the working folder.
func (e *Files) searchFolder(ctx context.Context, path string) (files.Path, error) {
	if path == "" {
		path = e.Dir.Get()
	}
	p, err := e.resolve(path)
	switch {
	case err != nil:
		return p, err
	case p.Err != nil:
		return p, pathError("search", p, p.Err)
	case !p.Exists():
		return p, missingError(ctx, e, "search", p)
	}
	return p, nil
}

func (c *globCall) run(ctx context.Context) (*agent.Result, error) {
	if !c.start.Info.IsDir() {
		return nil, fmt.Errorf("%s is a file; Glob searches in a folder. Use Read or Grep", c.start.Lexical)
	}
	key := keyOf("Glob", c.in, c.env.Dir.Get())
	if r, ok := c.env.search(key, c.start.Real); ok {
		return r, nil
	}
	began := time.Now()
	found, err := c.find(ctx)
	if err != nil {
		return nil, err
	}
	r := c.result(found, time.Since(began))
	if found.note == "" {
		c.env.keepSearch(key, c.start.Real, r)
	}
	return r, nil
}

// find searches source folders first; when nothing is found, also folders that are mostly left out, and for
// a bare name every depth.
func (c *globCall) find(ctx context.Context) (*globFound, error) {
	found, err := c.search(ctx, c.pattern, false)
	if err != nil || found.total > 0 {
		return found, err
	}
	if found.skipped > 0 {
		if all, err := c.search(ctx, c.pattern, true); err != nil || all.total > 0 {
			return all, err
		}
	}
	if !strings.Contains(c.pattern, "/") && !strings.Contains(c.pattern, "**") {
		deep, err := c.search(ctx, "**/"+c.pattern, false)
		if err == nil && deep.total > 0 {
			deep.hint = fmt.Sprintf("Nothing in the folder itself matches; these match **/%s.", c.pattern)
		}
		return deep, err
	}
	return found, nil
}

// globFound is the newest files of a search and how many there were.
type globFound struct {
	newest  []globFile
	limit   int
	total   int
	skipped int    // folders left out
	hint    string // how the search was widened
	note    string // why it is not complete
}

type globFile struct {
	path  string
	mtime time.Time
}

func (g *globFound) add(path string, mtime time.Time) {
	g.total++
	g.newest = append(g.newest, globFile{path, mtime})
	if len(g.newest) >= 4096+g.limit {
		g.trim()
	}
}

// trim sorts by time, newest first, and keeps those that will be shown.
func (g *globFound) trim() {
	slices.SortFunc(g.newest, func(a, b globFile) int {
		if d := b.mtime.Compare(a.mtime); d != 0 {
			return d
		}
		return strings.Compare(a.path, b.path)
	})
	g.newest = g.newest[:min(len(g.newest), g.limit)]
}

func (c *globCall) search(ctx context.Context, pattern string, everywhere bool) (*globFound, error) {
	matcher, err := glob.Compile(pattern)
	if err != nil {
		return nil, err
	}
	found := &globFound{limit: globResults}
	if n := c.env.Limits.GlobResults; n > 0 {
		found.limit = n
	}
	limited, cancel := context.WithTimeout(ctx, c.env.searchTime())
	defer cancel()
	named := "/" + filepath.ToSlash(c.start.Lexical) + "/" + pattern + "/"
	depth := globDepth(pattern)
	opt := files.WalkOptions{Ignore: true, KeepFiles: true, Enter: func(name, rel string, ignored bool) bool {
		if depth > 0 && strings.Count(rel, "/")+2 > depth {
			return false
		}
		if everywhere && !files.VCSFolder(name) || strings.Contains(named, "/"+name+"/") {
			return true
		}
		if ignored || files.VCSFolder(name) || heavyFolder(name) {
			found.skipped++
			return false
		}
		return true
	}}
	_, err = c.env.Roots.Walk(limited, c.start, opt, func(e files.Entry) error {
		if !matcher.Match(e.Rel) {
			return nil
		}
		info, err := e.Stat()
		if err != nil {
			return nil // gone meanwhile
		}
		found.add(e.Path, info.ModTime())
		return nil
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		found.note, err = fmt.Sprintf("The search was stopped after %s and is not complete; name a narrower path.",
			c.env.searchTime()), nil
	}
	if err != nil {
		return nil, pathError("search", c.start, err)
	}
	found.trim()
	return found, nil
}

// globDepth is how many levels a pattern spans, or 0 for any number.
func globDepth(pattern string) int {
	if strings.Contains(pattern, "**") || strings.ContainsAny(pattern, `{\`) {
		return 0
	}
	return strings.Count(pattern, "/") + 1
}

// heavyFolder names folders of installed packages and caches, which are left out even where no ignore
// file says so.
func heavyFolder(name string) bool {
	switch name {
	case "node_modules", "bower_components", "__pycache__", ".venv", ".tox", ".mypy_cache", ".pytest_cache",
		".ruff_cache", ".gradle", ".terraform", ".next", ".nuxt", ".turbo", ".parcel-cache":
		return true
	}
	return false
}

func (c *globCall) result(g *globFound, took time.Duration) *agent.Result {
	names := make([]string, len(g.newest))
	for i, f := range g.newest {
		names[i] = c.env.showPath(f.path)
	}
	var notes []string
	if g.hint != "" {
		notes = append(notes, g.hint)
	}
	if g.total > len(names) {
		notes = append(notes, fmt.Sprintf("Showing the newest %d of %d files; use a narrower pattern or path.", len(names),
			g.total))
	}
	if g.note != "" {
		notes = append(notes, g.note)
	}
	text := strings.Join(names, "\n") + "\n"
	if len(names) == 0 {
		text = "No files found.\n"
	}
	if len(notes) > 0 {
		text += "[" + strings.Join(notes, " ") + "]\n"
	}
	r := agent.TextResult(text)
	r.Title = c.in.Pattern
	r.View = event.Listing{Title: c.in.Pattern, Items: names, Total: g.total, Truncated: g.total > len(names)}
	r.Meta = map[string]any{
		"filenames": names, "numFiles": len(names), "durationMs": took.Milliseconds(),
		"truncated": g.total > len(names) || g.note != "", "totalMatches": g.total,
	}
	return r
}

// showPath is a path as the model and people read it: relative to the working folder when below it, and
// quoted when its name would be taken for something else.
func (e *Files) showPath(path string) string {
	path = e.Rel(path)
	for _, r := range path {
		if r < 0x20 || r == 0x7f || r == '\uFFFD' {
			return strconv.Quote(path)
		}
	}
	return path
}

// searchTime is how long a search may take.
func (e *Files) searchTime() time.Duration { return cmp.Or(e.Limits.SearchTime, searchBound) }
