//go:build linux || darwin

package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/client"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
)

// numberOf is a number from the environment, for the long form of a test.
func numberOf(name string, short int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return short
}

// wide is a transport with as many connections as there are readers.
func wide() http.RoundTripper {
	return &http.Transport{MaxIdleConnsPerHost: 1, DisableKeepAlives: true}
}

// session begins one through HTTP.
func (p *servePlace) session(t *testing.T) client.Session {
	t.Helper()
	s, err := p.socket().CreateSession(t.Context(), client.NewSession{Dir: p.dir})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// idOfPrompt is the id of the prompt that a user message is.
func idOfPrompt(e client.Event) string {
	var m event.UserMessage
	if json.Unmarshal(e.Body, &m) != nil {
		return ""
	}
	return m.Message.ID
}

// Clients whose server was killed come back at once, each with its cursor: each gets what it missed, once.
// LATHE_TEST_READERS says how many.
func TestAThousandClientsComeBackAtOnce(t *testing.T) {
	n := numberOf("LATHE_TEST_READERS", 200)
	p := newServePlace(t)
	token, s := p.must("serve", "token"), p.session(t)
	c := client.New(p.address, token, wide())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Duration(n)*100*time.Millisecond)
	defer cancel()
	var ready, done sync.WaitGroup
	ready.Add(n)
	failed := make(chan error, n)
	for range n {
		done.Go(func() {
			failed <- readTwice(ctx, c, s.ID, ready.Done)
		})
	}
	send := func(id string) {
		if _, err := p.socket().Prompt(ctx, s.ID, client.Prompt{ID: id, Text: "hello " + id}); err != nil {
			t.Fatal(err)
		}
	}
	waitAll(ctx, t, &ready)
	p.kill9()
	send2 := make(chan struct{})
	go func() { defer close(send2); p.start() }()
	<-send2
	send("p1")
	waitAll(ctx, t, &done)
	close(failed)
	for err := range failed {
		if err != nil {
			t.Error(err)
		}
	}
}

func waitAll(ctx context.Context, t *testing.T, g *sync.WaitGroup) {
	t.Helper()
	all := make(chan struct{})
	go func() { g.Wait(); close(all) }()
	select {
	case <-all:
	case <-ctx.Done():
		t.Fatal("not all clients got there")
	}
}

// readTwice reads until the session is open, then over the end of the server until its turn ends.
func readTwice(ctx context.Context, c *client.Client, session string, ready func()) error {
	once := sync.OnceFunc(ready)
	defer once()
	events, err := c.Events(ctx, client.EventsQuery{Sessions: []string{session}, NoList: true, NoDeltas: true})
	if err != nil {
		return err
	}
	defer events.Close()
	prompts, ends := 0, 0
	for {
		e, err := events.Next(ctx)
		if err != nil {
			return err
		}
		switch e.Kind {
		case "state":
			if once(); ends > 0 {
				if prompts != 1 || ends != 1 {
					return fmt.Errorf("the prompt came %d times, its end %d times", prompts, ends)
				}
				return nil
			}
		case "message.user":
			prompts++
		case "turn.end":
			ends++
		}
	}
}

