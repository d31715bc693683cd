package telegram

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/face/gateway"
	"github.com/lathe-dev/lathe/internal/face/gateway/telegram/fake"
)

func bot(t *testing.T, change ...func(*fake.Server)) (*Transport, *fake.Server) {
	t.Helper()
	s := fake.New()
	t.Cleanup(s.Close)
	for _, f := range change {
		f(s)
	}
	return New(Options{
		Token: fake.Token, APIBase: s.URL(), HTTP: http.DefaultClient, Log: slog.New(slog.DiscardHandler),
	}), s
}

var (
	private = gateway.Place{Chat: "7"}
	group   = gateway.Place{Chat: "-100", Group: true}
)

func send(t *testing.T, b *Transport, m gateway.Message) string {
	t.Helper()
	id, err := b.Send(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestAMessageWhoseAnswerWasLostIsFound(t *testing.T) {
	for name, lacks := range map[string][]string{"rich": nil, "entities": {"sendRichMessage"}} {
		t.Run(name, func(t *testing.T) {
			b, s := bot(t, func(s *fake.Server) { s.Lacks = lacks })
			before := send(t, b, gateway.Message{Place: private, Text: "before"})
			send(t, b, gateway.Message{Place: gateway.Place{Chat: "8"}, Text: "elsewhere"})
			m := gateway.Message{Place: private, Text: "a **lost** answer"}
			s.Lose(1)
			if _, err := b.Send(t.Context(), m); !errors.Is(err, gateway.ErrUnknown) {
				t.Fatal(err)
			}
			id, err := b.Find(t.Context(), m, before)
			if err != nil || len(s.Sent(7)) != 2 || s.Sent(7)[1].Edits != 0 {
				t.Errorf("%s %v %+v", id, err, s.Sent(7))
			}
			m.Text = "never sent"
			if _, err := b.Find(t.Context(), m, id); !errors.Is(err, gateway.ErrGone) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestNothingIsSentWithoutAConnection(t *testing.T) {
	b, s := bot(t)
	s.Close()
	_, err := b.Send(t.Context(), gateway.Message{Place: private, Text: "x"})
	if err == nil || errors.Is(err, gateway.ErrUnknown) || strings.Contains(err.Error(), fake.Token) {
		t.Errorf("%v", err)
	}
}

func TestTooManyMessagesToAGroupWait(t *testing.T) {
	b, s := bot(t, func(s *fake.Server) { s.PerMin = 2 })
	for range 2 {
		send(t, b, gateway.Message{Place: group, Text: "x"})
	}
	m := gateway.Message{Place: group, Text: "y"}
	if _, err := b.Send(t.Context(), m); err == nil || errors.Is(err, gateway.ErrUnknown) {
		t.Errorf("429 says %v", err)
	}
	began := time.Now()
	send(t, b, m)
	if time.Since(began) < 500*time.Millisecond {
		t.Error("retry_after was not obeyed")
	}
	if n := len(s.Sent(-100)); n != 3 {
		t.Errorf("%d messages", n)
	}
	if id, err := b.Draft(t.Context(), gateway.Message{Place: group, Text: "draft"}, ""); err != nil || id != "" {
		t.Errorf("a draft takes the rate of answers: %s %v", id, err)
	}
}

func TestATextThatTelegramRefusesIsSentPlain(t *testing.T) {
	b, s := bot(t, func(s *fake.Server) { s.BadMark = "BAD" })
	send(t, b, gateway.Message{Place: private, Text: "a **BAD** text"})
	if m := s.Sent(7)[0]; m.Text != "a **BAD** text" || m.Rich != "" || len(m.Entities) > 0 {
		t.Errorf("%+v", m)
	}
}

func TestLongTextsGoInPieces(t *testing.T) {
	b, _ := bot(t)
	long, ok := errors.AsType[*gateway.TooLong](sendErr(b, strings.Repeat("word ", 10_000)))
	if !ok || long.Units != richUnits {
		t.Errorf("%+v", long)
	}
	if _, ok := errors.AsType[*gateway.TooLong](sendErr(b, strings.Repeat("- item\n", 600))); !ok {
		t.Error("600 blocks are sent at once")
	}
	b, _ = bot(t, func(s *fake.Server) { s.Lacks = []string{"sendRichMessage"} })
	long, ok = errors.AsType[*gateway.TooLong](sendErr(b, strings.Repeat("word ", 2000)))
	if !ok || long.Units != pieceUnits {
		t.Errorf("%+v", long)
	}
}

func sendErr(b *Transport, text string) error {
	_, err := b.Send(context.Background(), gateway.Message{Place: private, Text: text})
	return err
}

func TestASecondPollerWaitsForTheFirst(t *testing.T) {
	b, s := bot(t)
	first, end := context.WithCancel(t.Context())
	got := make(chan gateway.Update, 10)
	take := func(u gateway.Update) error { got <- u; return nil }
	done := make(chan error, 2)
	go func() { done <- b.Receive(first, take) }()
	for s.Calls()["getUpdates"] == 0 {
		time.Sleep(time.Millisecond)
	}
	other := New(b.o)
	second, stop := context.WithCancel(t.Context())
	go func() { done <- other.Receive(second, take) }()
	for s.Calls()["getUpdates"] < 3 {
		time.Sleep(time.Millisecond)
	}
	end()
	s.Say(fake.Private(7), 7, "hello")
	if u := <-got; u.Text != "hello" {
		t.Errorf("%+v", u)
	}
	stop()
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestWhoWroteAndWhoIsMeant(t *testing.T) {
	b := New(Options{HTTP: http.DefaultClient, Log: slog.New(slog.DiscardHandler)})
	b.me = user{ID: 99, Username: "lathe_bot"}
	ann := &user{ID: 7}
	in := chat{ID: -100, Type: "supergroup"}
	for name, c := range map[string]struct {
		m      message
		ok     bool
		called bool
		text   string
	}{
		"words":            {message{From: ann, Chat: in, Text: "hello"}, true, false, "hello"},
		"a mention":        {message{From: ann, Chat: in, Text: "@lathe_bot hello"}, true, true, "hello"},
		"a command":        {message{From: ann, Chat: in, Text: "/status"}, true, true, "/status"},
		"our command":      {message{From: ann, Chat: in, Text: "/bg@lathe_bot do"}, true, true, "/bg do"},
		"another's":        {message{From: ann, Chat: in, Text: "/bg@other_bot do"}, true, false, "/bg@other_bot do"},
		"a reply to us":    {message{From: ann, Chat: in, Text: "yes", Reply: &message{ID: 5, From: &b.me}}, true, true, "yes"},
		"a bot":            {message{From: &user{ID: 8, Bot: true}, Chat: in, Text: "@lathe_bot"}, false, false, ""},
		"an anonymous one": {message{From: ann, Sender: &in, Chat: in, Text: "@lathe_bot"}, false, false, ""},
		"a channel":        {message{From: ann, Chat: chat{ID: -1, Type: "channel"}, Text: "x"}, false, false, ""},
		"no one":           {message{Chat: in, Text: "@lathe_bot"}, false, false, ""},
	} {
		u, ok := b.convert(update{ID: 1, Message: &c.m})
		if ok != c.ok || ok && (u.Called != c.called || u.Text != c.text || u.From.ID != "7") {
			t.Errorf("%s: %v %+v", name, ok, u)
		}
	}
	for _, u := range []update{{ID: 1}, {ID: 2, Message: nil}} { // of a kind that is not known
		if _, ok := b.convert(u); ok {
			t.Errorf("%+v", u)
		}
	}
}
