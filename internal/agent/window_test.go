package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
)

var errTooLong = &llm.Error{Kind: llm.KindTooLarge, Message: "prompt is too long: 210000 tokens > 200000 maximum"}

func TestAnOverflowIsSentAgainAfterTheConversationShrank(t *testing.T) {
	log := newLog(t)
	var seen []agent.Window
	f := newFixture(t, []agent.Tool{echo("T", true)}, func(c *agent.Config) {
		c.Transcript = log
		c.OnWindow = func(ctx context.Context, w agent.Window) (bool, error) {
			seen = append(seen, w)
			return true, log.Compact(ctx, session.Compaction{
				Level: 4, Trigger: "overflow", Until: log.Head(),
				Messages: []llm.Message{llm.UserText("short")},
			})
		}
	}, reply(llm.StopToolUse, call("1", "T", `{"x":"a"}`)), broken(errTooLong),
		reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	if end := f.run(t); end.Reason != event.EndCompleted || end.Steps != 2 {
		t.Errorf("%+v", end)
	}
	if len(seen) != 1 || !seen[0].Overflow || !errors.Is(seen[0].Err, errTooLong) {
		t.Errorf("%+v", seen)
	}
	if last := f.model.reqs[2].Messages; len(last) != 1 || last[0].PlainText() != "short" {
		t.Errorf("%+v", last)
	}
}

// What a turn took before its conversation was shortened stays spent: the provider, which counts what it sees, is told.
func TestTheSpentTokensOfATurnOutliveACompaction(t *testing.T) {
	log := newLog(t)
	step := func(prompt, output int, parts ...llm.Part) play {
		return func(_ context.Context, yield func(llm.Delta, error) bool) {
			for i, p := range parts {
				emit(yield, i, p)
			}
			yield(llm.Done{Message: llm.Message{
				ID: "r", Role: llm.Assistant, Parts: parts, Stop: llm.StopToolUse,
				Usage: &llm.Usage{Input: prompt, Output: output},
			}}, nil)
		}
	}
	used, times := 0, 0
	f := newFixture(t, []agent.Tool{echo("T", true)}, func(c *agent.Config) {
		c.Transcript = log
		c.WindowMark = func(llm.ModelInfo) int { return 1000 }
		c.OnWindow = func(ctx context.Context, w agent.Window) (bool, error) {
			used += w.Used
			times++
			return true, log.Compact(ctx, session.Compaction{
				Level: 4, Trigger: "auto", Until: log.Head(),
				Messages: []llm.Message{llm.UserText("short")},
			})
		}
	}, step(400, 100, call("1", "T", `{"x":"a"}`)), step(900, 200, call("2", "T", `{"x":"b"}`)),
		step(300, 50, call("3", "T", `{"x":"c"}`)), step(1200, 10, call("4", "T", `{"x":"d"}`)),
		reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	f.run(t)
	var spent []int
	for _, r := range f.model.reqs {
		spent = append(spent, r.Spent)
	}
	first := spent[2]
	if times != 2 || spent[0] != 0 || spent[1] != 0 || first < 700 || spent[3] != first || spent[4] != used-400-300 {
		t.Errorf("%d compactions at %d tokens in all, spent %v", times, used, spent)
	}
}

func TestAnOverflowThatCannotBeHelpedEndsTheTurnWithTheProvidersError(t *testing.T) {
	for name, tt := range map[string]struct {
		shrunk bool
		calls  int
		plays  []play
	}{
		"nothing shrank": {false, 1, []play{broken(errTooLong)}},
		"shrank in vain": {true, agent.MaxOverflows, []play{
			broken(errTooLong), broken(errTooLong), broken(errTooLong),
			broken(errTooLong), broken(errTooLong),
		}},
		"stopped and stuck": {false, 1, []play{reply(llm.StopContextWindow, llm.Text{Text: "half"})}},
	} {
		n := 0
		f := newFixture(t, nil, func(c *agent.Config) {
			c.OnWindow = func(context.Context, agent.Window) (bool, error) { n++; return tt.shrunk, nil }
		}, tt.plays...)
		_, err := f.Run(t.Context(), llm.UserText("go"))
		if e := llm.AsError(err); e == nil || e.Kind != llm.KindTooLarge || n != tt.calls {
			t.Errorf("%s: %v after %d calls", name, err, n)
		}
	}
}

func TestAReplyThatTheWindowCutOffGoesOn(t *testing.T) {
	f := newFixture(t, nil, func(c *agent.Config) {
		c.OnWindow = func(_ context.Context, w agent.Window) (bool, error) { return w.Overflow, nil }
	}, reply(llm.StopContextWindow, llm.Text{Text: "half"}), reply(llm.StopEndTurn, llm.Text{Text: "the rest"}))
	if end := f.run(t); end.Reason != event.EndCompleted || end.Steps != 2 {
		t.Errorf("%+v", end)
	}
	if got := f.memory.Messages()[2].PlainText(); got != agent.GoOnCut {
		t.Errorf("%q", got)
	}
}

func TestPressureIsToldBeforeARequestFromTheLastUsageAndWhatCameSince(t *testing.T) {
	var seen []agent.Window
	long := tool("T", true, func(context.Context, string) (*agent.Result, error) {
		return agent.TextResult(string(make([]byte, 3500))), nil
	})
	full := func(parts ...llm.Part) play {
		return func(_ context.Context, yield func(llm.Delta, error) bool) {
			for i, p := range parts {
				emit(yield, i, p)
			}
			yield(llm.Done{Message: llm.Message{
				ID: "r", Role: llm.Assistant, Parts: parts, Stop: llm.StopToolUse,
				Usage: &llm.Usage{Input: 100, CacheRead: 800, Output: 50},
			}}, nil)
		}
	}
	f := newFixture(t, []agent.Tool{long}, func(c *agent.Config) {
		c.WindowMark = func(llm.ModelInfo) int { return 1500 }
		c.OnWindow = func(_ context.Context, w agent.Window) (bool, error) { seen = append(seen, w); return false, nil }
	}, full(call("1", "T", `{"x":"a"}`)), reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	f.run(t)
	if len(seen) != 1 || seen[0].Overflow || seen[0].Used < 950+1000 || seen[0].Used > 950+1030 || seen[0].Mark != 1500 {
		t.Errorf("%+v", seen)
	}
}

// The usage of a reply that was kept through a compaction tells the size of another prompt.
func TestTheEstimateForgetsWhatWasCompacted(t *testing.T) {
	log := newLog(t)
	f := newFixture(t, []agent.Tool{echo("T", true)}, func(c *agent.Config) { c.Transcript = log },
		reply(llm.StopToolUse, call("1", "T", `{"x":"a"}`)), reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	f.run(t)
	if got := f.PromptSize(log.Messages()); got != 15 {
		t.Errorf("%d tokens before", got)
	}
	var until string
	for e := range log.Entries() {
		if u, ok := e.Body.(session.User); ok && u.Message.PlainText() == "go" {
			until = e.ID
		}
	}
	if err := log.Compact(t.Context(), session.Compaction{
		Until:    until,
		Messages: []llm.Message{llm.UserText("short")},
	}); err != nil {
		t.Fatal(err)
	}
	want := llm.EstimateRequest(&llm.Request{Messages: log.Messages(), Tools: f.Specs()})
	if got := f.PromptSize(log.Messages()); got != want {
		t.Errorf("%d tokens, want %d", got, want)
	}
}

// A provider that counts nonsense neither has the conversation compacted for nothing nor keeps it from becoming
// shorter.
func TestACountThatCannotBeRightIsNotBelieved(t *testing.T) {
	for name, tt := range map[string]struct {
		usage llm.Usage
		plays []play
		used  func(int) bool // of OnWindow; nil: it is not called
	}{
		"far too many": {
			llm.Usage{Input: 1 << 40, Output: 5},
			[]play{reply(llm.StopEndTurn, llm.Text{Text: "done"})},
			nil,
		},
		"negative": {
			llm.Usage{Input: -1 << 40, Output: -5},
			[]play{reply(llm.StopEndTurn, llm.Text{Text: "done"})},
			nil,
		},
		"none, and an overflow": {
			llm.Usage{Input: 1},
			[]play{broken(errTooLong), reply(llm.StopEndTurn, llm.Text{Text: "done"})},
			func(n int) bool { return n > 300 },
		},
	} {
		var seen []agent.Window
		long := tool("T", true, func(context.Context, string) (*agent.Result, error) {
			return agent.TextResult(string(make([]byte, 3500))), nil
		})
		count := func(_ context.Context, yield func(llm.Delta, error) bool) {
			c := call("1", "T", `{"x":"a"}`)
			emit(yield, 0, c)
			yield(llm.Done{Message: llm.Message{
				ID: "r", Role: llm.Assistant, Parts: []llm.Part{c}, Stop: llm.StopToolUse,
				Usage: &tt.usage,
			}}, nil)
		}
		f := newFixture(t, []agent.Tool{long}, func(c *agent.Config) {
			c.WindowMark = func(llm.ModelInfo) int { return 150_000 }
			c.OnWindow = func(_ context.Context, w agent.Window) (bool, error) { seen = append(seen, w); return true, nil }
		}, append([]play{count}, tt.plays...)...)
		f.model.info = llm.ModelInfo{ID: "m", Provider: "p", MaxOutput: 64_000, ContextWindow: 200_000}
		if end := f.run(t); end.Reason != event.EndCompleted {
			t.Errorf("%s: %+v", name, end)
		}
		if (tt.used == nil) != (len(seen) == 0) || tt.used != nil && !tt.used(seen[0].Used) {
			t.Errorf("%s: %+v", name, seen)
		}
	}
}

// The first request after a compaction has the messages of the hooks, as any later one has.
func TestTheHooksOfAStepRunAgainAfterACompaction(t *testing.T) {
	const said = "plan mode is on"
	for name, overflow := range map[string]bool{"at the mark": false, "after an overflow": true} {
		log := newLog(t)
		first := reply(llm.StopToolUse, call("1", "T", `{"x":"a"}`))
		plays := []play{first, reply(llm.StopEndTurn, llm.Text{Text: "done"})}
		if overflow {
			plays = []play{first, broken(errTooLong), plays[1]}
		}
		compactions := 0
		f := newFixture(t, []agent.Tool{echo("T", true)}, func(c *agent.Config) {
			c.Transcript = log
			c.WindowMark = func(llm.ModelInfo) int {
				if calls := log.Messages(); !overflow && compactions == 0 && len(calls) > 2 {
					return 1
				}
				return 0
			}
			c.OnWindow = func(ctx context.Context, _ agent.Window) (bool, error) {
				compactions++
				return true, log.Compact(ctx, session.Compaction{
					Level: 4, Trigger: "auto", Until: log.Head(),
					Messages: []llm.Message{llm.UserText("short")},
				})
			}
			c.BeforeStep = []agent.BeforeStep{{Name: "mode", Run: func(context.Context) ([]llm.Message, error) {
				for _, m := range log.Messages() {
					if strings.Contains(m.PlainText(), said) {
						return nil, nil
					}
				}
				return []llm.Message{llm.UserText(said)}, nil
			}}}
		}, plays...)
		f.run(t)
		last := f.model.reqs[len(f.model.reqs)-1].Messages
		if compactions != 1 || len(last) == 0 || !strings.Contains(last[len(last)-1].PlainText(), said) {
			t.Errorf("%s: %d compactions, %+v", name, compactions, last)
		}
	}
}
