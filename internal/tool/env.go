package tool

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/agent/consult"
	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/lsp"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/store/schedule"
	"github.com/lathe-dev/lathe/internal/tool/memory"
	"github.com/lathe-dev/lathe/internal/tool/web"
	"github.com/lathe-dev/lathe/internal/tool/websearch"
)

// Env is what the tools of one session share, by concern. all.go gives each tool the parts that it uses, and no more.
type Env struct {
	*Results
	*Files
	*Programs
	*Jobs
	*Commands
	*Internet

	Agents   *subagent.Agents // starts subagents; nil: the session starts no agents
	Todos    *Todos           // the task list
	Plan     *consult.Plan    // of the main agent; nil: plan mode is not this session's to enter or leave
	Deferred *Deferral        // the tools that the model's list leaves out
	Language *lsp.Pool        // the language servers; nil: the session has no servers
	Notes    *memory.Store    // of earlier sessions; nil: none are kept

	// Push sends a text to the user, wherever they are. Nil: they set up no service for it.
	Push func(ctx context.Context, text string) error
	// Peers are the other sessions of the machine. Nil: this one reaches none.
	Peers Peers
	// Goal is what the session works for. Nil: its agent has a task instead.
	Goal Goal
	// Schedules are the prompts that are sent later. Nil: nothing sends them.
	Schedules *schedule.Store

	// Invoke runs calls through the choke point, as the agent's own. Nil: calls cannot be bundled.
	Invoke func(ctx context.Context, calls []llm.ToolCall) []llm.ToolResult
	// LoadSkill adds a skill to the conversation and returns the texts for the model. Nil: the session has no skills.
	LoadSkill func(ctx context.Context, name, args string) ([]llm.Part, error)
	// More and Mail are the tools and the unread messages of a team's agent, by its Owner; nil: there is no team.
	More func(owner string) []agent.Tool
	Mail func(owner string) string
}

// Results is where the results of calls go: the model's conversation, and the session's blobs for what is too long.
type Results struct {
	// Blob keeps data with the session and returns the path to read it back from. Nil: a temporary folder.
	Blob func(ctx context.Context, name string, data []byte) (string, error)
	// NewBlob is Blob for data of unknown size. Nil: a temporary file.
	NewBlob func(ctx context.Context, name string) (BlobWriter, error)
	// InContext reports whether the result of an earlier call is still in the conversation as the model
	// will see it. Nil: never, so that nothing is answered with "you have seen this".
	InContext func(callID string) bool
	// Ago is how many messages follow the result of an earlier call. Nil: none.
	Ago func(callID string) int
	// Secrets are the values of the user's credentials, which results do not show. Nil: nothing is masked.
	Secrets func() *event.Values
}

// Files is the file system as the tools see it, and what the model knows of it.
type Files struct {
	*Results
	Roots  *files.Roots // where the session works: its own folder, added ones, read-only ones
	Dir    *Dir         // the working folder, which Bash moves
	Reads  *ReadTracker // the files that the model has seen, with their state
	Cache  *Cache       // results of Read, Glob and Grep
	Limits Limits

	// MayRead is the decision on reading one file by itself. A search over a folder leaves out files that it
	// does not allow. Nil: everything may be read.
	MayRead func(path string) permission.Effect
	// Readings returns MayRead for the many files of one search, with the rules of this moment; the function is for one
	// goroutine. Nil: MayRead.
	Readings func() func(path string) permission.Effect
	// Rules changes when MayRead may answer otherwise. Nil: it never does.
	Rules func() string
	// DeniedNames are the names that rules deny reading, wherever they lie. Nil: none.
	DeniedNames func() []string
	// Isolated is the copy of the project that an isolated agent works in. Nil: it works in the project.
	Isolated *permission.Place
	Journals string // the folder for the journals of changes of several files; empty: none are kept
	// Lasting is a folder for what can be made again and outlives the session. Commands read it. Empty: a temporary one.
	Lasting string
	// Environ is the environment of child processes before lathe's own keys are removed. Nil: os.Environ.
	Environ func() []string

	// Buffers are the texts of an editor. Nil: there is none.
	Buffers Buffers
	// Boundary confines the commands of Bash, and says which of them it does not. Nil: they are not confined.
	Boundary *boundary.Boundary

	hidden *hiddenFiles
}

// Programs is how tools start programs.
type Programs struct {
	Runner *sandbox.Runner // starts the children; NewEnv makes one
	// ChildEnv changes how the environment of child processes is cleaned.
	ChildEnv sandbox.Options
}

// Jobs are the commands that run beside the conversation, as one agent sees them.
type Jobs struct {
	// Background has the commands. Close it before Blob's keeper.
	Background *Background
	// Owner is the chain of the agent; empty for the main agent. Its commands in the background are its own to hear of.
	Owner string
}

