package extension

import "github.com/lathe-dev/lathe/internal/extend/plugin/process"

// ProcessSpecs are the processes in force.
func (f *Folder) ProcessSpecs() ([]process.Spec, []string) { return f.processSpecs() }

// ProcessVersion changes with the processes.
func (f *Folder) ProcessVersion() uint64 { return f.processVersion() }

// Environ is the environment of a program.
func (f *Folder) Environ(all []string, foreign bool) []string {
	f.o.Environ = func() []string { return all }
	return f.environ(foreign)
}
