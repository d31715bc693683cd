package gateway

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
)

// token is a random name of a button.
func token() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // it never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// decides reports whether a question takes an answer from approvers only: it is about what may be done.
func decides(q event.Question) bool {
	return q.Permission != nil || slices.ContainsFunc(q.Options, func(o event.Option) bool {
		return slices.Contains([]string{
			event.ChoiceOnce, event.ChoiceSession, event.ChoiceAlways, event.ChoiceEdits, event.ChoiceAsk, event.ChoiceFresh,
		}, o.ID)
	})
}

// offered are the ways to answer in a chat. Rules that last are kept at the machine only.
func offered(q event.Question) (out []event.Option) {
	for _, o := range q.Options {
		if !decides(q) || o.ID != event.ChoiceAlways && o.ID != event.ChoiceNever {
			out = append(out, o)
		}
	}
	return out
}

// choiceDone is the choice of the button that ends a choice of several.
const choiceDone = "\x00done"

// part is the question that is shown: one of several, or the whole.
func (a *asked) part() event.Question {
	if len(a.Question.Parts) == 0 {
		return a.Question
	}
	q := a.Question.Parts[a.Part]
	if q.Title == "" {
		q.Title = a.Question.Title
	}
	return q
}

// copy is a copy that can be changed.
func (a *asked) copy() *asked {
	now := *a
	now.Tokens, now.Posts = maps.Clone(a.Tokens), maps.Clone(a.Posts)
	now.Given, now.Picked = slices.Clone(a.Given), slices.Clone(a.Picked)
	return &now
}

// ask puts a question into the chat. One that is known is not asked again.
func (h *Host) ask(ctx context.Context, f *follower, session string, b event.Asked) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.j.Talks[f.id]
	if h.j.Asked[b.ID] != nil || t == nil {
		return nil
	}
	a := &asked{ID: b.ID, Session: session, Talk: f.id, Question: b.Attributed(), Posts: map[string]post{}}
	a.Until = time.Now().Add(h.o.Patience)
	for _, o := range t.Owed {
		if a.Author == "" || o.Prompt == f.state.Turn || slices.Contains(f.prompts, o.Prompt) {
			a.Author = o.From
		}
	}
	f.draft = "" // what the turn does next is shown below the question
	return h.showQuestion(ctx, a, f.place)
}

// showQuestion writes a question, or its next part, with new buttons. The caller holds the lock.
func (h *Host) showQuestion(ctx context.Context, a *asked, p Place) error {
	q := a.part()
	a.Tokens = map[string]string{}
	m := Message{Place: p, Text: questionText(a, q)}
	if at := h.atMachine(a); at != "" {
		m.Text += "\n\n" + at
	} else {
		m.Buttons = a.buttons(q)
	}
	var put []out
	for i, to := range h.readers(a, p) {
		id := fmt.Sprintf("asked:%s:%d:%d", a.ID, a.Part, i)
		now := m
		if now.Place, now.Only = to.Place, to.Only; to.Place.Key() != p.Key() {
			now.Text = "For " + escape(a.Author) + ":\n\n" + m.Text
		}
		a.Posts[id] = post{Place: to.Place}
		put = append(put, out{ID: id, Message: now})
	}
	if len(put) == 0 {
		m.Buttons = nil
		m.Text += "\n\nNo approver can be reached: they have to write to the bot first."
		put = []out{{ID: fmt.Sprintf("asked:%s:%d", a.ID, a.Part), Message: m}}
	}
	if whole, cut := wholePreview(q); cut {
		put = append([]out{{
			ID:      fmt.Sprintf("whole:%s:%d", a.ID, a.Part),
			Message: Message{Place: p, Text: "All of what is asked about:", File: whole, Quiet: true},
		}}, put...)
	}
	return h.askIn(ctx, record{Ask: a, Put: put})
}

