package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/face/supervisor"
)

// Options are what a host needs.
type Options struct {
	Dir    string // of the journal
	Place  supervisor.Place
	Access Access
	CWD    string            // the folder of sessions
	More   map[string]string // other folders, by name
	// Args are the flags of a session, without those that the host adds: mode, sandbox, folder of files.
	Args    []string
	Mode    string // permission mode of sessions
	Sandbox string // of their commands
	// Transcribe turns the file of a voice message into text; nil: voice messages are refused.
	Transcribe func(ctx context.Context, path string) (string, error)
	Memory     func(pid int) int64 // bytes that a process and its children take; nil: not known
	Log        *slog.Logger

	BudgetUSD   float64       // of a chat, a day; 0: no limit
	MaxSessions int           // processes at one time; 0: no limit
	MaxMemoryMB int           // of one process; 0: no limit
	Patience    time.Duration // how long a question waits
	IdleMinutes int           // after which a session without a turn ends its process
}

// Host owns one transport.
type Host struct {
	o     Options
	t     Transport
	pairs *Pairs
	stop  context.CancelFunc

	mu      sync.Mutex
	j       *journal
	running map[string]bool // the goroutines, by what they work on
	works   sync.WaitGroup
	told    map[string]time.Time // strangers who were told their id
	err     error                // of the journal: the host ends
}

// New returns a host for a transport.
func New(t Transport, o Options) *Host {
	return &Host{o: o, t: t, pairs: OpenPairs(o.Dir), running: map[string]bool{}, told: map[string]time.Time{}}
}

// Run works until ctx ends.
func (h *Host) Run(ctx context.Context) error {
	j, err := openJournal(h.o.Dir)
	if err != nil {
		return err
	}
	ctx, h.stop = context.WithCancel(ctx)
	defer h.stop()
	h.mu.Lock()
	h.j = j
	h.wake(ctx)
	h.mu.Unlock()
	h.spawn(ctx, "tick", h.keepTime)
	err = h.t.Receive(ctx, func(u Update) error { return h.take(ctx, u) })
	h.stop()
	h.works.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	return errors.Join(err, h.err, h.j.close())
}

// wake goes on with all that the journal has. The caller holds the lock.
func (h *Host) wake(ctx context.Context) {
	for _, u := range h.j.Inbox {
		h.begin(ctx, lane(u), func(ctx context.Context) { h.work(ctx, lane(u)) })
	}
	for _, o := range h.j.Outbox {
		h.deliver(ctx, o.Message.Place.Key())
	}
	for _, t := range h.j.Talks {
		if len(t.Owed) > 0 {
			h.attend(ctx, t.ID)
		}
	}
	for _, a := range h.j.Asked {
		h.attend(ctx, a.Talk)
	}
}

// begin starts f unless it works on the key already. The caller holds the lock; f takes the key off under it.
func (h *Host) begin(ctx context.Context, key string, f func(context.Context)) {
	if h.running[key] || ctx.Err() != nil {
		return
	}
	h.running[key] = true
	h.works.Go(func() { f(ctx) })
}

func (h *Host) spawn(ctx context.Context, key string, f func(context.Context)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.begin(ctx, key, f)
}

// add writes a record. The caller holds the lock. A journal that cannot be written ends the host: it would forget.
func (h *Host) add(r record) error {
	err := h.j.add(r)
	if err != nil {
		h.err = errors.Join(h.err, err)
		h.stop()
	}
	return err
}

// lane is what updates wait for each other in: those of a chat, without answers and stops.
func lane(u Update) string {
	if u.Kind == KindPress || u.Kind == KindStop {
		return "now:" + u.Place.Key()
	}
	return "in:" + u.Place.Key()
}

