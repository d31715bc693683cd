package language

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/lsp"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/tool"
)

// Conversation is what language support needs of a session.
type Conversation struct {
	Env    *tool.Env
	Main   bool                     // no subagent's
	Notice func(level, text string) // a level of event.Notice
	// Publish tells a main conversation of changes; nil: it hears of none.
	Publish func(event.Body)
	// Snapshot saves a file before a formatter changes it; nil: nothing is kept.
	Snapshot func(context.Context, *agent.Plan) (func(), error)
	// Changed takes changes on disk for hooks: a path and add, change or unlink. Nil: nothing hears of them.
	Changed func(ctx context.Context, path, how string)
	// Watched has more files whose changes hooks want: names in the working folder, or absolute paths. It may grow. May
	// be nil.
	Watched func() []string
}

// Joined is a session that uses the language servers, the formatters and the watcher of a folder. Its methods are hooks
// of the agent.
type Joined struct {
	Conversation
	folder *Folder
	view   *lsp.Seat

	life    context.Context // ends with the session
	hooks   sync.WaitGroup
	running sync.Mutex // of left, and held while hooks begin
	end     context.CancelFunc
	left    bool

	mu       sync.Mutex
	step     []lsp.File           // edited since the last step began
	doubtful map[string]time.Time // files that the model knows, and when their changes on disk were reported since then
	told     []string             // formatters of which it was said that they do not start
	ran      time.Time            // the end of the last call that may have changed any file
}

// Join adds a session to the folder, until it leaves.
func (f *Folder) Join(c Conversation) *Joined {
	s := &Joined{Conversation: c, folder: f, view: f.pool.Seat(c.Env.Rel), doubtful: map[string]time.Time{}}
	s.life, s.end = context.WithCancel(context.Background())
	f.mu.Lock()
	f.joined[s] = true
	f.mu.Unlock()
	s.followWanted()
	c.Env.Reads.Watch(func(path string, _ tool.Seen) { s.follow(path) })
	return s
}

// Leave takes the session out of the folder, and waits for its hooks.
func (s *Joined) Leave() error {
	s.folder.mu.Lock()
	delete(s.folder.joined, s)
	s.folder.mu.Unlock()
	s.end()
	s.running.Lock() // no hook of it begins any more
	s.left = true
	s.running.Unlock()
	s.hooks.Wait()
	return nil
}

// Diagnose adds the diagnostics that an edit brought to its result, and late ones to any. An edit is a result that
// names the files that were written; a call without a declared class may have changed any.
func (s *Joined) Diagnose(ctx context.Context, c llm.ToolCall, r *agent.Result) (agent.Verdict, error) {
	var text string
	if paths := written(r.Meta); len(paths) > 0 && !r.IsError {
		list := s.files(paths)
		s.edited(list)
		text = s.view.Edited(ctx, slices.DeleteFunc(list, func(f lsp.File) bool { return !s.folder.pool.Covers(f.Path) }))
	} else {
		s.called(c, r)
		text = s.view.Late()
	}
	if text != "" {
		r.Parts = append(r.Parts, llm.Text{Text: text})
		s.Notice("info", "told the model: "+brief(text))
	}
	return agent.Verdict{}, nil
}

// LateDiagnostics are those that came after the last call: they open the next step, also that of another turn.
func (s *Joined) LateDiagnostics(context.Context) ([]llm.Message, error) {
	text := s.view.Late()
	if text == "" {
		return nil, nil
	}
	text = "<system-reminder>\n" + text + "\n</system-reminder>"
	return []llm.Message{{Role: llm.User, Parts: []llm.Part{llm.Text{Text: text, Origin: llm.OriginReminder}}}}, nil
}

// brief is the first two lines of diagnostics, and how many lines follow.
func brief(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if n := len(lines) - 2; n > 0 {
		return fmt.Sprintf("%s %s (%d more)", lines[0], lines[1], n)
	}
	return strings.Join(lines, " ")
}

// called notes a call that is no edit.
func (s *Joined) called(c llm.ToolCall, r *agent.Result) {
	switch s.folder.o.Tools.Traits(c.Name).Class {
	case permission.ClassRead:
		s.touch(c.Input)
		return
	case permission.ClassList, permission.ClassSearch, permission.ClassWrite:
		return
	}
	if _, list := r.View.(event.Todo); list {
		return
	}
	s.mu.Lock()
	s.ran = time.Now()
	s.mu.Unlock()
	s.folder.pool.CommandRan()
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
func (s *Joined) files(paths []string) (out []lsp.File) {
	for _, path := range paths {
		p, err := s.Env.Roots.Resolve(path, s.Env.Dir.Get())
		if err == nil && p.Root != nil && !p.Root.ReadOnly {
			out = append(out, lsp.File{Path: p.Real, Root: p.Root.Path})
		}
	}
	return out
}

// touch has the servers open a file that was read, so that they know it before it is edited.
func (s *Joined) touch(input json.RawMessage) {
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
