package extension

import (
	"github.com/lathe-dev/lathe/internal/boundary"
	"github.com/lathe-dev/lathe/internal/customtool"
	"github.com/lathe-dev/lathe/internal/llm/hosts"
	"github.com/lathe-dev/lathe/internal/permission/call"
	"github.com/lathe-dev/lathe/internal/sandbox"
)

// CustomTools makes the set of programs that are tools.
func (f *Folder) CustomTools(tools *call.Catalogue, b *boundary.Boundary, runner *sandbox.Runner, environ func() []string) *customtool.Set {
	return customtool.New(customtool.Options{
		Config: f.o.Config, Tools: tools, Runner: runner, Environ: f.environ(environ), Dir: f.o.Dir, Off: f.o.Bare,
		Confine: func() (*sandbox.Confinement, func(), error) { return b.ForHook(f.o.Dir) },
	})
}

// environ is the environment of a program; a stranger's gets no credentials.
func (f *Folder) environ(all func() []string) func(foreign bool) []string {
	return func(foreign bool) []string {
		o := sandbox.Options{Drop: hosts.Secrets()}
		if foreign {
			o.ScrubCredentials = true
		}
		return sandbox.CleanEnv(all(), o)
	}
}
