package console

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// A message that was accepted is in the conversation, once, or was returned by Unqueue, under any
// interleaving.
func TestNoMessageIsLostOrDoubled(t *testing.T) {
	script := llmtest.Replies()
	script.Final = &llmtest.Reply{
		Parts: []llmtest.Part{{Text: "a reply of some words"}}, Chunk: 3,
		Gap: llmtest.Duration(1e6),
	}
	s := newPlace(t, script).open(t, nil)
	go func() { // a reader
		for {
			if _, err := s.Next(context.WithoutCancel(t.Context())); err != nil {
				return
			}
		}
	}()
	var mu sync.Mutex
	var taken, back []string
	note := func(list *[]string, text string) { mu.Lock(); *list = append(*list, text); mu.Unlock() }
	rnd := rand.New(rand.NewPCG(1, 2))
	for round := range 12 {
		var wg sync.WaitGroup
		prompt := fmt.Sprintf("prompt-%d", round)
		wg.Go(func() {
			if err := s.Prompt(t.Context(), llm.UserText(prompt)); err == nil {
				note(&taken, prompt)
			} else if !errors.Is(err, ErrBusy) {
				t.Error(err)
			}
		})
		for i := range 6 {
			after, interrupt, unqueue := rnd.IntN(2) == 0, rnd.IntN(8) == 0, rnd.IntN(4) == 0
			wg.Go(func() {
				text := fmt.Sprintf("message-%d-%d", round, i)
				if s.Steer(llm.UserText(text), after) {
					note(&taken, text)
				}
				if interrupt {
					s.Interrupt()
				}
				if unqueue {
					if m, ok := s.Unqueue(); ok {
						note(&back, m.PlainText())
					}
				}
				_ = s.Status()
				s.Complete(t.Context(), event.Query{Kind: event.QueryCommand, Text: "m"})
			})
		}
		wg.Wait()
	}
	for {
		m, ok := s.Unqueue()
		if !ok {
			break
		}
		back = append(back, m.PlainText())
	}
	var arrived []string
	for _, text := range s.prompts() {
		if strings.HasPrefix(text, "prompt-") || strings.HasPrefix(text, "message-") {
			arrived = append(arrived, text)
		}
	}
	got := slices.Sorted(slices.Values(append(arrived, back...)))
	want := slices.Sorted(slices.Values(taken))
	if !slices.Equal(got, want) {
		t.Errorf("taken:\n%v\nin the conversation or given back:\n%v", want, got)
	}
	if len(arrived) < 12 {
		t.Errorf("only %d messages arrived", len(arrived))
	}
}

func TestSessionsAreForgottenWhereNothingIsToBeKept(t *testing.T) {
	p := newPlace(t, talk3())
	s := p.open(t, func(o *Options) { o.Forget = true })
	s.prompt("first")
	first := s.session().ID()
	s.command("fork", "")
	second := s.session().ID()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{first, second} {
		if _, err := s.inst.Store().OpenReadOnly(id); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

func TestASessionThatIsOpenElsewhereStaysThere(t *testing.T) {
	p := newPlace(t, talk3())
	other := p.open(t, nil)
	other.prompt("mine")
	s := p.open(t, nil)
	s.prompt("yours")
	id := s.session().ID()
	if _, err := s.Command(t.Context(), "resume", other.session().ID()); err == nil || !strings.Contains(err.Error(),
		"is open in process") {
		t.Errorf("%v", err)
	}
	if s.session().ID() != id { // a failure changes nothing
		t.Error("the front changed")
	}
	s.prompt("again")
	s.wantSaid("yours", "again")
}

func TestAfterCloseNothingBlocks(t *testing.T) {
	s := newPlace(t, talk3()).open(t, nil)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Prompt(t.Context(), llm.UserText("late")); !errors.Is(err, errClosed) {
		t.Errorf("%v", err)
	}
	if s.Steer(llm.UserText("late"), true) {
		t.Error("steered")
	}
	s.Interrupt()
	if _, err := s.Command(t.Context(), "!", "echo late"); err == nil {
		t.Error("it ran")
	}
	if _, err := s.Command(t.Context(), "new", ""); err == nil {
		t.Error("a new session was opened")
	}
	if _, err := s.Next(t.Context()); err != nil { // events published before Close
		t.Error(err)
	}
}
