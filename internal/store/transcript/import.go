package transcript

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// read is a line of a transcript, as another program wrote it.
type read struct {
	Type      string  `json:"type"`
	UUID      string  `json:"uuid"`
	Parent    *string `json:"parentUuid"`
	Sidechain bool    `json:"isSidechain"`
	Meta      bool    `json:"isMeta"`
	Summary   bool    `json:"isCompactSummary"`
	Title     string  `json:"customTitle"`
	Message   struct {
		ID      string          `json:"id"`
		Model   string          `json:"model"`
		Content json.RawMessage `json:"content"`
		Stop    llm.StopReason  `json:"stop_reason"`
		Usage   *usage          `json:"usage"`
	} `json:"message"`
}

type readBlock struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	CallID  string          `json:"tool_use_id"`
	Content json.RawMessage `json:"content"`
	IsError bool            `json:"is_error"`
	Source  struct {
		Media string `json:"media_type"`
		Data  string `json:"data"`
	} `json:"source"`
}

// Import makes a session of the transcript at a path: the conversation that its newest line ends. Another program may
// have written it, as a copy of a session or from a store of the host.
func Import(ctx context.Context, store *session.Store, m session.Meta, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	byID, leaf, title := map[string]read{}, "", ""
	for line := range wholeLines(file) {
		var l read
		if json.Unmarshal(line, &l) != nil || l.Sidechain {
			continue
		}
		if l.Type == "custom-title" {
			title = l.Title
		}
		if l.UUID != "" {
			byID[l.UUID] = l
			if l.Type == "user" || l.Type == "assistant" {
				leaf = l.UUID
			}
		}
	}
	var chain []read
	for id := leaf; id != ""; {
		l, ok := byID[id]
		if !ok {
			break
		}
		delete(byID, id) // a circle would not end
		chain = append(chain, l)
		if id = ""; l.Parent != nil {
			id = *l.Parent
		}
	}
	if len(chain) == 0 {
		return fmt.Errorf("%s holds no conversation", path)
	}
	log, err := store.Create(ctx, m)
	if err != nil {
		return err
	}
	err = (&importer{log: log, ctx: ctx}).all(chain)
	if err == nil && title != "" {
		err = log.SetTitle(ctx, title)
	}
	p := place{Path: path, Entry: log.Head(), Line: leaf}
	if err == nil {
		err = p.keep(log.Folder())
	}
	return errors.Join(err, log.Close())
}

// importer adds lines, the last one first, to a log.
type importer struct {
	log  *session.Session
	ctx  context.Context
	open llm.Message // the reply whose lines come
}

func (i *importer) all(chain []read) error {
	for n := len(chain) - 1; n >= 0; n-- {
		l := chain[n]
		if l.Type != "assistant" || l.Message.ID != i.open.ID {
			if err := i.settle(); err != nil {
				return err
			}
		}
		switch l.Type {
		case "assistant":
			i.reply(l)
		case "user":
			if err := i.user(l); err != nil {
				return err
			}
		}
	}
	return i.settle()
}

func (i *importer) reply(l read) {
	m := &i.open
	m.ID, m.Role, m.Model, m.Stop = cmp.Or(l.Message.ID, l.UUID), llm.Assistant, l.Message.Model, l.Message.Stop
	if u := l.Message.Usage; u != nil {
		m.Usage = &llm.Usage{Input: u.Input, CacheWrite: u.CacheWrite, CacheRead: u.CacheRead, Output: u.Output}
	}
	for _, b := range blocksIn(l.Message.Content) {
		if p := b.part(); p != nil {
			m.Parts = append(m.Parts, p)
		}
	}
}

// settle adds the reply that is whole.
func (i *importer) settle() error {
	m := i.open
	i.open = llm.Message{}
	if len(m.Parts) == 0 {
		return nil
	}
	if m.Stop == "" {
		m.Stop = llm.StopEndTurn
		if len(m.Calls()) > 0 {
			m.Stop = llm.StopToolUse
		}
	}
	return i.log.AddReply(i.ctx, m)
}

// user adds a message of the user, or the results of calls.
func (i *importer) user(l read) error {
	m := llm.Message{ID: l.UUID, Role: llm.User}
	for _, b := range blocksIn(l.Message.Content) {
		if b.Type != "tool_result" {
			if p := b.part(); p != nil {
				m.Parts = append(m.Parts, p)
			}
			continue
		}
		r := llm.ToolResult{CallID: b.CallID, IsError: b.IsError}
		for _, inner := range blocksIn(b.Content) {
			if p := inner.part(); p != nil {
				r.Parts = append(r.Parts, p)
			}
		}
		// A result of a call that the conversation does not have would be refused, and the model needs none.
		_ = i.log.EndCall(i.ctx, session.CallEnd{Result: r})
	}
	if len(m.Parts) == 0 {
		return nil
	}
	return i.log.AddUser(i.ctx, m, false, l.Meta || l.Summary)
}

// blocksIn reads content, which is a text or a list of blocks.
func blocksIn(content json.RawMessage) (out []readBlock) {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []readBlock{{Type: "text", Text: text}}
	}
	_ = json.Unmarshal(content, &out) // blocks of another form are left out
	return out
}

// part is the block as a part of a message; nil for one that lathe does not have, and for thoughts, whose signatures
// count at an unnamed server only.
func (b readBlock) part() llm.Part {
	switch b.Type {
	case "text":
		if b.Text == "" {
			return nil
		}
		return llm.Text{Text: b.Text}
	case "tool_use":
		return llm.ToolCall{ID: b.ID, Name: b.Name, Input: b.Input}
	case "image", "document":
		data, err := base64.StdEncoding.DecodeString(b.Source.Data)
		if err != nil || len(data) == 0 {
			return nil
		}
		return llm.Media{MIME: b.Source.Media, Data: data}
	}
	return nil
}
