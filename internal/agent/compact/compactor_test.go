package compact_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/agent/compact"
	"github.com/lathe-dev/lathe/internal/llm"
)

// memory is a conversation that applies every Change.
type memory struct {
	msgs     []llm.Message
	revision int
	changes  []compact.Change
}

func (m *memory) Messages() []llm.Message { return m.msgs }
func (m *memory) Revision() int           { return m.revision }

func (m *memory) Compact(_ context.Context, c compact.Change) error {
	m.changes = append(m.changes, c)
	m.revision++
	head := slices.Clone(c.Messages)
	if len(head) == 0 {
		for _, msg := range m.msgs[:c.Until] {
			var parts []llm.Part
			for _, p := range msg.Parts {
				if r, ok := p.(llm.ToolResult); ok {
					if text, ok := c.Stubs[r.CallID]; ok {
						r.Parts = []llm.Part{llm.Text{Text: text}}
						p = r
					}
				}
				if _, ok := p.(llm.Reasoning); ok && c.DropReasoning {
					continue
				}
				parts = append(parts, p)
			}
			msg.Parts = parts
			head = append(head, msg)
		}
	}
	m.msgs = append(head, m.msgs[c.Until:]...)
	return nil
}

const summary = "## Goal\ng\n## Wishes\nw\n## Decisions\nd\n## Files\nf\n## Next step\nn"

func answering(text string, requests *atomic.Int32) func(context.Context, *llm.Request) (compact.Answer, error) {
	return func(context.Context, *llm.Request) (compact.Answer, error) {
		requests.Add(1)
		return compact.Answer{Text: text}, nil
	}
}

func full(msgs []llm.Message) compact.Task {
	n := total(msgs)
	return compact.Task{Trigger: compact.Auto, Used: n, Mark: n, Window: n * 100 / 85}
}

func TestCompactorWritesASummaryWithOneRequest(t *testing.T) {
	conv := &memory{msgs: work(100, 3_000)}
	tail := conv.msgs[len(conv.msgs)-6:]
	var requests atomic.Int32
	c := &compact.Compactor{Conversation: conv, Summarise: answering("Here it is.\n"+summary, &requests)}
	r, err := c.Run(t.Context(), full(conv.msgs))
	if err != nil || r.Level != compact.Summary || r.Summary != summary || requests.Load() != 1 {
		t.Fatalf("%+v, %v, %d requests", r, err, requests.Load())
	}
	if diff := cmp.Diff(tail, conv.msgs[len(conv.msgs)-6:]); diff != "" {
		t.Error(diff)
	}
	first := conv.msgs[0].PlainText()
	for _, want := range []string{summary, "1. Fix the failing test. Do not touch the public API."} {
		if !strings.Contains(first, want) {
			t.Errorf("the message lacks %q:\n%s", want, first)
		}
	}
}

func TestWhatWasSaidSurvivesManyCompactions(t *testing.T) {
	conv := &memory{msgs: work(60, 3_000)}
	var requests atomic.Int32
	c := &compact.Compactor{Conversation: conv, Summarise: answering(summary, &requests)}
	for range 10 {
		if _, err := c.Run(t.Context(), full(conv.msgs)); err != nil {
			t.Fatal(err)
		}
		conv.msgs = append(conv.msgs, work(60, 3_000)[1:]...)
	}
	if n := strings.Count(conv.msgs[0].PlainText(), "Do not touch the public API."); n != 1 {
		t.Errorf("the user's words are there %d times, want once", n)
	}
}

func TestAFailedSummaryFallsBackToAnExtract(t *testing.T) {
	for name, answer := range map[string]func(context.Context, *llm.Request) (compact.Answer, error){
		"error": func(context.Context, *llm.Request) (compact.Answer, error) {
			return compact.Answer{}, errors.New("overloaded")
		},
		"silence":  func(context.Context, *llm.Request) (compact.Answer, error) { return compact.Answer{Text: " "}, nil },
		"no model": nil,
	} {
		t.Run(name, func(t *testing.T) {
			conv := &memory{msgs: work(100, 3_000)}
			c := &compact.Compactor{Conversation: conv, Summarise: answer}
			r, err := c.Run(t.Context(), full(conv.msgs))
			if err != nil || r.Failed == nil || !strings.Contains(r.Summary, "/w/f1.go") {
				t.Fatalf("%+v, %v", r, err)
			}
			if got := total(conv.msgs); got > r.Before {
				t.Errorf("%d tokens, %d before", got, r.Before)
			}
		})
	}
}

func TestAnInterruptedSummaryChangesNothing(t *testing.T) {
	conv := &memory{msgs: work(100, 3_000)}
	before := slices.Clone(conv.msgs)
	ctx, cancel := context.WithCancel(t.Context())
	c := &compact.Compactor{Conversation: conv, Summarise: func(ctx context.Context, _ *llm.Request) (compact.Answer,
		error,
	) {
		cancel()
		<-ctx.Done()
		return compact.Answer{}, ctx.Err()
	}}
	if _, err := c.Run(ctx, full(conv.msgs)); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, conv.msgs); diff != "" || len(conv.changes) > 0 {
		t.Errorf("changed: %s", diff)
	}
}

