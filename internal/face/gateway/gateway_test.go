package gateway

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestSplitKeepsFencesAndText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOf(rapid.SampledFrom([]string{
			"a line of words", "```go", "```", "x := 1", "", "- an item", "😀 wide", strings.Repeat("long ", 60),
		})).Draw(t, "lines")
		text := strings.Join(lines, "\n")
		pieces := Split(text, 200, 10)
		for _, p := range pieces {
			if Units(p) > 200 || strings.Count(p, "\n") > 11 {
				t.Fatalf("%d units: %q", Units(p), p)
			}
			open := ""
			for line := range strings.Lines(p) {
				open = fenceAfter(open, line)
			}
			if open != "" && fenceBalanced(text) {
				t.Fatalf("a fence stays open: %q", p)
			}
		}
		for _, word := range []string{"words", "x := 1", "an item", "wide"} {
			if got, want := strings.Count(strings.Join(pieces, "\n"), word), strings.Count(text, word); got != want {
				t.Fatalf("%q: %d, not %d times", word, got, want)
			}
		}
	})
}

func fenceBalanced(text string) bool {
	open := ""
	for line := range strings.Lines(text) {
		open = fenceAfter(open, line)
	}
	return open == ""
}

func TestTheJournalSurvivesACutLine(t *testing.T) {
	dir := t.TempDir()
	j, err := openJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openJournal(dir); err == nil {
		t.Error("two hosts have one journal")
	}
	p := Place{Chat: "7"}
	for _, r := range []record{
		{In: &Update{Key: "u1", Place: p}},
		{In: &Update{Key: "u1", Place: p}},
		{In: &Update{Key: "u2", Place: p}},
		{Done: "u1"},
		{Put: []out{{ID: "a", Message: Message{Place: p}}, {ID: "b", Message: Message{Place: p}}}},
		{Put: []out{{ID: "a"}}},
		{Try: "a", After: "5"},
		{Sent: "b", Mine: "6"},
	} {
		if err := j.add(r); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = j.file.WriteString(`{"seq":99,"in":{"key":"u3"`) // killed in the middle of a line
	_ = j.lock.Unlock()
	again, err := openJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(again.Inbox) != 1 || again.Inbox[0].Key != "u2" || len(again.Outbox) != 1 || !again.Outbox[0].Tried ||
		again.Outbox[0].After != "5" {
		t.Errorf("%+v %+v", again.Inbox, again.Outbox)
	}
	if err := again.add(record{In: &Update{Key: "u1", Place: p}}); err != nil || len(again.Inbox) != 1 {
		t.Errorf("an update is taken again: %+v %v", again.Inbox, err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "state.json")); err != nil || !strings.Contains(string(b), "u2") {
		t.Errorf("%s %v", b, err)
	}
}

func TestWhoMayDoWhat(t *testing.T) {
	h := New(nil, Options{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler), Access: Access{
		Users: []string{"1", "2"}, Approvers: []string{"2"},
		Chats: map[string]Rules{"-10": {}, "-20": {Users: []string{"3"}, Approvers: []string{"4"}}},
	}})
	code, _, err := h.pairs.Invite(true)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.pairs.redeem(Person{ID: "5"}, strings.ToLower(code)); err != nil {
		t.Fatal(err)
	}
	if err := h.pairs.redeem(Person{ID: "6"}, code); !errors.Is(err, errCode) {
		t.Errorf("a code counts twice: %v", err)
	}
	private, listed, own, other := Place{Chat: "x"}, Place{Chat: "-10", Group: true}, Place{Chat: "-20", Group: true},
		Place{Chat: "-30", Group: true}
	for _, c := range []struct {
		place          Place
		id             string
		user, approver bool
	}{
		{private, "1", true, false},
		{private, "2", true, true},
		{private, "9", false, false},
		{private, "", false, false},
		{private, "5", true, false}, // there is a list of approvers
		{listed, "1", true, false},
		{listed, "2", true, true},
		{listed, "5", false, false}, // who was paired is not in groups
		{own, "1", false, false},
		{own, "3", true, false},
		{own, "4", false, true},
		{own, "2", false, false},
		{other, "1", false, false},
		{other, "2", false, false},
	} {
		if u, a := h.user(c.place, c.id), h.approver(c.place, c.id); u != c.user || a != c.approver {
			t.Errorf("%s in %s: user %v, approver %v", c.id, c.place.Chat, u, a)
		}
	}
	h.o.Access.Approvers = nil
	if !h.approver(private, "5") || !h.approver(private, "1") || h.approver(listed, "1") {
		t.Error("without a list, people approve in their private chats only")
	}
}