// take admits an update. Nil: it is on disk, or of no concern.
func (h *Host) take(ctx context.Context, u Update) error {
	if !h.admit(ctx, u) {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.j.seen["in:"+u.Key] {
		return nil
	}
	n := 0
	for _, w := range h.j.Inbox {
		if lane(w) == lane(u) {
			n++
		}
	}
	if n >= mostInbox {
		if n == mostInbox && h.j.see("full:"+u.Place.Key()+u.Message) {
			h.receipt(ctx, u, "Too many messages wait. This one was not taken.")
		}
		return nil
	}
	if err := h.add(record{In: &u}); err != nil {
		return err
	}
	h.begin(ctx, lane(u), func(ctx context.Context) { h.work(ctx, lane(u)) })
	return nil
}

// admit reports whether an update is from somebody who is heard.
func (h *Host) admit(ctx context.Context, u Update) bool {
	if h.user(u.Place, u.From.ID) {
		return u.Kind != KindMessage || !u.Place.Group || u.Called
	}
	if (u.Kind == KindPress || u.Kind == KindStop) && h.approver(u.Place, u.From.ID) {
		return true
	}
	if u.Kind == KindPress {
		h.spawn(ctx, "receipt:"+u.From.ID, func(ctx context.Context) {
			h.t.Receipt(ctx, u, "You may not answer this.")
			h.ended("receipt:" + u.From.ID)
		})
	}
	if u.Kind != KindMessage || u.Place.Group {
		return false
	}
	h.stranger(ctx, u)
	return false
}

// receipt tells the author of an update what became of it, beside everything else.
func (h *Host) receipt(ctx context.Context, u Update, text string) {
	h.works.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, draftWait)
		defer cancel()
		h.t.Receipt(ctx, u, text)
	})
}

func (h *Host) ended(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.running, key)
}

// strangerEvery is how often one stranger gets an answer.
const (
	strangerEvery = time.Hour
	mostStrangers = 1000
)

// stranger answers somebody who is not listed: a code pairs them, else they learn their id, once an hour.
func (h *Host) stranger(ctx context.Context, u Update) {
	text := "You are not on the list of this bot. Your id is " + u.From.ID + "."
	word, code, _ := strings.Cut(strings.TrimSpace(u.Text), " ")
	pairing := (word == "/pair" || word == "/start") && code != ""
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.told) > mostStrangers {
		clear(h.told)
	}
	if !pairing && time.Since(h.told[u.From.ID]) < strangerEvery {
		return
	}
	if pairing && !h.j.see("in:"+u.Key) {
		return
	}
	h.told[u.From.ID] = time.Now()
	if pairing {
		text = "Paired. Send a message to begin."
		if err := h.pairs.redeem(u.From, code); err != nil {
			text = "This code is not valid. lathe gateway pair makes another."
		}
	}
	_ = h.put(ctx, out{ID: "stranger:" + u.Key, Message: Message{Place: u.Place, Text: text}})
}

// put puts messages into the outbox, each once. The caller holds the lock.
func (h *Host) put(ctx context.Context, list ...out) error {
	if err := h.add(record{Put: list}); err != nil {
		return err
	}
	for _, o := range list {
		h.deliver(ctx, o.Message.Place.Key())
	}
	return nil
}

// post puts a message into the outbox.
func (h *Host) post(ctx context.Context, id string, m Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = h.put(ctx, out{ID: id, Message: m})
}

// Pauses between attempts.
const (
	firstPause = 300 * time.Millisecond
	lastPause  = 30 * time.Second
	attempts   = 4 // at what may fail for good
)

// errBusy is returned while too many sessions work.
var errBusy = errors.New("too many sessions work")

// work handles the updates of a lane, one after the other, until there is none.
func (h *Host) work(ctx context.Context, name string) {
	for {
		h.mu.Lock()
		i := slices.IndexFunc(h.j.Inbox, func(u Update) bool { return lane(u) == name })
		if i < 0 || ctx.Err() != nil {
			delete(h.running, name)
			h.mu.Unlock()
			return
		}
		u := h.j.Inbox[i]
		h.mu.Unlock()
		h.persist(ctx, u)
		if ctx.Err() != nil {
			continue // it stays in the inbox
		}
		h.mu.Lock()
		_ = h.add(record{Done: u.Key})
		h.mu.Unlock()
	}
}

// persist handles an update, again if that fails, and says so if it does not succeed.
func (h *Host) persist(ctx context.Context, u Update) {
	pause := firstPause
	for n := 1; ; n++ {
		err := h.handle(ctx, u)
		if err == nil || ctx.Err() != nil {
			return
		}
		if errors.Is(err, errBusy) {
			if n == 1 {
				h.post(ctx, "busy:"+u.Key, Message{Place: u.Place, Text: "All sessions are busy. Your message waits.", Quiet: true})
			}
		} else if _, final := errors.AsType[*Refusal](err); final || n >= attempts {
			h.o.Log.Warn("an update failed", "key", u.Key, "error", err)
			h.forget(ctx, u)
			h.post(ctx, "failed:"+u.Key, Message{Place: u.Place, Text: escape(upper(err.Error())) + ".", Reply: u.Message})
			return
		}
		pauseFor(ctx, pause)
		pause = min(2*pause, lastPause)
	}
}

