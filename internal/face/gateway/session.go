package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/face/supervisor"
	"github.com/lathe-dev/lathe/internal/llm"
)

// principal is how sessions, hooks and the log name somebody.
func (h *Host) principal(id string) string { return h.t.Name() + ":" + id }

// door is how somebody gets to the sessions. The host itself has no id, and answers no question by that.
func (h *Host) door(id string) supervisor.Door {
	f := port.Face{Kind: "chat", Name: h.t.Name(), Principal: h.principal(id), Remote: true}
	if id == "" {
		f.Principal, f.Answers = h.t.Name(), "none"
	}
	return supervisor.Door{Place: h.o.Place, Face: f}
}

// chatOf returns the record of a place, for reading. The caller holds the lock.
func (h *Host) chatOf(p Place) chat {
	if c := h.j.Chats[p.Key()]; c != nil {
		now := *c
		now.Place = p // the route may have changed
		return now
	}
	return chat{Place: p}
}

// folder is where the sessions of a chat work.
func (h *Host) folder(c chat) string {
	if dir, ok := h.o.More[c.Project]; ok {
		return dir
	}
	return cmp.Or(h.o.Access.Chats[c.Place.Chat].CWD, h.o.CWD)
}

// talkOf returns the session of a place, which is made if there is none.
func (h *Host) talkOf(u Update) (talk, error) {
	p := u.Place
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.chatOf(p)
	if t := h.j.Talks[c.Session]; t != nil {
		if h.placeOf(*t) != p { // it has another route
			return *t, h.add(record{Chat: &c})
		}
		return *t, nil
	}
	t := talk{ID: uuid.NewString(), Chat: p.Key(), CWD: h.folder(c), At: time.Now()}
	if c.Session = t.ID; !p.Group {
		c.Person = u.From.ID
	}
	return t, h.add(record{Chat: &c, Talk: &t})
}

// change changes a session's record, and writes what comes with that in the same step.
func (h *Host) change(id string, f func(*talk) record) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changeLocked(id, f)
}

func (h *Host) changeLocked(id string, f func(*talk) record) error {
	t := h.j.Talks[id]
	if t == nil {
		return nil
	}
	now := *t
	now.Owed = slices.Clone(t.Owed)
	r := f(&now)
	r.Talk = &now
	return h.add(r)
}

// dial connects somebody to a session, whose process is started if need be.
func (h *Host) dial(ctx context.Context, id, person string) (*port.Client, error) {
	h.mu.Lock()
	t := h.j.Talks[id]
	if t == nil {
		h.mu.Unlock()
		return nil, &Refusal{"the session is gone"}
	}
	now := *t
	place := h.placeOf(now)
	owner := h.personOf(place)
	h.mu.Unlock()
	if c, err := port.Dial(ctx, h.o.Place.Socket(now.Job), h.door(person).Face); now.Job != "" && err == nil {
		return c, nil
	}
	if err := h.room(ctx, id); err != nil {
		return nil, err
	}
	job, err := h.job(ctx, now, place, owner)
	if err != nil {
		return nil, err
	}
	if job != now.Job {
		if err := h.change(id, func(t *talk) record { t.Job = job; return record{} }); err != nil {
			return nil, err
		}
	}
	return h.door(person).Dial(ctx, job)
}

// placeOf is the place of a session. The caller holds the lock.
func (h *Host) placeOf(t talk) Place {
	if c := h.j.Chats[t.Chat]; c != nil {
		return c.Place
	}
	return Place{Chat: t.Chat}
}

// job returns the job of a session, which is found by its id if the host was killed before it knew. Owner is the
// person of a private chat.
func (h *Host) job(ctx context.Context, t talk, p Place, owner string) (string, error) {
	jobs, _ := h.o.Place.List() // those that can be read
	flag := "--session-id=" + t.ID
	if i := slices.IndexFunc(jobs, func(j supervisor.Job) bool {
		return j.SessionID == t.ID || slices.Contains(j.Args, flag)
	}); i >= 0 {
		return jobs[i].ID, nil
	}
	args := h.args(t, p, owner)
	if err := os.MkdirAll(h.files(t.Chat), 0o700); err != nil {
		return "", err
	}
	if t.Cursor != "" { // its job was removed
		j, err := h.door("").Resume(ctx, t.ID, t.CWD, args...)
		return j.ID, err
	}
	j, err := h.door("").Start(ctx, supervisor.Start{
		Name: h.t.Name() + " " + t.Chat, Kind: "background", CWD: t.CWD, Args: append([]string{flag}, args...),
	})
	if err != nil {
		return "", fmt.Errorf("the session cannot be started: %w", err)
	}
	return j.ID, nil
}

