// Package fake is a Bot API server for tests, with the limits and refusals of the real one as far as a gateway meets
// them: one poller for each token, 429 with retry_after in groups, texts and entities that fit, drafts in private chats
// only, ephemeral messages in groups only, "message is not modified".
package fake

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Token is the token of the bot.
const Token = "1234567:test-token"

// Message is a message of a chat.
type Message struct {
	ID        int64            `json:"message_id"`
	Ephemeral int64            `json:"ephemeral_message_id,omitempty"`
	Reader    int64            `json:"-"` // of an ephemeral one
	Chat      Chat             `json:"chat"`
	Thread    int64            `json:"message_thread_id,omitempty"`
	Topic     bool             `json:"is_topic_message,omitempty"`
	From      User             `json:"from"`
	Text      string           `json:"text,omitempty"`
	Reply     *Message         `json:"reply_to_message,omitempty"`
	Photo     []File           `json:"photo,omitempty"`
	Document  *File            `json:"document,omitempty"`
	Voice     *File            `json:"voice,omitempty"`
	Caption   string           `json:"caption,omitempty"`
	Entities  []map[string]any `json:"entities,omitempty"`
	Rich      string           `json:"-"` // the Markdown of a rich message
	Buttons   [][]Button       `json:"-"`
	Edits     int              `json:"-"`
	Deleted   bool             `json:"-"`
	Reactions []string         `json:"-"`
	Data      []byte           `json:"-"` // of an uploaded file
	ReplyTo   int64            `json:"-"`
}

// Body is the text of a message, in whatever form it came.
func (m Message) Body() string {
	if m.Rich != "" {
		return m.Rich
	}
	return m.Text + m.Caption
}

type (
	// Chat is as in the Bot API.
	Chat struct {
		ID    int64  `json:"id"`
		Type  string `json:"type"`
		Forum bool   `json:"is_forum,omitempty"`
	}
	// User is as in the Bot API.
	User struct {
		ID       int64  `json:"id"`
		Bot      bool   `json:"is_bot"`
		Username string `json:"username,omitempty"`
		First    string `json:"first_name"`
		Topics   bool   `json:"has_topics_enabled,omitempty"`
	}
	// File is as in the Bot API.
	File struct {
		ID   string `json:"file_id"`
		Name string `json:"file_name,omitempty"`
		MIME string `json:"mime_type,omitempty"`
		Size int64  `json:"file_size,omitempty"`
	}
	// Button is as in the Bot API.
	Button struct {
		Text  string `json:"text"`
		Data  string `json:"callback_data"`
		Style string `json:"style"`
	}
)

// Server is the fake. Its fields are set before it is used.
type Server struct {
	Lacks   []string // methods that this server does not know
	Topics  bool     // private chats have topics
	PerMin  int      // messages to a group in a minute; 0: 20
	BadMark string   // a text with this is refused as having bad entities

	http *httptest.Server
	addr string

	mu       sync.Mutex
	wake     chan struct{}
	updates  []map[string]any
	next     int64 // update id
	ids      int64
	polling  bool
	messages []*Message
	drafts   map[int64]string
	drafted  []string // all drafts
	sent     map[int64][]time.Time
	files    map[string][]byte
	calls    map[string]int
	answers  []string // texts of answerCallbackQuery
	hook     string
	secret   string
	lose     int // so many answers of sends get lost
	down     bool
	topics   int64
	commands int
}

// New starts a server.
func New() *Server {
	s := &Server{
		wake: make(chan struct{}), next: 1000, drafts: map[int64]string{}, sent: map[int64][]time.Time{},
		files: map[string][]byte{}, calls: map[string]int{},
	}
	s.http = httptest.NewServer(s)
	s.addr = s.http.Listener.Addr().String()
	return s
}

// URL is the address for APIBase.
func (s *Server) URL() string { return s.http.URL }

// Close ends the server.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// Down cuts the network, or mends it.
func (s *Server) Down(down bool) {
	s.mu.Lock()
	s.down = down
	s.mu.Unlock()
	if down {
		s.http.CloseClientConnections()
	}
}

// Lose carries out the next n sends and loses their answers.
func (s *Server) Lose(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lose = n
}

// Me is the bot.
func (s *Server) me() User {
	return User{ID: 99, Bot: true, Username: "lathe_bot", First: "lathe", Topics: s.Topics}
}

