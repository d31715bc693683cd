package approval_test

import (
	"testing"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/permission"
)

func command(t *testing.T, line string, class permission.Class) permission.Request {
	t.Helper()
	c := &permission.Command{
		Exact: true, Class: class,
		Parts: []permission.Part{{Text: line, Program: line, Class: class}},
	}
	return permission.Request{
		CallID: "1", Tool: "Bash", Dir: t.TempDir(), Input: []byte(`{"command": "make"}`),
		Accesses: []permission.Access{{Kind: permission.Exec, Target: line, Command: c}},
	}
}

func TestOnlyAPersonLetsACommandOutOfTheSandbox(t *testing.T) {
	for mode, answers := range map[permission.Mode]map[string]bool{
		permission.Default: {event.ChoiceOnce: true, event.ChoiceNo: false, event.ChoiceNever: false},
		permission.Auto:    {event.ChoiceOnce: true},
		permission.Bypass:  {"": false}, permission.DontAsk: {"": false}, permission.Plan: {"": false},
	} {
		for answer, want := range answers {
			p, bus := approver(t, mode, "Bash")
			sub := bus.Subscribe(t.Context(), event.Options{})
			asked := 0
			done := make(chan struct{})
			go func() {
				defer close(done)
				for e := range sub.All(t.Context()) {
					if a, ok := e.Body.(event.Asked); ok {
						asked++
						if err := p.Answer(a.ID, event.Answer{Choice: answer}); err != nil {
							t.Error(err)
						}
					}
				}
			}()
			a := agent.Approval{Request: command(t, "make", permission.ClassWrite)}
			if got := p.Again(t.Context(), a, "why", true); got != want {
				t.Errorf("%s, %q: %v", mode, answer, got)
			}
			if !want && p.Again(t.Context(), a, "why", true) {
				t.Error("asked again")
			}
			sub.Close()
			<-done
			if (asked == 1) != (answer != "") {
				t.Errorf("%s, %q: asked %d times", mode, answer, asked)
			}
		}
	}
	p, _ := approver(t, permission.Default, "Bash")
	p.Interactive = false
	if p.Again(t.Context(), agent.Approval{Request: command(t, "make", permission.ClassWrite)}, "why", true) {
		t.Error("nobody can be asked")
	}
}

// A rule that came after the run in the sandbox counts for the one outside, also if it comes while the question waits.
func TestANewDenyRuleKeepsACommandInTheSandbox(t *testing.T) {
	for _, early := range []bool{true, false} {
		p, bus := approver(t, permission.Default, "Bash")
		deny := func() {
			if err := p.Rules.Grant("Bash(make)", permission.Deny); err != nil {
				t.Error(err)
			}
		}
		if early {
			deny()
		}
		sub := bus.Subscribe(t.Context(), event.Options{})
		asked := 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			for e := range sub.All(t.Context()) {
				if a, ok := e.Body.(event.Asked); ok {
					asked++
					if !early {
						deny()
					}
					if err := p.Answer(a.ID, event.Answer{Choice: event.ChoiceOnce}); err != nil {
						t.Error(err)
					}
				}
			}
		}()
		if p.Again(t.Context(), agent.Approval{Request: command(t, "make", permission.ClassWrite)}, "why", true) {
			t.Errorf("early %v: it may run outside of the sandbox", early)
		}
		sub.Close()
		<-done
		if (asked == 0) != early {
			t.Errorf("early %v: asked %d times", early, asked)
		}
	}
}

func TestTheSandboxAnswersNoRuleAndNoGuard(t *testing.T) {
	for name, tt := range map[string]struct {
		confined bool
		mode     permission.Mode
		request  permission.Request
		want     permission.Effect
	}{
		"confined":            {true, permission.Default, command(t, "make", permission.ClassWrite), permission.Allow},
		"not confined":        {false, permission.Default, command(t, "make", permission.ClassWrite), permission.Deny},
		"a mode without asks": {true, permission.DontAsk, command(t, "make", permission.ClassWrite), permission.Deny},
		"plan":                {true, permission.Plan, command(t, "make", permission.ClassWrite), permission.Deny},
		"a rule that asks":    {true, permission.Default, command(t, "deploy", permission.ClassWrite), permission.Deny},
	} {
		p, _ := approver(t, tt.mode)
		p.Interactive = false
		p.Unasked = func(permission.Request) bool { return tt.confined }
		if err := p.Rules.Grant("Bash(deploy)", permission.Ask); err != nil {
			t.Fatal(err)
		}
		d, err := p.Authorize(t.Context(), agent.Approval{Request: tt.request})
		if err != nil || d.Effect != tt.want {
			t.Errorf("%s: %+v %v", name, d, err)
		}
	}
}
