package telegram

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/face/gateway"
)

// The types of the Bot API, as far as they are read.
type (
	user struct {
		ID       int64  `json:"id"`
		Bot      bool   `json:"is_bot"`
		Username string `json:"username"`
		First    string `json:"first_name"`
		Topics   bool   `json:"has_topics_enabled"`
	}
	chat struct {
		ID   int64  `json:"id"`
		Type string `json:"type"`
	}
	file struct {
		ID   string `json:"file_id"`
		Name string `json:"file_name"`
		MIME string `json:"mime_type"`
		Size int64  `json:"file_size"`
	}
	message struct {
		ID      int64    `json:"message_id"`
		Thread  int64    `json:"message_thread_id"`
		Topic   bool     `json:"is_topic_message"`
		From    *user    `json:"from"`
		Sender  *chat    `json:"sender_chat"`
		Chat    chat     `json:"chat"`
		Text    string   `json:"text"`
		Caption string   `json:"caption"`
		Reply   *message `json:"reply_to_message"`
		Quote   *struct {
			Text string `json:"text"`
		} `json:"quote"`
		Photo     []file `json:"photo"`
		Document  *file  `json:"document"`
		Voice     *file  `json:"voice"`
		Audio     *file  `json:"audio"`
		Ephemeral int64  `json:"ephemeral_message_id"`
		Edited    int64  `json:"edit_date"`
	}
	update struct {
		ID       int64    `json:"update_id"`
		Message  *message `json:"message"`
		Edited   *message `json:"edited_message"`
		Callback *struct {
			ID      string   `json:"id"`
			From    user     `json:"from"`
			Message *message `json:"message"`
			Data    string   `json:"data"`
		} `json:"callback_query"`
		Stopped *struct {
			Chat   chat  `json:"chat"`
			Thread int64 `json:"message_thread_id"`
		} `json:"stopped_message_generation"`
	}
)

// wanted are the kinds of updates that the server sends. All others, guest messages among them, are refused by that.
var wanted = []string{"message", "edited_message", "callback_query", "stopped_message_generation"}

// pollFor is how long the server waits for an update.
const pollFor = 25 * time.Second

// poll asks for updates. The next request confirms those that were taken.
func (t *Transport) poll(ctx context.Context, take func(gateway.Update) error) error {
	offset := int64(0)
	for ctx.Err() == nil {
		var got []update
		began := time.Now()
		err := t.persist(ctx, func() error {
			ctx, cancel := context.WithTimeout(ctx, pollFor+15*time.Second)
			defer cancel()
			return t.call(ctx, "getUpdates", map[string]any{
				"offset": offset, "timeout": int(pollFor.Seconds()), "allowed_updates": wanted,
			}, &got)
		})
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if len(got) == 0 && time.Since(began) < firstPause { // the server does not wait
			sleep(ctx, firstPause)
		}
		for _, u := range got {
			if err := t.hand(u, take); err != nil {
				return err
			}
			offset = u.ID + 1
		}
	}
	return nil
}

// hand hands an update over if it is one of a person.
func (t *Transport) hand(u update, take func(gateway.Update) error) error {
	if out, ok := t.convert(u); ok {
		return take(out)
	}
	return nil
}

// Limits of the webhook.
const (
	mostUpdate = 1 << 20 // bytes
	secretName = "X-Telegram-Bot-Api-Secret-Token"
)

// serve takes updates that the server brings.
func (t *Transport) serve(ctx context.Context, take func(gateway.Update) error) error {
	if t.o.Webhook.Secret == "" {
		return errors.New("a webhook needs a secret: gateway.telegram.webhook.secret in the settings")
	}
	l, err := net.Listen("tcp", t.o.Webhook.Listen)
	if err != nil {
		return fmt.Errorf("the webhook cannot listen: %w", err)
	}
	server := &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { t.called(w, r, take) }),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second, MaxHeaderBytes: 16 << 10,
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	err = t.persist(ctx, func() error {
		return t.call(ctx, "setWebhook", map[string]any{
			"url": t.o.Webhook.URL, "secret_token": t.o.Webhook.Secret, "allowed_updates": wanted, "max_connections": 4,
		}, nil)
	})
	if err != nil && ctx.Err() == nil {
		return errors.Join(fmt.Errorf("the webhook cannot be set: %w", err), server.Close())
	}
	select {
	case err = <-served:
	case <-ctx.Done():
		return nil
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// called takes one update. The secret is compared before anything is read.
func (t *Transport) called(w http.ResponseWriter, r *http.Request, take func(gateway.Update) error) {
	given := []byte(r.Header.Get(secretName))
	if r.Method != http.MethodPost || subtle.ConstantTimeCompare(given, []byte(t.o.Webhook.Secret)) != 1 {
		http.Error(w, "forbidden", http.StatusForbidden)
		return
	}
	var u update
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostUpdate))
	if err == nil {
		err = json.Unmarshal(b, &u)
	}
	if err != nil {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	if err := t.hand(u, take); err != nil {
		http.Error(w, "try again", http.StatusServiceUnavailable)
	}
}