// Private is the private chat of a user.
func Private(user int64) Chat { return Chat{ID: user, Type: "private"} }

// Group is a group.
func Group(id int64) Chat { return Chat{ID: id, Type: "supergroup"} }

// push hands an update to the bot.
func (s *Server) push(kind string, v any) int64 {
	s.mu.Lock()
	s.next++
	u := map[string]any{"update_id": s.next, kind: v}
	s.updates = append(s.updates, u)
	close(s.wake)
	s.wake = make(chan struct{})
	hook, secret := s.hook, s.secret
	s.mu.Unlock()
	if hook != "" {
		s.call(hook, secret, u)
	}
	return u["update_id"].(int64)
}

// call brings an update to a webhook, again until it is taken.
func (s *Server) call(hook, secret string, u map[string]any) {
	b, _ := json.Marshal(u)
	for range 50 {
		req, _ := http.NewRequest(http.MethodPost, hook, strings.NewReader(string(b)))
		req.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
		if res, err := http.DefaultClient.Do(req); err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Say sends a message to the bot. Change it with the functions.
func (s *Server) Say(c Chat, from int64, text string, change ...func(*Message)) *Message {
	s.mu.Lock()
	m := s.add(&Message{Chat: c, From: User{ID: from, First: "user"}, Text: text})
	s.mu.Unlock()
	for _, f := range change {
		f(m)
	}
	s.push("message", *m)
	return m
}

// Again brings the newest update again, as a service that missed the confirmation does.
func (s *Server) Again() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.updates); n > 0 {
		s.updates = append(s.updates, s.updates[n-1])
		close(s.wake)
		s.wake = make(chan struct{})
	}
}

// Push brings an update of any kind.
func (s *Server) Push(kind string, v any) { s.push(kind, v) }

// Edit changes a message of a person.
func (s *Server) Edit(m *Message, text string) {
	s.mu.Lock()
	m.Text = text
	s.mu.Unlock()
	s.push("edited_message", *m)
}

// Press presses a button of a message.
func (s *Server) Press(m Message, from int64, data string) {
	s.push("callback_query", map[string]any{
		"id": "cb" + strconv.Itoa(int(time.Now().UnixNano())), "from": User{ID: from, First: "user"}, "message": m,
		"data": data,
	})
}

// Stop presses the Stop button of a draft.
func (s *Server) Stop(c Chat) {
	s.push("stopped_message_generation", map[string]any{"chat": c, "draft_id": 1})
}

// Attach puts a file at the server and returns its description.
func (s *Server) Attach(name, mime string, data []byte) File {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := "f" + strconv.Itoa(len(s.files))
	s.files[id] = data
	return File{ID: id, Name: name, MIME: mime, Size: int64(len(data))}
}

// add gives a message an id. The caller holds the lock.
func (s *Server) add(m *Message) *Message {
	s.ids++
	m.ID = s.ids
	s.messages = append(s.messages, m)
	return m
}

// Sent are the bot's messages in a chat, without deleted ones.
func (s *Server) Sent(chat int64) (out []Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.messages {
		if m.Chat.ID == chat && m.From.Bot && !m.Deleted {
			out = append(out, *m)
		}
	}
	return out
}

// Forge brings an update to the webhook with another secret, and returns the status of the answer.
func (s *Server) Forge(secret string, from int64, text string) int {
	s.mu.Lock()
	hook := s.hook
	s.mu.Unlock()
	b, _ := json.Marshal(map[string]any{"update_id": 5, "message": Message{
		ID: 5, Chat: Private(from), From: User{ID: from}, Text: text,
	}})
	req, err := http.NewRequest(http.MethodPost, hook, strings.NewReader(string(b)))
	if err != nil {
		return 0
	}
	req.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// Message returns one message.
func (s *Server) Message(id int64) Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.messages {
		if m.ID == id {
			return *m
		}
	}
	return Message{}
}

// Drafts are all drafts that were shown.
func (s *Server) Drafts() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.drafted)
}

// Answers are the texts beside pressed buttons.
func (s *Server) Answers() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.answers)
}

// Calls counts the calls of methods.
func (s *Server) Calls() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.calls)
}

// failure is a refusal.
type failure struct {
	code  int
	text  string
	after int
}

