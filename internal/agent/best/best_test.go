package best_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/agent/best"
	"github.com/lathe-dev/lathe/internal/agent/subagent"
)

// agents is what a contest starts; no call of Then means that nothing was changed.
type agents func(context.Context, subagent.Request) (subagent.Outcome, error)

func (f agents) Run(ctx context.Context, r subagent.Request) (subagent.Outcome, error) {
	return f(ctx, r)
}

func TestAContestIsOnDiskBeforeItsFirstAgentAndAfterEachAttempt(t *testing.T) {
	store := best.Store{Dir: filepath.Join(t.TempDir(), "contests")}
	c := &best.Contest{ID: "c1", Prompt: "do it", Attempts: []best.Attempt{{N: 1, Model: "haiku", Effort: "low"}, {N: 2}}}
	reported := 0
	r := &best.Runner{
		Store: store, Kind: func() subagent.Kind { return subagent.Kind{Name: "attempt"} },
		Report: func(best.Attempt) { reported++ },
		Agents: agents(func(_ context.Context, req subagent.Request) (subagent.Outcome, error) {
			if found, err := store.Find(""); err != nil || found.ID != "c1" {
				t.Errorf("%+v %v", found, err)
			}
			if req.Prompt != "do it" || req.As == nil || (req.Title == "Attempt 1") != (req.As.Model == "haiku" &&
				req.As.Effort == "low") {
				t.Errorf("%+v", req)
			}
			if req.Title == "Attempt 2" {
				return subagent.Outcome{}, errors.New("no model of that name")
			}
			return subagent.Outcome{ID: "s1", Answer: "I changed nothing."}, nil
		}),
	}
	if err := r.Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	got, err := store.Find("c")
	if err != nil || reported != 2 || got.Winner != 0 || !got.Attempts[0].Done ||
		got.Attempts[0].Answer != "I changed nothing." || got.Attempts[1].Problem != "no model of that name" {
		t.Errorf("%+v %v, %d reports", got, err, reported)
	}
}

func TestAContestThatIsInterruptedKeepsItsAttempts(t *testing.T) {
	store := best.Store{Dir: t.TempDir()}
	ctx, cancel := context.WithCancel(t.Context())
	r := &best.Runner{
		Store: store, Kind: func() subagent.Kind { return subagent.Kind{} },
		Agents: agents(func(ctx context.Context, _ subagent.Request) (subagent.Outcome, error) {
			cancel()
			<-ctx.Done()
			return subagent.Outcome{ID: "s1", Answer: "Half.", Problem: "it was interrupted"}, nil
		}),
	}
	if err := r.Run(ctx, &best.Contest{ID: "c1", Attempts: []best.Attempt{{N: 1}}}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got, err := store.Find("c1"); err != nil || got.Attempts[0].Answer != "Half." || got.Attempts[0].Done ||
		got.Attempts[0].Session != "s1" {
		t.Errorf("%+v %v", got, err)
	}
}

func TestAttemptsAreFoundByNumberAndTheWinnerByNone(t *testing.T) {
	c := &best.Contest{ID: "c1", Attempts: []best.Attempt{{N: 1}, {N: 2}}}
	if _, err := c.Attempt(0); err == nil || !strings.Contains(err.Error(), "has no winner") {
		t.Error(err)
	}
	c.Winner = 2
	for n, want := range map[int]int{0: 2, 1: 1, 2: 2} {
		if a, err := c.Attempt(n); err != nil || a.N != want {
			t.Errorf("%d: %+v %v", n, a, err)
		}
	}
	for _, n := range []int{-1, 3} {
		if _, err := c.Attempt(n); err == nil || !strings.Contains(err.Error(), "they are 1 to 2") {
			t.Errorf("%d: %v", n, err)
		}
	}
}

func TestAContestIsFoundByItsBeginningAndRemovedWithItsPatches(t *testing.T) {
	store := best.Store{Dir: t.TempDir()}
	if _, err := store.Find(""); err == nil || !strings.Contains(err.Error(), "there are no contests") {
		t.Error(err)
	}
	patch := filepath.Join(store.Dir, "ab-1.patch")
	if err := os.WriteFile(patch, []byte("+x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, id := range []string{"aa", "ab"} {
		c := &best.Contest{ID: id, Created: at.Add(time.Duration(i) * time.Hour)}
		if id == "ab" {
			c.Attempts = []best.Attempt{{N: 1, Patch: patch}}
		}
		if err := store.Save(c); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[string]string{
		"": "ab", "aa": "aa", "a": "2 contests begin with",
		"x": "there is no contest",
	} {
		c, err := store.Find(id)
		if err == nil && c.ID != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v %v", id, c, err)
		}
	}
	c, err := store.Find("ab")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := best.ReadPatch(&c.Attempts[0]); err != nil || string(text) != "+x\n" {
		t.Errorf("%q %v", text, err)
	}
	if err := errors.Join(store.Remove(c), store.Remove(c)); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(store.Dir); err != nil || len(left) != 1 {
		t.Errorf("%v %v", left, err)
	}
}
