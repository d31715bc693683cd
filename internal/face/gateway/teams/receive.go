package teams

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/face/gateway"
)

// The types of the connector, as far as they are read.
type (
	account struct {
		ID   string `json:"id"`
		Name string `json:"name"`
		AAD  string `json:"aadObjectId"`
	}
	attachment struct {
		Type    string          `json:"contentType"`
		URL     string          `json:"contentUrl"`
		Name    string          `json:"name"`
		Content json.RawMessage `json:"content"`
	}
	activity struct {
		Type         string  `json:"type"`
		Name         string  `json:"name"`
		ID           string  `json:"id"`
		ServiceURL   string  `json:"serviceUrl"`
		Channel      string  `json:"channelId"`
		From         account `json:"from"`
		Recipient    account `json:"recipient"`
		Conversation struct {
			ID     string `json:"id"`
			Type   string `json:"conversationType"`
			Tenant string `json:"tenantId"`
			Group  bool   `json:"isGroup"`
		} `json:"conversation"`
		Text        string       `json:"text"`
		ReplyTo     string       `json:"replyToId"`
		Attachments []attachment `json:"attachments"`
		Entities    []struct {
			Type      string  `json:"type"`
			Text      string  `json:"text"`
			Mentioned account `json:"mentioned"`
		} `json:"entities"`
		ChannelData struct {
			Tenant struct {
				ID string `json:"id"`
			} `json:"tenant"`
		} `json:"channelData"`
		Value json.RawMessage `json:"value"`
	}
)

// Limits of the endpoint.
const (
	mostActivity = 1 << 20 // bytes
	receiptWait  = 4 * time.Second
	mostInvokes  = 200
)

// Receive is as in [gateway.Transport].
func (t *Transport) Receive(ctx context.Context, take func(gateway.Update) error) error {
	l, err := net.Listen("tcp", t.o.Listen)
	if err != nil {
		return fmt.Errorf("the endpoint for activities cannot listen: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/messages", func(w http.ResponseWriter, r *http.Request) { t.called(w, r, take) })
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second, MaxHeaderBytes: 16 << 10,
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(l); ctx.Err() == nil {
		return err
	}
	return nil
}

// called takes one activity. Its token is verified before the body is read.
func (t *Transport) called(w http.ResponseWriter, r *http.Request, take func(gateway.Update) error) {
	c, err := claims{}, error(nil)
	if !t.o.Unverified {
		if c, err = t.verify(r.Context(), r.Header.Get("Authorization")); err != nil {
			t.o.Log.Warn("an activity was refused", "error", err)
			http.Error(w, "unauthorized", http.StatusUnauthorized)
			return
		}
	}
	var a activity
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostActivity))
	if err == nil {
		err = json.Unmarshal(b, &a)
	}
	if err != nil {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	if !t.o.Unverified {
		if err = c.fits(&a); err == nil && cmp.Or(a.ChannelData.Tenant.ID, a.Conversation.Tenant) != t.o.Tenant {
			err = errors.New("the tenant is another one")
		}
		if err != nil {
			t.o.Log.Warn("an activity was refused", "error", err)
			http.Error(w, "forbidden", http.StatusForbidden)
			return
		}
	}
	t.hand(w, r, &a, take)
}

// hand hands an activity over if it is one of a person.
func (t *Transport) hand(w http.ResponseWriter, r *http.Request, a *activity, take func(gateway.Update) error) {
	if a.Type == "invoke" && a.Name == "fileConsent/invoke" {
		t.consented(r.Context(), a)
		return
	}
	u, ok := t.convert(a)
	if !ok {
		return // joined, installed and the like: 200
	}
	var receipt chan string
	if u.Kind == gateway.KindPress {
		receipt = make(chan string, 1)
		t.mu.Lock()
		if len(t.waiting) < mostInvokes {
			t.waiting[u.Raw] = receipt
		}
		t.mu.Unlock()
	}
	if err := take(u); err != nil {
		http.Error(w, "try again", http.StatusServiceUnavailable)
		return
	}
	if receipt != nil {
		t.invoked(w, r, u, receipt)
	}
}

// invoked answers the press of a button with its receipt.
func (t *Transport) invoked(w http.ResponseWriter, r *http.Request, u gateway.Update, receipt chan string) {
	timer := time.NewTimer(receiptWait)
	defer timer.Stop()
	text := "Received."
	select {
	case text = <-receipt:
	case <-timer.C:
	case <-r.Context().Done():
	}
	t.mu.Lock()
	delete(t.waiting, u.Raw)
	t.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"statusCode": http.StatusOK, "type": "application/vnd.microsoft.activity.message", "value": text,
	})
}

var tags = regexp.MustCompile(`(?s)<at[^>]*>.*?</at>`)

