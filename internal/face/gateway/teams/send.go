package teams

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/face/gateway"
)

// Limits of Teams: of a message with its attachments, of an informative line, of a stream and the pauses within it.
const (
	mostUnits   = 20_000
	mostInform  = 1000
	streamFor   = 100 * time.Second // it ends after two minutes
	streamEvery = 1600 * time.Millisecond
	editEvery   = 2500 * time.Millisecond
)

// object is JSON to be sent.
type object = map[string]any

// sent is the answer to an activity.
type sent struct {
	ID string `json:"id"`
}

// messageOf is a message as an activity.
func messageOf(m gateway.Message) object {
	label := object{
		"type": "https://schema.org/Message", "@type": "Message", "@context": "https://schema.org",
		"additionalType": []string{"AIGeneratedContent"},
	}
	a := object{"type": "message", "textFormat": "markdown", "text": markdown(m.Text), "entities": []any{label}}
	if len(m.Buttons) > 0 {
		delete(a, "text")
		a["attachments"] = []any{card(m)}
	}
	if m.Reply != "" {
		a["replyToId"] = m.Reply
	}
	return a
}

// markdown is a text in the part of Markdown that Teams shows: task lists are signs, tables are code.
func markdown(text string) string {
	var b strings.Builder
	table, fence := false, false
	for line := range strings.Lines(text) {
		t := strings.TrimSpace(line)
		if strings.HasPrefix(t, "```") {
			fence = !fence
		}
		row := !fence && strings.HasPrefix(t, "|") && strings.HasSuffix(t, "|")
		if row != table {
			b.WriteString("```\n")
			table = row
		}
		if !fence && !row {
			line = strings.Replace(strings.Replace(line, "- [x] ", "- ☑ ", 1), "- [ ] ", "- ☐ ", 1)
		}
		b.WriteString(line)
	}
	if table {
		b.WriteString("\n```")
	}
	return b.String()
}

// card is a message with buttons as an Adaptive Card.
func card(m gateway.Message) object {
	var body, actions []any
	code := false
	for _, piece := range strings.Split("\n"+m.Text, "\n```") {
		text := piece
		if code {
			_, text, _ = strings.Cut(piece, "\n") // the language
		}
		if text = strings.Trim(text, "\n"); text != "" {
			block := object{"type": "TextBlock", "text": strings.ReplaceAll(text, "\n", "\n\n"), "wrap": true}
			if code {
				block["fontType"], block["text"] = "Monospace", text
			}
			body = append(body, block)
		}
		code = !code
	}
	for _, row := range m.Buttons {
		for _, b := range row {
			data := object{"token": b.Token}
			a := object{
				"type": "Action.Execute", "title": b.Text, "verb": "answer", "data": data,
				"fallback": object{"type": "Action.Submit", "title": b.Text, "data": data},
			}
			switch b.Style {
			case "success":
				a["style"] = "positive"
			case "danger":
				a["style"] = "destructive"
			}
			actions = append(actions, a)
		}
	}
	return object{"contentType": "application/vnd.microsoft.card.adaptive", "content": object{
		"type": "AdaptiveCard", "version": "1.5", "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
		"body": body, "actions": actions,
	}}
}

// Send is as in [gateway.Transport].
func (t *Transport) Send(ctx context.Context, m gateway.Message) (string, error) {
	if err := t.gate(ctx, m.Place); err != nil {
		return "", err
	}
	if gateway.Units(m.Text) > mostUnits {
		return "", &gateway.TooLong{Units: mostUnits, Lines: 1 << 20}
	}
	if id, ok := strings.CutPrefix(m.Draft, "s:"); ok {
		if got, err := t.finish(ctx, m, id); !streamOver(err) {
			return got, final(err)
		}
	}
	a := messageOf(m)
	if m.File != nil {
		t.withFile(a, m)
	}
	var got sent
	if err := t.do(ctx, m.Place, http.MethodPost, "", a, &got); err != nil {
		return "", final(err)
	}
	if id, ok := strings.CutPrefix(m.Draft, "m:"); ok {
		t.mu.Lock()
		delete(t.streams, m.Draft)
		t.mu.Unlock()
		_ = t.do(ctx, m.Place, http.MethodDelete, "/"+url.PathEscape(id), nil, nil) // it only showed what was going on
	}
	return got.ID, nil
}

// streamOver reports that a stream does not take the text: it ended, was stopped by the user, took too long, or had
// another text.
func streamOver(err error) bool {
	f, ok := errors.AsType[*failure](err)
	return ok && (f.Status == http.StatusForbidden || f.Status == http.StatusBadRequest) || errors.Is(err, errStream)
}

var errStream = errors.New("the text does not go on with what was streamed")

