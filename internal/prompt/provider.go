package prompt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Provider gives one section of the context, such as the listing of skills or the output of a command of the user.
type Provider struct {
	Name   string // in <context name="...">: letters, digits, - and _
	Origin string // for people: the file or setting that asks for it
	Get    func(context.Context) (string, error)
	Wait   time.Duration // the longest that the first message waits for it; 0: 3 s
	Limit  int           // bytes of its text; 0: 4,000
}

const (
	providerWait  = 3 * time.Second
	providerLimit = 4_000
)

// Section is one named part of the system prompt or the context.
type Section struct {
	Name   string
	Origin string // for people: "lathe", a file, a flag, a setting
	Text   string
}

// running is a provider that is at work.
type running struct {
	Provider
	done chan result
	end  <-chan time.Time
	stop context.CancelFunc
}

type result struct {
	text string
	err  error
}

// start starts a provider.
func start(ctx context.Context, p Provider) *running {
	wait := cmp.Or(p.Wait, providerWait)
	ctx, stop := context.WithTimeout(ctx, wait)
	a := &running{Provider: p, done: make(chan result, 1), end: time.After(wait), stop: stop}
	go func() {
		text, err := p.Get(ctx)
		a.done <- result{text, err}
	}()
	return a
}

// section waits for the provider's text. One that fails or takes too long gives no section, and a note for the user.
func (a *running) section(ctx context.Context) (s Section, note string) {
	defer a.stop()
	r := a.wait(ctx)
	if errors.Is(r.err, context.DeadlineExceeded) {
		return s, fmt.Sprintf("the context %q is left out: it took longer than %s", a.Name, cmp.Or(a.Wait, providerWait))
	}
	if r.err != nil {
		return s, fmt.Sprintf("the context %q is left out: %v", a.Name, r.err)
	}
	text := strings.TrimSpace(sanitize(r.text))
	if head := cutLines(text, cmp.Or(a.Limit, providerLimit)); head != text {
		text = head + "\n[shortened: the rest is left out]"
	}
	return Section{a.Name, a.Origin, text}, ""
}

// wait returns the provider's result. One that is there counts, also long after the time that a first message waits.
func (a *running) wait(ctx context.Context) result {
	select {
	case r := <-a.done:
		return r
	default:
	}
	select {
	case r := <-a.done:
		return r
	case <-a.end:
		return result{err: context.DeadlineExceeded}
	case <-ctx.Done():
		return result{err: ctx.Err()}
	}
}

// element is a section as the model gets it.
func (s Section) element() string {
	text := strings.ReplaceAll(s.Text, "</context", "&lt;/context")
	return fmt.Sprintf("<context name=%q>\n%s\n</context>\n", s.Name, strings.TrimSpace(text))
}
