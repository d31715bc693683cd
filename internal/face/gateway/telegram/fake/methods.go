package fake

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf16"
)

// Limits of the Bot API.
const (
	mostPlain    = 4096
	mostRich     = 32768
	mostBlocks   = 500
	mostCallback = 64
	perMinute    = 20
)

func units(s string) int { return len(utf16.Encode([]rune(s))) }

// method carries out a method. The caller holds the lock.
func (s *Server) method(name string, p params, data []byte) (any, *failure) {
	switch name {
	case "getMe":
		return s.me(), nil
	case "setMyCommands":
		s.commands++
		return true, nil
	case "getWebhookInfo":
		return map[string]any{"url": s.hook}, nil
	case "setWebhook":
		s.hook, s.secret = p.str("url"), p.str("secret_token")
		return true, nil
	case "deleteWebhook":
		s.hook = ""
		return true, nil
	case "sendMessage", "sendRichMessage":
		return s.send(name, p)
	case "sendDocument", "sendPhoto":
		return s.sendFile(name, p, data)
	case "sendMessageDraft", "sendRichMessageDraft":
		return s.draft(name, p)
	case "editMessageText", "editEphemeralMessageText":
		return s.edit(p)
	}
	return s.small(name, p)
}

func (s *Server) small(name string, p params) (any, *failure) {
	switch name {
	case "deleteMessage":
		if m := s.find(p.chat().ID, p.num("message_id")); m != nil {
			m.Deleted = true
			return true, nil
		}
		return nil, bad("message to delete not found")
	case "answerCallbackQuery":
		s.answers = append(s.answers, p.str("text"))
		return true, nil
	case "setMessageReaction":
		m := s.find(p.chat().ID, p.num("message_id"))
		if m == nil {
			return nil, bad("message to react not found")
		}
		m.Reactions = append(m.Reactions, "seen")
		return true, nil
	case "sendChatAction":
		return true, nil
	case "createForumTopic":
		if !s.Topics && !p.chat().Forum {
			return nil, bad("the chat is not a forum")
		}
		s.topics++
		return map[string]any{"message_thread_id": s.topics, "name": p.str("name")}, nil
	case "getFile":
		data, ok := s.files[p.str("file_id")]
		if !ok {
			return nil, bad("invalid file_id")
		}
		return map[string]any{"file_id": p.str("file_id"), "file_path": p.str("file_id"), "file_size": len(data)}, nil
	}
	return nil, &failure{404, "Not Found: method not found", 0}
}

func (s *Server) find(chat, id int64) *Message {
	for _, m := range s.messages {
		if m.Chat.ID == chat && m.ID == id && !m.Deleted {
			return m
		}
	}
	return nil
}

// fill puts the text of a call into a message, if it fits.
func (s *Server) fill(m *Message, p params) *failure {
	for _, row := range p.buttons() {
		for _, b := range row {
			if len(b.Data) > mostCallback || b.Data == "" {
				return bad("BUTTON_DATA_INVALID")
			}
		}
	}
	if rich := p.sub("rich_message"); rich != nil {
		text := rich.str("markdown")
		if s.lacksRich() {
			return bad("message text is empty")
		}
		if units(text) > mostRich || strings.Count(text, "\n") > mostBlocks {
			return bad("RICH_MESSAGE_TOO_LONG")
		}
		if text == "" || s.BadMark != "" && strings.Contains(text, s.BadMark) {
			return bad("can't parse rich message")
		}
		m.Rich, m.Text = text, ""
		return nil
	}
	text := p.str("text")
	list, _ := p["entities"].([]any)
	switch {
	case text == "":
		return bad("message text is empty")
	case units(text) > mostPlain:
		return bad("message is too long")
	}
	m.Entities = nil
	for _, e := range list {
		entity := params(e.(map[string]any))
		if entity.num("length") <= 0 || int(entity.num("offset")+entity.num("length")) > units(text) ||
			s.BadMark != "" && strings.Contains(text, s.BadMark) {
			return bad("can't parse entities: entity beyond the end of the text")
		}
		m.Entities = append(m.Entities, entity)
	}
	m.Text, m.Rich = text, ""
	return nil
}