// finish ends a stream with its message.
func (t *Transport) finish(ctx context.Context, m gateway.Message, draft string) (string, error) {
	id, _, _ := strings.Cut(draft, ":")
	t.mu.Lock()
	s := t.streams[id]
	delete(t.streams, id)
	t.mu.Unlock()
	if !strings.HasPrefix(m.Text, s.text) {
		go t.endStream(context.WithoutCancel(ctx), m.Place, id, s.text)
		return "", errStream
	}
	a := messageOf(m)
	stamp(a, object{"streamType": "final", "streamId": id})
	var got sent
	if err := t.do(ctx, m.Place, http.MethodPost, "", a, &got); err != nil {
		return "", err
	}
	if got.ID == "" {
		got.ID = id
	}
	return got.ID, nil
}

// stamp says which part of a stream an activity is.
func stamp(a, info object) {
	a["channelData"] = info
	entity := object{"type": "streaminfo"}
	for k, v := range info {
		entity[k] = v
	}
	list, _ := a["entities"].([]any)
	a["entities"] = append(list, entity)
}

// endStream ends a stream with the text that it has.
func (t *Transport) endStream(ctx context.Context, p gateway.Place, id, text string) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if text == "" {
		text = "…"
	}
	a := messageOf(gateway.Message{Text: text})
	stamp(a, object{"streamType": "final", "streamId": id})
	if err := t.do(ctx, p, http.MethodPost, "", a, nil); err != nil {
		t.o.Log.Info("a stream was not ended", "error", err)
	}
}

// Edit is as in [gateway.Transport].
func (t *Transport) Edit(ctx context.Context, id string, m gateway.Message) error {
	if err := t.gate(ctx, m.Place); err != nil {
		return err
	}
	if gateway.Units(m.Text) > mostUnits {
		m.Text = gateway.Split(m.Text, mostUnits, 1<<20)[0]
	}
	a := messageOf(m)
	a["id"] = id
	return final(t.do(ctx, m.Place, http.MethodPut, "/"+url.PathEscape(id), a, nil))
}

// Find is as in [gateway.Transport]. A stream that was ended is found by trying to end it again.
func (t *Transport) Find(ctx context.Context, m gateway.Message, _ string) (string, error) {
	draft, ok := strings.CutPrefix(m.Draft, "s:")
	if !ok {
		return "", gateway.ErrGone
	}
	id, _, _ := strings.Cut(draft, ":")
	got, err := t.finish(ctx, m, draft)
	switch f, _ := errors.AsType[*failure](err); {
	case f != nil && f.Status == http.StatusForbidden && strings.Contains(strings.ToLower(f.Text), "completed"):
		return id, nil
	case streamOver(err):
		return "", gateway.ErrGone
	}
	return got, final(err)
}

// stream is a reply that is streamed.
type stream struct {
	seq  int
	text string // that was sent
	last time.Time
}

// Draft is as in [gateway.Transport].
func (t *Transport) Draft(ctx context.Context, m gateway.Message, id string) (string, error) {
	t.mu.Lock()
	late := time.Now().Before(t.until[m.Place.Chat])
	t.mu.Unlock()
	switch {
	case late:
		return id, nil
	case strings.HasPrefix(id, "m:") || m.Place.Group:
		return t.draftMessage(ctx, m, id)
	}
	name, since, _ := strings.Cut(strings.TrimPrefix(id, "s:"), ":")
	unix, _ := strconv.ParseInt(since, 10, 64) // 0: it has not begun
	began := time.Unix(unix, 0)
	t.mu.Lock()
	s, known := t.streams[name]
	t.mu.Unlock()
	switch {
	case name != "" && !known: // it began before the host did, with a text that is not known
		return "m:" + name, nil
	case name != "" && (time.Since(began) > streamFor || !strings.HasPrefix(m.Live, s.text)):
		t.mu.Lock()
		delete(t.streams, name)
		t.mu.Unlock()
		t.endStream(ctx, m.Place, name, s.text)
		return "m:" + name, nil
	case time.Since(s.last) < streamEvery:
		return id, nil
	}
	return t.streamOn(ctx, m, id, name, s)
}

// streamOn sends the next part of a stream.
func (t *Transport) streamOn(ctx context.Context, m gateway.Message, id, name string, s stream) (string, error) {
	s.seq, s.last = s.seq+1, time.Now()
	info := object{"streamType": "informative", "streamSequence": s.seq}
	text := m.Text
	if runes := []rune(text); len(runes) > mostInform {
		text = string(runes[len(runes)-mostInform:])
	}
	if m.Live != "" {
		info["streamType"], text, s.text = "streaming", m.Live, m.Live
	}
	if name != "" {
		info["streamId"] = name
	}
	a := object{"type": "typing", "text": markdown(text)}
	stamp(a, info)
	var got sent
	if err := t.do(ctx, m.Place, http.MethodPost, "", a, &got); err != nil {
		if f, ok := errors.AsType[*failure](err); ok && f.Status == http.StatusForbidden && name != "" {
			return "m:" + name, nil // the user stopped it
		}
		return id, err
	}
	if name == "" {
		name, id = got.ID, fmt.Sprintf("s:%s:%d", got.ID, time.Now().Unix())
	}
	t.mu.Lock()
	t.streams[name] = s
	t.mu.Unlock()
	return id, nil
}

