package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// shouting shows texts in capitals, "same" as it is, and notes what it was asked about.
func shouting(asked *[]string) func(*agent.Config) {
	now := time.Unix(0, 0)
	return func(c *agent.Config) {
		c.Clock = func() time.Time { now = now.Add(time.Second); return now }
		c.Display = func() func(context.Context, agent.Showing) (string, bool) {
			return func(_ context.Context, s agent.Showing) (string, bool) {
				*asked = append(*asked, fmt.Sprintf("%d %v %q", s.Index, s.Final, s.Text))
				return strings.ToUpper(s.Text), !strings.Contains(s.Text, "same")
			}
		}
	}
}

// seen is what people see as it streams, and of the complete parts.
func seen(f *fixture) (streamed, whole string) {
	for _, d := range ofKind[event.Delta](f) {
		if t, ok := d.ForPeople().Delta.(llm.TextDelta); ok {
			streamed += t.Text
		}
	}
	for _, p := range ofKind[event.PartDone](f) {
		if t, ok := p.ForPeople().Part.(llm.Text); ok {
			whole += t.Text
		}
	}
	return streamed, whole
}

func TestTextsAreShownAsDisplaySays(t *testing.T) {
	for name, tc := range map[string]struct {
		play         play
		asked        string
		shown, whole string
	}{
		"by lines": {
			raw(llm.TextDelta{Text: "on"}, llm.TextDelta{Text: "e\ntwo\nth"}, llm.TextDelta{Text: "ree"},
				done(llm.Text{Text: "one\ntwo\nthree"})),
			`0 false "one\ntwo\n", 1 true "three"`, "ONE\nTWO\nTHREE", "ONE\nTWO\nTHREE",
		},
		"ends with a line": {
			raw(llm.TextDelta{Text: "one\n"}, done(llm.Text{Text: "one\n"})),
			`0 false "one\n", 1 true ""`, "ONE\n", "ONE\n",
		},
		"never streamed": {raw(done(llm.Text{Text: "one"})), `0 true "one"`, "", "ONE"},
		"left as it is": {
			raw(llm.TextDelta{Text: "same"}, done(llm.Text{Text: "same"})), `0 true "same"`, "same",
			"same",
		},
		"partly as it is": {
			raw(llm.TextDelta{Text: "same\na"}, done(llm.Text{Text: "same\nab"})),
			`0 false "same\n", 1 true "ab"`, "same\nAB", "same\nAB",
		},
		"another whole": {
			raw(llm.TextDelta{Text: "a\nb"}, done(llm.Text{Text: "other"})),
			`0 false "a\n", 1 true "other"`, "A\nOTHER", "OTHER",
		},
		"two texts": {
			raw(llm.TextDelta{Text: "a"}, llm.PartDone{Part: llm.Text{Text: "a"}},
				llm.TextDelta{Index: 1, Text: "b"}, done(llm.Text{Text: "a"}, llm.Text{Text: "b"})), `0 true "a", 0 true "b"`, "AB",
			"AB",
		},
		"a retry begins anew": {raw(llm.Sent{}, llm.TextDelta{Text: "a\n"}, llm.Sent{}, llm.TextDelta{Text: "b"},
			done(llm.Text{Text: "b"})), `0 false "a\n", 0 true "b"`, "A\nB", "B"},
		"an empty text is none": {raw(done(llm.Text{}, llm.Text{Text: "a"})), `0 true "a"`, "", "A"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			f := newFixture(t, nil, shouting(&asked), tc.play)
			if _, err := f.Run(t.Context(), llm.UserText("go")); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(asked, ", "); got != tc.asked {
				t.Errorf("asked about %s, want %s", got, tc.asked)
			}
			if shown, whole := seen(f); shown != tc.shown || whole != tc.whole {
				t.Errorf("shown %q and %q, want %q and %q", shown, whole, tc.shown, tc.whole)
			}
			for _, m := range f.memory.Messages() {
				if text := m.PlainText(); strings.ContainsAny(text, "ABO") {
					t.Errorf("the conversation has what is shown: %q", text)
				}
			}
		})
	}
}

// What the user interrupts is not shown without having been asked about.
func TestAnInterruptedTextShowsNothingMore(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var asked []string
	f := newFixture(t, nil, shouting(&asked), func(_ context.Context, yield func(llm.Delta, error) bool) {
		_ = yield(llm.TextDelta{Text: "one\ntwo"}, nil)
		stop()
		yield(nil, context.Canceled)
	})
	if _, err := f.Run(ctx, llm.UserText("go")); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if shown, whole := seen(f); shown != "ONE\n" || whole != "ONE\n" {
		t.Errorf("shown %q and %q", shown, whole)
	}
	if last := f.memory.Messages()[1].PlainText(); last != "one\ntwo" {
		t.Errorf("the conversation has %q", last)
	}
}

// Pieces do not come faster than programs can be asked.
func TestPiecesOfATextAreNotTooMany(t *testing.T) {
	var asked []string
	f := newFixture(t, nil, func(c *agent.Config) {
		shouting(&asked)(c)
		c.Clock = func() time.Time { return time.Unix(1000, 0) }
	}, raw(llm.TextDelta{Text: "a\n"}, llm.TextDelta{Text: "b\n"}, llm.TextDelta{Text: "c\n"},
		done(llm.Text{Text: "a\nb\nc\n"})))
	if _, err := f.Run(t.Context(), llm.UserText("go")); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(asked, ", "); got != `0 false "a\n", 1 true "b\nc\n"` {
		t.Errorf("asked about %s", got)
	}
}
