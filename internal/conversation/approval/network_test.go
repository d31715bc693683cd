package approval_test

import (
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/machine/netproxy"
	"github.com/lathe-dev/lathe/internal/permission"
)

func request(t *testing.T, host string) netproxy.Request {
	t.Helper()
	target, err := netproxy.ParseTarget(host, 443)
	if err != nil {
		t.Fatal(err)
	}
	return netproxy.Request{Target: target, Program: "node"}
}

func TestRulesDecideOnHostsInEveryMode(t *testing.T) {
	for _, mode := range permission.Modes {
		p, bus := approver(t, mode, "SandboxNetworkAccess(domain:*.good.example)")
		p.Interactive = false
		sub := bus.Subscribe(t.Context(), event.Options{})
		network := p.Network("call", "npm install", nil)
		for host, want := range map[string]bool{
			"a.good.example": true, "good.example": false, "evil.example": false,
			"127.0.0.1": false,
		} {
			v := network.Ask(t.Context(), request(t, host))
			if v.Allowed != want || v.Reason == "" {
				t.Errorf("%s, %s: %+v", mode, host, v)
			}
		}
		sub.Close()
		for e := range sub.All(t.Context()) {
			t.Errorf("%s: published %+v", mode, e)
		}
	}
}

func TestAPersonAllowsAHostOrAllThatBelongsToIt(t *testing.T) {
	for _, tt := range []struct {
		choice      string
		allowed     bool
		other, keep bool
	}{
		{event.ChoiceOnce, true, false, false},
		{event.ChoiceSession, true, true, false},
		{event.ChoiceAlways, true, true, true},
		{event.ChoiceNo, false, false, false},
		{event.ChoiceNever, false, false, true},
	} {
		p, bus := approver(t, permission.Default)
		var kept []string
		p.Keep = func(r permission.Rule) error { kept = append(kept, r.Text); return nil }
		sub := bus.Subscribe(t.Context(), event.Options{})
		asked := make(chan event.Question, 1)
		go func() {
			for e := range sub.All(t.Context()) {
				if a, ok := e.Body.(event.Asked); ok {
					asked <- a.Question
					if err := p.Answer(a.ID, event.Answer{Choice: tt.choice}); err != nil {
						t.Error(err)
					}
					return
				}
			}
		}()
		v := p.Network("call", "npm install", nil).Ask(t.Context(), request(t, "pypi.org"))
		q := <-asked
		sub.Close()
		if v.Allowed != tt.allowed {
			t.Errorf("%s: %+v", tt.choice, v)
		}
		if !strings.Contains(q.Reason, "node wants to connect to pypi.org:443") || q.Permission == nil ||
			q.Call.Name != "SandboxNetworkAccess" || !strings.Contains(string(q.Call.Input), "npm install") {
			t.Errorf("the question is %+v", q)
		}
		p.Interactive = false
		if v := p.Network("call", "pip", nil).Ask(t.Context(), request(t, "files.pythonhosted.org")); v.Allowed != tt.other {
			t.Errorf("%s: another host of PyPI: %+v", tt.choice, v)
		}
		if (len(kept) == 2) != tt.keep {
			t.Errorf("%s: kept %q", tt.choice, kept)
		}
	}
}

func TestTheUserSeesEachHostOfACommandOnce(t *testing.T) {
	p, bus := approver(t, permission.Default)
	sub := bus.Subscribe(t.Context(), event.Options{})
	network := p.Network("call", "npm install", nil)
	for range 3 {
		network.Record(netproxy.Connection{Host: "good.example", Port: 443, Allowed: true})
		network.Record(netproxy.Connection{Host: "evil.example", Port: 22, Reason: "the user refused"})
	}
	sub.Close()
	var got []string
	for e := range sub.All(t.Context()) {
		got = append(got, e.Body.(event.Notice).Text)
	}
	if strings.Join(got, "; ") != "network: good.example; network: evil.example, port 22 refused: the user refused" {
		t.Errorf("got %q", got)
	}
}
