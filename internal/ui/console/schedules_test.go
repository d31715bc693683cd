package console

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/store/schedule"
)

func (s *seat) schedules() *schedule.Store { return s.session().Env().Schedules }

// planned waits until the schedules pass.
func (s *seat) planned(pass func([]schedule.Schedule) bool) (all []schedule.Schedule) {
	s.t.Helper()
	if !await.Until(func() bool {
		var err error
		if all, err = s.schedules().List(); err != nil {
			s.t.Fatal(err)
		}
		return pass(all)
	}) {
		s.t.Fatalf("the schedules are %+v", all)
	}
	return all
}

func begins(text string) func(event.TurnStart) bool {
	return func(b event.TurnStart) bool { return strings.HasPrefix(b.Prompt.PlainText(), text) }
}

func TestALoopRunsNowAndAgain(t *testing.T) {
	s := newPlace(t, talk3()).open(t, nil)
	if out := s.command("loop", "5m look around"); !strings.Contains(out.Text, "every 5m") {
		t.Errorf("%+v", out)
	}
	if u := until[event.UserMessage](s, nil); u.Message.PlainText() != "look around" {
		t.Errorf("shown: %q", u.Message.PlainText())
	}
	until[event.TurnEnd](s, nil)
	later := func(all []schedule.Schedule) bool {
		return len(all) == 1 && all[0].Due.After(time.Now().Add(time.Minute))
	}
	x := s.planned(later)[0]
	if left := time.Until(x.Expires); left < 6*24*time.Hour || left > 8*24*time.Hour {
		t.Errorf("it expires in %v", left)
	}
	if items := s.command("schedule", "").Pick.Items; len(items) != 1 || items[0].ID != x.ID {
		t.Errorf("%+v", items)
	}
	if _, err := s.schedules().Change(x.ID, func(x *schedule.Schedule) bool { // its time has come
		x.Due = time.Now().Add(-time.Hour)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	until(s, begins("look around"))
	s.command("loop", "stop")
	s.planned(func(all []schedule.Schedule) bool { return len(all) == 0 })
	until[event.TurnEnd](s, nil)
	for _, c := range s.Complete(t.Context(), event.Query{Kind: "history"}) {
		if strings.Contains(c.Text, "look around") {
			t.Error("the history of prompts has what the user did not type")
		}
	}
}

func TestAReminderWaitsForTheEndOfTheTurn(t *testing.T) {
	p := newPlace(t, llmtest.Replies(
		when("remember me", "", llmtest.Text("I do.")),
		when("", "now", llmtest.Text("Done.")),
		when("work", "", llmtest.Tool("Bash", map[string]any{"command": "until [ -e go ]; do sleep 0.01; done; echo now"})),
	))
	s := p.open(t, nil)
	if err := s.session().Grant("Bash", permission.Allow); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Console.Prompt(t.Context(), port.Prompt{Message: llm.UserText("work")}); err != nil {
		t.Fatal(err)
	}
	until[event.ToolStart](s, nil)
	s.command("remind", "2s remember me")
	s.planned(func(all []schedule.Schedule) bool { return len(all) == 1 && all[0].Due.Before(time.Now()) })
	p.write(t, "go", "")
	until(s, func(event.TurnEnd) bool { return true })
	until(s, begins("remember me"))
	s.planned(func(all []schedule.Schedule) bool { return len(all) == 0 })
	if !await.Until(func() bool { return s.State().Turn == "" }) {
		t.Error("the turn does not end")
	}
}

func TestSchedulesSurviveARestartAndRunOnce(t *testing.T) {
	p := newPlace(t, llmtest.Replies(when("look", "", llmtest.Text("nothing")), when("hello", "", llmtest.Text("hi"))))
	first := p.open(t, nil)
	first.prompt("hello")
	id := first.session().ID()
	x, err := first.schedules().Add(schedule.Schedule{Cron: "*/10 * * * *", Prompt: "look"})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	past := x.Due.Add(-5 * time.Hour)
	back := func(x *schedule.Schedule) bool { x.Due = past; return true }
	if _, err := schedule.At(first.schedules().Path()).Change(x.ID, back); err != nil {
		t.Fatal(err)
	}
	resume := func(o *Options) { o.Session.Resume = id }
	second := p.open(t, resume)
	until(second, begins("look"))
	ahead := func(all []schedule.Schedule) bool { return len(all) == 1 && all[0].Due.After(past) }
	second.planned(ahead)
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	// A process that was killed before it noted the run finds it due again.
	if _, err := schedule.At(first.schedules().Path()).Change(x.ID, back); err != nil {
		t.Fatal(err)
	}
	third := p.open(t, resume)
	third.planned(ahead)
	n := 0
	for _, m := range third.session().Messages() {
		if m.Role == llm.User && strings.HasPrefix(m.PlainText(), "look") {
			n++
		}
	}
	if n != 1 || third.State().Turn != "" {
		t.Errorf("%d runs of the one that was due", n)
	}
}

func TestTheModelPacesALoop(t *testing.T) {
	s := newPlace(t, llmtest.Replies(
		llmtest.Say(llmtest.Tool("ScheduleWakeup", map[string]any{"delay": 300, "reason": "it builds"})),
		llmtest.Say(llmtest.Text("Later.")), llmtest.Say(llmtest.Text("All is well.")),
	)).open(t, nil)
	s.command("loop", "watch it")
	until(s, begins("watch it"))
	until[event.TurnEnd](s, nil)
	x := s.planned(func(all []schedule.Schedule) bool { return len(all) == 1 && all[0].Planned })[0]
	if x.Reason != "it builds" || time.Until(x.Due) > 5*time.Minute {
		t.Errorf("%+v", x)
	}
	now := func(x *schedule.Schedule) bool { x.Due = time.Now(); return true }
	if _, err := s.schedules().Change(x.ID, now); err != nil {
		t.Fatal(err)
	}
	until(s, begins("watch it"))
	until(s, func(n event.Notice) bool { return strings.Contains(n.Text, "has ended: its turn planned no other run") })
	s.planned(func(all []schedule.Schedule) bool { return len(all) == 0 })
}

func TestTimesOfReminders(t *testing.T) {
	s := newPlace(t, talk3()).open(t, nil)
	for _, args := range []string{"soon look", "45m", "2020-01-01 10:00 look", "25:00 look"} {
		if _, err := s.Command(t.Context(), "remind", args); err == nil {
			t.Errorf("/remind %s is taken", args)
		}
	}
	s.command("remind", "1d look")
	s.command("remind", "00:00 look")
	s.command("remind", "2999-12-24 15:30 look")
	for _, x := range s.planned(func(all []schedule.Schedule) bool { return len(all) == 3 }) {
		if !x.Due.After(time.Now()) || x.Prompt != "look" {
			t.Errorf("%+v", x)
		}
	}
}

// A line of a monitor begins a turn when none runs.
func TestALineOfAMonitorWakesTheConversation(t *testing.T) {
	p := newPlace(t, llmtest.Replies(
		when("it is ready", "", llmtest.Text("I was told.")),
		when("", "Monitoring", llmtest.Text("I listen.")),
		when("listen", "", llmtest.Tool("Monitor", map[string]any{
			"command": "until [ -e go ]; do sleep 0.01; done; echo it is ready; sleep 1000",
		})),
	))
	s := p.open(t, nil)
	if err := s.session().Grant("Bash", permission.Allow); err != nil {
		t.Fatal(err)
	}
	s.prompt("listen")
	p.write(t, "go", "")
	until(s, func(b event.TurnStart) bool {
		return strings.Contains(b.Prompt.PlainText(), "Monitor bash_1:\nit is ready")
	})
	until(s, func(b event.PartDone) bool { t, ok := b.Part.(llm.Text); return ok && t.Text == "I was told." })
}

func init() {
	exercises["loop"] = func(t *testing.T, s *seat, p *place) {
		p.write(t, ".lathe/loop.md", "look after it\n")
		s.shows("loop", "90m", "every 1h30m")
		s.shows("loop", "10s look", "every 1m")
		s.shows("loop", "", "at its own pace")
		all := s.planned(func(all []schedule.Schedule) bool { return len(all) == 3 })
		if all[0].Prompt != "look after it" || all[2].Prompt != "look after it" {
			t.Errorf("%+v", all)
		}
		s.shows("loop", "stop", "Ended 3 loops")
		s.shows("loop", "stop", "No loop runs")
	}
	exercises["remind"] = func(_ *testing.T, s *seat, _ *place) {
		s.shows("remind", "2h look", "once, next")
		s.refuses("remind", "soon look", "is no time")
	}
	exercises["schedule"] = func(t *testing.T, s *seat, _ *place) {
		s.shows("remind", "2h look", "once, next")
		items := s.command("schedule", "").Pick.Items
		if len(items) != 1 {
			t.Fatalf("%+v", items)
		}
		s.shows("schedule", "rm "+items[0].ID, "Removed", "look")
		s.refuses("schedule", "rm "+items[0].ID, "no such schedule")
	}
}

// Hooks of Stop read what the conversation has planned.
func TestHooksReadSchedules(t *testing.T) {
	p := newPlace(t, talk3())
	seen := filepath.Join(p.home, "seen")
	if err := os.MkdirAll(filepath.Join(p.home, ".claude"), 0o700); err != nil {
		t.Fatal(err)
	}
	settings := `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"cat > ` + seen + `"}]}]}}`
	if err := os.WriteFile(filepath.Join(p.home, ".claude", "settings.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	s := p.open(t, nil)
	s.command("loop", "5m look around")
	until[event.TurnEnd](s, nil)
	told, err := os.ReadFile(seen)
	if err != nil || !strings.Contains(string(told), `"recurring":true,"prompt":"look around"`) {
		t.Errorf("%v %s", err, told)
	}
}
