package lsp

import "testing"

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
