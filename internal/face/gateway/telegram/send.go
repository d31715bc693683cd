package telegram

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/face/gateway"
)

// Limits of the Bot API: of a rich message (its blocks are at most its lines), and of one with entities.
const (
	richUnits  = 32_000
	richLines  = 450
	plainUnits = 4096
	pieceUnits = 3800
	perMinute  = 20 // messages to a group

	mostEntities = 100 // of a message; the rest of it is plain
	mostProbes   = 60  // of messages after the last known one
	draftTail    = 6000
)

// params are those that all ways to send a message have.
func params(m gateway.Message) map[string]any {
	p := map[string]any{"chat_id": chatID(m.Place.Chat)}
	if m.Place.Thread != "" {
		p["message_thread_id"] = chatID(m.Place.Thread)
	}
	if n := chatID(m.Reply); n != 0 {
		p["reply_parameters"] = map[string]any{"message_id": n, "allow_sending_without_reply": true}
	}
	if m.Quiet {
		p["disable_notification"] = true
	}
	if m.Only != "" {
		p["ephemeral_message_parameters"] = map[string]any{"receiver_user_id": chatID(m.Only)}
		delete(p, "reply_parameters")
	}
	if len(m.Buttons) > 0 {
		p["reply_markup"] = keyboard(m.Buttons)
	}
	return p
}

func keyboard(rows [][]gateway.Button) any {
	out := [][]map[string]string{}
	for _, row := range rows {
		var line []map[string]string
		for _, b := range row {
			key := map[string]string{"text": b.Text, "callback_data": b.Token}
			if b.Style != "" {
				key["style"] = b.Style
			}
			line = append(line, key)
		}
		out = append(out, line)
	}
	return map[string]any{"inline_keyboard": out}
}

// written adds a text to parameters, in one of the ways to write it. They are tried in their order.
type written struct {
	send, edit, draft, ephemeral string
	put                          func(p map[string]any, text string) bool // false: the text does not fit
}

var (
	rich = written{
		"sendRichMessage", "editMessageText", "sendRichMessageDraft", "editEphemeralMessageText",
		func(p map[string]any, text string) bool {
			p["rich_message"] = map[string]any{"markdown": text, "skip_entity_detection": true}
			return gateway.Units(text) <= richUnits && strings.Count(text, "\n") <= richLines
		},
	}
	entities = written{
		"sendMessage", "editMessageText", "sendMessageDraft", "editEphemeralMessageText",
		func(p map[string]any, text string) bool {
			plain, list := Entities(text)
			list = list[:min(len(list), mostEntities)]
			p["text"], p["entities"], p["link_preview_options"] = plain, list, map[string]any{"is_disabled": true}
			return gateway.Units(plain) <= plainUnits
		},
	}
	bare = written{
		"sendMessage", "editMessageText", "sendMessageDraft", "editEphemeralMessageText",
		func(p map[string]any, text string) bool {
			p["text"], p["link_preview_options"] = text, map[string]any{"is_disabled": true}
			return gateway.Units(text) <= plainUnits
		},
	}
)

// ways are the ways to write that the server has.
func (t *Transport) ways() []written {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.plain {
		return []written{entities, bare}
	}
	return []written{rich, entities, bare}
}

// lacks notes that the server has no rich messages.
func (t *Transport) lacks(w written, err error) bool {
	if w.send != rich.send || !is(err, http.StatusNotFound) && !says(err, "message text is empty", "text is required") {
		return false
	}
	t.mu.Lock()
	t.plain = true
	t.mu.Unlock()
	return true
}

// write calls f with the text in each way, until the server takes one.
func (t *Transport) write(m gateway.Message, f func(w written, p map[string]any) error) error {
	fits := false
	var err error
	for _, w := range t.ways() {
		p := params(m)
		if !w.put(p, m.Text) {
			continue
		}
		fits = true
		if err = f(w, p); err == nil || !t.lacks(w, err) && (!is(err, http.StatusBadRequest) || settled(err)) {
			return err
		}
	}
	switch {
	case !fits && !t.isPlain():
		return &gateway.TooLong{Units: richUnits, Lines: richLines}
	case !fits || gateway.Units(m.Text) > pieceUnits:
		return &gateway.TooLong{Units: pieceUnits, Lines: 1 << 20}
	}
	return err
}

