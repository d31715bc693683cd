package rank_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/base/rank"
)

func ids(hits []rank.Hit) []string {
	var out []string
	for _, h := range hits {
		out = append(out, h.ID)
	}
	return out
}

func TestSearchPutsTheBestFirst(t *testing.T) {
	ix := rank.New([]rank.Document{
		{ID: "deploy", Title: "deploy", Text: "How releases are deployed to staging and production"},
		{ID: "database", Title: "database", Text: "The staging database is read-only; migrations run from CI"},
		{ID: "style", Title: "code style", Text: "Tabs, not spaces. Errors are wrapped. Errors name the file."},
		{ID: "long", Title: "notes", Text: strings.Repeat("many words about nothing in particular ", 100) + "database"},
		{ID: "issues", Title: "github_create_issue", Text: "Create an issue in a repository"},
	})
	for query, want := range map[string][]string{
		"run a migration on the database": {"database", "long"},
		"deploying a release":             {"deploy"},
		"wrap error":                      {"style"},
		"createIssue":                     {"issues"},
		"creating issues":                 {"issues"},
		"staging":                         {"deploy", "database"},
		"the and of":                      nil,
		"":                                nil,
		"zebra":                           nil,
		"DATABASE":                        {"database", "long"},
		"github":                          {"issues"},
	} {
		if diff := cmp.Diff(want, ids(ix.Search(query, 0))); diff != "" {
			t.Errorf("%q: %s", query, diff)
		}
	}
	if got := ids(ix.Search("database staging deploy", 1)); len(got) != 1 {
		t.Errorf("limit 1: %v", got)
	}
}

func TestWordsAreComparedWithoutEndings(t *testing.T) {
	for _, same := range [][]string{
		{"run", "runs", "running"},
		{"deploy", "deploys", "deployed", "deploying"},
		{"query", "queries"},
		{"release", "releases", "releasing", "released"},
		{"class", "classes"},
		{"file", "files"},
		{"test", "tests", "tested", "testing"},
	} {
		for _, w := range same {
			if diff := cmp.Diff(rank.Words(same[0]), rank.Words(w)); diff != "" {
				t.Errorf("%s and %s differ: %s", same[0], w, diff)
			}
		}
	}
	for _, c := range []struct {
		text string
		want []string
	}{
		{"readFile", []string{"readfil", "read", "fil"}},
		{"HTTPServer2", []string{"httpserver2", "http", "server", "2"}},
		{"数据库", []string{"数据", "据库"}},
		{"is", nil},
		{"css", []string{"css"}},
		{"Größe", []string{"größ"}},
	} {
		if diff := cmp.Diff(c.want, rank.Words(c.text)); diff != "" {
			t.Errorf("%s: %s", c.text, diff)
		}
	}
}

func BenchmarkThousandTools(b *testing.B) {
	var docs []rank.Document
	for i := range 1000 {
		docs = append(docs, rank.Document{
			ID: fmt.Sprint(i), Title: fmt.Sprintf("mcp__server%d__do_thing_%d", i%20, i),
			Text: strings.Repeat(fmt.Sprintf("does thing %d with object %d and returns it ", i, i%7), 4),
		})
	}
	b.Run("index", func(b *testing.B) {
		for b.Loop() {
			rank.New(docs)
		}
	})
	ix := rank.New(docs)
	b.Run("search", func(b *testing.B) {
		for b.Loop() {
			ix.Search("find the object with a thing", 10)
		}
	})
}
