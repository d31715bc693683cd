//go:build linux || darwin

package cli_test

import (
	"context"
	"log/slog"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/face/gateway"
	"github.com/lathe-dev/lathe/internal/face/gateway/telegram"
	"github.com/lathe-dev/lathe/internal/face/gateway/telegram/fake"
)

// runHost runs a host in the test, with sessions of lathe.
func (p *gatePlace) runHost(change func(*gateway.Options)) {
	t := p.t
	t.Helper()
	for _, v := range p.environ() {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	p.client(t.Context()).Close() // the supervisor is lathe, not the test
	o := gateway.Options{
		Dir: filepath.Join(p.home, "gateway"), Place: p.Place, CWD: p.dir, Mode: "default", Patience: time.Hour,
		Log: slog.New(slog.NewTextHandler(p, nil)), Access: gateway.Access{Users: []string{"7", "8"}},
	}
	change(&o)
	h := gateway.New(telegram.New(telegram.Options{
		Token: fake.Token, APIBase: p.fake.URL(), HTTP: http.DefaultClient, Log: o.Log,
	}), o)
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	t.Cleanup(func() {
		end()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestAQuestionWithoutAnswerIsRefused(t *testing.T) {
	p := newGatePlace(t)
	p.runHost(func(o *gateway.Options) { o.Patience = time.Second })
	p.fake.Say(fake.Private(ann), ann, "ask me")
	q := p.question(ann)
	p.until("the question is refused", func() bool {
		m := p.fake.Message(q.ID)
		return len(m.Buttons) == 0 && strings.Contains(m.Body(), "Nobody answered in time")
	})
	p.fake.Press(q, ann, q.Buttons[0][0].Data)
	p.until("a late answer is none", func() bool { return len(p.fake.Answers()) == 1 })
}

func TestARestingSessionMakesRoom(t *testing.T) {
	p := newGatePlace(t)
	p.runHost(func(o *gateway.Options) { o.MaxSessions = 1 })
	p.fake.Say(fake.Private(ann), ann, "ask me") // it stays busy
	q := p.question(ann)
	m := p.fake.Say(fake.Private(ben), ben, "hello")
	p.await(ben, "All sessions are busy")
	p.fake.Press(q, ann, q.Buttons[0][0].Data)
	p.await(ann, "It is made.")
	p.until("the other one is answered", func() bool { return len(p.answersTo(ben, m.ID)) == 1 })
	p.until("one process is left", func() bool {
		jobs, err := p.List()
		live := 0
		for _, j := range jobs {
			if j.Live() {
				live++
			}
		}
		return err == nil && live == 1
	})
}

func TestAChatThatSpentItsMoneyWaitsForTomorrow(t *testing.T) {
	p := newGatePlace(t)
	p.runHost(func(o *gateway.Options) { o.BudgetUSD = 0.000001 })
	p.fake.Say(fake.Private(ann), ann, "hello")
	p.await(ann, "an answer of some words")
	p.fake.Say(fake.Private(ann), ann, "hello")
	p.await(ann, "has spent its")
}

func TestTheNetworkComesBack(t *testing.T) {
	p := newGatePlace(t, "--allow", "7,8")
	p.start()
	first := p.fake.Say(fake.Private(ann), ann, "hello")
	p.until("it is taken", func() bool { return len(p.fake.Message(first.ID).Reactions) > 0 })
	p.fake.Down(true)
	second := p.fake.Say(fake.Private(ben), ben, "hello") // the service keeps it
	time.Sleep(5 * time.Second)
	p.fake.Down(false)
	for who, m := range map[int64]*fake.Message{ann: first, ben: second} {
		p.until("both are answered once", func() bool { return len(p.answersTo(who, m.ID)) == 1 })
	}
}

func TestTheConfigurationIsChecked(t *testing.T) {
	p := newGatePlace(t)
	check := func(token string) (string, error) {
		c := exec.Command(p.lathe, "gateway", "check")
		c.Dir = p.dir
		c.Env = append(p.environ(), "TELEGRAM_BOT_TOKEN="+token, "TELEGRAM_API_BASE="+p.fake.URL())
		out, err := c.CombinedOutput()
		return string(out), err
	}
	out, err := check(fake.Token)
	if err != nil || !strings.Contains(out, "bot @lathe_bot") || !strings.Contains(out, "nobody is allowed") {
		t.Errorf("%s %v", out, err)
	}
	if out, err = check("wrong"); err == nil || !strings.Contains(out, "@BotFather shows it") || strings.Contains(out, "wrong") {
		t.Errorf("%s %v", out, err)
	}
	if out, err = p.run("gateway", "run"); err == nil || !strings.Contains(out, "configure no gateway") {
		t.Errorf("%s %v", out, err)
	}
	if out, err = p.run("telegram"); err == nil || !strings.Contains(out, "TELEGRAM_BOT_TOKEN is not set") {
		t.Errorf("%s %v", out, err)
	}
}
