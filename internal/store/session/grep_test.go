package session_test

import (
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
)

func TestGrepFindsWhatWasSaidInAllSessions(t *testing.T) {
	store := session.NewStore(t.TempDir())
	for _, text := range []string{"Mend the \"Parser\"", "Write the docs", "the parser again\nand again"} {
		s, err := store.Create(t.Context(), session.Meta{Dir: "/parser", Model: "parser"})
		if err != nil {
			t.Fatal(err)
		}
		m := llm.UserText(text)
		m.Parts = append(m.Parts, llm.Text{Text: "parser docs", Origin: llm.OriginContext})
		if err := s.AddUser(t.Context(), m, false, false); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for query, want := range map[string]int{"PARSER": 2, `the "parser"`: 1, "again\nand": 1, "docs": 1, "nothing": 0} {
		got := store.Grep(t.Context(), "", query)
		if len(got) != want {
			t.Errorf("%q: %+v", query, got)
		}
		for _, h := range got {
			if h.Count != 1 || h.Hits[0].Kind != "user" || strings.Contains(h.Hits[0].Text, "\n") {
				t.Errorf("%q: %+v", query, h)
			}
		}
	}
}
