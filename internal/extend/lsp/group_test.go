package lsp

import (
	"path/filepath"
	"slices"
	"testing"
)

func TestOfSeveralServersForAFileOneOfEachGroupIsUsed(t *testing.T) {
	var list []*server
	for _, d := range []Definition{
		{Name: "types", Group: "check"},
		{Name: "lint"},
		{Name: "other types", Group: "check"},
		{Name: "more lint"},
	} {
		list = append(list, &server{def: &d})
	}
	var got []string
	for _, s := range primary(list) {
		got = append(got, s.name())
	}
	if want := []string{"types", "lint", "more lint"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestARootHasOneServerOfADefinition(t *testing.T) {
	p := New(Options{Settings: func() Settings { return Settings{} }})
	defer p.Close()
	d, dir := &Definition{Name: "fake"}, t.TempDir()
	first := p.server(d, dir, []string{"fake"})
	same := *d // the settings were read again
	if p.server(&same, dir, []string{"fake"}) != first {
		t.Error("the same root has a second server")
	}
	if p.server(d, filepath.Join(dir, "sub"), []string{"fake"}) == first {
		t.Error("another root has the same server")
	}
	if p.server(d, dir, []string{"other"}) == first {
		t.Error("another program, and the server is the old one")
	}
}