// draftMessage shows a draft as a message that is edited.
func (t *Transport) draftMessage(ctx context.Context, m gateway.Message, id string) (string, error) {
	t.mu.Lock()
	s := t.streams[id]
	if time.Since(s.last) < editEvery {
		t.mu.Unlock()
		return id, nil
	}
	t.streams[id] = stream{last: time.Now()}
	t.mu.Unlock()
	if name, ok := strings.CutPrefix(id, "m:"); ok {
		return id, t.Edit(ctx, name, m)
	}
	var got sent
	err := t.do(ctx, m.Place, http.MethodPost, "", messageOf(m), &got)
	if err != nil {
		return id, err
	}
	t.mu.Lock()
	delete(t.streams, id)
	t.mu.Unlock()
	return "m:" + got.ID, nil
}

// Receipt is as in [gateway.Transport].
func (t *Transport) Receipt(ctx context.Context, u gateway.Update, text string) {
	t.mu.Lock()
	waiting := t.waiting[u.Raw]
	t.mu.Unlock()
	if u.Kind == gateway.KindPress {
		if waiting != nil {
			select {
			case waiting <- text:
			default: // it has one
			}
		}
		return
	}
	a := object{"type": "typing"}
	if text != "" {
		a = messageOf(gateway.Message{Text: text})
	}
	if err := t.do(ctx, u.Place, http.MethodPost, "", a, nil); err != nil {
		t.o.Log.Info("a receipt was not sent", "error", err)
	}
}

// consent is a file that waits until somebody takes it.
type consent struct {
	place gateway.Place
	file  gateway.Document
	until time.Time
}

// mostConsents is how many files wait, and consentFor for how long.
const (
	mostConsents = 20
	consentFor   = 30 * time.Minute
	inlineFile   = 15_000
)

// withFile puts a file into an activity: by consent in a personal chat, else its text.
func (t *Transport) withFile(a object, m gateway.Message) {
	switch f := m.File; {
	case strings.HasPrefix(f.MIME, "image/") && len(f.Data) < mostUnits*4:
		a["attachments"] = []any{object{
			"contentType": f.MIME, "name": f.Name,
			"contentUrl": "data:" + f.MIME + ";base64," + base64.StdEncoding.EncodeToString(f.Data),
		}}
	case !m.Place.Group:
		b := make([]byte, 16)
		_, _ = rand.Read(b) // it never fails
		id := base64.RawURLEncoding.EncodeToString(b)
		t.mu.Lock()
		for old, c := range t.consents {
			if time.Now().After(c.until) || len(t.consents) >= mostConsents {
				delete(t.consents, old)
			}
		}
		t.consents[id] = consent{m.Place, *f, time.Now().Add(consentFor)}
		t.mu.Unlock()
		a["attachments"] = []any{object{
			"contentType": "application/vnd.microsoft.teams.card.file.consent", "name": f.Name, "content": object{
				"description": m.Text, "sizeInBytes": len(f.Data), "acceptContext": object{"file": id},
				"declineContext": object{"file": id},
			},
		}}
	default:
		text := string(f.Data[:min(len(f.Data), inlineFile)])
		a["text"] = markdown(m.Text) + "\n\n**" + f.Name + "**\n\n~~~~\n" + text + "\n~~~~"
	}
}

// consented uploads a file that somebody took.
func (t *Transport) consented(ctx context.Context, a *activity) {
	var v struct {
		Action  string `json:"action"`
		Context struct {
			File string `json:"file"`
		} `json:"context"`
		Upload struct {
			URL     string `json:"uploadUrl"`
			Content string `json:"contentUrl"`
			ID      string `json:"uniqueId"`
			Type    string `json:"fileType"`
		} `json:"uploadInfo"`
	}
	_ = json.Unmarshal(a.Value, &v) // no file then
	t.mu.Lock()
	c, ok := t.consents[v.Context.File]
	delete(t.consents, v.Context.File)
	t.mu.Unlock()
	if !ok || v.Action != "accept" || c.place.Chat != a.Conversation.ID {
		return
	}
	u, err := url.Parse(v.Upload.URL)
	if err != nil || u.Scheme != "https" && !t.own(u) {
		return
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, v.Upload.URL, bytes.NewReader(c.file.Data))
	if err != nil {
		return
	}
	n := len(c.file.Data)
	req.Header.Set("Content-Range", fmt.Sprintf("bytes 0-%d/%d", n-1, n))
	res, err := t.http.Do(req)
	if err != nil {
		t.o.Log.Info("a file was not uploaded", "file", c.file.Name)
		return
	}
	_ = res.Body.Close()
	info := object{"type": "message", "attachments": []any{object{
		"contentType": "application/vnd.microsoft.teams.card.file.info", "contentUrl": v.Upload.Content, "name": c.file.Name,
		"content": object{"uniqueId": v.Upload.ID, "fileType": v.Upload.Type},
	}}}
	if err := t.do(ctx, c.place, http.MethodPost, "", info, nil); err != nil {
		t.o.Log.Info("a file was not announced", "error", err)
	}
}
