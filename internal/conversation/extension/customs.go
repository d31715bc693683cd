package extension

import (
	"github.com/lathe-dev/lathe/internal/extend/customtool"
	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

// customTools makes the set of programs that are tools.
func (f *Folder) customTools(b *boundary.Boundary, runner *sandbox.Runner, environ func() []string) *customtool.Set {
	return customtool.New(customtool.Options{
		Config: f.o.Config, Tools: f.o.Tools, Runner: runner, Environ: f.environ(environ), Dir: f.o.Dir, Off: f.o.Bare,
		More: f.pluginTools, Version: f.pluginVersion,
		Confine: func() (*sandbox.Confinement, func(), error) { return b.ForHook(f.o.Dir, f.pluginData()...) },
	})
}

// environ is the environment of a program; a stranger's gets no credentials.
func (f *Folder) environ(all func() []string) func(foreign bool) []string {
	return func(foreign bool) []string {
		o := sandbox.Options{Drop: f.o.Config().PrivateVariables()}
		if foreign {
			o.ScrubCredentials = true
		}
		return sandbox.CleanEnv(all(), o)
	}
}
