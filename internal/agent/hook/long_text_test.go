package hook_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent/hook"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/store/journal"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// openKept makes the hooks of a session that is kept.
func openKept(t *testing.T, m *hook.Machine) *hook.Hooks {
	t.Helper()
	log, err := session.NewStore(t.TempDir()).Create(t.Context(), session.Meta{Dir: m.Root})
	if err != nil {
		t.Fatal(err)
	}
	bus := event.NewBus()
	t.Cleanup(func() { bus.Close(); _ = log.Close() })
	h, err := m.New(hook.Session{
		Journal: journal.New(log, bus, nil), Dir: func() string { return m.Root },
		Mode:   func() permission.Mode { return permission.Plan },
		Effort: func() llm.Effort { return "" }, Model: func() llm.ModelInfo { return llm.ModelInfo{} }, Life: t.Context(),
		Interactive: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestALongTextOfAHookIsKeptInAFile(t *testing.T) {
	long := strings.Repeat("0123456789", 2000) + "the end"
	printed, err := json.Marshal(map[string]any{"hookSpecificOutput": map[string]any{"additionalContext": long}})
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{
		"JSON":            "#!/bin/sh\ncat <<'E'\n" + string(printed) + "\nE\n",
		"text":            "#!/bin/sh\ncat <<'E'\n" + long + "\nE\n",
		"error of a veto": "#!/bin/sh\ncat >&2 <<'E'\n" + long + "\nE\nexit 2\n",
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(t, `{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "./long.sh"}]}]}}`)
			put(t, filepath.Join(m.Root, "long.sh"), body)
			runs, err := openKept(t, m).Try(t.Context(), "UserPromptSubmit", map[string]any{"prompt": "hello"})
			if err != nil || len(runs) != 1 || runs[0].Err != nil {
				t.Fatalf("%v %+v", err, runs)
			}
			got := runs[0].Context()
			if word, why := runs[0].Verdict(); word != "" {
				got = why
			}
			if !strings.HasPrefix(got, long[:10_000]+"\n[cut: these are 10000 of 20007 bytes of the hook's text; all of it "+
				"is in ") {
				t.Fatalf("got %d bytes, which end with %q", len(got), got[max(0, len(got)-200):])
			}
			_, path, _ := strings.Cut(got, "all of it is in ")
			if kept, err := os.ReadFile(strings.TrimSuffix(path, "]")); err != nil || string(kept) != long {
				t.Errorf("%v, %d bytes were kept", err, len(kept))
			}
		})
	}
}