func (t *Transport) isPlain() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.plain
}

// settled reports a refusal that is not about the text.
func settled(err error) bool {
	return says(err, "not modified", "not found", "can't be edited", "chat", "thread", "rights", "user")
}

// Send is as in [gateway.Transport].
func (t *Transport) Send(ctx context.Context, m gateway.Message) (string, error) {
	if err := t.gate(ctx, m.Place); err != nil {
		return "", err
	}
	var sent message
	var err error
	if m.File != nil {
		err = t.sendFile(ctx, m, &sent)
	} else {
		err = t.write(m, func(w written, p map[string]any) error { return t.call(ctx, w.send, p, &sent) })
	}
	if m.Only != "" && (is(err, http.StatusBadRequest) || is(err, http.StatusNotFound)) {
		m.Only = "" // the server or the chat lacks ephemeral messages; who presses is checked in any case
		return t.Send(ctx, m)
	}
	if err := t.slow(m.Place, err); err != nil {
		return "", final(err)
	}
	if id, ok := strings.CutPrefix(m.Draft, "m:"); ok {
		_ = t.call(ctx, "deleteMessage", map[string]any{"chat_id": chatID(m.Place.Chat), "message_id": chatID(id)}, nil)
	}
	return messageID(&sent, chatID(m.Only)), nil
}

func (t *Transport) sendFile(ctx context.Context, m gateway.Message, sent *message) error {
	p := params(m)
	if m.Text != "" {
		p["caption"] = string([]rune(m.Text)[:min(len([]rune(m.Text)), 1000)])
	}
	if slices.Contains([]string{"image/png", "image/jpeg"}, m.File.MIME) {
		if err := t.upload(ctx, "sendPhoto", "photo", m.File, p, sent); !is(err, http.StatusBadRequest) {
			return err
		}
	}
	return t.upload(ctx, "sendDocument", "document", m.File, p, sent)
}

// slow notes how long a chat has to be left alone.
func (t *Transport) slow(p gateway.Place, err error) error {
	if f, ok := errors.AsType[*failure](err); ok && f.After > 0 {
		t.mu.Lock()
		t.until[p.Chat] = time.Now().Add(f.After)
		t.mu.Unlock()
	}
	return err
}

// used returns how many messages went to a chat in the last minute, and when the last one did. It counts one more if
// take says so.
func (t *Transport) used(chat string, take bool) (n int, last time.Time, until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := slices.DeleteFunc(t.recent[chat], func(at time.Time) bool { return time.Since(at) > time.Minute })
	if n = len(list); n > 0 {
		last = list[n-1]
	}
	if take {
		list = append(list, time.Now())
	}
	if t.recent[chat] = list; len(list) == 0 {
		delete(t.recent, chat)
	}
	if until = t.until[chat]; time.Now().After(until) {
		delete(t.until, chat)
	}
	return n, last, until
}

// gate waits until a chat may be written to.
func (t *Transport) gate(ctx context.Context, p gateway.Place) error {
	for {
		n, _, until := t.used(p.Chat, false)
		wait := time.Until(until)
		if p.Group && n >= perMinute {
			wait = max(wait, time.Second)
		}
		if wait <= 0 {
			t.used(p.Chat, true)
			return nil
		}
		if sleep(ctx, wait); ctx.Err() != nil {
			return fmt.Errorf("Telegram wants a pause: %w", ctx.Err())
		}
	}
}

// edit edits a message by its id.
func (t *Transport) edit(ctx context.Context, id string, m gateway.Message) error {
	return t.write(m, func(w written, p map[string]any) error {
		delete(p, "message_thread_id")
		delete(p, "reply_parameters")
		delete(p, "disable_notification")
		delete(p, "ephemeral_message_parameters")
		if parts := strings.Split(id, ":"); len(parts) == 3 {
			p["receiver_user_id"], p["ephemeral_message_id"] = chatID(parts[1]), chatID(parts[2])
			return t.call(ctx, w.ephemeral, p, nil)
		}
		p["message_id"] = chatID(id)
		return t.call(ctx, w.edit, p, nil)
	})
}

