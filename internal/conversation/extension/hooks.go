package extension

import (
	"github.com/lathe-dev/lathe/internal/agent/hook"
	"github.com/lathe-dev/lathe/internal/base/approved"
	"github.com/lathe-dev/lathe/internal/conversation/ruleset"
	"github.com/lathe-dev/lathe/internal/extend/skill"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

// Hooks makes the hooks of an instance: those of the settings and of plugins, and the given ones of a host program.
func (f *Folder) Hooks(given []hook.Group) *hook.Machine {
	m := &hook.Machine{
		Approved: approved.Open(f.o.Config().Paths().StateHome, "hooks", f.root()),
		Config:   f.o.Config, Given: given, Root: f.o.Config().Paths().Root, Runner: f.o.Runner,
		Environ: func(foreign bool) []string {
			if !foreign {
				return f.o.Environ()
			}
			return sandbox.CleanEnv(f.o.Environ(), sandbox.Options{
				Drop:             f.o.Config().PrivateVariables(),
				ScrubCredentials: f.o.Config().Settings.Bash.ScrubCredentials,
			})
		},
		Confine: f.confine, Plugins: f.pluginHooks, PluginsVersion: f.pluginVersion,
		Covers: func(rule string, c llm.ToolCall) (bool, error) {
			return ruleset.Covers(ruleset.Options{Tools: f.o.Tools, Dir: f.o.Dir, Home: f.o.Config().Paths().Home}, rule, c.Name,
				c.Input)
		},
	}
	m.SwitchOff(f.o.Bare)
	return m
}

// confine confines a program that a project or a plugin brings along.
func (f *Folder) confine() (*sandbox.Confinement, func(), error) {
	return f.o.Boundary.ForHook(f.o.Dir, f.pluginData()...)
}

// Foreign reports hooks that a project or a plugin wrote, instead of the user or the organisation.
func Foreign(source string) bool {
	switch source {
	case skill.SourceUser, skill.SourceSettings, skill.SourceOrganisation, "built-in", "command line":
		return false
	}
	return true
}