// Commands is what Bash needs beside files and programs.
type Commands struct {
	*Files
	*Programs
	*Jobs
	// Hosts makes the network of the command of a call; hosts in named were approved with it. Nil: hosts that the settings
	// do not name are refused, and nothing is recorded.
	Hosts func(callID, command string, named []string) boundary.Network
	// Again asks a person whether a command that the sandbox refused something may run once more: outside, or inside as an
	// approved one. Nil: it may not.
	Again func(ctx context.Context, a agent.Approval, why string, outside bool) bool
	// Keep asks about the changes of a command in its private view. Nil: they are dropped.
	Keep   KeepQuestion
	Shells *Shells // the named shells
	// Profile has the start-up files of the shell for commands. Nil: they are not read.
	Profile *Profile
	// Shell is the shell. Empty: the user's, if it is bash or zsh, else the first that is found.
	Shell string
}

// Internet is how tools find and fetch pages.
type Internet struct {
	Web *web.Fetcher // fetches pages, and keeps them for a while
	// Search returns the engine that answers WebSearch, or nil without one. A nil Search means no engine.
	Search func(ctx context.Context) *websearch.Engine
	// Ask has the small model answer one prompt. Nil: pages are given whole.
	Ask func(ctx context.Context, system, prompt string) (string, error)

	small func(context.Context) (llm.Model, error)
	count func(purpose string, m llm.ModelInfo, u llm.Usage)
}

// Limits bound the results of tools and how long they run. Zero values mean the defaults.
type Limits struct {
	ReadLines      int           // lines of one Read: 2,000
	LineChars      int           // characters of one line of Read: 2,000
	GlobResults    int           // paths of one Glob: 100
	GrepResults    int           // lines or paths of one Grep, unless head_limit says otherwise: 250
	BashTimeout    time.Duration // 120 s
	BashMaxTimeout time.Duration // 600 s
	BashOutput     int           // characters of output inline: 30,000
	SearchTime     time.Duration // of one Glob or Grep: 20 s
}

// NewEnv makes the Env of a session that works in dir.
func NewEnv(dir string) (*Env, error) {
	roots, err := files.NewRoots(dir)
	if err != nil {
		return nil, err
	}
	return join(Env{
		Results: &Results{},
		Files: &Files{
			Roots: roots, Dir: NewDir(roots.First()), Reads: NewReadTracker(), Cache: NewCache(), hidden: new(hiddenFiles),
		},
		Programs: &Programs{Runner: sandbox.New()},
		Jobs:     &Jobs{Background: NewBackground()},
		Commands: &Commands{Shells: new(Shells)},
		Internet: &Internet{Web: &web.Fetcher{}},
		Todos:    &Todos{}, Deferred: &Deferral{},
	}), nil
}

// join gives the parts of an Env those that they use.
func join(e Env) *Env {
	e.Files.Results = e.Results
	e.Commands.Files, e.Commands.Programs, e.Commands.Jobs = e.Files, e.Programs, e.Jobs
	return &e
}

// Clone makes the Env of a subagent: it starts with its parent's reads and cache, in the parent's
// working folder, and nothing it learns goes back. Roots, blobs and background commands are shared; the task
// list is its own.
func (e *Env) Clone() *Env {
	results, own, programs, jobs, commands, net := *e.Results, *e.Files, *e.Programs, *e.Jobs, *e.Commands, *e.Internet
	results.InContext, results.Ago = nil, nil // those of the subagent's own conversation are the caller's to set
	own.Dir, own.Reads, own.Cache = NewDir(e.Dir.Get()), e.Reads.Clone(), e.Cache.Clone()
	commands.Shells = new(Shells)
	return join(Env{
		Results: &results, Files: &own, Programs: &programs, Jobs: &jobs, Commands: &commands, Internet: &net,
		Agents: e.Agents, Todos: &Todos{}, Deferred: &Deferral{}, Language: e.Language, Notes: e.Notes,
		LoadSkill: e.LoadSkill, More: e.More, Mail: e.Mail,
	})
}

// more are the tools of a team.
func (e *Env) more() []agent.Tool {
	if e.More == nil {
		return nil
	}
	return e.More(e.Owner)
}

// InTeam reports whether the agent works in a team.
func (e *Env) InTeam() bool { return len(e.more()) > 0 }

// SaveBlob keeps data under a name made of name, and returns the path it can be read back from.
func (e *Results) SaveBlob(ctx context.Context, name string, data []byte) (string, error) {
	if e.Blob != nil {
		return e.Blob(ctx, name, data)
	}
	dir, err := os.MkdirTemp("", "lathe-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, filepath.Base(name))
	return path, os.WriteFile(path, data, 0o600)
}

// Rel is path as people read it: relative to the working folder when it lies below it.
func (e *Files) Rel(path string) string {
	if rel, err := filepath.Rel(e.Dir.Get(), path); err == nil && rel != ".." && !strings.HasPrefix(rel,
		".."+string(filepath.Separator)) {
		return rel
	}
	return path
}

func (e *Files) resolve(path string) (files.Path, error) { return e.Roots.Resolve(path, e.Dir.Get()) }
