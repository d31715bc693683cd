package tool

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

//go:embed grep.md
var grepDescription string

const (
	grepResults = 250
	grepMax     = 20_000 // lines or paths held of one search
	grepContext = 1000   // lines around a match at most
)

type grepInput struct {
	Pattern    string `json:"pattern"`
	Path       string `json:"path,omitempty" jsonschema:"File or folder"`
	Glob       string `json:"glob,omitempty"`
	Type       string `json:"type,omitempty"`
	OutputMode string `json:"output_mode,omitempty" limits:"enum=files_with_matches|content|count"`
	After      int    `json:"-A,omitempty" limits:"minimum=0"`
	Before     int    `json:"-B,omitempty" limits:"minimum=0"`
	Around     int    `json:"-C,omitempty" limits:"minimum=0"`
	Numbers    *bool  `json:"-n,omitempty"`
	IgnoreCase bool   `json:"-i,omitempty"`
	OnlyMatch  bool   `json:"-o,omitempty"`
	Multiline  bool   `json:"multiline,omitempty"`
	HeadLimit  *int   `json:"head_limit,omitempty" limits:"minimum=0"`
	Offset     int    `json:"offset,omitempty" limits:"minimum=0"`
}

// Output modes.
const (
	modeFiles   = "files_with_matches"
	modeContent = "content"
	modeCount   = "count"
)

// search is a checked grepInput.
type search struct {
	in            grepInput
	mode          string
	before, after int
	numbers       bool
	offset, limit int // limit 0 is all
	filter        *fileFilter
	start         files.Path
	env           *searcher
	mayRead       func(path string) permission.Effect
	open          bool     // the start may be read without a question
	left          []string // names of files that were left out
	below         string   // start and a separator, while ripgrep's paths are read
	giveUp        bool     // ripgrep is ended when it finds far more than is needed
}

type grepper struct{ env *searcher }

var grepTool = call.Declaration{
	Name: "Grep",
	Aliases: []string{
		"grep_search", "grep_files", "search", "search_files", "search_file_content", "ripgrep", "rg", "code_search",
		"search_dir", "search_file",
	},
	Input: schemaOf[grepInput](),
	Params: map[string]string{
		"pattern":     "regex query search search_pattern search_term",
		"path":        folderAliases + " search_path file",
		"glob":        "include include_pattern file_pattern glob_pattern includes",
		"type":        "file_type",
		"output_mode": "mode",
		"-A":          "A after after_context",
		"-B":          "B before before_context",
		"-C":          "C context context_lines",
		"-n":          "n line_numbers",
		"-i":          "i case_insensitive ignore_case",
		"-o":          "o only_matching",
		"head_limit":  "limit max_results max_matches total_max_matches",

		"case_sensitive": "",
	},
	Ignored: "is_regexp=true is_regex=true names_only=false match_per_line max_matches_per_file" +
		" use_default_ignore=true no_ignore=false include_ignored_files=false respect_git_ignore literal_text=false",
	Mend:    mendGrep,
	Subject: permission.SubjectRead, SubjectIn: []string{"path"}, Class: permission.ClassSearch,
	Accesses: call.Typed(grepAccesses),
}

func grepAccesses(in grepInput, at call.Place) ([]permission.Access, error) {
	return []permission.Access{searchAccess(in.Path, at)}, nil
}

func newGrep(env *searcher) agent.Tool {
	return newTool(grepTool, grepDescription, (&grepper{env}).prepare)
}

func (t *grepper) prepare(ctx context.Context, _ llm.ToolCall, in grepInput) (*agent.Plan, error) {
	s, err := t.env.newSearch(in)
	if err != nil {
		return nil, err
	}
	if s.start, err = t.env.searchFolder(ctx, in.Path); err != nil {
		return nil, err
	}
	if !s.start.Info.IsDir() {
		if err := files.Regular(s.start.Info); err != nil {
			return nil, pathError("search", s.start, err)
		}
	}
	accesses, err := grepAccesses(in, t.env.place(s.start))
	if err != nil {
		return nil, err
	}
	return &agent.Plan{
		Accesses: accesses,
		Title:    in.Pattern,
		Parallel: true,
		Run:      s.run,
	}, nil
}

func (e *searcher) newSearch(in grepInput) (*search, error) {
	s := &search{env: e, in: in, mode: cmp.Or(in.OutputMode, modeFiles), numbers: true, offset: max(0, in.Offset)}
	if in.Pattern == "" {
		return nil, errors.New("the pattern is empty; give a regular expression")
	}
	if s.mode == modeContent && !in.OnlyMatch {
		s.before = min(max(0, in.Before, in.Around), grepContext)
		s.after = min(max(0, in.After, in.Around), grepContext)
	}
	if in.Numbers != nil {
		s.numbers = *in.Numbers
	}
	s.limit = cmp.Or(max(0, e.Limits.GrepResults), grepResults)
	if in.HeadLimit != nil {
		s.limit = max(0, *in.HeadLimit)
	}
	var err error
	s.filter, err = newFileFilter(in.Glob, in.Type)
	return s, err
}

