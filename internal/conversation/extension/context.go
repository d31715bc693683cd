package extension

import (
	"maps"
	"slices"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/prompt"
)

// mostContext is the longest output of a command that is sent, in bytes.
const mostContext = 16_000

// Context makes the context sections that the settings ask for, sorted by name so that equal settings give equal bytes.
func (f *Folder) Context() (out []prompt.Provider) {
	conf := f.o.Config()
	set := conf.Settings.Context
	if f.o.Bare {
		return nil
	}
	if set.FileStructure {
		out = append(out, prompt.Structure(f.o.Dir))
	}
	var commands []prompt.Command
	for _, name := range slices.Sorted(maps.Keys(set.Providers)) {
		p := set.Providers[name]
		commands = append(commands, prompt.Command{
			Name: name, Shell: p.Command, Origin: conf.Origin("context.providers." + name + ".command").String(),
			Wait: time.Duration(p.TimeoutMs) * time.Millisecond, Limit: min(p.MaxBytes, mostContext),
		})
	}
	return append(out, prompt.Commands(commands, f.o.Dir, f.o.Runner, func() []string {
		return sandbox.CleanEnv(f.o.Environ(), sandbox.Options{
			Drop:             conf.PrivateVariables(),
			ScrubCredentials: conf.Settings.Bash.ScrubCredentials,
		})
	})...)
}
