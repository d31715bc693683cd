package session_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
)

func childOf(t *testing.T, store *session.Store, parent, call string) *session.Session {
	t.Helper()
	s, err := store.Create(t.Context(), session.Meta{Dir: t.TempDir(), Parent: parent, Agent: "explore", Call: call})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AddUser(t.Context(), llm.UserText("look"), false, false); err != nil {
		t.Fatal(err)
	}
	return s
}

func ids(t *testing.T, seq func(func(session.Info, error) bool)) []string {
	t.Helper()
	var out []string
	for info, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, info.ID)
	}
	slices.Sort(out)
	return out
}

func TestSessionsOfSubagentsAreListedOnlyWhereTheyAreAskedFor(t *testing.T) {
	store := session.NewStore(t.TempDir())
	parent := keptSession(t, store, t.TempDir(), "go")
	child := childOf(t, store, parent, "toolu_1")
	grandchild := childOf(t, store, child.ID(), "toolu_2")
	if err := errors.Join(child.Close(), grandchild.Close()); err != nil {
		t.Fatal(err)
	}
	if got := ids(t, store.List("")); !slices.Equal(got, []string{parent}) {
		t.Errorf("listed: %v", got)
	}
	if got := ids(t, store.Children(parent)); !slices.Equal(got, []string{child.ID()}) {
		t.Errorf("children: %v", got)
	}
	if got := len(ids(t, store.Children(""))); got != 2 {
		t.Errorf("%d children in all", got)
	}
	info, err := store.Find("", child.ID()[:20])
	if err != nil || info.Parent != parent || info.Agent != "explore" || info.Call != "toolu_1" {
		t.Errorf("%+v %v", info, err)
	}
	again, err := store.Open(t.Context(), child.ID())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if len(again.Messages()) != 1 {
		t.Errorf("%+v", again.Messages())
	}
}

func TestSessionsOfSubagentsGoToTheTrashAndComeBackWithTheirParent(t *testing.T) {
	store := session.NewStore(t.TempDir())
	parent := keptSession(t, store, t.TempDir(), "go")
	other := keptSession(t, store, t.TempDir(), "else")
	child := childOf(t, store, parent, "toolu_1")
	grandchild := childOf(t, store, child.ID(), "toolu_2")
	if err := child.Close(); err != nil {
		t.Fatal(err)
	}
	var held *session.LockedError
	if err := store.Trash(parent); !errors.As(err, &held) {
		t.Errorf("a subagent still works: %v", err)
	}
	if got := ids(t, store.List("")); !slices.Contains(got, parent) {
		t.Error("the parent is gone and its child is not")
	}
	if err := errors.Join(grandchild.Close(), store.Trash(parent)); err != nil {
		t.Fatal(err)
	}
	if got := append(ids(t, store.List("")), ids(t, store.Children(""))...); !slices.Equal(got, []string{other}) {
		t.Errorf("left: %v", got)
	}
	if err := store.Restore(parent); err != nil {
		t.Fatal(err)
	}
	if got := len(ids(t, store.Children(""))); got != 2 {
		t.Errorf("%d children came back", got)
	}
	if err := store.Remove(parent); err != nil {
		t.Fatal(err)
	}
	if got := len(ids(t, store.Children(""))); got != 0 {
		t.Errorf("%d children are left", got)
	}
	if err := store.Restore(child.ID()); err != nil {
		t.Errorf("the child of a removed session is not in the trash: %v", err)
	}
}

func TestASubagentsSessionNeedsItsParent(t *testing.T) {
	store := session.NewStore(t.TempDir())
	if _, err := store.Create(t.Context(), session.Meta{
		Dir: t.TempDir(), Agent: "explore",
		Parent: "01900000-0000-7000-8000-00000000000b",
	}); err == nil {
		t.Error("no error")
	}
}

func TestTheCostOfSubagentsIncludesThoseBelowThem(t *testing.T) {
	store := session.NewStore(t.TempDir())
	parent := keptSession(t, store, t.TempDir(), "go")
	other := keptSession(t, store, t.TempDir(), "else")
	for _, of := range []string{parent, other} {
		child := childOf(t, store, of, "toolu_1")
		grandchild := childOf(t, store, child.ID(), "toolu_2")
		for s, usd := range map[*session.Session]float64{child: 1, grandchild: 0.5} {
			if err := errors.Join(s.EndTurn(t.Context(), session.TurnEnd{Reason: "completed", CostUSD: usd}),
				s.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if usd, err := store.CostOfChildren(parent); err != nil || usd != 1.5 {
		t.Errorf("%v %v", usd, err)
	}
}
