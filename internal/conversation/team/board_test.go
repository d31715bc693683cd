package team_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/gofrs/flock"

	"github.com/lathe-dev/lathe/internal/conversation/team"
)

func newBoard(t *testing.T) (team.Boards, *team.Board) {
	t.Helper()
	all := team.Boards(t.TempDir())
	b, err := all.New(team.State{ID: "one", Goal: "all of it"})
	if err != nil {
		t.Fatal(err)
	}
	return all, b
}

// Boards that several hands hold change one after the other: no task and no message is lost.
func TestAllChangesOfABoardCount(t *testing.T) {
	all, _ := newBoard(t)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			b, _, err := all.Find("on") // as another process does
			if err == nil {
				_, err = b.Create(team.Task{Title: fmt.Sprint(i), Prompt: "do"})
			}
			if err == nil {
				err = b.Send(team.Message{From: fmt.Sprint(i), To: team.Coordinator, Text: "made"})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	b, s, err := all.Find("")
	if err != nil || len(s.Tasks) != 20 || len(s.Messages) != 20 {
		t.Fatalf("%d tasks, %d messages: %v", len(s.Tasks), len(s.Messages), err)
	}
	for i, task := range s.Tasks {
		if task.ID != i+1 || task.Status != team.Pending {
			t.Errorf("%+v", task)
		}
	}
	for _, want := range []int{20, 0} { // each message is read once
		if got, err := b.Take(team.Coordinator); err != nil || len(got) != want {
			t.Errorf("%d messages: %v", len(got), err)
		}
	}
}

// A task is ready when all that it comes after are done, and it can come after tasks that are there only.
// A process that was stopped in the middle of a change holds nobody for good.
func TestAChangeWaitsForAnotherProcessOnlyForAWhile(t *testing.T) {
	dir := t.TempDir()
	b, err := team.Boards(dir).New(team.State{ID: "one", Goal: "all of it"})
	if err == nil {
		_, err = b.Create(team.Task{Title: "x", Prompt: "do"})
	}
	locks, _ := filepath.Glob(filepath.Join(dir, "*.lock"))
	if err != nil || len(locks) != 1 {
		t.Fatalf("%v %v", err, locks)
	}
	other := flock.New(locks[0])
	if ok, err := other.TryLock(); !ok || err != nil {
		t.Fatalf("%v %v", ok, err)
	}
	defer other.Close()
	synctest.Test(t, func(t *testing.T) {
		if _, err := b.Create(team.Task{Title: "y", Prompt: "do"}); err == nil || !strings.Contains(err.Error(),
			"end it, and try again") {
			t.Errorf("%v", err)
		}
	})
}

func TestATaskWaitsForThoseItComesAfter(t *testing.T) {
	_, b := newBoard(t)
	for _, after := range [][]int{nil, nil, {1, 2}} {
		if _, err := b.Create(team.Task{Title: "t", Prompt: "p", After: after}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Create(team.Task{Title: "t", Prompt: "p", After: []int{4}}); err == nil ||
		!strings.Contains(err.Error(), "there is no task 4") {
		t.Errorf("%v", err)
	}
	for _, c := range []struct {
		id     int
		status team.Status
		want   []int
	}{
		{1, team.Done, []int{2}},
		{2, team.Failed, nil},
		{2, team.Pending, []int{2}},
		{2, team.Working, nil},
		{2, team.Done, []int{3}},
		{3, team.Done, nil},
	} {
		s, err := b.Update(c.id, func(task *team.Task) error { task.Status = c.status; return nil })
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, task := range s.Ready() {
			got = append(got, task.ID)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("task %d is %s: ready are %v, want %v", c.id, c.status, got, c.want)
		}
	}
}

// A change that fails leaves the board as it was.
func TestAFailedChangeLeavesTheBoard(t *testing.T) {
	_, b := newBoard(t)
	if _, err := b.Change(func(s *team.State) error { s.Goal = "another"; return fmt.Errorf("no") }); err == nil {
		t.Fatal("no error")
	}
	if s, err := b.State(); err != nil || s.Goal != "all of it" {
		t.Errorf("%+v %v", s, err)
	}
}

// The tools are there for agents of the team only; a worker makes no tasks and changes no other's.
func TestOnlyTheTeamHasItsTools(t *testing.T) {
	_, b := newBoard(t)
	r := &team.Runner{Board: b}
	for owner, want := range map[string]int{
		"": 0, "Explore/toolu_1": 0, "worker/team-worker-1": 4,
		"coordinator/team-coordinator": 4, "worker/team-worker-1\nExplore/toolu_1": 4,
	} {
		if got := len(r.Tools(owner)); got != want {
			t.Errorf("%q has %d tools", owner, got)
		}
	}
}
