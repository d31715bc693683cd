// Package extension finds what the users, projects and plugins of an instance add: skills, commands, output styles,
// kinds of agents, hooks, tools, processes and sections of the context.
package extension

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/agent/eval"
	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/extend/customtool"
	"github.com/lathe-dev/lathe/internal/extend/plugin"
	"github.com/lathe-dev/lathe/internal/extend/plugin/process"
	"github.com/lathe-dev/lathe/internal/extend/skill"
	"github.com/lathe-dev/lathe/internal/extend/skill/locate"
	"github.com/lathe-dev/lathe/internal/extend/style"
	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/permission/call"
	"github.com/lathe-dev/lathe/internal/prompt"
)

// Options of a Folder.
type Options struct {
	Config   func() *config.Config
	Dir      string // absolute, without links
	Bare     bool   // nothing from files
	NoSkills bool
	Skills   []string        // names of the skills that the model may use; nil: all
	Agents   []subagent.Kind // kinds of agents in addition to those from files
	Plugins  *plugin.Set     // nil: none

	Tools    *call.Catalogue    // for the rules of agents; gets the programs that are tools
	Runner   *sandbox.Runner    // starts programs
	Boundary *boundary.Boundary // confines those of projects and plugins; nil: no sandbox
	Environ  func() []string    // of programs
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
	f.Customs, f.Processes = f.customTools(), f.processes()
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

// LeftOut says in one line how many files of agents and skills cannot be used; "": all can.
func (f *Folder) LeftOut() string {
	count := func(notes []string) (n int) {
		for _, note := range notes {
			if strings.Contains(note, "left out") {
				n++
			}
		}
		return n
	}
	agents, skills := count(f.Agents.Catalog().Notes), count(f.Skills.Catalog().Notes)
	if agents+skills == 0 {
		return ""
	}
	return fmt.Sprintf("left out: agents %d, skills and commands %d; /agents and /skills name them", agents, skills)
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

// Root is the topmost folder of the project.
func (f *Folder) Root() string { return f.root() }

func (f *Folder) places() skill.Places {
	if f.o.Bare {
		return skill.Places{NoProject: true}
	}
	return locate.Places(f.o.Config(), f.o.Dir, f.root())
}