func TestCodesCannotBeGuessed(t *testing.T) {
	p := OpenPairs(t.TempDir())
	code, _, err := p.Invite(false)
	if err != nil {
		t.Fatal(err)
	}
	for range triesHour {
		if err := p.redeem(Person{ID: "1"}, "WRONG"); !errors.Is(err, errCode) {
			t.Fatal(err)
		}
	}
	if err := p.redeem(Person{ID: "1"}, code); !errors.Is(err, errCode) {
		t.Error("too many attempts count")
	}
	if err := p.redeem(Person{ID: "2"}, code); err != nil {
		t.Error(err)
	}
	b, err := os.ReadFile(p.path)
	if err != nil || strings.Contains(string(b), code) {
		t.Errorf("%s %v", b, err)
	}
}

// service is a transport that keeps what is sent.
type service struct {
	updates chan Update
	sent    chan Message
	fail    func(m Message) error
}

func (s *service) Name() string { return "test" }

func (s *service) Receive(ctx context.Context, take func(Update) error) error {
	for {
		select {
		case u := <-s.updates:
			if err := take(u); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *service) Send(_ context.Context, m Message) (string, error) {
	if s.fail != nil {
		if err := s.fail(m); err != nil {
			return "", err
		}
	}
	s.sent <- m
	return "1", nil
}
func (s *service) Edit(context.Context, string, Message) error            { return nil }
func (s *service) Find(context.Context, Message, string) (string, error)  { return "", ErrGone }
func (s *service) Draft(context.Context, Message, string) (string, error) { return "", nil }
func (s *service) Fetch(context.Context, File) ([]byte, error)            { return nil, nil }
func (s *service) Receipt(context.Context, Update, string)                {}

// A flood of a stranger, in many shapes, leaves nothing behind but one answer; a known person's is bounded.
func TestAFloodIsBounded(t *testing.T) {
	s := &service{updates: make(chan Update), sent: make(chan Message, 1000)}
	h := New(s, Options{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler), Access: Access{Users: []string{"1"}}})
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	p := Place{Chat: "9"}
	for i := range 500 {
		kind := []string{KindMessage, KindEdit, KindPress, KindStop, "unknown"}[i%5]
		s.updates <- Update{
			Key: "s" + string(rune('a'+i%26)) + time.Now().String(), Kind: kind, Place: p, From: Person{ID: "9"},
			Text: "let me in", Token: "guess",
		}
	}
	m := <-s.sent
	if !strings.Contains(m.Text, "not on the list") || !strings.Contains(m.Text, "9") {
		t.Errorf("%+v", m)
	}
	s.updates <- Update{Key: "k", Kind: KindMessage, Place: Place{Chat: "1"}, From: Person{ID: "1"}, Text: "/help"}
	if m := <-s.sent; !strings.Contains(m.Text, "/project") {
		t.Errorf("%+v", m)
	}
	h.mu.Lock()
	if len(h.j.Inbox) > 1 || len(h.j.Chats) > 0 || slices.ContainsFunc(h.j.Seen, func(k string) bool {
		return strings.HasPrefix(k, "in:s")
	}) {
		t.Errorf("%+v %+v", h.j.Inbox, h.j.Chats)
	}
	h.mu.Unlock()
	end()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A text that the service takes only in pieces is sent in pieces, in order, also when the service fails meanwhile.
func TestPiecesAreSentInOrder(t *testing.T) {
	s := &service{updates: make(chan Update), sent: make(chan Message, 100)}
	failed := 0
	s.fail = func(m Message) error {
		if Units(m.Text) > 200 {
			return &TooLong{Units: 200, Lines: 100}
		}
		if failed++; failed%3 == 0 {
			return errors.New("try again")
		}
		return nil
	}
	h := New(s, Options{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	for {
		h.mu.Lock()
		ready := h.j != nil
		h.mu.Unlock()
		if ready {
			break
		}
		time.Sleep(time.Millisecond)
	}
	var want []string
	for i := range 40 {
		want = append(want, "line "+strings.Repeat(string(rune('a'+i%26)), 20))
	}
	h.post(ctx, "x", Message{Place: Place{Chat: "1"}, Text: strings.Join(want, "\n")})
	var got []string
	for len(got) < len(want) {
		got = append(got, strings.Split((<-s.sent).Text, "\n")...)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	end()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
