package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// fullDisk is a session whose writes fail from the given one on, until it is mended.
type fullDisk struct {
	*session.Session
	mu    sync.Mutex
	left  int
	kinds []string // of the writes that worked
}

func (f *fullDisk) write(kind string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left == 0 {
		return &session.WriteError{ID: f.ID(), Path: f.Path(), Err: errors.New("no space left on device")}
	}
	f.left--
	f.kinds = append(f.kinds, kind)
	return nil
}

func (f *fullDisk) mend() { f.mu.Lock(); f.left = -1; f.mu.Unlock() }

func (f *fullDisk) AddUser(ctx context.Context, m llm.Message, steered, synthetic bool) error {
	if err := f.write("user"); err != nil {
		return err
	}
	return f.Session.AddUser(ctx, m, steered, synthetic)
}

func (f *fullDisk) AddPart(ctx context.Context, i int, p llm.Part) error {
	if err := f.write("part"); err != nil {
		return err
	}
	return f.Session.AddPart(ctx, i, p)
}

func (f *fullDisk) AddReply(ctx context.Context, m llm.Message) error {
	if err := f.write("reply"); err != nil {
		return err
	}
	return f.Session.AddReply(ctx, m)
}

func (f *fullDisk) StartCall(ctx context.Context, start session.CallStart, sync bool) error {
	if err := f.write("start " + start.CallID); err != nil {
		return err
	}
	return f.Session.StartCall(ctx, start, sync)
}

func (f *fullDisk) EndCall(ctx context.Context, e session.CallEnd) error {
	if err := f.write("end " + e.Result.CallID); err != nil {
		return err
	}
	return f.Session.EndCall(ctx, e)
}

func (f *fullDisk) EndTurn(ctx context.Context, e session.TurnEnd) error {
	if err := f.write("turn end"); err != nil {
		return err
	}
	return f.Session.EndTurn(ctx, e)
}

func newLog(t *testing.T) *session.Session {
	t.Helper()
	log, err := session.NewStore(t.TempDir()).Create(t.Context(), session.Meta{Dir: t.TempDir(), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	return log
}

// The disk fills up before each of a turn's writes in turn. The turn ends with that one error, nothing runs
// after it, nothing is shown that is not on disk, and once there is room the conversation goes on with the
// real results of the calls.
func TestAFullDiskEndsTheTurnInOrder(t *testing.T) {
	for n := range 20 {
		done := false
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			disk := &fullDisk{Session: newLog(t), left: n}
			var ran sync.Map
			run := func(_ context.Context, x string) (*agent.Result, error) {
				ran.Store(x, true)
				return agent.TextResult("ran " + x), nil
			}
			f := newFixture(t, []agent.Tool{tool("R", true, run), tool("W", false, run)},
				func(c *agent.Config) { c.Transcript = disk },
				reply(llm.StopToolUse, llm.Text{Text: "look"}, call("1", "W", `{"x":"1"}`), call("2", "W", `{"x":"2"}`),
					call("3", "R", `{"x":"3"}`)),
				reply(llm.StopEndTurn, llm.Text{Text: "done"}),
				reply(llm.StopEndTurn, llm.Text{Text: "again"}))
			end, err := f.Run(t.Context(), llm.UserText("go"))
			if done = err == nil; done {
				return
			}
			if _, ok := errors.AsType[*session.WriteError](err); !ok || end.Reason != event.EndFailed || end.Err != err.Error() {
				t.Fatalf("%+v %v", end, err)
			}
			checkShown(t, f, disk)
			ran.Range(func(x, _ any) bool {
				if !strings.Contains(fmt.Sprint(disk.kinds), fmt.Sprintf("start %s", x)) {
					t.Errorf("call %s ran without being journalled: %v", x, disk.kinds)
				}
				return true
			})
			disk.mend()
			f.model.plays = []play{reply(llm.StopEndTurn, llm.Text{Text: "again"})}
			f.model.reqs = nil
			f.run(t)
			checkAnswers(t, f.model.reqs[0].Messages, &ran)
		})
		if done {
			return
		}
	}
	t.Error("the turn never came to its end")
}

// checkShown compares the events with the log on disk.
func checkShown(t *testing.T, f *fixture, disk *fullDisk) {
	t.Helper()
	written := strings.Join(disk.kinds, ",") + ","
	count := func(prefix string) int { return strings.Count(","+written, ","+prefix) }
	for kind, n := range map[string]int{
		"user": len(ofKind[event.UserMessage](f)), "part": len(ofKind[event.PartDone](f)),
		"reply": len(ofKind[event.Response](f)),
		"start": len(ofKind[event.ToolStart](f)), "end": len(ofKind[event.ToolEnd](f)),
	} {
		if n > count(kind) {
			t.Errorf("%d events for %d writes of %s: %s", n, count(kind), kind, written)
		}
	}
	if n := len(ofKind[event.TurnEnd](f)); n != 1 {
		t.Errorf("%d ends", n)
	}
}

// checkAnswers wants a history that no provider refuses, with the real results of the calls that ran.
func checkAnswers(t *testing.T, msgs []llm.Message, ran *sync.Map) {
	t.Helper()
	if why := agent.Refused(msgs); why != "" {
		t.Fatalf("%s: %+v", why, msgs)
	}
	all := ""
	for _, m := range msgs {
		all += strings.Join(results(m), ",")
	}
	ran.Range(func(x, _ any) bool {
		if want := fmt.Sprintf("%s=ran %s", x, x); !strings.Contains(all, want) {
			t.Errorf("no %q in %q", want, all)
		}
		return true
	})
}

// A decision that cannot be written ends the turn like any other write.
func TestUnwrittenDecisionsEndTheTurn(t *testing.T) {
	full := &session.WriteError{ID: "s", Path: "p", Err: errors.New("no space left on device")}
	ran := false
	tl := tool("T", false, func(context.Context, string) (*agent.Result,
		error,
	) {
		ran = true
		return agent.TextResult("x"), nil
	})
	f := newFixture(t, []agent.Tool{tl}, nil, reply(llm.StopToolUse, call("1", "T", `{"x":"a"}`)))
	f.Live().Authorize = denyWith(full)
	end, err := f.Run(t.Context(), llm.UserText("go"))
	if !errors.Is(err, full) || end.Reason != event.EndFailed || ran {
		t.Errorf("%+v %v, ran: %v", end, err, ran)
	}
}

// Who sees a turn start with its prompt may rely on the prompt: it is on disk.
func TestATurnStartsWithItsPromptWhenThatIsOnDisk(t *testing.T) {
	for name, left := range map[string]int{"room": -1, "full": 0} {
		log, err := session.NewStore(t.TempDir()).Create(t.Context(), session.Meta{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		var kinds []string
		f := newFixture(t, nil, func(c *agent.Config) {
			c.Transcript = &fullDisk{Session: log, left: left}
			c.Publish = func(b event.Body) {
				if s, ok := b.(event.TurnStart); ok && len(s.Prompt.Parts) != len(log.Messages()) {
					t.Errorf("%s: the prompt is %+v, and %d messages are on disk", name, s.Prompt, len(log.Messages()))
				}
				switch b.(type) {
				case event.TurnStart, event.UserMessage, event.TurnEnd:
					kinds = append(kinds, b.Kind())
				}
			}
		}, reply(llm.StopEndTurn, llm.Text{Text: "done"}))
		_, _ = f.Run(t.Context(), llm.UserText("go"))
		want := map[string]string{"room": "turn.start message.user turn.end", "full": "turn.start turn.end"}[name]
		if got := strings.Join(kinds, " "); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
