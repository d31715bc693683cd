// Package fake is the Bot Connector of Microsoft Teams for tests, with the service that signs its tokens. It keeps the
// rules of streams: sequence, pauses, texts that grow, one end.
package fake

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Names that the fake knows.
const (
	App      = "11111111-aaaa-bbbb-cccc-000000000001"
	Tenant   = "22222222-aaaa-bbbb-cccc-000000000002"
	Password = "test-password"
	Bot      = "28:" + App
)

// Message is a message of the bot.
type Message struct {
	ID      string
	Text    string
	Card    string // its JSON
	Tokens  []string
	Reply   string
	Stream  string // informative, streaming or final
	Edits   int
	Deleted bool
}

// Server is the fake.
type Server struct {
	Endpoint  string        // of the bot
	StreamFor time.Duration // how long a stream may take; 0: two minutes

	http *httptest.Server
	key  *rsa.PrivateKey

	mu       sync.Mutex
	next     int
	messages map[string][]*Message // by conversation
	streams  map[string]*stream
	limit    int // so many requests get 429
	refused  []string
	typings  []string
}

type stream struct {
	began time.Time
	seq   int
	text  string
	over  bool
}

// New starts a server.
func New() *Server {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err) // the system has no randomness
	}
	s := &Server{key: k, messages: map[string][]*Message{}, streams: map[string]*stream{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/.well-known/openidconfiguration", func(w http.ResponseWriter, _ *http.Request) {
		write(w, 200, map[string]any{"jwks_uri": s.http.URL + "/keys"})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		write(w, 200, map[string]any{"keys": []any{map[string]any{
			"kid": "k1", "kty": "RSA", "n": raw(k.N.Bytes()), "e": raw(big.NewInt(int64(k.E)).Bytes()),
			"endorsements": []string{"msteams"},
		}}})
	})
	mux.HandleFunc("POST /"+Tenant+"/oauth2/v2.0/token", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("client_secret") != Password {
			write(w, 401, map[string]any{"error_description": "AADSTS7000215: Invalid client secret provided."})
			return
		}
		write(w, 200, map[string]any{"access_token": "connector-token", "expires_in": 3600})
	})
	mux.HandleFunc("/v3/conversations/{conversation}/activities", s.activities)
	mux.HandleFunc("/v3/conversations/{conversation}/activities/{id}", s.activities)
	s.http = httptest.NewServer(mux)
	return s
}

// URL is the address of the service and of the logins.
func (s *Server) URL() string { return s.http.URL }

// Close ends the server.
func (s *Server) Close() { s.http.Close() }

// Limit answers the next n requests with 429.
func (s *Server) Limit(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = n
}

func raw(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// Claims are the claims of a valid token.
func (s *Server) Claims() map[string]any {
	return map[string]any{
		"iss": "https://api.botframework.com", "aud": App, "serviceurl": s.URL(), "nbf": time.Now().Unix(),
		"exp": time.Now().Add(time.Hour).Unix(),
	}
}

// Sign is a token with claims.
func (s *Server) Sign(claims map[string]any) string {
	b, _ := json.Marshal(claims)
	head := raw([]byte(`{"alg":"RS256","kid":"k1"}`)) + "." + raw(b)
	sum := sha256.Sum256([]byte(head))
	signature, _ := rsa.SignPKCS1v15(rand.Reader, s.key, crypto.SHA256, sum[:])
	return head + "." + raw(signature)
}

// Activity is a message of somebody.
func (s *Server) Activity(conversation, person, text string) map[string]any {
	s.mu.Lock()
	s.next++
	id := fmt.Sprint("in", s.next)
	s.mu.Unlock()
	kind := "personal"
	if strings.HasPrefix(conversation, "19:") {
		kind = "channel"
	}
	return map[string]any{
		"type": "message", "id": id, "serviceUrl": s.URL(), "channelId": "msteams", "text": text,
		"from":         map[string]any{"id": "29:" + person, "name": person, "aadObjectId": person},
		"recipient":    map[string]any{"id": Bot, "name": "lathe"},
		"conversation": map[string]any{"id": conversation, "conversationType": kind, "tenantId": Tenant},
		"channelData":  map[string]any{"tenant": map[string]any{"id": Tenant}},
	}
}

// Mention makes an activity one that mentions the bot.
func Mention(a map[string]any) map[string]any {
	a["text"] = "<at>lathe</at> " + a["text"].(string)
	a["entities"] = []any{map[string]any{"type": "mention", "mentioned": map[string]any{"id": Bot}, "text": "<at>lathe</at>"}}
	return a
}

// Press is the press of a button of a card.
func (s *Server) Press(conversation, person, token string) map[string]any {
	a := s.Activity(conversation, person, "")
	a["type"], a["name"] = "invoke", "adaptiveCard/action"
	a["value"] = map[string]any{"action": map[string]any{
		"type": "Action.Execute", "verb": "answer", "data": map[string]any{"token": token},
	}}
	return a
}

// Post brings an activity with a token, and returns status and answer.
func (s *Server) Post(a map[string]any, token string) (int, string) {
	b, _ := json.Marshal(a)
	req, err := http.NewRequest(http.MethodPost, s.Endpoint, bytes.NewReader(b))
	if err != nil {
		return 0, err.Error()
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = res.Body.Close() }()
	var out bytes.Buffer
	_, _ = out.ReadFrom(res.Body)
	return res.StatusCode, out.String()
}

// Say brings an activity, again until the bot takes it.
func (s *Server) Say(a map[string]any) string {
	for range 100 {
		if code, out := s.Post(a, s.Sign(s.Claims())); code == http.StatusOK {
			return out
		}
		time.Sleep(50 * time.Millisecond)
	}
	return ""
}

// Sent are the bot's messages in a conversation, without deleted ones.
func (s *Server) Sent(conversation string) (out []Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.messages[conversation] {
		if !m.Deleted {
			out = append(out, *m)
		}
	}
	return out
}

// Typings are the texts of informative and streaming activities.
func (s *Server) Typings() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.typings...)
}

