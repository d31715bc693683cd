package extension

import "github.com/lathe-dev/lathe/internal/plugin/process"

// ProcessSpecs are the processes in force.
func (f *Folder) ProcessSpecs() ([]process.Spec, []string) { return f.processSpecs() }