func TestASummaryPreparedInTimeIsUsed(t *testing.T) {
	conv := &memory{msgs: work(100, 3_000)}
	var requests atomic.Int32
	c := &compact.Compactor{Conversation: conv, Summarise: answering(summary, &requests)}
	task := full(conv.msgs)
	task.Used = task.Mark * 95 / 100
	for range 3 {
		c.Note(t.Context(), task)
	}
	conv.msgs = append(conv.msgs, work(3, 3_000)[1:]...)
	r, err := c.Run(t.Context(), full(conv.msgs))
	if err != nil || r.Summary != summary || requests.Load() != 1 {
		t.Fatalf("%+v, %v, %d requests", r, err, requests.Load())
	}
	if got := total(conv.msgs); got > task.Mark*80/100 {
		t.Errorf("%d tokens stay of %d", got, task.Mark)
	}
}

func TestACompactorThatCannotHelpSaysSoAndStops(t *testing.T) {
	conv := &memory{msgs: work(2, 500_000)}
	var requests atomic.Int32
	c := &compact.Compactor{Conversation: conv, Summarise: answering(summary, &requests)}
	_, err := c.Run(t.Context(), compact.Task{Trigger: compact.Auto, Used: total(conv.msgs), Mark: 8_500, Window: 10_000})
	if !errors.Is(err, compact.ErrTooLarge) {
		t.Fatalf("%v", err)
	}
	// A window that fills up right after each summary is no work either.
	conv = &memory{msgs: work(100, 3_000)}
	c = &compact.Compactor{Conversation: conv, Summarise: answering(summary, &requests)}
	for i := range 6 {
		_, err = c.Run(t.Context(), full(conv.msgs))
		if errors.Is(err, compact.ErrTooLarge) {
			return
		}
		if err != nil {
			t.Fatalf("run %d: %v", i, err)
		}
		conv.msgs = append(conv.msgs, llm.UserText(strings.Repeat("y", 200_000)), work(0, 0)[1])
	}
	t.Error("it went on for ever")
}

func TestAnAnswerWithoutHeadingsIsAskedForOnceMoreAndKept(t *testing.T) {
	conv := &memory{msgs: work(100, 3_000)}
	var requests atomic.Int32
	c := &compact.Compactor{Conversation: conv, Summarise: answering("I cannot help with that.", &requests)}
	task := full(conv.msgs)
	task.Used = task.Mark * 95 / 100
	c.Note(t.Context(), task)
	r, err := c.Run(t.Context(), full(conv.msgs))
	if err != nil || r.Failed != nil || !strings.HasPrefix(r.Summary, "I cannot help with that.") ||
		!strings.Contains(r.Summary, "/w/f1.go") || requests.Load() != 2 {
		t.Fatalf("%+v, %v, %d requests", r, err, requests.Load())
	}
}

func TestTheConversationsOwnModelIsAskedBehindTheConversation(t *testing.T) {
	conv := &memory{msgs: work(100, 3_000)}
	all := len(conv.msgs)
	var sent []*llm.Request
	c := &compact.Compactor{
		Conversation: conv,
		Aside: func(_ context.Context, msgs []llm.Message, question string) *llm.Request {
			return &llm.Request{Messages: append(slices.Clip(msgs), llm.UserText(question))}
		},
		Summarise: func(_ context.Context, r *llm.Request) (compact.Answer, error) {
			if sent = append(sent, r); len(sent) == 1 {
				return compact.Answer{}, errors.New("too long")
			}
			return compact.Answer{Text: summary}, nil
		},
	}
	if r, err := c.Run(t.Context(), full(conv.msgs)); err != nil || r.Summary != summary || len(sent) != 2 {
		t.Fatalf("%+v, %v, %d requests", r, err, len(sent))
	}
	if got := sent[0].Messages; len(got) != all+1 || !strings.HasPrefix(got[all].PlainText(), compact.Opening) {
		t.Errorf("%d messages of %d", len(got), all)
	}
	if len(sent[1].Messages) != 1 { // a transcript, where the conversation was refused
		t.Errorf("%d messages", len(sent[1].Messages))
	}
}

func TestAnOverflowAfterWhichThePromptIsAsLongAsBeforeEndsTheTurn(t *testing.T) {
	conv := &memory{msgs: work(20, 500)}
	var requests atomic.Int32
	c := &compact.Compactor{
		Conversation: conv, Summarise: answering(summary, &requests),
		Kept: func(context.Context, compact.Task, []llm.Message, []string) compact.Kept {
			return compact.Kept{Todos: strings.Repeat("- a long task\n", 10_000)}
		},
	}
	n := total(conv.msgs)
	if _, err := c.Run(t.Context(), compact.Task{Trigger: compact.Overflow, Used: n, Mark: n}); !errors.Is(err,
		compact.ErrTooLarge) {
		t.Errorf("%v", err)
	}
}

func TestManualCompactionTakesWishesAndRefusesTheEmpty(t *testing.T) {
	conv := &memory{msgs: work(20, 500)}
	var asked string
	c := &compact.Compactor{Conversation: conv, Summarise: func(_ context.Context, r *llm.Request) (compact.Answer,
		error,
	) {
		asked = r.System[0].(llm.Text).Text
		return compact.Answer{Text: summary}, nil
	}}
	task := compact.Task{Trigger: compact.Manual, Mark: 100_000, Window: 120_000, Instructions: "keep the schema"}
	if _, err := c.Run(t.Context(), task); err != nil || !strings.Contains(asked, "keep the schema") {
		t.Fatalf("%v; asked %q", err, asked)
	}
	conv.msgs = conv.msgs[:1]
	if _, err := c.Run(t.Context(), task); !errors.Is(err, compact.ErrNothing) {
		t.Errorf("%v", err)
	}
}