func pauseFor(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// handle does what an update asks for. It may run again for the same update.
func (h *Host) handle(ctx context.Context, u Update) error {
	switch u.Kind {
	case KindPress:
		return h.press(ctx, u)
	case KindStop:
		return h.cancel(ctx, u)
	case KindEdit:
		return h.edited(ctx, u)
	}
	if done, err := h.answered(ctx, u); done || err != nil {
		return err
	}
	if name, args, ok := commandOf(u.Text); ok {
		return h.command(ctx, u, name, args)
	}
	if strings.TrimSpace(u.Text) == "" && len(u.Files) == 0 {
		return nil
	}
	t, err := h.talkOf(u)
	if err != nil {
		return err
	}
	return h.prompt(ctx, u, t, u.Text)
}

// deliver sends what the outbox has for a chat. The caller holds the lock.
func (h *Host) deliver(ctx context.Context, place string) {
	key := "out:" + place
	h.begin(ctx, key, func(ctx context.Context) {
		pause := firstPause
		for {
			h.mu.Lock()
			i := slices.IndexFunc(h.j.Outbox, func(o out) bool { return o.Message.Place.Key() == place })
			if i < 0 || ctx.Err() != nil {
				delete(h.running, key)
				h.mu.Unlock()
				return
			}
			o := h.j.Outbox[i]
			h.mu.Unlock()
			if h.send(ctx, o) {
				pause = firstPause
				continue
			}
			pauseFor(ctx, pause)
			pause = min(2*pause, lastPause)
		}
	})
}

// send sends an entry of the outbox, and reports whether it is done with.
func (h *Host) send(ctx context.Context, o out) bool {
	ctx, cancel := context.WithTimeout(ctx, messageWait)
	defer cancel()
	id, err := "", error(nil)
	switch {
	case o.Edits != "":
		id, err = "", h.t.Edit(ctx, o.Edits, o.Message)
	case o.Tried && !o.sure:
		if id, err = h.t.Find(ctx, o.Message, o.After); errors.Is(err, ErrGone) {
			id, err = h.try(ctx, o)
		}
	default:
		id, err = h.try(ctx, o)
	}
	if long, ok := errors.AsType[*TooLong](err); ok {
		return h.split(o, long)
	}
	refusal, final := errors.AsType[*Refusal](err)
	if err != nil && !final {
		h.o.Log.Info("a message waits", "id", o.ID, "error", err)
		h.unsent(o.ID, !errors.Is(err, ErrUnknown))
		return false
	}
	if final {
		h.o.Log.Warn("a message was refused", "id", o.ID, "error", refusal)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.add(record{Sent: o.ID, Mine: id}) == nil
}

// split puts pieces in the place of a message that is too long.
func (h *Host) split(o out, long *TooLong) bool {
	texts := Split(o.Message.Text, long.Units, long.Lines)
	pieces := make([]out, len(texts))
	for i, text := range texts {
		m := Message{Place: o.Message.Place, Only: o.Message.Only, Quiet: o.Message.Quiet || i > 0, Text: text}
		if i == 0 {
			m.Reply = o.Message.Reply
		}
		if i == len(texts)-1 {
			m.Buttons, m.Draft = o.Message.Buttons, o.Message.Draft
		}
		pieces[i] = out{ID: fmt.Sprintf("%s#%d", o.ID, i), Message: m}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.add(record{Sent: o.ID, Pieces: pieces}) == nil
}

// unsent notes whether it is sure that a message was not sent.
func (h *Host) unsent(id string, sure bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.j.Outbox {
		if o := &h.j.Outbox[i]; o.ID == id {
			o.sure = sure
		}
	}
}

// try notes that a message may have been sent from here on, and sends it.
func (h *Host) try(ctx context.Context, o out) (string, error) {
	h.mu.Lock()
	after := o.Message.Reply
	if c := h.j.Chats[o.Message.Place.Key()]; c != nil && later(c.High, after) {
		after = c.High
	}
	err := h.add(record{Try: o.ID, After: after})
	h.mu.Unlock()
	if err != nil {
		return "", err
	}
	return h.t.Send(ctx, o.Message)
}