// convert is an update as the host takes it; false: it is none of a person, or of a kind that is refused.
func (t *Transport) convert(u update) (out gateway.Update, ok bool) {
	out.Key = "u" + strconv.FormatInt(u.ID, 10)
	switch {
	case u.Message != nil:
		out.Kind = gateway.KindMessage
		return out, t.fill(&out, u.Message)
	case u.Edited != nil:
		out.Kind = gateway.KindEdit
		return out, t.fill(&out, u.Edited)
	case u.Callback != nil && u.Callback.Message != nil:
		c := u.Callback
		out.Kind, out.From, out.Place = gateway.KindPress, person(&c.From), placeOf(c.Message)
		out.Token, out.Raw, out.Message = c.Data, c.ID, messageID(c.Message, c.From.ID)
		return out, true
	case u.Stopped != nil:
		id := strconv.FormatInt(u.Stopped.Chat.ID, 10) // of a private chat: its user's
		out.Kind, out.From = gateway.KindStop, gateway.Person{ID: id}
		out.Place = placeOf(&message{Chat: u.Stopped.Chat, Thread: u.Stopped.Thread, Topic: u.Stopped.Thread != 0})
		return out, u.Stopped.Chat.Type == "private"
	}
	return out, false
}

func person(u *user) gateway.Person {
	return gateway.Person{ID: strconv.FormatInt(u.ID, 10), Name: u.First}
}

func placeOf(m *message) gateway.Place {
	p := gateway.Place{Chat: strconv.FormatInt(m.Chat.ID, 10), Group: m.Chat.Type != "private"}
	if m.Topic && m.Thread != 0 {
		p.Thread = strconv.FormatInt(m.Thread, 10)
	}
	return p
}

// messageID is the id of a message; that of an ephemeral one has its reader with it.
func messageID(m *message, reader int64) string {
	if m.Ephemeral != 0 {
		return fmt.Sprintf("e:%d:%d", reader, m.Ephemeral)
	}
	return strconv.FormatInt(m.ID, 10)
}

// fill fills an update with a message; false: nobody in person wrote it.
func (t *Transport) fill(out *gateway.Update, m *message) bool {
	if m.From == nil || m.From.Bot || m.Sender != nil || m.Chat.Type == "channel" {
		return false
	}
	out.From, out.Place, out.Message = person(m.From), placeOf(m), messageID(m, m.From.ID)
	out.Text = cmp.Or(m.Text, m.Caption)
	t.mu.Lock()
	me := t.me
	t.mu.Unlock()
	name := "@" + me.Username
	out.Called = strings.Contains(out.Text, name) || strings.HasPrefix(out.Text, "/")
	if head, _, _ := strings.Cut(out.Text, " "); strings.HasPrefix(head, "/") && strings.Contains(head, "@") {
		out.Called = strings.HasSuffix(head, name)
	}
	out.Text = strings.TrimSpace(strings.ReplaceAll(out.Text, name, ""))
	if r := m.Reply; r != nil && r.ID != m.Thread {
		ours := r.From != nil && r.From.ID == me.ID
		out.Called = out.Called || ours
		out.Reply = messageID(r, m.From.ID)
		if m.Quote != nil {
			out.Quote = m.Quote.Text
		} else if !ours {
			out.Quote = cmp.Or(r.Text, r.Caption)
		}
	}
	out.Files = m.files()
	return true
}

func (m *message) files() (out []gateway.File) {
	if n := len(m.Photo); n > 0 { // the last one is the largest
		out = append(out, gateway.File{ID: m.Photo[n-1].ID, Name: "photo.jpg", MIME: "image/jpeg", Bytes: m.Photo[n-1].Size})
	}
	for _, f := range []*file{m.Document, m.Audio, m.Voice} {
		if f != nil {
			voice := f == m.Voice
			name := f.Name
			if voice {
				name = "voice.ogg"
			}
			out = append(out, gateway.File{ID: f.ID, Name: name, MIME: f.MIME, Bytes: f.Size, Voice: voice})
		}
	}
	return out
}
