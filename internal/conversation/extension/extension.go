// Package extension joins skills, commands, output styles and context providers with the parts of a session.
package extension

import (
	"context"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/agent/eval"
	"github.com/lathe-dev/lathe/internal/agent/hook"
	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation/attach"
	"github.com/lathe-dev/lathe/internal/conversation/workspace"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/customtool"
	"github.com/lathe-dev/lathe/internal/extend/plugin"
	"github.com/lathe-dev/lathe/internal/extend/plugin/process"
	"github.com/lathe-dev/lathe/internal/extend/skill"
	"github.com/lathe-dev/lathe/internal/extend/skill/invoke"
	"github.com/lathe-dev/lathe/internal/extend/skill/locate"
	"github.com/lathe-dev/lathe/internal/extend/style"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
	"github.com/lathe-dev/lathe/internal/prompt"
	"github.com/lathe-dev/lathe/internal/store/journal"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// Options of a Folder.
type Options struct {
	Config   func() *config.Config
	Dir      string // absolute, without links
	Bare     bool   // nothing from files
	NoSkills bool
	Skills   []string               // names of the skills that the model may use; nil: all
	Agents   func() []subagent.Kind // kinds of agents in addition to those from files
	Agent    string                 // the kind of main conversations, by name; empty: that of the settings
	Plugins  *plugin.Set            // nil: none

	Tools *call.Catalogue // for the rules of agents
}

// Folder holds the skills, commands and output styles for work in one folder.
type Folder struct {
	Skills    *skill.Library // and the commands
	Styles    style.Choice
	Agents    *subagent.Library
	Plugins   *plugin.Set
	Customs   *customtool.Set // the programs that are tools
	Processes *process.Set    // the plugin processes
	o         Options
	inline    inlineAgents
	looks     pluginLooks
	procs     struct {
		sync.Mutex
		of    *config.Config
		count uint64 // changes of the setting
	}
	root func() string // the topmost folder of the project; found once, since it is asked for at every look at the folders
}

// New makes a Folder. Nothing is read yet.
func New(o Options) *Folder {
	f := &Folder{o: o, Plugins: o.Plugins, root: sync.OnceValue(func() string { return locate.Root(o.Config(), o.Dir) })}
	f.Skills = skill.NewLibrary(func() []skill.Folder {
		if o.NoSkills {
			return nil
		}
		return append(f.pluginSkills(), f.places().Folders()...)
	})
	f.Skills.Limit(o.Skills)
	f.Agents = subagent.NewLibrary(f.agents, f.givenAgents,
		func(k *subagent.Kind) error { _, err := f.AgentKind(k, nil); return err })
	f.Styles.Folders = func() []string { return append(f.pluginStyles(), f.places().Styles()...) }
	f.Styles.Configured = func() string { return o.Config().Settings.OutputStyle }
	return f
}

// Judges lists the judges of work done here: the built-in ones and those of files. The notes name the files that were
// left out.
func (f *Folder) Judges() (judges []eval.Judge, notes []string) {
	var folders []eval.Folder
	if !f.o.Bare {
		for _, d := range f.places().Named("judges") {
			folders = append(folders, eval.Folder{
				Path: d.Path, Bound: d.Bound, Guest: d.Source == skill.SourceProject && !f.o.Config().TrustsPrograms(),
			})
		}
	}
	return eval.Find(folders)
}

// Eval is the configuration of the gate.
func (f *Folder) Eval() eval.Settings {
	set := f.o.Config().Settings.Eval
	return eval.Settings{
		Command: set.Command, Timeout: time.Duration(set.TimeoutMs) * time.Millisecond,
		Rounds: set.MaxRounds,
	}
}

// AgentListing is the section of the context that lists the kinds of agents that are not built in.
func (f *Folder) AgentListing() prompt.Provider {
	return prompt.Provider{Name: "agents", Origin: "agents", Limit: maxAgentListing, Get: func(context.Context) (string,
		error,
	) {
		list := f.Agents.Catalog().Listing(maxAgentListing - len(agentListingHead))
		if list == "" {
			return "", nil
		}
		return agentListingHead + list, nil
	}}
}

// The section that lists kinds of agents, in bytes.
const (
	maxAgentListing  = 4_000
	agentListingHead = "More agents for Task:\n"
)

func (f *Folder) places() skill.Places {
	if f.o.Bare {
		return skill.Places{NoProject: true}
	}
	return locate.Places(f.o.Config(), f.o.Dir, f.root())
}

// Session is the parts of a session that skills need.
type Session struct {
	Journal   *journal.Journal
	Workspace *workspace.Workspace
	Attached  *attach.Files
	Policy    *permission.Policy
	Chain     []string // of the agent
	Tools     permission.Tools
	Invoke    func(context.Context, []llm.ToolCall) []llm.ToolResult
	Model     func() llm.ModelInfo
	Effort    func() llm.Effort
	Hooks     *hook.Hooks
}

// Loader makes the loader of skills of a session.
func (f *Folder) Loader(s Session) *invoke.Loader {
	return invoke.New(invoke.Host{
		Library: f.Skills, Policy: s.Policy, Chain: s.Chain, Tools: s.Tools, Dir: f.o.Dir, Clean: prompt.Sanitize,
		Messages: s.Journal.Messages, Revision: s.Journal.Revision,
		Budget:  func() int { return invoke.Budget(s.Model().ContextWindow) },
		Trusted: func() bool { return f.o.Config().Trusted() },
		Run:     invoke.Shell(s.Invoke), Task: invoke.Agents(s.Invoke), Read: s.Attached.Named,
		AddRoot: s.Workspace.AddReadRoot,
		Hooks: func(ctx context.Context, sk *skill.Skill) error {
			return s.Hooks.Use(ctx, hook.Scope{
				Kind: "skill", Name: sk.Name, File: sk.Path, Hooks: sk.Hooks, Place: hook.Place{Foreign: foreign(sk.Source) ||
					sk.Source == skill.SourceSettings, Root: sk.Dir},
			})
		},
		Nested:  !f.o.Bare && !f.o.NoSkills && f.o.Config().Reads(config.Project),
		NoShell: func() bool { return f.o.Config().Settings.DisableSkillShellExecution },
		Notice:  func(level, text string) { s.Journal.Note(event.Notice{Level: level, Text: text}) },
		Variables: func() map[string]string {
			return map[string]string{
				"CLAUDE_PROJECT_DIR": f.root(), "CLAUDE_SESSION_ID": s.Journal.ID(), "CLAUDE_EFFORT": string(s.Effort()),
			}
		},
	})
}

// Listing is the section of the context that lists the skills. They are read at once; the loader is asked for when
// ready is closed.
func (f *Folder) Listing(ready <-chan struct{}, loader func() *invoke.Loader) prompt.Provider {
	return prompt.Provider{
		Name: "skills", Origin: "skills", Limit: invoke.MaxListing,
		Get: func(ctx context.Context) (string, error) {
			f.Skills.Catalog()
			select {
			case <-ready:
				return loader().Listing(), nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		},
	}
}

// Begin notes the chosen style for a new conversation, which keeps it. An error means that there is no such style.
func (f *Folder) Begin(b *session.System) error {
	chosen, err := f.Styles.Get()
	if err == nil && chosen.Text != "" {
		b.Style, b.StyleText, b.StyleKeeps = chosen.Name, chosen.Text, chosen.Keeps
	}
	return err
}

// Style is the style of a conversation as its system prompt has it.
func Style(b session.System) prompt.Style {
	return prompt.Style{Name: b.Style, Text: prompt.Sanitize(b.StyleText), KeepCoding: b.StyleKeeps}
}
