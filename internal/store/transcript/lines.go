package transcript

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// line is one line of a conversation.
type line struct {
	Parent     *string `json:"parentUuid"`
	Logical    string  `json:"logicalParentUuid,omitempty"`
	Sidechain  bool    `json:"isSidechain"`
	UserType   string  `json:"userType"`
	Dir        string  `json:"cwd"`
	Session    string  `json:"sessionId"`
	Agent      string  `json:"agentId,omitempty"`
	Type       string  `json:"type"` // user, assistant or system
	Subtype    string  `json:"subtype,omitempty"`
	Content    string  `json:"content,omitempty"`
	Message    any     `json:"message,omitempty"`
	Result     any     `json:"toolUseResult,omitempty"`
	Meta       bool    `json:"isMeta,omitempty"`
	Summary    bool    `json:"isCompactSummary,omitempty"`
	Compaction any     `json:"compactMetadata,omitempty"`
	// lathe's own, where the lines so far are final: the entry of the log that they end with
	Entry string `json:"entryId,omitempty"`
	UUID  string `json:"uuid"`
	Time  string `json:"timestamp"`
}

type message struct {
	ID      string `json:"id,omitempty"`
	Type    string `json:"type,omitempty"`
	Role    string `json:"role"`
	Model   string `json:"model,omitempty"`
	Content any    `json:"content"`
	Stop    any    `json:"stop_reason,omitempty"`
	Usage   *usage `json:"usage,omitempty"`
}