// askIn writes a record of a question, and sends its messages. The caller holds the lock.
func (h *Host) askIn(ctx context.Context, r record) error {
	if err := h.add(r); err != nil {
		return err
	}
	for _, o := range r.Put {
		h.deliver(ctx, o.Message.Place.Key())
	}
	return nil
}

// readers are where a question is shown: in its chat; in a group to approvers alone, if it is theirs; and to them in
// their private chats, if the chat is that of somebody who may not approve. The caller holds the lock.
func (h *Host) readers(a *asked, p Place) (out []Message) {
	list := h.approvers(p)
	if !decides(a.Question) || !p.Group && (len(list) == 0 || slices.Contains(list, h.personOf(p))) {
		return []Message{{Place: p}}
	}
	for _, who := range list {
		if p.Group {
			out = append(out, Message{Place: p, Only: who})
			continue
		}
		for _, c := range h.j.Chats {
			if c.Person == who && c.Place.Thread == "" {
				out = append(out, Message{Place: c.Place})
			}
		}
	}
	return out
}

func (h *Host) personOf(p Place) string {
	if c := h.j.Chats[p.Key()]; c != nil {
		return c.Person
	}
	return ""
}

// atMachine says why a question takes no answer from here; empty: it does.
func (h *Host) atMachine(a *asked) string {
	q := a.Question
	if q.Trust || q.Elicitation != nil || len(q.Schema) > 0 {
		job := ""
		if t := h.j.Talks[a.Talk]; t != nil {
			job = t.Job
		}
		return "Answer it at the machine: `lathe attach " + job + "`"
	}
	return ""
}

// buttons are the answers, with their tokens.
func (a *asked) buttons(q event.Question) (rows [][]Button) {
	add := func(text, choice, style string) {
		t := token()
		for known, c := range a.Tokens {
			if c == choice { // it stays, so that a press before the edit counts
				t = known
			}
		}
		a.Tokens[t] = choice
		rows = append(rows, []Button{{Text: text, Token: t, Style: style}})
	}
	for _, o := range offered(q) {
		label := short(o.Label, 60)
		if slices.Contains(a.Picked, o.ID) {
			label = "✓ " + label
		}
		style := ""
		switch o.ID {
		case event.ChoiceOnce:
			style = "success"
		case event.ChoiceNo, event.ChoiceStop:
			style = "danger"
		}
		add(label, o.ID, style)
	}
	if q.Multi {
		add("Done", choiceDone, "success")
	}
	return rows
}

// mostPreview is how much of a command or a diff a question shows, in characters; the rest goes into a file.
const mostPreview = 3000

// wholePreview is a preview that is too long for the question, as a file.
func wholePreview(q event.Question) (*Document, bool) {
	text, language := previewOf(q)
	if len([]rune(text)) <= mostPreview {
		return nil, false
	}
	name := "question.txt"
	if language == "diff" {
		name = "change.diff"
	}
	return &Document{Name: name, MIME: "text/plain", Data: []byte(text)}, true
}

// previewOf is what is decided on, with its language.
func previewOf(q event.Question) (text, language string) {
	switch v := q.Preview.(type) {
	case event.Diff:
		return v.Unified, "diff"
	case event.Command:
		return v.Command, "sh"
	case event.TextView:
		return v.Text, v.Language
	case event.Listing:
		return strings.Join(v.Items, "\n"), ""
	}
	if q.Permission != nil && q.Call != nil {
		return string(q.Call.Input), "json"
	}
	return "", ""
}

