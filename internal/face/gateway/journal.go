package gateway

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/lathe-dev/lathe/internal/base/atomicfile"
	"github.com/lathe-dev/lathe/internal/event"
)

// chat is what the host keeps of a place.
type chat struct {
	Place   Place   `json:"place"`
	Session string  `json:"session,omitempty"` // that prompts go to
	Person  string  `json:"person,omitempty"`  // of a private chat
	Project string  `json:"project,omitempty"` // the name of its folder
	High    string  `json:"high,omitempty"`    // the id of the newest message known
	Day     string  `json:"day,omitempty"`     // of Spent
	Spent   float64 `json:"spent,omitempty"`   // US dollars on that day
	Status  string  `json:"status,omitempty"`  // the id of the message with the task list
}

// talk is a session of a chat.
type talk struct {
	ID     string       `json:"id"` // of the session
	Job    string       `json:"job,omitempty"`
	Chat   string       `json:"chat"` // its key
	CWD    string       `json:"cwd"`
	Cursor event.Cursor `json:"cursor,omitempty"` // the last event that was dealt with
	Aside  bool         `json:"aside,omitempty"`  // by /bg: its answers say so
	// Owed are the prompts whose turn has not ended.
	Owed  []owed    `json:"owed,omitempty"`
	Draft string    `json:"draft,omitempty"` // of the transport
	At    time.Time `json:"at,omitzero"`     // when the session was last seen idle
}

// owed is a prompt that waits for its answer.
type owed struct {
	Prompt  string `json:"prompt"`
	Message string `json:"message,omitempty"`
	From    string `json:"from,omitempty"` // the principal
}

// asked is an open question.
type asked struct {
	ID       string            `json:"id"`
	Session  string            `json:"session"` // of the event: a subagent's, perhaps
	Talk     string            `json:"talk"`
	Question event.Question    `json:"question"`
	Author   string            `json:"author,omitempty"` // the principal whose turn it is
	Until    time.Time         `json:"until"`
	Part     int               `json:"part,omitempty"` // of Question.Parts, that is asked now
	Given    []event.Answer    `json:"given,omitempty"`
	Picked   []string          `json:"picked,omitempty"` // of several choices
	Tokens   map[string]string `json:"tokens"`           // token of a button: choice
	Posts    map[string]post   `json:"posts,omitempty"`  // by the entry of the outbox
}

// post is a message with a question.
type post struct {
	Place   Place  `json:"place"`
	Message string `json:"message,omitempty"` // its id, once it was sent
}

// out is a message on its way.
type out struct {
	ID      string  `json:"id"`
	Message Message `json:"message"`
	Edits   string  `json:"edits,omitempty"` // the id of the message that it replaces
	Tried   bool    `json:"tried,omitempty"` // it may have been sent
	After   string  `json:"after,omitempty"` // the newest message before the try

	sure bool // the try failed for sure
}

// state is all that the host keeps. It is what the journal's records add up to.
type state struct {
	Seq    int64             `json:"seq"`
	Inbox  []Update          `json:"inbox,omitempty"`
	Outbox []out             `json:"outbox,omitempty"`
	Chats  map[string]*chat  `json:"chats,omitempty"`
	Talks  map[string]*talk  `json:"talks,omitempty"`
	Asked  map[string]*asked `json:"asked,omitempty"`
	Seen   []string          `json:"seen,omitempty"` // keys of updates and of messages, the newest last

	seen map[string]bool
}

// record is a line of the journal: a change of the state. Its fields are applied in their order.
type record struct {
	Seq    int64   `json:"seq"`
	In     *Update `json:"in,omitempty"`
	Done   string  `json:"done,omitempty"` // the key of an update
	Chat   *chat   `json:"chat,omitempty"`
	Talk   *talk   `json:"talk,omitempty"`
	Drop   string  `json:"drop,omitempty"` // a talk that ended
	Ask    *asked  `json:"ask,omitempty"`
	Closed string  `json:"closed,omitempty"` // a question
	Put    []out   `json:"put,omitempty"`
	Try    string  `json:"try,omitempty"` // an entry of the outbox; After goes with it
	After  string  `json:"after,omitempty"`
	Sent   string  `json:"sent,omitempty"` // an entry of the outbox that is done; Message is its id
	Mine   string  `json:"message,omitempty"`
	Pieces []out   `json:"pieces,omitempty"` // that take its place
}

// see remembers a key, and reports whether it is new.
func (s *state) see(key string) bool {
	if s.seen[key] {
		return false
	}
	s.seen[key] = true
	if s.Seen = append(s.Seen, key); len(s.Seen) > 2*mostSeen {
		for _, old := range s.Seen[:mostSeen] {
			delete(s.seen, old)
		}
		s.Seen = slices.Clone(s.Seen[mostSeen:])
	}
	return true
}