// usage is that of the request, the same on each line of a reply.
type usage struct {
	Input      int `json:"input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	Output     int `json:"output_tokens"`
}

type block map[string]any

// lines makes lines of entries, which come in order.
type lines struct {
	f      *File
	out    bytes.Buffer
	parent string
	open   []session.Entry // parts of the open reply, and ends of calls that ran meanwhile
	err    error
	shared bool                     // ids of lines are those of the stream
	taken  func(id, at string) bool // with shared: another line has the id
}

// take adds an entry. What belongs to a reply waits for the reply to be whole, whose usage its lines have.
func (l *lines) take(e session.Entry) {
	switch b := e.Body.(type) {
	case session.Part:
		for len(l.open) > 0 && l.holds(b.Index) { // the request was sent again
			l.open = l.open[:len(l.open)-1]
		}
		l.open = append(l.open, e)
	case session.CallEnd:
		b.Meta = bytes.Clone(b.Meta)
		e.Body = b
		switch {
		case b.Invoked: // the model did not make it
		case len(l.open) > 0:
			l.open = append(l.open, e)
		default:
			l.result(e, b, e.ID)
		}
	case session.Reply:
		l.settle(&b)
	case session.User:
		l.settle(nil)
		l.user(e, b)
	case session.Compaction:
		l.settle(nil)
		l.compaction(e, b)
	case session.Title:
		l.write(map[string]string{"type": "custom-title", "customTitle": b.Title, "sessionId": l.f.main})
	}
}

// holds reports whether the open reply has a part at an index.
func (l *lines) holds(index int) bool {
	for _, e := range l.open {
		if p, ok := e.Body.(session.Part); ok && p.Index >= index {
			return true
		}
	}
	return false
}

// settle writes the open reply. Without r its end is not in the log, or not yet.
func (l *lines) settle(r *session.Reply) {
	if len(l.open) == 0 {
		return
	}
	m := message{ID: "msg_" + l.open[0].ID, Type: "message", Role: "assistant", Model: l.f.log.Model()}
	if r != nil {
		m.ID, m.Model, m.Stop = cmp.Or(r.MessageID, m.ID), cmp.Or(r.Model, m.Model), string(r.Stop)
		if u := r.Usage; u != nil {
			m.Usage = &usage{u.Input, u.CacheWrite, u.CacheRead, u.Output}
		}
	}
	for _, e := range l.open {
		switch b := e.Body.(type) {
		case session.Part:
			if r != nil && b.Index >= r.Parts {
				continue
			}
			if made := blockOf(b.Part); made != nil {
				m.Content = []any{made}
				l.add(e, 0, line{Type: "assistant", Message: m, UUID: l.partID(m.ID, b.Index)})
			}
		case session.CallEnd:
			l.result(e, b, "")
		}
	}
	l.open = nil
}

// user writes a message of the user's: what they wrote, without what lathe added. A message of lathe's own is marked as
// such.
func (l *lines) user(e session.Entry, u session.User) {
	own, all := []any{}, []any{}
	for _, p := range u.Message.Parts {
		made := blockOf(p)
		if made == nil {
			continue
		}
		all = append(all, made)
		if t, ok := p.(llm.Text); !ok || t.Origin == llm.OriginAuthor || t.Origin == llm.OriginCommand {
			own = append(own, made)
		}
	}
	meta := u.Synthetic || len(own) == 0
	if meta {
		own = all
	}
	if len(own) > 0 {
		l.add(e, 0, line{Type: "user", Entry: e.ID, UUID: l.messageID(u.Message.ID), Meta: meta, Message: message{Role: "user", Content: plain(own)}})
	}
}

// result writes the result of a call. Final is the entry if no reply is open.
func (l *lines) result(e session.Entry, c session.CallEnd, final string) {
	var content []any
	for _, p := range c.Result.Parts {
		if made := blockOf(p); made != nil {
			content = append(content, made)
		}
	}
	made := block{"type": "tool_result", "tool_use_id": c.Result.CallID, "content": plain(content)}
	if c.Result.IsError {
		made["is_error"] = true
	}
	out := line{
		Type: "user", Entry: final, Message: message{Role: "user", Content: []any{made}},
		Result: c.Result.PlainText(),
	}
	if len(c.Meta) > 0 && string(c.Meta) != "null" {
		out.Result = c.Meta
	}
	l.add(e, 0, out)
}

// compaction writes the boundary and the summary, from which the conversation goes on.
func (l *lines) compaction(e session.Entry, c session.Compaction) {
	if c.Level == 0 { // an image was taken out, and the conversation is the same
		return
	}
	trigger := c.Trigger
	if trigger != "manual" {
		trigger = "auto"
	}
	before := l.parent
	l.parent = ""
	l.add(e, 0, line{
		Type: "system", Subtype: "compact_boundary", Logical: before, Content: "Conversation compacted",
		Compaction: map[string]any{"trigger": trigger, "preTokens": c.TokensBefore},
	})
	var texts []string
	for _, m := range c.Messages {
		texts = append(texts, m.PlainText())
	}
	if text := strings.Join(texts, "\n\n"); text != "" {
		l.add(e, 1, line{Type: "user", Summary: true, Message: message{Role: "user", Content: text}})
	}
}

// plain is the only text of blocks, or the blocks.
func plain(blocks []any) any {
	if len(blocks) == 0 {
		return ""
	}
	if b, ok := blocks[0].(block); ok && len(blocks) == 1 && b["type"] == "text" {
		return b["text"]
	}
	return blocks
}

// blockOf is a part as a block of Anthropic's messages; nil: it has none.
func blockOf(p llm.Part) any {
	switch p := p.(type) {
	case llm.Text:
		if p.Text == "" {
			return nil
		}
		return block{"type": "text", "text": p.Text}
	case llm.Reasoning:
		return block{"type": "thinking", "thinking": p.Text, "signature": p.Signature}
	case llm.ToolCall:
		return block{"type": "tool_use", "id": p.ID, "name": p.Name, "input": p.Input}
	case llm.Media:
		kind := "document"
		if strings.HasPrefix(p.MIME, "image/") {
			kind = "image"
		}
		return block{"type": kind, "source": block{
			"type": "base64", "media_type": p.MIME,
			"data": base64.StdEncoding.EncodeToString(p.Data),
		}}
	}
	return nil
}

// add writes the nth line of an entry behind the last one of the conversation.
func (l *lines) add(e session.Entry, n int, v line) {
	v.UserType, v.Dir, v.Session = "external", l.f.log.Dir(), l.f.main
	if id := l.f.log.ID(); id != l.f.main {
		v.Sidechain, v.Agent = true, id
	}
	if l.parent != "" {
		parent := l.parent
		v.Parent = &parent
	}
	v.Time, v.UUID = e.Time.UTC().Format("2006-01-02T15:04:05.000Z"), cmp.Or(v.UUID, l.uuid(e.ID, n))
	if l.taken != nil && l.taken(v.UUID, v.Time) {
		v.UUID = l.uuid(e.ID, n)
	}
	l.parent = v.UUID
	l.write(v)
}

// partID is the stream's id of a part; "" where the transcript is not shared.
func (l *lines) partID(message string, index int) string {
	if !l.shared {
		return ""
	}
	return LineID(message, index)
}

// messageID is the host's id of a message, if it is one for a line.
func (l *lines) messageID(id string) string {
	if !l.shared || !isUUID(id) {
		return ""
	}
	return id
}

// uuid is the same for an entry whenever it is asked for: hooks keep the uuids that they have seen.
func (l *lines) uuid(entry string, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d", l.f.log.ID(), entry, n))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	x := hex.EncodeToString(sum[:16])
	return x[:8] + "-" + x[8:12] + "-" + x[12:16] + "-" + x[16:20] + "-" + x[20:]
}

func (l *lines) write(v any) {
	enc := json.NewEncoder(&l.out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil && l.err == nil {
		l.err = err
	}
}
