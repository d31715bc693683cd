//go:build linux || darwin

package cli_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/face/supervisor"
	"github.com/lathe-dev/lathe/internal/store/schedule"
)

// job waits until a job passes.
func (p *jobsPlace) job(id string, pass func(supervisor.Job) bool) (j supervisor.Job) {
	p.t.Helper()
	if !await.Until(func() bool {
		var err error
		j, err = p.Read(id)
		return err == nil && pass(j)
	}) {
		p.t.Fatalf("%+v\n%s", j, p.must("ps"))
	}
	return j
}

// dueNow sets back the time of a schedule.
func dueNow(t *testing.T, all *schedule.Store, id string) {
	t.Helper()
	past := time.Now().Add(-3 * time.Hour)
	if _, err := all.Change(id, func(x *schedule.Schedule) bool { x.Due = past; return true }); err != nil {
		t.Fatal(err)
	}
}

func TestASessionBeginsByCron(t *testing.T) {
	p := newJobsPlace(t)
	if out, err := p.run("schedule", "add", "every day", "say hello"); err == nil || !strings.Contains(out, "cron rule") {
		t.Errorf("%v %s", err, out)
	}
	out := p.must("schedule", "add", "--name=daily", "--permission-mode=plan", "@daily", "say", "hello")
	id, _, _ := strings.Cut(out, ":")
	if list := p.must("schedule", "list"); !strings.Contains(list, id) || !strings.Contains(list, "say hello") {
		t.Errorf("%s", list)
	}
	run := func() supervisor.Job {
		t.Helper()
		before := p.must("ps", "--json")
		dueNow(t, p.Schedules(), id)
		var jobs []supervisor.Job
		if !await.Until(func() bool {
			jobs = nil
			if err := json.Unmarshal([]byte(p.must("ps", "--json")), &jobs); err != nil {
				t.Fatal(err)
			}
			return len(jobs) > strings.Count(before, `"startedAt"`) && jobs[0].State == supervisor.Done
		}) {
			t.Fatalf("no session: %+v", jobs)
		}
		return jobs[0]
	}
	j := run()
	if j.Name != "daily" || j.Mode != "plan" || j.Prompt != "say hello" {
		t.Errorf("%+v", j)
	}
	all, err := p.Schedules().List()
	if err != nil || len(all) != 1 || !all[0].Due.After(time.Now()) || all[0].Session.Last != j.ID {
		t.Fatalf("%+v %v", all, err)
	}
	// The next supervisor starts what is due.
	c := p.client(t.Context())
	now, err := c.Jobs(t.Context())
	c.Close()
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(now.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := await.Exit(now.PID); err != nil {
		t.Fatal(err)
	}
	p.client(t.Context()).Close()
	run()
	p.must("schedule", "edit", id, "--cron", "0 4 * * *", "--prompt", "tidy up")
	var listed []struct{ ID, Cron, Prompt string }
	if err := json.Unmarshal([]byte(p.must("schedule", "list", "--json")), &listed); err != nil || len(listed) != 1 ||
		listed[0].Cron != "0 4 * * *" || listed[0].Prompt != "tidy up" {
		t.Errorf("%+v %v", listed, err)
	}
	p.must("schedule", "rm", id)
	if out := p.must("schedule", "list"); !strings.Contains(out, "nothing is scheduled") {
		t.Errorf("%s", out)
	}
	if out, err := p.run("schedule", "rm", id); err == nil || !strings.Contains(out, "there is no schedule") {
		t.Errorf("%v %s", err, out)
	}
}

// A session whose process has ended is woken when one of its schedules is due, unless the user stopped it.
func TestAScheduleWakesASession(t *testing.T) {
	p := newJobsPlace(t)
	id := p.must("--bg", "say hello")
	done := func(j supervisor.Job) bool { return j.State == supervisor.Done && j.Live() }
	j := p.job(id, done)
	all := schedule.At(filepath.Clean(j.Schedules))
	x, err := all.Add(schedule.Schedule{Cron: "@hourly", Prompt: "what is new"})
	if err != nil {
		t.Fatal(err)
	}
	if out := p.must("schedule", "list"); !strings.Contains(out, x.ID) || !strings.Contains(out, "what is new") {
		t.Errorf("%s", out)
	}
	if err := syscall.Kill(j.PID, syscall.SIGTERM); err != nil { // it ends as after an idle hour
		t.Fatal(err)
	}
	p.job(id, func(j supervisor.Job) bool { return !j.Live() })
	dueNow(t, all, x.ID)
	j = p.job(id, done)
	if !await.Until(func() bool { return strings.Contains(p.must("logs", id), "what is new") }) {
		t.Errorf("%s", p.must("logs", id))
	}
	p.must("stop", id)
	if j = p.job(id, func(j supervisor.Job) bool { return !j.Live() }); j.State != supervisor.Stopped {
		t.Errorf("%+v", j)
	}
	dueNow(t, all, x.ID)
	c := p.client(t.Context())
	defer c.Close()
	next, err := c.Schedule(t.Context(), supervisor.Scheduled{Environ: p.environ(), Schedule: schedule.Schedule{
		Prompt: "later", Due: time.Now().Add(time.Second), Session: &schedule.Session{CWD: p.dir},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if !await.Until(func() bool { // when this one has begun, the other would have, too
		left, err := p.Schedules().List()
		return err == nil && len(left) == 0
	}) {
		t.Fatalf("%s does not run", next.ID)
	}
	if j, err := p.Read(id); err != nil || j.Live() || j.State != supervisor.Stopped {
		t.Errorf("a schedule woke a session that was stopped: %+v %v", j, err)
	}
}

// A run is left out while the session of the one before still works.
func TestRunsDoNotPileUp(t *testing.T) {
	p := newJobsPlace(t)
	out := p.must("schedule", "add", "@daily", "ask me")
	id, _, _ := strings.Cut(out, ":")
	dueNow(t, p.Schedules(), id)
	last := func() (x schedule.Schedule) {
		t.Helper()
		if !await.Until(func() bool {
			all, err := p.Schedules().List()
			if err != nil || len(all) != 1 {
				t.Fatalf("%+v %v", all, err)
			}
			x = all[0]
			return x.Due.After(time.Now())
		}) {
			t.Fatalf("%+v", x)
		}
		return x
	}
	first := last().Session.Last
	p.job(first, func(j supervisor.Job) bool { return j.State == supervisor.Blocked })
	dueNow(t, p.Schedules(), id)
	if now := last().Session.Last; now != first {
		t.Errorf("the job %s began beside %s", now, first)
	}
	if jobs, err := p.List(); err != nil || len(jobs) != 1 {
		t.Errorf("%+v %v", jobs, err)
	}
}
