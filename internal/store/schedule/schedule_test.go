package schedule_test

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/store/schedule"
)

func store(t *testing.T) *schedule.Store {
	t.Helper()
	return schedule.At(filepath.Join(t.TempDir(), "session", schedule.FileName))
}

func add(t *testing.T, s *schedule.Store, x schedule.Schedule) schedule.Schedule {
	t.Helper()
	x, err := s.Add(x)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestRulesAreThoseOfCron(t *testing.T) {
	at := time.Date(2026, time.November, 28, 11, 14, 30, 0, time.Local) // a Saturday
	for rule, want := range map[string]string{
		"*/5 * * * *":   "2026-11-28 11:15",
		"30 9 * * 1-5":  "2026-11-30 09:30",
		"0 9 * * 7":     "2026-11-29 09:00",
		"0 9 * * 6-7":   "2026-11-29 09:00",
		"0 0 1 * sun":   "2026-11-29 00:00", // one of the two days is enough
		"0 12 29 2 *":   "2028-02-29 12:00",
		"@daily":        "2026-11-29 00:00",
		"  @every 90m ": "2026-11-28 12:44",
	} {
		r, err := schedule.Parse(rule)
		if err != nil {
			t.Errorf("%s: %v", rule, err)
			continue
		}
		if got := r.Next(at).Format("2006-01-02 15:04"); got != want {
			t.Errorf("%s: %s, want %s", rule, got, want)
		}
	}
	for _, rule := range []string{"", "* * * *", "61 * * * *", "0 0 30 2 *", "TZ=UTC * * * * *", "TZ=0", "@every 10s", "x"} {
		if _, err := schedule.Parse(rule); err == nil {
			t.Errorf("%q is taken", rule)
		}
	}
}

func TestMissedTimesAreOneRun(t *testing.T) {
	s := store(t)
	add(t, s, schedule.Schedule{Cron: "*/10 * * * *", Prompt: "look"})
	later := time.Now().Add(5 * time.Hour)
	due, err := s.Due(later)
	if err != nil || len(due) != 1 {
		t.Fatalf("%v %v", due, err)
	}
	if err := s.Ran(due[0], later); err != nil {
		t.Fatal(err)
	}
	if due, err = s.Due(later); err != nil || len(due) != 0 {
		t.Errorf("it is due again: %v %v", due, err)
	}
	all, err := schedule.At(s.Path()).List() // as another process sees it
	if err != nil || len(all) != 1 || !all[0].Due.After(later) || all[0].Due.Sub(later) > 15*time.Minute {
		t.Errorf("%+v %v", all, err)
	}
}

func TestARuleIsLateByTheSameAmountEachTime(t *testing.T) {
	s := store(t)
	rule, err := schedule.Parse("0 * * * *")
	if err != nil {
		t.Fatal(err)
	}
	late := map[time.Duration]bool{}
	for range 8 {
		x := add(t, s, schedule.Schedule{Cron: "0 * * * *", Prompt: "look"})
		by := x.Due.Sub(rule.Next(x.Created))
		for range 3 {
			due, err := s.Due(x.Due)
			if err != nil {
				t.Fatal(err)
			}
			i := 0
			for due[i].ID != x.ID {
				i++
			}
			if err := s.Ran(due[i], due[i].Due); err != nil {
				t.Fatal(err)
			}
			now, err := s.Change(x.ID, func(*schedule.Schedule) bool { return true })
			if err != nil {
				t.Fatal(err)
			}
			if got := now.Due.Sub(rule.Next(x.Due)); got != by || got < 0 || got > 30*time.Minute {
				t.Errorf("%s is late by %v, then by %v", x.ID, by, got)
			}
			x = now
		}
		late[by] = true
	}
	if len(late) < 3 {
		t.Errorf("all are late by the same: %v", late)
	}
}

func TestSchedulesEnd(t *testing.T) {
	s, now := store(t), time.Now()
	add(t, s, schedule.Schedule{Due: now, Prompt: "once"})
	add(t, s, schedule.Schedule{Cron: "@every 1h", Once: true, Prompt: "first time only"})
	add(t, s, schedule.Schedule{Cron: "@every 1h", Expires: now.Add(90 * time.Minute), Prompt: "expires"})
	paced := add(t, s, schedule.Schedule{Paced: true, Planned: true, Due: now, Prompt: "paced"})
	now = now.Add(61 * time.Minute)
	due, err := s.Due(now)
	if err != nil || len(due) != 4 {
		t.Fatalf("%v %v", due, err)
	}
	for _, x := range due {
		if err := s.Ran(x, now); err != nil {
			t.Fatal(err)
		}
	}
	all, err := s.List()
	if err != nil || len(all) != 1 || all[0].ID != paced.ID || all[0].Planned {
		t.Errorf("%+v %v", all, err)
	}
}

func TestOneThatWasChangedMeanwhileStays(t *testing.T) {
	s := store(t)
	x := add(t, s, schedule.Schedule{Due: time.Now(), Prompt: "a"})
	later := func(x *schedule.Schedule) bool { x.Due = x.Due.Add(time.Hour); return true }
	if _, err := s.Change(x.ID, later); err != nil {
		t.Fatal(err)
	}
	if err := s.Ran(x, time.Now()); err != nil {
		t.Fatal(err)
	}
	if all, err := s.List(); err != nil || len(all) != 1 {
		t.Errorf("%v %v", all, err)
	}
	if _, err := s.Remove(x.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Remove(x.ID); !errors.Is(err, schedule.ErrNone) {
		t.Error(err)
	}
	if err := s.Ran(x, time.Now()); err != nil {
		t.Errorf("one that was removed: %v", err)
	}
}

func TestAFileHoldsFifty(t *testing.T) {
	s := store(t)
	var wg sync.WaitGroup
	errs := make(chan error, schedule.Most+10)
	for range schedule.Most + 10 {
		wg.Go(func() {
			_, err := schedule.At(s.Path()).Add(schedule.Schedule{Cron: "@hourly", Prompt: "look"})
			errs <- err
		})
	}
	wg.Wait()
	full := 0
	for range schedule.Most + 10 {
		if err := <-errs; errors.Is(err, schedule.ErrFull) {
			full++
		} else if err != nil {
			t.Error(err)
		}
	}
	if all, err := s.List(); err != nil || len(all) != schedule.Most || full != 10 {
		t.Errorf("%d schedules, %d refused: %v", len(all), full, err)
	}
	if _, err := s.Add(schedule.Schedule{Cron: "never", Prompt: "x"}); err == nil || !strings.Contains(err.Error(), "cron") {
		t.Error(err)
	}
}
