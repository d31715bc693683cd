package language_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/config"
)

// formatting is a seat of a Go module where gofmt is a script, which may use $LOG, a file beside it.
func formatting(t *testing.T, script string) (s *seat, runs func() int) {
	t.Helper()
	s = newSeat(t)
	s.conf = &config.Config{Settings: config.Settings{Formatters: config.Formatters{Enabled: true, TimeoutMs: 20_000}}}
	gofmt := s.program("gofmt", `LOG="${0%/*}/log"; echo run >> "$LOG"; `+script)
	t.Setenv("PATH", filepath.Dir(gofmt)+string(os.PathListSeparator)+os.Getenv("PATH"))
	s.put("go.mod", "module x\n")
	return s, func() int {
		data, _ := os.ReadFile(filepath.Join(filepath.Dir(gofmt), "log"))
		return strings.Count(string(data), "run")
	}
}

func TestAFormatterRunsOncePerFileAtTheEndOfTheStepAndShowsItsDiff(t *testing.T) {
	s, runs := formatting(t, `sed 's/badly/well/'`)
	s.call("Write", map[string]any{"file_path": "a.go", "content": "package badly\n\nvar x = 1\n"})
	s.call("Edit", map[string]any{"file_path": "a.go", "old_string": "x = 1", "new_string": "x = 2"})
	s.call("Edit", map[string]any{"file_path": "a.go", "old_string": "x = 2", "new_string": "x = 3"})
	if got := s.content("a.go"); runs() != 0 || !strings.Contains(got, "badly") {
		t.Errorf("formatted within the step: %q", got)
	}
	got := s.step()
	for _, want := range []string{"gofmt formatted a.go", "-package badly", "+package well"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	if runs() != 1 || s.content("a.go") != "package well\n\nvar x = 3\n" {
		t.Errorf("%d runs, %q", runs(), s.content("a.go"))
	}
	if again := s.step(); again != "" || runs() != 1 {
		t.Errorf("a step without an edit: %q, %d runs", again, runs())
	}
	// it knows the formatted text
	s.call("Edit", map[string]any{"file_path": "a.go", "old_string": "package well", "new_string": "package good"})
	if got := s.step(); got != "" || runs() != 2 {
		t.Errorf("a formatted file: %q, %d runs", got, runs())
	}
	s.call("MultiEdit", map[string]any{"file_path": "a.go", "edits": []map[string]any{
		{"old_string": "package good", "new_string": "package badly"}, {"old_string": "x = 3", "new_string": "x = 4"},
	}})
	if got := s.step(); !strings.Contains(got, "+package well") || runs() != 3 {
		t.Errorf("several edits in one call: %q, %d runs", got, runs())
	}
}

func TestAFormatterThatFailsChangesNothingAndFailsNoEdit(t *testing.T) {
	for name, script := range map[string]string{
		"exit code":      "echo package broken; exit 1",
		"prints nothing": "cat > /dev/null",
		"prints a flood": "yes package | head -c 9000000",
		"reads nothing":  "exec <&-; exit 2",
		"kills itself":   "kill -9 $$",
	} {
		t.Run(name, func(t *testing.T) {
			s, runs := formatting(t, script)
			s.call("Write", map[string]any{"file_path": "a.go", "content": "package a\n"})
			if got := s.step(); got != "" || runs() != 1 || s.content("a.go") != "package a\n" {
				t.Errorf("%q, %d runs, %q", got, runs(), s.content("a.go"))
			}
			s.call("Edit", map[string]any{"file_path": "a.go", "old_string": "package a", "new_string": "package b"})
			if got := s.content("a.go"); got != "package b\n" {
				t.Errorf("the edit after it: %q", got)
			}
		})
	}
}

func TestAFormatterThatDoesNotStartIsNamedOnce(t *testing.T) {
	s, runs := formatting(t, "echo 'env: node: No such file or directory' >&2; exit 127")
	for i, text := range []string{"package a\n", "package b\n"} {
		s.call("Write", map[string]any{"file_path": "a.go", "content": text})
		if got := s.step(); strings.Contains(got, "gofmt could not start, so it formats nothing: exit code 127: env: node") !=
			(i == 0) || runs() != i+1 || s.content("a.go") != text {
			t.Errorf("step %d: %q, %d runs, %q", i, got, runs(), s.content("a.go"))
		}
	}
}

func TestAFormatterThatTakesTooLongIsEnded(t *testing.T) {
	s, runs := formatting(t, "exec sleep 600")
	s.conf.Settings.Formatters.TimeoutMs = 200
	s.call("Write", map[string]any{"file_path": "a.go", "content": "package a\n"})
	if got := s.step(); got != "" || runs() > 1 || s.content("a.go") != "package a\n" {
		t.Errorf("%q, %d runs, %q", got, runs(), s.content("a.go"))
	}
}

func TestAFileThatSomebodyChangedAfterTheEditIsNotFormatted(t *testing.T) {
	s, _ := formatting(t, `sed 's/badly/well/'`)
	s.call("Write", map[string]any{"file_path": "a.go", "content": "package badly\n"})
	s.put("a.go", "package badly // mine\n")
	if got := s.step(); strings.Contains(got, "formatted") || s.content("a.go") != "package badly // mine\n" {
		t.Errorf("%q, %q", got, s.content("a.go"))
	}
}

func TestRealFormattersFormatWhatAnEditLeftUgly(t *testing.T) {
	for _, tt := range []struct{ program, configured, setting, text, file, want string }{
		{"gofmt", "go.mod", "module x\n", "package  a\n\nvar x   = 1\n", "a.go", "package a\n\nvar x = 1\n"},
		{
			"clang-format", ".clang-format", "BasedOnStyle: LLVM\n", "int  f( ) {return 1;}\n", "a.c",
			"int f() { return 1; }\n",
		},
		{"prettier", ".prettierrc", "{}", "let x   = 'a'", "a.ts", "let x = \"a\";\n"},
		{"biome", "biome.json", "{}", "let x   = 'a'", "a.ts", "let x = \"a\";\n"},
		{"black", "pyproject.toml", "[tool.black]\n", "x   = 'a'\n", "a.py", "x = \"a\"\n"},
		{"ruff", "ruff.toml", "", "x   = 'a'\n", "a.py", "x = \"a\"\n"},
		{"rustfmt", "rustfmt.toml", "", "fn  main( ){}\n", "a.rs", "fn main() {}\n"},
	} {
		t.Run(tt.program, func(t *testing.T) {
			path := os.Getenv("PATH")
			if npm := os.Getenv("LATHE_NPM"); npm != "" {
				path = filepath.Join(npm, "node_modules", ".bin") + string(os.PathListSeparator) + path
			}
			t.Setenv("PATH", path)
			if _, err := exec.LookPath(tt.program); err != nil {
				t.Skipf("%s is not installed", tt.program)
			}
			s := newSeat(t)
			s.trusts()
			s.conf.Settings.Formatters = config.Formatters{Enabled: true, TimeoutMs: 60_000}
			s.put(tt.configured, tt.setting)
			s.call("Write", map[string]any{"file_path": tt.file, "content": tt.text})
			if got := s.step(); !strings.Contains(got, tt.program+" formatted "+tt.file) || s.content(tt.file) != tt.want {
				t.Errorf("%q in the file, and %q", s.content(tt.file), got)
			}
			s.call("Write", map[string]any{"file_path": tt.file, "content": "( broken {"})
			// clang-format takes any text
			if got := s.step(); tt.program != "clang-format" && (strings.Contains(got, "formatted") ||
				s.content(tt.file) != "( broken {") {
				t.Errorf("a broken file: %q, %q", s.content(tt.file), got)
			}
		})
	}
}