// args are the flags of a session: those of the host, and what keeps remote people narrow.
func (h *Host) args(t talk, p Place, owner string) []string {
	mode := cmp.Or(h.o.Access.Chats[p.Chat].Mode, h.o.Mode)
	if len(h.approvers(p)) == 0 && !h.approver(p, owner) && mode != "plan" {
		mode = "dontAsk" // no one could answer
	}
	out := append(slices.Clone(h.o.Args), "--permission-mode="+mode, "--add-dir="+h.files(t.Chat))
	if h.o.Sandbox != "" {
		out = append(out, "--sandbox="+h.o.Sandbox)
	}
	if h.o.IdleMinutes > 0 && !slices.ContainsFunc(out, func(a string) bool { return strings.HasPrefix(a, "--settings") }) {
		out = append(out, fmt.Sprintf(`--settings={"background":{"idleMinutes":%d}}`, h.o.IdleMinutes))
	}
	return out
}

// files is the folder with the files that came into a chat.
func (h *Host) files(chat string) string {
	return filepath.Join(h.o.Dir, "files", strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' {
			return r
		}
		return '_'
	}, chat))
}

// room makes room for one more process: the one that rested longest ends.
func (h *Host) room(ctx context.Context, id string) error {
	if h.o.MaxSessions <= 0 {
		return nil
	}
	h.mu.Lock()
	all := slices.SortedFunc(maps.Values(h.j.Talks), func(a, b *talk) int { return a.At.Compare(b.At) })
	busy := maps.Clone(h.running)
	h.mu.Unlock()
	live, rest := 0, ""
	for _, t := range all {
		j, err := h.o.Place.Read(t.Job)
		if t.ID == id || t.Job == "" || err != nil || !j.Live() {
			continue
		}
		live++
		if rest == "" && !busy["talk:"+t.ID] && (j.State == supervisor.Done || j.State == supervisor.Failed) {
			rest = t.Job
		}
	}
	switch {
	case live < h.o.MaxSessions:
		return nil
	case rest == "":
		return errBusy
	}
	c, err := h.door("").Supervisor(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Stop(ctx, rest)
	return err
}

// with calls f with a session, as somebody.
func (h *Host) with(ctx context.Context, id, person string, f func(*port.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, messageWait)
	defer cancel()
	c, err := h.dial(ctx, id, person)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	return f(c)
}

// prompt sends the message of an update to a session.
func (h *Host) prompt(ctx context.Context, u Update, t talk, text string) error {
	if err := h.affordable(u.Place); err != nil {
		return err
	}
	parts, err := h.parts(ctx, u, text)
	if err != nil {
		return err
	}
	p := port.Prompt{ID: promptID(h.t.Name(), u), Message: llm.Message{Role: llm.User, Parts: parts}}
	due := owed{p.ID, u.Message, h.principal(u.From.ID)}
	err = h.change(t.ID, func(t *talk) record {
		if !slices.Contains(t.Owed, due) {
			t.Owed = append(t.Owed, due)
		}
		return record{}
	})
	if err != nil {
		return err
	}
	err = h.with(ctx, t.ID, u.From.ID, func(c *port.Client) error { return h.sendPrompt(ctx, c, t.ID, p) })
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.attend(ctx, t.ID)
	h.mu.Unlock()
	h.receipt(ctx, u, "")
	return nil
}

// promptID follows from the message, so that a message is one prompt however often it comes.
func promptID(transport string, u Update) string {
	id := transport + ":" + u.Place.Chat + ":" + u.Message
	if u.Kind == KindEdit || u.Message == "" {
		id += ":" + u.Key
	}
	return id
}

// sendPrompt sends a prompt: into the running turn where that is the same person's, else as a turn of its own.
func (h *Host) sendPrompt(ctx context.Context, c *port.Client, id string, p port.Prompt) error {
	now, err := c.Read(ctx, port.ReadRequest{What: "status"})
	if err != nil {
		return err
	}
	if now.State != nil && now.State.Turn != "" {
		h.mu.Lock()
		mine, turns := "", ""
		if t := h.j.Talks[id]; t != nil {
			for _, o := range t.Owed {
				if o.Prompt == p.ID {
					mine = o.From
				} else if o.Prompt == now.State.Turn {
					turns = o.From
				}
			}
		}
		h.mu.Unlock()
		if mine == turns {
			p.Turn = now.State.Turn
		} else {
			p.When = port.AfterTurn
		}
	}
	_, err = c.Prompt(ctx, p)
	if errors.Is(err, port.ErrTurnOver) {
		p.Turn = ""
		_, err = c.Prompt(ctx, p)
	}
	return err
}

// forget takes a prompt back that could not be sent.
func (h *Host) forget(ctx context.Context, u Update) {
	h.mu.Lock()
	defer h.mu.Unlock()
	id := promptID(h.t.Name(), u)
	for _, t := range h.j.Talks {
		if slices.ContainsFunc(t.Owed, func(o owed) bool { return o.Prompt == id }) {
			_ = h.changeLocked(t.ID, func(t *talk) record {
				t.Owed = slices.DeleteFunc(t.Owed, func(o owed) bool { return o.Prompt == id })
				return record{}
			})
		}
	}
}

func today() string { return time.Now().Format(time.DateOnly) }

// affordable refuses prompts of a chat that spent its money for the day.
func (h *Host) affordable(p Place) error {
	most := cmp.Or(h.o.Access.Chats[p.Chat].BudgetUSD, h.o.BudgetUSD)
	h.mu.Lock()
	c := h.chatOf(p)
	h.mu.Unlock()
	if most > 0 && c.Day == today() && c.Spent >= most {
		return &Refusal{fmt.Sprintf("this chat has spent its $%.2f for today", most)}
	}
	return nil
}

// edited changes a prompt that waits, or tells the running turn of the change.
func (h *Host) edited(ctx context.Context, u Update) error {
	before := u
	before.Kind = KindMessage
	id := promptID(h.t.Name(), before)
	h.mu.Lock()
	var t *talk
	for _, one := range h.j.Talks {
		if slices.ContainsFunc(one.Owed, func(o owed) bool { return o.Prompt == id }) {
			t = one
		}
	}
	h.mu.Unlock()
	if t == nil || strings.TrimSpace(u.Text) == "" {
		return nil // it was not for the bot, or has its answer
	}
	m := llm.UserText(u.Text)
	err := h.with(ctx, t.ID, u.From.ID, func(c *port.Client) error {
		_, err := c.Queue(ctx, port.QueueChange{Do: "edit", ID: id, Message: &m})
		return err
	})
	if err != nil {
		return h.prompt(ctx, u, *t, "I changed my message to: "+u.Text)
	}
	h.receipt(ctx, u, "")
	return nil
}

// cancel ends the running turn of a place, for its author and for approvers.
func (h *Host) cancel(ctx context.Context, u Update) error {
	h.mu.Lock()
	t := h.j.Talks[h.chatOf(u.Place).Session]
	h.mu.Unlock()
	if t == nil || len(t.Owed) == 0 {
		h.receipt(ctx, u, "Nothing runs.")
		return nil
	}
	author := slices.ContainsFunc(t.Owed, func(o owed) bool { return o.From == h.principal(u.From.ID) })
	if !author && !h.approver(u.Place, u.From.ID) {
		h.receipt(ctx, u, "Only its author and approvers may end this turn.")
		return nil
	}
	return h.with(ctx, t.ID, u.From.ID, func(c *port.Client) error { return c.Interrupt(ctx, "") })
}

// parts are the parts of a prompt: text, and the files of its message.
func (h *Host) parts(ctx context.Context, u Update, text string) ([]llm.Part, error) {
	if u.Quote != "" {
		text = "In reply to this message:\n> " + strings.ReplaceAll(u.Quote, "\n", "\n> ") + "\n\n" + text
	}
	var media []llm.Part
	for i, f := range u.Files {
		part, line, err := h.file(ctx, u, i, f)
		if err != nil {
			return nil, err
		}
		if part != nil {
			media = append(media, part)
		}
		text = strings.TrimSpace(text + "\n\n" + line)
	}
	return append([]llm.Part{llm.Text{Text: text}}, media...), nil
}

// file takes a file in: pictures as they are, voice as its text, all others as a path that the model may read.
func (h *Host) file(ctx context.Context, u Update, i int, f File) (llm.Part, string, error) {
	if f.Bytes > mostFile {
		return nil, "", &Refusal{fmt.Sprintf("%s is larger than %d MB", cmp.Or(f.Name, "the file"), mostFile>>20)}
	}
	ctx, cancel := context.WithTimeout(ctx, messageWait)
	defer cancel()
	data, err := h.t.Fetch(ctx, f)
	if err != nil {
		return nil, "", err
	}
	if slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, f.MIME) {
		return llm.Media{MIME: f.MIME, Data: data, Name: f.Name}, "", nil
	}
	dir := h.files(u.Place.Key())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, "", err
	}
	path := filepath.Join(dir, fmt.Sprintf("%s-%d-%s", safeName(u.Message), i, safeName(cmp.Or(f.Name, "file"))))
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return nil, "", err
	}
	if !f.Voice {
		return nil, "The attached file is " + path, nil
	}
	if h.o.Transcribe == nil {
		return nil, "", &Refusal{"voice messages need a command: gateway.transcribe in the settings"}
	}
	said, err := h.o.Transcribe(ctx, path)
	if err != nil {
		return nil, "", &Refusal{"the voice message could not be transcribed: " + err.Error()}
	}
	return nil, strings.TrimSpace(said), nil
}

// safeName is a name from a stranger as one of ours.
func safeName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, s)
	if len(s) > 80 {
		s = s[len(s)-80:]
	}
	return strings.TrimLeft(s, ".")
}
