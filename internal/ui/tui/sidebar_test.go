package tui

import (
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
)

func TestTheSidebarShowsLanguageServersWithTheirDiagnostics(t *testing.T) {
	m := goldenModel(t, 120)
	m.state.Servers = []event.LanguageServer{
		{Name: "gopls", State: "ready", Memory: 120 << 20, Errors: 2, Warnings: 1},
		{Name: "clangd\x1b[2J", State: "given up"},
	}
	got := strings.Join(m.sidebar(60, 60), "\n")
	for _, want := range []string{"Language servers", "gopls ready, 120 MB, 2 errors, 1 warning", "given up"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	if strings.Contains(got, "\x1b[2J") {
		t.Error("a sequence of a server's name reaches the terminal")
	}
	m.state.Servers = nil
	if got := strings.Join(m.sidebar(60, 60), "\n"); strings.Contains(got, "Language servers") {
		t.Error("a heading without servers")
	}
}