// questionText shows what is decided on.
func questionText(a *asked, q event.Question) string {
	var b strings.Builder
	title := q.Title
	if q.Permission != nil {
		title = "May " + q.Permission.Tool + " run?"
	}
	fmt.Fprintf(&b, "**%s**\n", escape(title))
	if n := len(a.Question.Parts); n > 1 {
		fmt.Fprintf(&b, "Question %d of %d\n", a.Part+1, n)
	}
	preview, language := previewOf(q)
	if q.Text != "" && q.Text != preview {
		b.WriteString("\n" + q.Text + "\n")
	}
	if preview != "" {
		b.WriteString("\n" + fenced(short(preview, mostPreview), language) + "\n")
	}
	if c, ok := q.Preview.(event.Command); ok {
		for _, w := range c.Warning {
			b.WriteString("\n⚠ " + escape(w) + "\n")
		}
	}
	if q.Permission != nil {
		for _, access := range q.Permission.Accesses {
			fmt.Fprintf(&b, "- %s: %s\n", access.Kind, escape(access.Target))
		}
	}
	for _, line := range []string{q.Reason, q.Undo} {
		if line != "" {
			b.WriteString("\n" + escape(line) + "\n")
		}
	}
	for _, o := range q.Options {
		if o.Help != "" && !decides(q) {
			fmt.Fprintf(&b, "- **%s**: %s\n", escape(o.Label), escape(o.Help))
		}
	}
	switch {
	case decides(q):
		b.WriteString("\nA reply to this message refuses, and tells the model why.")
	case q.Free || len(q.Options) == 0:
		b.WriteString("\nA reply to this message answers, too.")
	}
	return b.String()
}

// press answers a question by a button.
func (h *Host) press(ctx context.Context, u Update) error {
	h.mu.Lock()
	a, choice := h.byToken(u.Place, u.Token)
	h.mu.Unlock()
	if a == nil {
		h.receipt(ctx, u, "This question is no longer open.")
		return nil
	}
	return h.give(ctx, u, a, event.Answer{Choice: choice})
}

// byToken finds the question of a button, which was shown in the place. The caller holds the lock.
func (h *Host) byToken(p Place, token string) (*asked, string) {
	for _, a := range h.j.Asked {
		choice, ok := a.Tokens[token]
		for _, shown := range a.Posts {
			if ok && shown.Place.Chat == p.Chat {
				return a.copy(), choice
			}
		}
	}
	return nil, ""
}

// answered takes a message as the answer to a question: a reply to it, or any message to a private chat that was asked
// for words.
func (h *Host) answered(ctx context.Context, u Update) (bool, error) {
	h.mu.Lock()
	var found *asked
	session := h.chatOf(u.Place).Session
	for _, a := range h.j.Asked {
		if h.atMachine(a) != "" {
			continue
		}
		for _, shown := range a.Posts {
			if shown.Message != "" && shown.Message == u.Reply && shown.Place.Chat == u.Place.Chat {
				found = a.copy()
			}
		}
		q := a.part()
		if u.Reply == "" && !u.Place.Group && a.Talk == session && !decides(q) && (q.Free || len(q.Options) == 0) &&
			!strings.HasPrefix(u.Text, "/") {
			found = a.copy()
		}
	}
	h.mu.Unlock()
	if found == nil || strings.TrimSpace(u.Text) == "" {
		return false, nil
	}
	answer := event.Answer{Text: u.Text}
	if q := found.part(); decides(q) {
		answer.Choice = event.ChoiceNo
	}
	return true, h.give(ctx, u, found, answer)
}

