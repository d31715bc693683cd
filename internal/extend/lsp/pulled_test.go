package lsp

import (
	"fmt"
	"strings"
	"testing"
)

func TestAnAnswerAboutAnOlderTextDoesNotReplaceANewerOne(t *testing.T) {
	s := &server{def: &Definition{Name: "fake"}}
	r := newRun(s)
	const path = "/x/a.go"
	answer := func(message string) report {
		return report{Kind: "full", Items: []wireDiagnostic{{Message: message, Severity: Error}}}
	}
	r.pulled(path, 2, answer("new"))
	r.pulled(path, 1, answer("old")) // two questions at once, answered in the other order
	if f := r.diags[path]; f == nil || len(f.pulled) != 1 || f.pulled[0].Message != "new" || f.pulledVersion != 2 {
		t.Errorf("%+v", r.diags[path])
	}
	r.pulled(path, 3, report{Kind: "unchanged"})
	if f := r.diags[path]; len(f.pulled) != 1 || f.pulledVersion != 3 {
		t.Errorf("unchanged: %+v", f)
	}
}

func TestADocumentThatIsClosedIsNotAskedAbout(t *testing.T) {
	r := newRun(&server{def: &Definition{Name: "fake"}}) // it has no connection that could be asked
	if err := r.pull(t.Context(), "/x/a.go", diagnosticOptions{}); err != nil {
		t.Error(err)
	}
}

func TestReportsOfWorkAreKeptUpToABound(t *testing.T) {
	r := newRun(&server{def: &Definition{Name: "fake"}})
	for n := range 300 {
		r.progressed(fmt.Appendf(nil, `{"token":%d,"value":{"kind":"begin","title":"Indexing","message":"%d"}}`, n, n))
	}
	if text, busy := r.working(); len(r.progress) != 100 || !busy || !strings.HasPrefix(text, "Indexing ") {
		t.Errorf("%d reports, %q, %v", len(r.progress), text, busy)
	}
	for n := range 300 {
		r.progressed(fmt.Appendf(nil, `{"token":%d,"value":{"kind":"end"}}`, n))
	}
	if text, busy := r.working(); len(r.progress) > 0 || busy {
		t.Errorf("ended, and yet %q", text)
	}
}
