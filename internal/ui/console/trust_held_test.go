package console

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/config"
)

func TestTheQuestionOfTrustHasARowForEachObject(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, ".claude", "settings.json")
	held := func(state config.HeldState, path, text, was string) config.HeldValue {
		v := config.HeldValue{State: state, Value: config.Value{
			Path: path, JSON: json.RawMessage(text),
			Origin: config.Origin{File: file},
		}}
		if was != "" {
			v.Was = json.RawMessage(was)
		}
		return v
	}
	values := []config.HeldValue{
		held(config.New, "hooks.Stop[0].matcher", `"x"`, ""),
		held(config.New, "hooks.Stop[0].hooks[0].type", `"command"`, ""),
		held(config.New, "hooks.Stop[0].hooks[0].command", `"a"`, ""),
		held(config.New, "hooks.Stop[0].hooks[1].command", `"b"`, ""),
		held(config.New, "hooks.Stop[1].hooks[0].command", `"c"`, ""),
		held(config.New, "env.A", `"1"`, ""),
		held(config.New, "env.B", `"2"`, ""),
		held(config.New, "env.C \"3\", D", `"4"`, ""), // a name that imitates other values
		held(config.New, "apiKeyHelper", `"x\u001b[2J"`, ""),
		held(config.New, "env.\x1b[2J", `"5"`, ""),
	}
	want := []string{
		"", "In " + filepath.Join(".claude", "settings.json") + ":",
		`  hooks.Stop[0]: matcher "x", hooks[0]: type "command", command "a", hooks[1]: command "b"`,
		`  hooks.Stop[1]: hooks[0]: command "c"`,
		`  env: A "1", B "2"`,
		`  env.C "3", D: "4"`,
		`  apiKeyHelper: "x\u001b[2J"`,
	}
	got := strings.Split(describeHeld(values, root, false), "\n")
	for i, line := range want {
		if i >= len(got) || got[i] != line {
			t.Fatalf("line %d of %q, want %q", i, got, line)
		}
	}
	if last := got[len(got)-1]; strings.Contains(last, "\x1b") || !strings.HasSuffix(last, `: "5"`) {
		t.Errorf("a name with an escape sequence: %q", last)
	}

	again := describeHeld([]config.HeldValue{
		held(config.Unchanged, "env.A", `"1"`, ""),
		held(config.Unchanged, "env.B", `"2"`, ""),
		held(config.New, "env.C", `"3"`, ""),
		held(config.Changed, "env.D", `"4"`, `"old"`),
		held(config.Changed, "env.E", `"5"`, `"older"`),
		held(config.Removed, "env.F", `"6"`, ""),
	}, root, true)
	for _, line := range []string{
		`  unchanged: env: A "1", B "2"`, `  new: env: C "3"`, `  changed: env: D "4", was "old"`,
		`  changed: env: E "5", was "older"`, `  removed: env: F "6"`,
	} {
		if !strings.Contains(again+"\n", "\n"+line+"\n") {
			t.Errorf("no row %q in %s", line, again)
		}
	}
	if outside := describeHeld(values[:1], filepath.Join(root, "sub"), false); !strings.Contains(outside, "In "+file+":") {
		t.Errorf("a file outside the folder: %s", outside)
	}
}
