package extension

import (
	"github.com/lathe-dev/lathe/internal/agent/hook"
	"github.com/lathe-dev/lathe/internal/base/approved"
	"github.com/lathe-dev/lathe/internal/conversation/ruleset"
	"github.com/lathe-dev/lathe/internal/extend/skill"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

// Hooks makes the hooks of an instance: those of the settings, and the given ones of a host program. It also makes the
// custom tools, which are started in the same way.
func (f *Folder) Hooks(given []hook.Group, b *boundary.Boundary, runner *sandbox.Runner,
	environ func() []string,
) *hook.Machine {
	tools := f.o.Tools
	f.Customs, f.Processes = f.customTools(b, runner, environ), f.processes(b, runner, environ)
	m := &hook.Machine{
		Approved: approved.Open(f.o.Config().Paths().StateHome, "hooks", f.root()),
		Config:   f.o.Config, Given: given, Root: f.o.Config().Paths().Root, Runner: runner,
		Environ: func(foreign bool) []string {
			if !foreign {
				return environ()
			}
			return sandbox.CleanEnv(environ(), sandbox.Options{
				Drop:             f.o.Config().PrivateVariables(),
				ScrubCredentials: f.o.Config().Settings.Bash.ScrubCredentials,
			})
		},
		Confine: func() (*sandbox.Confinement, func(), error) { return b.ForHook(f.o.Dir, f.pluginData()...) },
		Covers: func(rule string, c llm.ToolCall) (bool, error) {
			return ruleset.Covers(ruleset.Options{Tools: tools, Dir: f.o.Dir, Home: f.o.Config().Paths().Home}, rule, c.Name,
				c.Input)
		},
	}
	m.Plugins, m.PluginsVersion = f.pluginHooks, f.pluginVersion
	m.SwitchOff(f.o.Bare)
	return m
}

// foreign reports hooks that somebody else than the user or the organisation wrote: a project's, a plugin's.
func foreign(source string) bool {
	switch source {
	case skill.SourceUser, skill.SourceSettings, skill.SourceOrganisation, "built-in", "command line":
		return false
	}
	return true
}