// Readers that never read delay neither the turn, nor the other readers, nor a request.
func TestReadersThatNeverReadDelayNoOther(t *testing.T) {
	readers, lazy := numberOf("LATHE_TEST_READERS", 200), 20
	p := newServePlace(t)
	token, s := p.must("serve", "token"), p.session(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for range lazy {
		conn, err := net.Dial("tcp", strings.TrimPrefix(p.address, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.(*net.TCPConn).SetReadBuffer(1 << 10)
		_, err = fmt.Fprintf(conn, "GET /v1/events?session=%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", s.ID,
			strings.TrimPrefix(p.address, "http://"), token)
		if err != nil {
			t.Fatal(err)
		}
	}
	c := client.New(p.address, token, wide())
	var ready, done sync.WaitGroup
	ready.Add(readers - lazy)
	orders := make(chan string, readers)
	for range readers - lazy {
		done.Go(func() {
			events, err := c.Events(ctx, client.EventsQuery{Sessions: []string{s.ID}, NoList: true})
			if err != nil {
				ready.Done()
				orders <- err.Error()
				return
			}
			defer events.Close()
			orders <- orderOf(ctx, events, sync.OnceFunc(ready.Done))
		})
	}
	waitAll(ctx, t, &ready)
	for i := range 5 {
		if _, err := c.Prompt(ctx, s.ID, client.Prompt{ID: fmt.Sprint("p", i), Text: "hello", When: "after"}); err != nil {
			t.Fatal(err)
		}
	}
	waitAll(ctx, t, &done)
	close(orders)
	first := ""
	for o := range orders {
		if first == "" {
			first = o
		}
		if o != first || strings.Count(o, "turn.end") != 5 {
			t.Fatalf("two readers saw different events:\n%s\n%s", first, o)
		}
	}
}

// orderOf are the events of the log, until five turns have ended.
func orderOf(ctx context.Context, events *client.Events, ready func()) string {
	var out []string
	for ends := 0; ends < 5; {
		e, err := events.Next(ctx)
		if err != nil {
			return err.Error()
		}
		if e.Kind == "state" {
			ready()
		}
		if e.Cursor != "" && e.Kind != "opened" {
			out = append(out, e.Kind+" "+e.Cursor)
		}
		if e.Kind == "turn.end" {
			ends++
		}
	}
	return strings.Join(out, "\n")
}

// Server and session process are killed at random moments under load: no prompt is lost, none runs twice.
// LATHE_TEST_KILLS says how often.
func TestKillsOfTheServerLoseNothing(t *testing.T) {
	kills := numberOf("LATHE_TEST_KILLS", 6)
	p := newServePlace(t)
	s := p.session(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(kills)*8*time.Second+time.Minute)
	defer cancel()
	c := p.deviceOf(t, port.Face{})
	load, stop := context.WithCancel(ctx)
	defer stop()
	var readers sync.WaitGroup
	for range 20 {
		readers.Go(func() {
			events, err := c.Events(load, client.EventsQuery{})
			for err == nil {
				_, err = events.Next(load)
			}
		})
	}
	seen := make(chan map[string]int, 1)
	readers.Go(func() { seen <- p.follow(load, c, s.ID) })
	rnd := rand.New(rand.NewPCG(11, uint64(kills)))
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		for done := 0; done < kills && ctx.Err() == nil; {
			time.Sleep(time.Duration(rnd.IntN(400)) * time.Millisecond)
			if rnd.IntN(2) == 0 {
				p.kill9()
				p.start()
				done++
			} else if j, err := p.Read(s.Job); err == nil && j.PID > 0 && syscall.Kill(j.PID, syscall.SIGKILL) == nil {
				done++
			}
		}
	}()
	over := &overHTTP{c, s.ID}
	sent := p.converseHTTP(ctx, t, over, killed)
	got := p.conversation(ctx, t, over)
	if want := strings.Join(sent, "\n"); strings.Join(got, "\n") != want {
		t.Errorf("the conversation has:\n%s\nsent was:\n%s", strings.Join(got, "\n"), want)
	}
	stop()
	waitAll(ctx, t, &readers)
	for id, n := range <-seen {
		if n != 1 {
			t.Errorf("a reader saw the prompt %s %d times", id, n)
		}
	}
}

// follow counts the prompts that a reader sees, over all kills.
func (p *servePlace) follow(ctx context.Context, c *client.Client, session string) map[string]int {
	seen := map[string]int{}
	events, err := c.Events(ctx, client.EventsQuery{Sessions: []string{session}, NoList: true, History: 1})
	for err == nil {
		var e client.Event
		if e, err = events.Next(ctx); err == nil && e.Kind == "message.user" {
			if id := idOfPrompt(e); strings.HasPrefix(id, "prompt-") {
				seen[id]++
			}
		}
	}
	return seen
}

// converseHTTP sends prompts one after the other, answers what they ask, and goes on until all kills are done.
func (p *servePlace) converseHTTP(
	ctx context.Context, t *testing.T, s *overHTTP, killed <-chan struct{},
) (sent []string) {
	t.Helper()
	for n := 0; ctx.Err() == nil; n++ {
		text := fmt.Sprintf("hello %d", n)
		if n%2 == 0 {
			text = fmt.Sprintf("ask me %d", n)
		}
		if _, err := s.c.Prompt(ctx, s.id, client.Prompt{ID: fmt.Sprintf("prompt-%d", n), Text: text}); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		sent = append(sent, text)
		if err := answerAll(ctx, s); err != nil {
			t.Fatal(err)
		}
		select {
		case <-killed:
			return sent
		default:
		}
	}
	t.Fatal("the conversation does not end")
	return nil
}

// answerAll answers questions until nothing runs.
func answerAll(ctx context.Context, s *overHTTP) error {
	for worked := false; ; worked = true {
		now, err := s.Read(ctx, port.ReadRequest{What: "questions"})
		if err != nil {
			return err
		}
		for _, q := range now.Questions {
			a := port.Answer{Session: q.Session, ID: q.Body.(event.Asked).ID}
			a.Answer.Choice = event.ChoiceOnce
			_ = s.Answer(ctx, a) // a kill may have come before, and it is asked again
		}
		doing, err := s.Read(ctx, port.ReadRequest{What: "status"}) // it wakes a process that died too often
		if err != nil {
			return err
		}
		if len(now.Questions) == 0 && doing.State.Turn == "" && worked {
			return nil
		}
		select { // polling: what a kill interrupts has no event
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}