// apply changes the state.
func (s *state) apply(r record) {
	if r.Seq <= s.Seq {
		return // the snapshot has it
	}
	s.Seq = r.Seq
	if r.In != nil && s.see("in:"+r.In.Key) {
		s.Inbox = append(s.Inbox, *r.In)
		if c := s.Chats[r.In.Place.Key()]; c != nil && later(r.In.Message, c.High) {
			c.High = r.In.Message
		}
	}
	if r.Done != "" {
		s.Inbox = slices.DeleteFunc(s.Inbox, func(u Update) bool { return u.Key == r.Done })
	}
	if r.Chat != nil {
		s.Chats[r.Chat.Place.Key()] = r.Chat
	}
	if r.Talk != nil {
		s.Talks[r.Talk.ID] = r.Talk
	}
	delete(s.Talks, r.Drop)
	if r.Ask != nil {
		s.Asked[r.Ask.ID] = r.Ask
	}
	delete(s.Asked, r.Closed)
	for _, o := range r.Put {
		if s.see("out:" + o.ID) {
			s.Outbox = append(s.Outbox, o)
		}
	}
	s.delivery(r)
}

// later reports whether the id of a message is after another one's, as far as ids are numbers.
func later(a, b string) bool { return len(a) > len(b) || len(a) == len(b) && a > b }

// delivery applies what became of an entry of the outbox.
func (s *state) delivery(r record) {
	if i := slices.IndexFunc(s.Outbox, func(o out) bool { return o.ID == r.Try }); i >= 0 {
		s.Outbox[i].Tried, s.Outbox[i].After = true, r.After
	}
	i := slices.IndexFunc(s.Outbox, func(o out) bool { return o.ID == r.Sent })
	if i < 0 {
		return
	}
	place := s.Outbox[i].Message.Place.Key()
	s.Outbox = slices.Replace(s.Outbox, i, i+1, r.Pieces...)
	if c := s.Chats[place]; c != nil && later(r.Mine, c.High) && !strings.Contains(r.Mine, ":") {
		c.High = r.Mine
	}
	for _, a := range s.Asked {
		if p, ok := a.Posts[r.Sent]; ok {
			name := r.Sent
			if n := len(r.Pieces); n > 0 { // the last one has the buttons
				delete(a.Posts, name)
				name = r.Pieces[n-1].ID
			}
			p.Message = r.Mine
			a.Posts[name] = p
		}
	}
}

// journal keeps the state on disk: a snapshot, and the records since.
type journal struct {
	dir  string
	lock *flock.Flock
	file *os.File
	size int64
	state
}

// mostJournal is how large the journal grows before a snapshot takes its place, in bytes.
const mostJournal = 4 << 20

// openJournal reads the journal of a folder. Another process that has it is an error.
func openJournal(dir string) (*journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the gateway's folder cannot be made: %w", err)
	}
	j := &journal{dir: dir, lock: flock.New(filepath.Join(dir, "lock"), flock.SetPermissions(0o600))}
	if ok, err := j.lock.TryLock(); err != nil || !ok {
		return nil, errors.Join(fmt.Errorf("another gateway works with %s", dir), err)
	}
	j.state = state{Chats: map[string]*chat{}, Talks: map[string]*talk{}, Asked: map[string]*asked{}}
	if err := j.read(); err != nil {
		return nil, errors.Join(err, j.lock.Unlock())
	}
	return j, nil
}

func (j *journal) path(name string) string { return filepath.Join(j.dir, name) }

// read reads snapshot and records, and writes a new snapshot of both.
func (j *journal) read() error {
	b, err := os.ReadFile(j.path("state.json"))
	if err == nil {
		err = json.Unmarshal(b, &j.state)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the gateway's state cannot be read: %w", err)
	}
	j.seen = make(map[string]bool, len(j.Seen))
	for _, key := range j.Seen {
		j.seen[key] = true
	}
	b, err = os.ReadFile(j.path("journal.jsonl"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	lines := bufio.NewReader(bytes.NewReader(b))
	for {
		line, err := lines.ReadBytes('\n')
		var r record
		if err != nil || json.Unmarshal(line, &r) != nil {
			break // the end, or a line that was cut when the host was killed
		}
		j.apply(r)
	}
	return j.snapshot()
}

// snapshot writes the state, and begins the journal afresh.
func (j *journal) snapshot() error {
	b, err := json.Marshal(&j.state)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(j.path("state.json"), append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("the gateway's state cannot be written: %w", err)
	}
	if j.file != nil {
		_ = j.file.Close()
	}
	j.file, err = os.OpenFile(j.path("journal.jsonl"), os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	j.size = 0
	return err
}

// add writes a record to the disk and applies it.
func (j *journal) add(r record) error {
	r.Seq = j.Seq + 1
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	n, err := j.file.Write(append(b, '\n'))
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil { // half a line would hide those after it
		return errors.Join(fmt.Errorf("the gateway's journal cannot be written: %w", err), j.file.Truncate(j.size))
	}
	j.apply(r)
	if j.size += int64(n); j.size > mostJournal {
		return j.snapshot()
	}
	return nil
}

func (j *journal) close() error { return errors.Join(j.snapshot(), j.file.Close(), j.lock.Unlock()) }
