package language

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/lsp"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/tool"
)

// Session is what a seat needs of a session.
type Session struct {
	Env    *tool.Env
	Notice func(level, text string) // a level of event.Notice
	// Changed takes changes on disk for hooks: a path and add, change or unlink. Nil: nobody wants them.
	Changed func(ctx context.Context, path, how string)
	// Watched has more files whose changes hooks want: names in the working folder, or absolute paths. It may grow. May be
	// nil.
	Watched func() []string
}

// Seat is a session's part.
type Seat struct {
	o      Session
	folder *Folder
	view   *lsp.Seat

	snapshot func(context.Context, *agent.Plan) (func(), error) // of the agent; may be nil
	publish  func(event.Body)                                   // of the agent; may be nil
	main     bool                                               // no subagent
	life     context.Context                                    // ends with the session
	hooks    sync.WaitGroup
	running  sync.Mutex // of left, and held while hooks begin
	left     bool

	mu       sync.Mutex
	step     []lsp.File           // edited since the last step began
	doubtful map[string]time.Time // files that the model knows, and when their changes on disk were reported since then
	ran      time.Time            // the end of the last call that may have changed any file
}

// Install adds the session to the folder, and the hooks to its agent. The function it returns takes it out again.
func (f *Folder) Install(s Session, cfg *agent.Config) func() error {
	life, end := context.WithCancel(context.Background())
	seat := &Seat{
		life: life, o: s, folder: f, view: f.pool.Seat(s.Env.Rel), snapshot: cfg.Snapshot, publish: cfg.Publish,
		main: cfg.Parent == nil, doubtful: map[string]time.Time{},
	}
	f.mu.Lock()
	f.seats[seat] = true
	f.mu.Unlock()
	s.Env.Language = f.pool
	seat.followWanted()
	s.Env.Reads.Watch(func(path string, _ tool.Seen) { seat.follow(path) })
	cfg.BeforeStep = append(cfg.BeforeStep, agent.BeforeStep{Name: "formatters", Run: seat.format},
		agent.BeforeStep{Name: "changed files", Run: seat.othersChanges})
	cfg.AfterTool = append(cfg.AfterTool, agent.AfterTool{Name: "diagnostics", Run: seat.after})
	return func() error {
		f.mu.Lock()
		delete(f.seats, seat)
		f.mu.Unlock()
		end()
		seat.running.Lock() // no hook of it begins any more
		seat.left = true
		seat.running.Unlock()
		seat.hooks.Wait()
		return nil
	}
}

// after adds the diagnostics that an edit brought to its result, and late ones to any.
func (s *Seat) after(ctx context.Context, c llm.ToolCall, r *agent.Result) (agent.Verdict, error) {
	var text string
	switch paths := written(r.Meta); c.Name {
	case "Edit", "Write", "ApplyPatch", "LSP":
		if len(paths) > 0 && !r.IsError {
			list := s.files(paths)
			s.edited(list)
			text = s.view.Edited(ctx, slices.DeleteFunc(slices.Clone(list),
				func(f lsp.File) bool { return !s.folder.pool.Covers(f.Path) }))
			break
		}
		text = s.view.Late()
	case "Read":
		s.touch(c.Input)
		text = s.view.Late()
	case "Glob", "Grep", "TodoWrite":
		text = s.view.Late()
	default:
		s.mu.Lock()
		s.ran = time.Now()
		s.mu.Unlock()
		s.folder.pool.CommandRan()
		text = s.view.Late()
	}
	if text != "" {
		r.Parts = append(r.Parts, llm.Text{Text: text})
	}
	return agent.Verdict{}, nil
}

// written are the paths that the result of an edit names.
func written(meta map[string]any) (out []string) {
	if path, ok := meta["filePath"].(string); ok {
		return []string{path}
	}
	list, _ := meta["files"].([]map[string]any)
	for _, f := range list {
		if path, ok := f["filePath"].(string); ok {
			out = append(out, path)
		}
	}
	return out
}

// files resolves paths of the session; those outside of its working folders are left out.
func (s *Seat) files(paths []string) (out []lsp.File) {
	for _, path := range paths {
		p, err := s.o.Env.Roots.Resolve(path, s.o.Env.Dir.Get())
		if err == nil && p.Root != nil && !p.Root.ReadOnly {
			out = append(out, lsp.File{Path: p.Real, Root: p.Root.Path})
		}
	}
	return out
}

// touch has the servers open a file that was read, so that they know it before it is edited.
func (s *Seat) touch(input json.RawMessage) {
	var in struct {
		Path string `json:"file_path"`
	}
	if json.Unmarshal(input, &in) != nil || !s.folder.pool.Covers(in.Path) {
		return
	}
	for _, f := range s.files([]string{in.Path}) {
		s.folder.pool.Touch(f)
	}
}
