package internal_test

import (
	"go/ast"
	"strings"
	"testing"
)

// startsOfPrograms are the functions and types of the standard library and x/sys that start or become another program.
var startsOfPrograms = map[string][]string{
	"os/exec":                  {"Command", "CommandContext", "Cmd"},
	"os":                       {"StartProcess"},
	"syscall":                  {"ForkExec", "StartProcess", "Exec", "CreateProcess", "CreateProcessAsUser"},
	"golang.org/x/sys/unix":    {"Exec", "ForkExec"},
	"golang.org/x/sys/windows": {"CreateProcess", "CreateProcessAsUser", "ShellExecute"},
}

// startersOfPrograms are the files, or folders, that start programs without sandbox.Runner, each with its reason. All
// else goes through the Runner, which cleans the environment, ends the whole tree and confines.
var startersOfPrograms = map[string]string{
	"internal/machine/sandbox/":       "it is the Runner, the boundary's first process, and the reaper",
	"internal/ui/tui/external.go":     "the user's editor needs the terminal, which the Runner gives to no child",
	"internal/face/supervisor/":       "a session process and the supervisor outlive who starts them, and are lathe itself",
	"internal/cli/attach.go":          "ssh asks for passwords at the terminal, and lives as long as the face",
	"internal/cli/web.go":             "the user's browser goes on when lathe ends",
	"internal/cli/fleet.go":           "lathe-fleet takes this program's place",
	"internal/fleet/":                 "it starts lathe itself, git and gh; what a model decides runs in lathe's sandbox",
	"internal/cli/demo_tui.go":        "lathe's own interface in the demo needs the terminal",
	"internal/machine/term/termtest/": "the terminal of tests runs what a test names",
	"tools/":                          "programs for development are not part of lathe",
}

func TestProgramsAreStartedByTheRunner(t *testing.T) {
	used := map[string]bool{}
	for _, f := range tree(t) {
		if f.isTest() {
			continue
		}
		for _, name := range programStarts(t, f) {
			by := starter(f.path)
			if by == "" {
				t.Errorf("%s: %s starts a program; start it with sandbox.Runner (boundary.Boundary.For and ForServer confine "+
					"it), or give the reason in startersOfPrograms", f.path, name)
			}
			used[by] = true
		}
	}
	for by := range startersOfPrograms {
		if !used[by] {
			t.Errorf("%s starts no program any more: take it out of the list", by)
		}
	}
}

func starter(path string) string {
	for by := range startersOfPrograms {
		if path == by || strings.HasSuffix(by, "/") && strings.HasPrefix(path, by) {
			return by
		}
	}
	return ""
}

// programStarts finds uses of startsOfPrograms, whatever name the file gives the import.
func programStarts(t *testing.T, f source) (found []string) {
	t.Helper()
	names := map[string][]string{}
	paths := f.imports(t)
	for i, spec := range f.ast.Imports {
		bad, ok := startsOfPrograms[paths[i]]
		if !ok {
			continue
		}
		name := paths[i][strings.LastIndexByte(paths[i], '/')+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = bad
		if name == "." {
			found = append(found, "import . of "+paths[i])
		}
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok {
			for _, bad := range names[x.Name] {
				if sel.Sel.Name == bad {
					found = append(found, x.Name+"."+bad)
				}
			}
		}
		return true
	})
	return found
}