// Edit is as in [gateway.Transport]. A text that is too long is cut.
func (t *Transport) Edit(ctx context.Context, id string, m gateway.Message) error {
	if err := t.gate(ctx, m.Place); err != nil {
		return err
	}
	err := t.edit(ctx, id, m)
	if long, ok := errors.AsType[*gateway.TooLong](err); ok {
		m.Text = gateway.Split(m.Text, long.Units, long.Lines)[0]
		err = t.edit(ctx, id, m)
	}
	if says(err, "not modified") {
		return nil
	}
	return final(t.slow(m.Place, err))
}

// Find is as in [gateway.Transport].
func (t *Transport) Find(ctx context.Context, m gateway.Message, after string) (string, error) {
	from := chatID(after)
	if from == 0 || m.File != nil || m.Only != "" {
		return "", gateway.ErrGone
	}
	for id := from + 1; id <= from+mostProbes; id++ {
		name := strconv.FormatInt(id, 10)
		err := t.edit(ctx, name, m)
		switch {
		case err == nil, says(err, "not modified"):
			return name, nil
		case is(err, http.StatusBadRequest), is(err, http.StatusForbidden):
			continue // there is none, or it is another's
		}
		if long, ok := errors.AsType[*gateway.TooLong](err); ok {
			return "", long
		}
		return "", t.slow(m.Place, err)
	}
	return "", gateway.ErrGone
}

// Topic is as in [gateway.Topics].
func (t *Transport) Topic(ctx context.Context, p gateway.Place, name string) (string, error) {
	var got struct {
		Thread int64 `json:"message_thread_id"`
	}
	err := t.call(ctx, "createForumTopic", map[string]any{"chat_id": chatID(p.Chat), "name": name}, &got)
	return strconv.FormatInt(got.Thread, 10), final(err)
}

// Receipt is as in [gateway.Transport].
func (t *Transport) Receipt(ctx context.Context, u gateway.Update, text string) {
	var err error
	switch {
	case u.Kind == gateway.KindPress:
		err = t.call(ctx, "answerCallbackQuery", map[string]any{"callback_query_id": u.Raw, "text": text}, nil)
	case text == "":
		err = t.call(ctx, "setMessageReaction", map[string]any{
			"chat_id": chatID(u.Place.Chat), "message_id": chatID(u.Message),
			"reaction": []map[string]string{{"type": "emoji", "emoji": "👀"}},
		}, nil)
	default:
		_, err = t.Send(ctx, gateway.Message{Place: u.Place, Text: text, Reply: u.Message, Quiet: true})
	}
	if err != nil {
		t.o.Log.Info("a receipt was not sent", "error", err)
	}
}

// Draft is as in [gateway.Transport].
func (t *Transport) Draft(ctx context.Context, m gateway.Message, id string) (string, error) {
	n, last, until := t.used(m.Place.Chat, false)
	if m.Place.Group && (n >= perMinute/2 || time.Since(last) < 3*time.Second) || time.Now().Before(until) {
		return id, nil // answers have the rest of the rate
	}
	m.Text = tail(m.Text)
	if m.Place.Group {
		return t.draftMessage(ctx, m, id)
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(m.Place.Key() + m.Reply)) // it never fails
	if t.isSilent() {
		return "", t.call(ctx, "sendChatAction", map[string]any{"chat_id": chatID(m.Place.Chat), "action": "typing"}, nil)
	}
	err := t.write(m, func(w written, p map[string]any) error {
		p["draft_id"], p["can_stop"] = int64(h.Sum32()|1), true
		delete(p, "disable_notification")
		return t.call(ctx, w.draft, p, nil)
	})
	if is(err, http.StatusNotFound) {
		t.mu.Lock()
		t.silent = true
		t.mu.Unlock()
	}
	return "", t.slow(m.Place, err)
}

func (t *Transport) isSilent() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.silent
}

// draftMessage shows a draft as a message.
func (t *Transport) draftMessage(ctx context.Context, m gateway.Message, id string) (string, error) {
	if message, ok := strings.CutPrefix(id, "m:"); ok {
		return id, t.Edit(ctx, message, m)
	}
	sent, err := t.Send(ctx, m)
	if err != nil {
		return id, err
	}
	return "m:" + sent, nil
}

// tail is the end of a text, whole lines of it, for a draft.
func tail(text string) string {
	if text = strings.TrimSpace(text); text == "" {
		return "…"
	}
	pieces := gateway.Split(text, draftTail/2, richLines/2)
	return pieces[len(pieces)-1]
}
