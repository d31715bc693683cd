package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
	"github.com/lathe-dev/lathe/internal/ui/console"
)

func sessionReplayCommand(p *program, o *Options) *cobra.Command {
	speed := 1.0
	c := &cobra.Command{
		Use: "replay ID", Short: "Show a session again at its own speed", Args: oneID, ValidArgsFunction: completeIDs(o),
		Long: `Show the prompts, texts, calls and results of a session again, with the pauses that they had. A pause before a prompt is
2 seconds at most. Nothing is run and no model is called. Ctrl+c ends it.`,
		Example: "  lathe session replay 0190abcd --speed 4\n  lathe session replay 0190abcd --speed 0 > talk.txt",
		RunE: func(c *cobra.Command, args []string) error {
			if !(speed >= 0) {
				return usage("use 2 for twice as fast, 0 for no pauses", "--speed: %g is not a speed", speed)
			}
			return p.withSession(o, args[0], func(s *session.Session) error {
				r := &sessionReplay{out: newDemoPrinter(p.out, p.outTTY), types: p.outTTY, speed: speed}
				return r.play(c.Context(), console.Recorded(s))
			})
		},
	}
	c.Flags().Float64Var(&speed, "speed", speed, "how many `times` as fast; 0: without pauses")
	return c
}

// promptPause is the longest pause before a prompt: the user's absence is not part of the session.
const promptPause = 2 * time.Second

// sessionReplay prints the events of a log with the pauses between them.
type sessionReplay struct {
	out   *demoPrinter
	types bool // texts appear word by word during the pause before them
	speed float64
	last  time.Time
}

func (r *sessionReplay) play(ctx context.Context, events []event.Event) error {
	for _, e := range events {
		if err := r.show(ctx, e); err != nil {
			r.out.end()
			return err
		}
		if r.out.err != nil {
			return r.out.err
		}
	}
	r.out.end()
	return r.out.err
}

func (r *sessionReplay) show(ctx context.Context, e event.Event) error {
	pause := r.pause(e)
	done, _ := e.Body.(event.PartDone)
	text, isText := done.Part.(llm.Text)
	if isText && r.types && pause > 0 {
		if err := r.typed(ctx, text.Text, pause); err != nil {
			return err
		}
		r.out.event(e.Body)
		return nil
	}
	if err := waitFor(ctx, pause); err != nil {
		return err
	}
	switch b := e.Body.(type) {
	case event.UserMessage:
		r.out.user(escape(strings.TrimSpace(b.Message.PlainText())))
	case event.PartDone:
		if isText {
			r.out.text(text.Text)
		}
		r.out.event(b)
	case event.Notice:
		r.out.dim("%s: %s", b.Level, escape(b.Text))
	case event.Compacted:
		r.out.dim("%s", escape(b.String()))
	case event.TurnEnd:
		r.out.dim("%s, %s, $%.4f", plural(b.Steps, "step"), shortTime(b.Duration), b.CostUSD)
		r.out.blank()
	default:
		r.out.event(b)
	}
	return nil
}

// pause is the time to wait before an event.
func (r *sessionReplay) pause(e event.Event) time.Duration {
	gap := e.Time.Sub(r.last)
	first := r.last.IsZero()
	r.last = e.Time
	if _, prompt := e.Body.(event.UserMessage); prompt {
		gap = min(gap, promptPause)
	}
	if first || gap <= 0 || r.speed == 0 {
		return 0
	}
	return time.Duration(min(float64(gap)/r.speed, float64(24*time.Hour)))
}

// typed prints a text word by word within a time.
func (r *sessionReplay) typed(ctx context.Context, text string, within time.Duration) error {
	words := strings.SplitAfter(text, " ")
	for _, w := range words {
		if err := waitFor(ctx, within/time.Duration(len(words))); err != nil {
			return err
		}
		r.out.text(w)
	}
	return nil
}

// waitFor waits, unless ctx ends first.
func waitFor(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
