package lsp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/extend/lsp"
)

// reported is a file of a server that reports what the text says, and the session's view of it, when the server has
// read the file.
func reported(t *testing.T, mode string, more ...option) (*lsp.Pool, *lsp.Seat, lsp.File) {
	t.Helper()
	p, f := misbehaving(t, mode, more...)
	seat := p.Seat(func(path string) string { return filepath.Base(path) })
	write(t, filepath.Join(f.Root, "b.fk"), "fine\n")
	if got := seat.Edited(t.Context(), []lsp.File{f}); got != "" {
		t.Fatalf("a file without errors: %s", got)
	}
	return p, seat, f
}

// edit writes a text and returns what is reported on it.
func edit(t *testing.T, seat *lsp.Seat, f lsp.File, text string) string {
	t.Helper()
	write(t, f.Path, text)
	return seat.Edited(t.Context(), []lsp.File{f})
}

func warnings(_ *lsp.Options, s *lsp.Settings) { s.Warnings = true }

func TestNewErrorsComeFirstAtMostTenAreShownAndTheRestIsCounted(t *testing.T) {
	_, seat, f := reported(t, "reports", warnings)
	var text strings.Builder
	for i := range 4 {
		fmt.Fprintf(&text, "warning w%d\n", i)
	}
	for i := range 8 {
		fmt.Fprintf(&text, "error e%d\n", i)
	}
	got := edit(t, seat, f, text.String())
	lines := strings.Split(got, "\n")
	if len(lines) != 12 || lines[0] != "New diagnostics:" || lines[11] != "[2 more]" {
		t.Fatalf("%d lines:\n%s", len(lines), got)
	}
	for i, line := range lines[1:11] {
		if want := fmt.Sprintf("a.fk:%d:1 error: e%d", i+5, i); i < 8 && line != want {
			t.Errorf("line %d is %q, want %q", i, line, want)
		} else if i >= 8 && !strings.Contains(line, "warning") {
			t.Errorf("line %d is %q", i, line)
		}
	}
}

func TestWarningsAreShownBySettingOnly(t *testing.T) {
	_, seat, f := reported(t, "reports")
	if got := edit(t, seat, f, "warning w\n"); got != "" {
		t.Errorf("%s", got)
	}
}

func TestDiagnosticsOfFilesThatDependOnTheEditedOneFollowItsOwn(t *testing.T) {
	_, seat, f := reported(t, "reports")
	got := edit(t, seat, f, "breaks b.fk\nerror own\n")
	if want := "New diagnostics:\na.fk:2:1 error: own\nb.fk:1:1 error: broken by another file"; got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if got := edit(t, seat, f, "breaks b.fk\nerror own\nmore\n"); got != "" {
		t.Errorf("what was there before is repeated: %s", got)
	}
	if got := edit(t, seat, f, "error own\nerror new\nbreaks b.fk\n"); got != "New diagnostics:\na.fk:2:1 error: new" {
		t.Errorf("only one error is new, and the others have moved: %s", got)
	}
}

// late asks the server something, upon which it sends the reports that it held back, until something new is reported or
// it has sent all.
func late(t *testing.T, p *lsp.Pool, seat *lsp.Seat, f lsp.File, count int) (got string) {
	t.Helper()
	if _, err := p.Ask(t.Context(), lsp.Query{Operation: lsp.Hover, File: f, Line: 1, Column: 1}); err != nil {
		t.Fatal(err)
	}
	if !await.Until(func() bool { got += seat.Late(); return len(p.All(f.Root)) == count }) {
		t.Fatalf("the server's reports do not arrive: %v", p.All(f.Root))
	}
	return got + seat.Late()
}

func lateServer(_ *lsp.Options, s *lsp.Settings) { s.WaitMs = 50 }

func TestLateDiagnosticsComeOnceWithTheNextResult(t *testing.T) {
	p, seat, f := reported(t, "reports late", lateServer)
	late(t, p, seat, f, 0)
	if got := edit(t, seat, f, "error slow\n"); got != "" {
		t.Fatalf("reported before the server knew: %s", got)
	}
	if got := late(t, p, seat, f, 1); got != "New diagnostics:\na.fk:1:1 error: slow" {
		t.Errorf("late: %q", got)
	}
	if got := seat.Late() + edit(t, seat, f, "error slow\nmore\n"); got != "" {
		t.Errorf("repeated: %s", got)
	}
}

func TestADiagnosticOfAnOlderTextIsNeverReported(t *testing.T) {
	p, seat, f := reported(t, "reports late", lateServer)
	late(t, p, seat, f, 0)
	if got := edit(t, seat, f, "error old\n") + edit(t, seat, f, "fine again\n") +
		edit(t, seat, f, "fine again\nerror new\n"); got != "" {
		t.Fatalf("reported before the server knew: %s", got)
	}
	// it sends all three reports, in order
	if got := late(t, p, seat, f, 1); got != "New diagnostics:\na.fk:2:1 error: new" {
		t.Errorf("late: %q", got)
	}
}

func TestAFileThatIsRemovedHasNoDiagnostics(t *testing.T) {
	p, seat, f := reported(t, "reports")
	if got := edit(t, seat, f, "error x\n"); got == "" {
		t.Fatal("nothing is reported")
	}
	if err := os.Remove(f.Path); err != nil {
		t.Fatal(err)
	}
	if got := seat.Edited(t.Context(), []lsp.File{f}); got != "" {
		t.Errorf("stale: %s", got)
	}
	if got := p.All(f.Root); len(got) > 0 {
		t.Errorf("stale: %v", got)
	}
}

func TestAServerThatWaitsForAQuestionIsAskedForDiagnostics(t *testing.T) {
	p, f := misbehaving(t, "is asked")
	seat := p.Seat(func(path string) string { return filepath.Base(path) })
	if got := seat.Edited(t.Context(), []lsp.File{f}); got != "New diagnostics:\na.fk:1:5 error: asked for" {
		t.Errorf("%q", got)
	}
	if got := edit(t, seat, f, "one two three\n"); got != "" {
		t.Errorf("repeated: %s", got)
	}
}

func TestErrorsOfAnEditBeforeTheServerHasStartedComeWithALaterResult(t *testing.T) {
	p, f := misbehaving(t, "reports", func(_ *lsp.Options, s *lsp.Settings) { s.WaitMs = 0 })
	seat := p.Seat(func(path string) string { return filepath.Base(path) })
	got := edit(t, seat, f, "error early\n")
	if !await.Until(func() bool { return len(p.All(f.Root)) == 1 }) {
		t.Fatalf("the server's reports do not arrive: %v", p.All(f.Root))
	}
	if got += seat.Late(); got != "New diagnostics:\na.fk:1:1 error: early" {
		t.Errorf("%q", got)
	}
	if got := seat.Late(); got != "" {
		t.Errorf("repeated: %s", got)
	}
}