func (s *Server) lacksRich() bool {
	for _, l := range s.Lacks {
		if l == "sendRichMessage" {
			return true
		}
	}
	return false
}

// rate counts a message to a group.
func (s *Server) rate(c Chat) *failure {
	most := s.PerMin
	if most == 0 {
		most = perMinute
	}
	if c.Type == "private" {
		return nil
	}
	var kept []time.Time
	for _, at := range s.sent[c.ID] {
		if time.Since(at) < time.Minute {
			kept = append(kept, at)
		}
	}
	if s.sent[c.ID] = kept; len(kept) >= most {
		s.sent[c.ID] = nil // the minute is over in the next second
		return &failure{429, "Too Many Requests: retry after 1", 1}
	}
	s.sent[c.ID] = append(kept, time.Now())
	return nil
}

func (s *Server) message(p params) (*Message, *failure) {
	c := p.chat()
	m := &Message{Chat: c, From: s.me(), Buttons: p.buttons(), ReplyTo: p.sub("reply_parameters").num("message_id")}
	if m.Thread = p.num("message_thread_id"); m.Thread != 0 {
		m.Topic = true
		if m.Thread > s.topics {
			return nil, bad("message thread not found")
		}
	}
	if only := p.sub("ephemeral_message_parameters"); only != nil {
		if c.Type == "private" {
			return nil, bad("ephemeral messages can be sent to groups only")
		}
		m.Reader = only.num("receiver_user_id")
	}
	return m, nil
}

func (s *Server) send(_ string, p params) (any, *failure) {
	m, fail := s.message(p)
	if fail == nil {
		fail = s.fill(m, p)
	}
	if fail == nil {
		fail = s.rate(m.Chat)
	}
	if fail != nil {
		return nil, fail
	}
	s.add(m)
	if m.Reader != 0 {
		m.Ephemeral = m.ID
	}
	delete(s.drafts, m.Chat.ID)
	return *m, nil
}

func (s *Server) sendFile(name string, p params, data []byte) (any, *failure) {
	m, fail := s.message(p)
	if fail == nil {
		fail = s.rate(m.Chat)
	}
	if fail != nil {
		return nil, fail
	}
	if len(data) > 50<<20 {
		return nil, bad("file is too big")
	}
	m.Caption, m.Data = p.str("caption"), data
	f := File{ID: "sent", Name: p.str("file_name"), Size: int64(len(data))}
	if name == "sendPhoto" {
		m.Photo = []File{f}
	} else {
		m.Document = &f
	}
	return *s.add(m), nil
}

func (s *Server) draft(_ string, p params) (any, *failure) {
	c := p.chat()
	if c.Type != "private" {
		return nil, bad("drafts can be sent to private chats only")
	}
	if p.num("draft_id") == 0 {
		return nil, bad("draft_id must be non-zero")
	}
	m := &Message{}
	if fail := s.fill(m, p); fail != nil {
		return nil, fail
	}
	s.drafts[c.ID] = m.Body()
	s.drafted = append(s.drafted, m.Body())
	return true, nil
}

func (s *Server) edit(p params) (any, *failure) {
	id := p.num("message_id")
	if e := p.num("ephemeral_message_id"); e != 0 {
		id = e
	}
	m := s.find(p.chat().ID, id)
	switch {
	case m == nil:
		return nil, bad("message to edit not found")
	case !m.From.Bot:
		return nil, bad("message can't be edited")
	}
	changed := *m
	if fail := s.fill(&changed, p); fail != nil {
		return nil, fail
	}
	changed.Buttons = p.buttons()
	if changed.Body() == m.Body() && fmt.Sprint(changed.Buttons) == fmt.Sprint(m.Buttons) {
		return nil, bad("message is not modified: specified new message content and reply markup are exactly the same")
	}
	if fail := s.rate(m.Chat); fail != nil {
		return nil, fail
	}
	changed.Edits++
	*m = changed
	return *m, nil
}
