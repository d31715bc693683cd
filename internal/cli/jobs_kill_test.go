//go:build linux || darwin

package cli_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/face/supervisor"
	"github.com/lathe-dev/lathe/internal/llm"
)

// Session process, supervisor and connection are ended at random moments, many of them while a question is open: no
// prompt is lost, none runs twice, no question is lost, and nothing is orphaned. LATHE_TEST_KILLS says how often.
func TestKillsAtRandomMomentsLoseNothing(t *testing.T) {
	kills := 8
	if n, err := strconv.Atoi(os.Getenv("LATHE_TEST_KILLS")); err == nil {
		kills = n
	}
	p := newJobsPlace(t)
	id := p.empty(t.Context()).ID
	ctx, done := context.WithTimeout(t.Context(), time.Duration(kills)*8*time.Second+time.Minute)
	defer done()
	first := p.face(t, id, port.Face{})
	s := port.NewStay(first, func(ctx context.Context) (*port.Client, error) { return p.dial(ctx, id) })
	defer func() { _ = s.Close() }()
	rnd := rand.New(rand.NewPCG(7, uint64(kills)))
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		for range kills {
			time.Sleep(time.Duration(rnd.IntN(400)) * time.Millisecond)
			p.strike(ctx, id, rnd.IntN(4))
		}
	}()
	sent := p.converse(ctx, t, s, killed)
	if ctx.Err() != nil {
		t.Fatalf("the conversation does not end: %s", p.must("ps"))
	}
	if got, want := strings.Join(p.conversation(ctx, t, s), "\n"), strings.Join(sent, "\n"); got != want {
		t.Errorf("the conversation has:\n%s\nsent was:\n%s", got, want)
	}
	p.must("daemon", "stop")
	if jobs, err := p.List(); err != nil || len(jobs) != 1 || jobs[0].Live() {
		t.Errorf("%+v %v", jobs, err)
	}
}

// dial connects to the session, whose process the supervisor starts if need be.
func (p *jobsPlace) dial(ctx context.Context, id string) (*port.Client, error) {
	if c, err := port.Dial(ctx, p.Socket(id), port.Face{}); err == nil {
		return c, nil
	}
	c, err := p.tryClient(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if _, err := c.Wake(ctx, supervisor.Named{ID: id, Environ: p.environ()}); err != nil {
		return nil, errors.New("not yet: " + err.Error()) // no Failure, so that it is tried again
	}
	return port.Dial(ctx, p.Socket(id), port.Face{})
}

// strike ends something.
func (p *jobsPlace) strike(ctx context.Context, id string, what int) {
	if what == 0 {
		if c, err := p.Dial(ctx); err == nil {
			now, err := c.Jobs(ctx)
			c.Close()
			if err == nil {
				_ = syscall.Kill(now.PID, syscall.SIGKILL)
			}
		}
		return
	}
	if j, err := p.Read(id); err == nil && j.PID > 0 {
		_ = syscall.Kill(j.PID, syscall.SIGKILL)
	}
}

// converse sends prompts one after the other, answers what they ask, and goes on until all kills are done.
func (p *jobsPlace) converse(ctx context.Context, t *testing.T, s port.Session, killed <-chan struct{},
) (sent []string) {
	t.Helper()
	events, err := s.Attach(ctx, port.From{})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	for n := 0; ctx.Err() == nil; n++ {
		text := fmt.Sprintf("hello %d", n)
		if n%2 == 0 {
			text = fmt.Sprintf("ask me %d", n)
		}
		id := fmt.Sprintf("prompt-%d", n)
		if _, err := s.Prompt(ctx, port.Prompt{ID: id, Message: llm.UserText(text)}); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		sent = append(sent, text)
		p.await(ctx, t, s, events)
		select {
		case <-killed:
			return sent
		default:
		}
	}
	return sent
}

// await answers questions until nothing runs.
func (p *jobsPlace) await(ctx context.Context, t *testing.T, s port.Session, events port.Events) {
	t.Helper()
	for worked := false; ; {
		now, err := s.Read(ctx, port.ReadRequest{What: "questions"})
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range now.Questions {
			a := port.Answer{Session: q.Session, ID: q.Body.(event.Asked).ID}
			a.Answer.Choice = event.ChoiceOnce
			_ = s.Answer(ctx, a) // a kill may have come before, and it is asked again
		}
		if len(now.Questions) == 0 && now.State.Turn == "" && worked {
			return
		}
		worked = true
		short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		_, err = events.Next(short)
		cancel()
		if err != nil && short.Err() == nil {
			t.Fatal(err)
		}
	}
}

// conversation lists the prompts of the session.
func (p *jobsPlace) conversation(ctx context.Context, t *testing.T, s port.Session) (out []string) {
	t.Helper()
	events, err := s.Attach(ctx, port.From{History: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	var all []event.Body
	for {
		e, err := events.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		opened, ok := e.Body.(event.Opened)
		if !ok {
			continue
		}
		all = opened.History
		for more := opened.More; more != ""; {
			c, err := s.Read(ctx, port.ReadRequest{What: "history", Before: more, Limit: 500})
			if err != nil {
				t.Fatal(err)
			}
			all, more = append(c.History.History, all...), c.History.More
		}
		break
	}
	for _, b := range all {
		if m, ok := b.(event.UserMessage); ok && !m.Synthetic {
			out = append(out, m.Message.PlainText())
		}
	}
	return out
}