// give gives an answer, if the person may.
func (h *Host) give(ctx context.Context, u Update, a *asked, answer event.Answer) error {
	who := h.principal(u.From.ID)
	h.mu.Lock()
	t := h.j.Talks[a.Talk]
	if t == nil {
		h.mu.Unlock()
		return nil
	}
	place := h.placeOf(*t)
	h.mu.Unlock()
	switch {
	case h.approver(place, u.From.ID):
	case decides(a.Question) || a.Author != who:
		h.o.Log.Warn("an answer was refused", "principal", who, "question", a.ID)
		h.receipt(ctx, u, "You may not answer this.")
		return nil
	}
	q := a.part()
	if q.Multi && answer.Choice != "" {
		if answer.Choice != choiceDone {
			return h.toggle(ctx, u, a, answer.Choice)
		}
		answer = event.Answer{Choices: a.Picked}
	}
	if len(a.Question.Parts) > 0 {
		text := questionText(a, q)
		a.Given, a.Picked = append(a.Given, answer), nil
		if a.Part++; a.Part < len(a.Question.Parts) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.receipt(ctx, u, "Noted.")
			if err := h.askIn(ctx, record{Put: a.closing(text, "Answered.")}); err != nil {
				return err
			}
			a.Posts = map[string]post{}
			return h.showQuestion(ctx, a, place)
		}
		answer = event.Answer{Parts: a.Given}
	}
	err := h.with(ctx, a.Talk, u.From.ID, func(c *port.Client) error {
		return c.Answer(ctx, port.Answer{Session: a.Session, ID: a.ID, Answer: answer})
	})
	h.o.Log.Info("an answer", "principal", who, "question", a.ID, "choice", answer.Choice, "error", err)
	switch {
	case errors.Is(err, event.ErrNoQuestion):
		h.receipt(ctx, u, "This question is no longer open.")
		return nil
	case errors.Is(err, port.ErrRefused):
		h.receipt(ctx, u, "You may not answer this.")
		return nil
	case err == nil:
		h.receipt(ctx, u, "Answered.")
	}
	return err
}

// toggle picks one of several choices, or drops it.
func (h *Host) toggle(ctx context.Context, u Update, a *asked, choice string) error {
	if i := slices.Index(a.Picked, choice); i >= 0 {
		a.Picked = slices.Delete(a.Picked, i, i+1)
	} else {
		a.Picked = append(a.Picked, choice)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	m := Message{Text: questionText(a, a.part()), Buttons: a.buttons(a.part())}
	var put []out
	for _, shown := range a.Posts {
		if m.Place = shown.Place; shown.Message != "" {
			put = append(put, out{ID: "toggle:" + token(), Edits: shown.Message, Message: m})
		}
	}
	h.receipt(ctx, u, "Noted.")
	return h.askIn(ctx, record{Ask: a, Put: put})
}

// inTime is the outcome of a question that the host refused.
const inTime = "Nobody answered in time, so it was refused."

// outcome says how a question was answered, and by whom.
func outcome(h *Host, a event.Answer) string {
	text := map[string]string{
		event.ChoiceOnce: "Allowed once", event.ChoiceSession: "Allowed for this session", event.ChoiceNo: "Refused",
		event.ChoiceStop: "Refused, and the turn ended", event.ChoiceAlways: "Always allowed",
		event.ChoiceNever: "Never allowed", event.ChoiceEdits: "Allowed, with all edits from now on",
	}[a.Choice]
	switch {
	case a.From == h.t.Name():
		return inTime
	case a.Canceled:
		return "No longer open."
	case text == "":
		text = "Answered"
	}
	if a.From != "" {
		text += " by " + escape(a.From)
	}
	return text + "."
}

// closing are edits of the messages of a question: they lose their buttons, and say what came of it.
func (a *asked) closing(text, outcome string) (put []out) {
	if i := strings.LastIndex(text, "\nA reply to this message"); i >= 0 {
		text = text[:i]
	}
	for name, shown := range a.Posts {
		if shown.Message != "" {
			m := Message{Place: shown.Place, Text: text + "\n\n**" + outcome + "**"}
			put = append(put, out{ID: "closed:" + name, Edits: shown.Message, Message: m})
		}
	}
	return put
}

// closeQuestion takes a question out of the chat: its messages lose their buttons and say what came of it.
func (h *Host) closeQuestion(ctx context.Context, id, outcome string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.j.Asked[id]
	if a == nil {
		return nil
	}
	r := record{Closed: id, Put: a.closing(questionText(a, a.part()), outcome)}
	for name, shown := range a.Posts {
		if shown.Message != "" {
			continue
		}
		i := slices.IndexFunc(h.j.Outbox, func(o out) bool { return o.ID == name && !o.Tried })
		if i >= 0 { // it was not sent yet
			if err := h.add(record{Sent: name}); err != nil {
				return err
			}
		}
	}
	return h.askIn(ctx, r)
}