// need is how many lines or paths are to be found at most; one more shows that there are more.
func (s *search) need() int {
	if s.limit == 0 {
		return grepMax
	}
	return min(grepMax, s.offset+s.limit+1)
}

func (s *search) run(ctx context.Context) (*agent.Result, error) {
	key := keyOf("Grep", s.in, s.env.Dir.Get())
	if r, ok := s.env.search(key, s.start.Real); ok {
		return r, nil
	}
	limited, cancel := context.WithTimeout(ctx, s.env.searchTime())
	defer cancel()
	if s.mayRead = s.env.MayRead; s.env.Readings != nil {
		s.mayRead = s.env.Readings()
	}
	s.open = s.env.MayRead == nil || s.env.MayRead(s.start.Real) == permission.Allow
	found, err := s.find(limited)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if errors.Is(err, context.DeadlineExceeded) && found != nil {
		found.remark("The search was stopped after %s and is not complete; name a narrower path, glob or type.",
			s.env.searchTime())
		err = nil
	}
	if err != nil {
		return nil, err
	}
	if left := leftOut(s.left); left != "" {
		found.remark("%s", left)
	}
	r := s.result(found)
	if found.note == "" {
		s.env.keepSearch(key, s.start.Real, r)
	}
	return r, nil
}

// find chooses the engine. Starting ripgrep takes milliseconds, so a file or a small tree is searched in
// this process, and a tree in which enough is found soon; others by ripgrep where it is installed. The output
// is the same.
func (s *search) find(ctx context.Context) (*hits, error) {
	m, err := newMatcher(s.in.Pattern, s.in.IgnoreCase, s.in.Multiline)
	rg := ""
	if s.start.Info.IsDir() {
		rg = s.env.ripgrep()
	}
	if err == nil {
		err = s.filter.unknown()
	}
	if err != nil {
		if rg == "" {
			return nil, err
		}
		return s.ripgrep(ctx, rg) // it knows more syntax and more types
	}
	found, err := s.native(ctx, m, rg != "")
	if !errors.Is(err, errLargeTree) {
		return found, err
	}
	s.giveUp = true
	found, err = s.ripgrep(ctx, rg)
	if errors.Is(err, errFrequent) || errors.Is(err, errNoRipgrep) {
		s.left = nil
		return s.native(ctx, m, false) // it goes in order and stops when it has enough
	}
	return found, err
}

// hits are the matches of a search, file by file.
type hits struct {
	files []fileHits
	note  string // why it is not complete
	more  bool   // there are more than were looked for
}

// fileHits are the matches in one file.
type fileHits struct {
	path  string // absolute
	rel   string // below the start, with slashes; orders the files
	mtime time.Time
	lines []hitLine // in mode content
	count int       // matching lines; of -o and multiline, matches
}

// hitLine is one line of output.
type hitLine struct {
	num   int
	text  string
	match bool
}

// order puts the files into the order in which they are shown, paths alone the newest first, and cuts lines beyond
// those that are needed: which files a search in parallel had come to by then is chance.
func (s *search) order(h *hits) {
	slices.SortFunc(h.files, func(a, b fileHits) int {
		if s.mode == modeFiles && !a.mtime.Equal(b.mtime) {
			return b.mtime.Compare(a.mtime)
		}
		return walkOrder(a.rel, b.rel)
	})
	if s.mode != modeContent {
		return
	}
	left := s.need()
	for i := range h.files {
		f := &h.files[i]
		if left -= len(f.lines); left <= 0 {
			f.lines = f.lines[:len(f.lines)+left]
			h.files, h.more = h.files[:i+1], true
			return
		}
	}
}

// empty reports whether a file has nothing to show: with -o, matches of nothing.
func (s *search) empty(f fileHits) bool {
	return f.count == 0 || s.mode == modeContent && len(f.lines) == 0
}

// lineMax is how much of a line is shown, around the match.
const lineMax = 500

// clipLine cuts a long line to the part around a match.
func clipLine(line []byte, start, end int) string {
	if len(line) <= lineMax {
		return files.Decode(line).View
	}
	from := max(0, min(start-lineMax/4, len(line)-lineMax))
	to := min(len(line), max(from+lineMax, min(end, from+2*lineMax)))
	for from > 0 && from < len(line) && line[from]&0xC0 == 0x80 {
		from--
	}
	for to < len(line) && line[to]&0xC0 == 0x80 {
		to++
	}
	text := files.Decode(line[from:to]).View
	if from > 0 {
		text = "…" + text
	}
	if to < len(line) {
		text += fmt.Sprintf("… [%d characters]", len(line))
	}
	return text
}

// walkOrder compares paths below one folder the way a walk comes to them: a folder's files, then its folders.
func walkOrder(a, b string) int {
	for {
		x, restA, moreA := strings.Cut(a, "/")
		y, restB, moreB := strings.Cut(b, "/")
		if moreA != moreB {
			if moreA {
				return 1
			}
			return -1
		}
		if x != y || !moreA {
			return strings.Compare(x, y)
		}
		a, b = restA, restB
	}
}