func bad(text string) *failure { return &failure{400, "Bad Request: " + text, 0} }

// ServeHTTP serves the Bot API.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	down := s.down
	s.mu.Unlock()
	if down {
		drop(w)
		return
	}
	if path, ok := strings.CutPrefix(r.URL.Path, "/file/bot"+Token+"/"); ok {
		s.mu.Lock()
		data := s.files[path]
		s.mu.Unlock()
		_, _ = w.Write(data)
		return
	}
	method, ok := strings.CutPrefix(r.URL.Path, "/bot"+Token+"/")
	if !ok {
		s.reply(w, nil, &failure{401, "Unauthorized", 0})
		return
	}
	s.mu.Lock()
	s.calls[method]++
	s.mu.Unlock()
	if slices.Contains(s.Lacks, method) {
		s.reply(w, nil, &failure{404, "Not Found: method not found", 0})
		return
	}
	p, data, err := read(r)
	if err != nil {
		s.reply(w, nil, bad(err.Error()))
		return
	}
	if method == "getUpdates" {
		result, fail := s.poll(r, p)
		s.reply(w, result, fail)
		return
	}
	s.mu.Lock()
	result, fail := s.method(method, p, data)
	lost := fail == nil && s.lose > 0 && strings.HasPrefix(method, "send") && !strings.Contains(method, "Draft")
	if lost {
		s.lose--
	}
	lost = lost || s.down
	s.mu.Unlock()
	if lost {
		drop(w)
		return
	}
	s.reply(w, result, fail)
}

// drop ends the connection without an answer.
func drop(w http.ResponseWriter) {
	if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
	}
}

func (s *Server) reply(w http.ResponseWriter, result any, fail *failure) {
	w.Header().Set("Content-Type", "application/json")
	if fail == nil {
		_ = json.NewEncoder(w).Encode(map[string]any{"ok": true, "result": result})
		return
	}
	w.WriteHeader(fail.code)
	out := map[string]any{"ok": false, "error_code": fail.code, "description": fail.text}
	if fail.after > 0 {
		out["parameters"] = map[string]any{"retry_after": fail.after}
	}
	_ = json.NewEncoder(w).Encode(out)
}

// read reads the parameters of a call, from JSON or from a form with a file.
func read(r *http.Request) (p params, data []byte, err error) {
	p = params{}
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		return p, nil, json.NewDecoder(r.Body).Decode(&p)
	}
	if err := r.ParseMultipartForm(64 << 20); err != nil {
		return nil, nil, err
	}
	for name, v := range r.MultipartForm.Value {
		var decoded any
		if json.Unmarshal([]byte(v[0]), &decoded) != nil {
			decoded = v[0]
		}
		p[name] = decoded
	}
	for name, list := range r.MultipartForm.File {
		f, err := list[0].Open()
		if err != nil {
			return nil, nil, err
		}
		p["file_name"], p["field"] = list[0].Filename, name
		data, err = io.ReadAll(f)
		_ = f.Close()
		if err != nil {
			return nil, nil, err
		}
	}
	return p, data, nil
}

// poll is getUpdates: one at a time.
func (s *Server) poll(r *http.Request, p params) (any, *failure) {
	s.mu.Lock()
	if s.polling {
		s.mu.Unlock()
		return nil, &failure{409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance " +
			"is running", 0}
	}
	if s.hook != "" {
		s.mu.Unlock()
		return nil, &failure{409, "Conflict: can't use getUpdates method while webhook is active", 0}
	}
	s.polling = true
	defer func() {
		s.mu.Lock()
		s.polling = false
		s.mu.Unlock()
	}()
	offset := p.num("offset")
	s.updates = slices.DeleteFunc(s.updates, func(u map[string]any) bool { return u["update_id"].(int64) < offset })
	ctx, cancel := context.WithTimeout(r.Context(), time.Duration(p.num("timeout"))*time.Second)
	defer cancel()
	for len(s.updates) == 0 {
		wake := s.wake
		s.mu.Unlock()
		select {
		case <-wake:
		case <-ctx.Done():
			return []any{}, nil
		}
		s.mu.Lock()
	}
	out := slices.Clone(s.updates[:min(100, len(s.updates))])
	s.mu.Unlock()
	return out, nil
}
