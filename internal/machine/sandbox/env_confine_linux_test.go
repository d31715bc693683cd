package sandbox

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
)

func TestTheHelpersOwnSettingsDoNotReachTheCommand(t *testing.T) {
	tiers(t, func(t *testing.T, s confine.Support) {
		for name, set := range map[string][]string{
			"none":  {"A=1"},
			"those": {"GODEBUG=inittrace=1", "GOMAXPROCS=7", "GOGC=3", "A=1"},
		} {
			t.Run(name, func(t *testing.T) {
				r := New()
				defer r.Close()
				work := realDir(t)
				var out, errs bytes.Buffer
				exit, err := r.Run(t.Context(), Spec{
					Argv: []string{"/usr/bin/env"}, Dir: work, Env: set, Stdout: &out, Stderr: &errs,
					Confine: &Confinement{Policy: confine.Policy{Mode: confine.Workspace, Write: []string{work}}, Support: s},
				})
				if err != nil || exit.Code != 0 || errs.Len() > 0 {
					t.Fatalf("got %+v, %v: %s", exit, err, errs.String())
				}
				got := strings.Fields(out.String())
				for _, entry := range set {
					if !slices.Contains(got, entry) {
						t.Errorf("the command lacks %s", entry)
					}
				}
				for _, entry := range got {
					if strings.HasPrefix(entry, "LATHE_CONFINED_") || strings.HasPrefix(entry, "GO") && !slices.Contains(set, entry) {
						t.Errorf("the command has %s", entry)
					}
				}
			})
		}
	})
}