// convert is an activity as the host takes it.
func (t *Transport) convert(a *activity) (u gateway.Update, ok bool) {
	person := strings.ToLower(a.From.AAD)
	if t.o.Unverified {
		person = cmp.Or(person, a.From.ID)
	}
	chat, thread, _ := strings.Cut(a.Conversation.ID, ";messageid=")
	personal := a.Conversation.Type == "personal" || a.Conversation.Type == "" && !a.Conversation.Group
	u = gateway.Update{
		Key: a.Type + ":" + chat + ":" + a.ID, From: gateway.Person{ID: person, Name: a.From.Name}, Message: a.ID,
		Place: gateway.Place{Chat: chat, Thread: thread, Group: !personal, Route: a.ServiceURL}, Reply: a.ReplyTo,
	}
	switch {
	case person == "" || a.ID == "":
		return u, false
	case a.Type == "message" && len(a.Value) > 0 && string(a.Value) != "null" && a.Text == "", a.Type == "invoke" &&
		a.Name == "adaptiveCard/action":
		u.Kind, u.Raw, u.Token = gateway.KindPress, a.ID, tokenOf(a.Value)
		return u, u.Token != ""
	case a.Type == "message":
		u.Kind = gateway.KindMessage
	case a.Type == "messageUpdate":
		u.Kind, u.Key = gateway.KindEdit, u.Key+fmt.Sprint(len(a.Text))
	default:
		return u, false
	}
	for _, e := range a.Entities {
		u.Called = u.Called || e.Type == "mention" && e.Mentioned.ID == a.Recipient.ID
	}
	u.Text = strings.TrimSpace(tags.ReplaceAllString(a.Text, ""))
	for _, at := range a.Attachments {
		if f, ok := fileOf(at); ok {
			u.Files = append(u.Files, f)
		}
	}
	return u, true
}

// tokenOf is the token of a pressed button, from Action.Execute or Action.Submit.
func tokenOf(value json.RawMessage) string {
	var v struct {
		Token  string `json:"token"`
		Action struct {
			Data struct {
				Token string `json:"token"`
			} `json:"data"`
		} `json:"action"`
	}
	_ = json.Unmarshal(value, &v) // nothing is pressed then
	return cmp.Or(v.Action.Data.Token, v.Token)
}

// fileOf is an attachment that is a file.
func fileOf(a attachment) (gateway.File, bool) {
	switch {
	case a.Type == "application/vnd.microsoft.teams.file.download.info":
		var c struct {
			URL  string `json:"downloadUrl"`
			Type string `json:"fileType"`
		}
		_ = json.Unmarshal(a.Content, &c) // no address, no file
		return gateway.File{ID: c.URL, Name: a.Name, MIME: imageType(c.Type)}, c.URL != ""
	case strings.HasPrefix(a.Type, "image/"):
		return gateway.File{ID: a.URL, Name: cmp.Or(a.Name, "picture"), MIME: a.Type}, a.URL != ""
	}
	return gateway.File{}, false
}

func imageType(extension string) string {
	switch strings.ToLower(extension) {
	case "png", "gif", "webp", "jpeg":
		return "image/" + strings.ToLower(extension)
	case "jpg":
		return "image/jpeg"
	}
	return ""
}

// storage are the hosts that files of Teams come from; their addresses carry their own credentials.
var storage = []string{".sharepoint.com", ".sharepoint.us", ".sharepoint.cn", ".svc.ms"}

// mostFile is the size of the largest file that is loaded, in bytes.
const mostFile = 20 << 20

// Fetch is as in [gateway.Transport]. Only hosts of the service are asked.
func (t *Transport) Fetch(ctx context.Context, f gateway.File) ([]byte, error) {
	u, err := url.Parse(f.ID)
	if err != nil || u.Scheme != "https" && !t.own(u) {
		return nil, &gateway.Refusal{Why: "the address of the file cannot be used"}
	}
	bearer := t.own(u) || strings.HasSuffix(u.Hostname(), ".trafficmanager.net") && strings.HasPrefix(u.Hostname(), "smba.")
	known := bearer
	for _, host := range storage {
		known = known || strings.HasSuffix(u.Hostname(), host)
	}
	if !known {
		return nil, &gateway.Refusal{Why: "files are loaded from Microsoft's hosts only, not from " + u.Hostname()}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.ID, nil)
	if err != nil {
		return nil, err
	}
	if token, err := t.bearer(ctx); bearer && err == nil && token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := t.http.Do(req)
	if err != nil {
		return nil, errors.New("the file cannot be loaded")
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(res.Body, mostFile+1))
	switch {
	case err != nil || res.StatusCode != http.StatusOK:
		return nil, errors.New("the file cannot be loaded: " + res.Status)
	case len(b) > mostFile:
		return nil, &gateway.Refusal{Why: "the file is larger than 20 MB"}
	}
	return b, nil
}

// own reports an address of the server that replaces Microsoft's.
func (t *Transport) own(u *url.URL) bool {
	base, err := url.Parse(t.o.LoginBase)
	return err == nil && base.Host != "" && base.Host == u.Host
}