// Refused are the refusals of the connector.
func (s *Server) Refused() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.refused...)
}

// outgoing is an activity of the bot.
type outgoing struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	ReplyTo     string `json:"replyToId"`
	Attachments []struct {
		Type    string          `json:"contentType"`
		Content json.RawMessage `json:"content"`
	} `json:"attachments"`
	ChannelData struct {
		Type string `json:"streamType"`
		ID   string `json:"streamId"`
		Seq  int    `json:"streamSequence"`
	} `json:"channelData"`
}

// mostCard is the size of the largest card, in bytes.
const mostCard = 28 << 10

func (s *Server) activities(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	refuse := func(status int, code, text string) {
		s.refused = append(s.refused, code)
		write(w, status, map[string]any{"error": map[string]any{"code": code, "message": text}})
	}
	if r.Header.Get("Authorization") != "Bearer connector-token" {
		refuse(401, "Unauthorized", "no token")
		return
	}
	if s.limit > 0 {
		s.limit--
		w.Header().Set("Retry-After", "1")
		refuse(429, "Throttled", "too many requests")
		return
	}
	conversation, _ := url.PathUnescape(r.PathValue("conversation"))
	var a outgoing
	if r.Method != http.MethodDelete {
		if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
			refuse(400, "BadSyntax", err.Error())
			return
		}
	}
	for _, at := range a.Attachments {
		if len(at.Content) > mostCard {
			refuse(413, "MessageSizeTooBig", "the card is too large")
			return
		}
	}
	if id := r.PathValue("id"); id != "" {
		for _, m := range s.messages[conversation] {
			if m.ID == id && !m.Deleted {
				if r.Method == http.MethodDelete {
					m.Deleted = true
				} else {
					m.fill(a)
					m.Edits++
				}
				write(w, 200, map[string]any{"id": id})
				return
			}
		}
		refuse(404, "ActivityNotFoundInConversation", "there is no such activity")
		return
	}
	if a.ChannelData.Type != "" {
		if status, code, text := s.stream(conversation, a); code != "" {
			refuse(status, code, text)
			return
		}
	}
	s.next++
	id := fmt.Sprint("m", s.next)
	switch {
	case a.ChannelData.ID != "":
		id = a.ChannelData.ID
	case a.ChannelData.Type != "":
		s.streams[id] = &stream{began: time.Now(), seq: 1, text: streamed(a)}
	}
	if a.Type == "typing" {
		s.typings = append(s.typings, a.Text)
	} else {
		m := &Message{ID: id, Stream: a.ChannelData.Type}
		m.fill(a)
		s.messages[conversation] = append(s.messages[conversation], m)
	}
	write(w, 201, map[string]any{"id": id})
}

// streamed is the text that the next part has to begin with.
func streamed(a outgoing) string {
	if a.ChannelData.Type == "streaming" {
		return a.Text
	}
	return ""
}

// stream holds a part of a stream against the rules. The caller holds the lock.
func (s *Server) stream(conversation string, a outgoing) (status int, code, text string) {
	most := s.StreamFor
	if most == 0 {
		most = 2 * time.Minute
	}
	const refused = "ContentStreamNotAllowed"
	st := s.streams[a.ChannelData.ID]
	switch {
	case strings.HasPrefix(conversation, "19:"):
		return 403, refused, "streaming is for one-on-one chats"
	case a.ChannelData.ID == "" && a.ChannelData.Seq == 1:
		return 0, "", ""
	case st != nil && st.over:
		return 403, refused, "Content stream is not allowed on an already completed streamed message"
	case st == nil || time.Since(st.began) > most:
		return 403, refused, "Content stream finished due to exceeded streaming time."
	case !strings.HasPrefix(a.Text, st.text):
		return 400, "BadArgument", "the text has to begin with what was streamed"
	case a.ChannelData.Type == "final":
		st.over = true
		return 0, "", ""
	case a.ChannelData.Seq != st.seq+1:
		return 202, "ContentStreamSequenceOrderPreConditionFailed", "the sequence is wrong"
	}
	st.seq++
	if text := streamed(a); text != "" {
		st.text = text
	}
	return 0, "", ""
}

// fill puts an activity into a message.
func (m *Message) fill(a outgoing) {
	m.Text, m.Reply, m.Card, m.Tokens = a.Text, a.ReplyTo, "", nil
	for _, at := range a.Attachments {
		m.Card = string(at.Content)
		var card struct {
			Actions []struct {
				Data struct {
					Token string `json:"token"`
				} `json:"data"`
			} `json:"actions"`
		}
		_ = json.Unmarshal(at.Content, &card) // it has no actions then
		for _, action := range card.Actions {
			m.Tokens = append(m.Tokens, action.Data.Token)
		}
	}
}
