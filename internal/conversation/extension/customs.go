package extension

import (
	"github.com/lathe-dev/lathe/internal/extend/customtool"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

// customTools makes the set of programs that are tools.
func (f *Folder) customTools() *customtool.Set {
	return customtool.New(customtool.Options{
		Config: f.o.Config, Tools: f.o.Tools, Runner: f.o.Runner, Environ: f.environ, Dir: f.o.Dir, Off: f.o.Bare,
		More: f.pluginTools, Version: f.pluginVersion,
		Confine: f.confine,
	})
}

// environ is the environment of a program; a stranger's gets no credentials.
func (f *Folder) environ(foreign bool) []string {
	return sandbox.CleanEnv(f.o.Environ(), sandbox.Options{
		Drop: f.o.Config().PrivateVariables(), ScrubCredentials: foreign,
	})
}
