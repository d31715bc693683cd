package tool

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

// Bounds that the tests go up to.
const (
	BashKept       = bashKept
	ChunkSize      = chunkSize
	LineLimit      = lineLimit
	LivePause      = livePause
	MostBackground = mostBackground
	ReadImageMax   = readImageMax
	ReadWhole      = readWhole
	SmallTree      = smallTree
)

// NoBlob is a BlobWriter that keeps nothing, TempBlob one that is a temporary file.
type (
	NoBlob   = noBlob
	TempBlob = tempBlob
)

// Coming are the declarations of tools that are not there yet, Declarations all.
func Excluded(e *Env, line string) bool { return e.excluded(bashInput{Command: line}) }
func Coming() []call.Declaration        { return coming }
func (e *Env) Hides() bool              { return e.hides() }
func Declarations() []call.Declaration  { return declarations() }

// AddBuiltin adds the one line of a tool to the list, for one test.
func AddBuiltin(t *testing.T, d call.Declaration, newOne func(*Env) agent.Tool) {
	was := builtins
	t.Cleanup(func() { builtins = was })
	builtins = append(slices.Clone(builtins), builtin{d, newOne})
}

// ToolOf makes a tool from its declaration.
func ToolOf[In any](d call.Declaration, description string, prepare func(context.Context, llm.ToolCall,
	In) (*agent.Plan, error),
) agent.Tool {
	return newTool(d, description, prepare)
}

// PathAccess is the access to the one path that an input names.
func PathAccess(kind permission.Kind, path string, at call.Place) ([]permission.Access, error) {
	return pathAccess(kind, path, at)
}

// Place is this machine with the working folder.
func (e *Env) Place() call.Place { return e.place() }

// Ended is closed when the n-th background command has ended.
func (b *Background) Ended(n int) <-chan struct{} { return b.shells[n].ended }

// FloodingBash is the Bash tool that ends a command after some bytes of output.
func FloodingBash(env *Env, flood int64) agent.Tool {
	return newTool(bashTool, bashDescription, (&basher{env.Commands, flood}).prepare)
}

// MeasureRoot counts the files below the first root as a warning does whose time is up.
func MeasureRoot(env *Env) (files int, cut bool, text string) {
	d := &destruction{env: env.Commands, dir: env.Dir.Get(), until: time.Now().Add(-time.Second)}
	var h heap
	d.measure(env.Roots.First(), &h)
	return h.files, h.cut, h.String()
}

// DiffTexts is the unified diff of two texts.
func DiffTexts(path, before, after string) string {
	d, _ := diffTexts(path, before, after)
	return d.Unified
}

// The input of Grep and the names of its output modes.
type GrepInput = grepInput

const (
	ModeContent = modeContent
	ModeCount   = modeCount
	ModeFiles   = modeFiles
)

// Ripgrep is the path of rg, or empty.
func (e *Env) Ripgrep() string { return e.ripgrep() }

// Engines is a search that is ready to run in both engines, any number of times.
type Engines struct {
	s *search
	m *matcher
}

// Hits are the matches of a search.
type Hits = hits

// Files is how many files have a match.
func (h *hits) Files() int { return len(h.files) }

// NewEngines prepares a search.
func NewEngines(env *Env, in GrepInput) (*Engines, error) {
	s, err := (&searcher{env.Files, env.Programs, env.Jobs}).newSearch(in)
	if err != nil {
		return nil, err
	}
	if s.start, err = env.searchFolder(context.Background(), in.Path); err != nil {
		return nil, err
	}
	m, err := newMatcher(in.Pattern, in.IgnoreCase, in.Multiline)
	return &Engines{s, m}, err
}

// Native searches in this process.
func (e *Engines) Native() (*Hits, error) { return e.s.native(context.Background(), e.m, false) }

// Late searches in this process with a time limit that passes after the search has looked at it a number of times.
func (e *Engines) Late(looks int) (*Hits, error) {
	return e.s.native(&lateContext{context.Background(), &looks}, e.m, false)
}

type lateContext struct {
	context.Context
	looks *int
}

func (c *lateContext) Err() error {
	if *c.looks--; *c.looks < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// Rg searches with ripgrep.
func (e *Engines) Rg(rg string) (*Hits, error) { return e.s.ripgrep(context.Background(), rg) }

// SameHits compares hits but for times; counts only where they are asked for.
func SameHits(counts bool) cmp.Options {
	opts := cmp.Options{
		cmp.AllowUnexported(hits{}, fileHits{}, hitLine{}), cmpopts.IgnoreFields(fileHits{}, "mtime"),
		cmpopts.EquateEmpty(),
	}
	if !counts {
		opts = append(opts, cmpopts.IgnoreFields(fileHits{}, "count"))
	}
	return opts
}

// TypeGlobs are the globs of a type of files.
func TypeGlobs(name string) []string { return typeTable()[name] }
