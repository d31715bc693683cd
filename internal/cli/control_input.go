package cli

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// nextLine reads a line. One that is too long is read to its end and dropped.
func nextLine(r *bufio.Reader) (line []byte, long bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxLine {
			line, long = line[:0], true
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}

// inputLine is one line of stdin.
type inputLine struct {
	Type        string          `json:"type"`
	Message     json.RawMessage `json:"message"`
	UUID        string          `json:"uuid"`
	Priority    string          `json:"priority"` // now, next or later
	ShouldQuery *bool           `json:"shouldQuery"`
	Composed    bool            `json:"client_composed"` // by a program: its text is never a command
	RequestID   string          `json:"request_id"`
	Request     json.RawMessage `json:"request"`
	Response    json.RawMessage `json:"response"`
}

// line serves one line. Types that lathe does not know are ignored, as the protocol asks.
func (c *controller) line(ctx context.Context, b []byte) error {
	var l inputLine
	err := json.Unmarshal(b, &l)
	if late := c.awaited(l); late != nil {
		return late
	}
	if err != nil {
		return fmt.Errorf("not a JSON object: %w; send one object per line", err)
	}
	switch l.Type {
	case "user":
		return c.user(l)
	case "control_request":
		return c.request(ctx, l)
	case "control_response":
		if err := c.response(l.Response); err != nil {
			return c.w.write(&informationalLine{
				Type: "system", Subtype: "informational", Content: oneMessage(err),
				Level: "warning",
			})
		}
	}
	return nil
}

// awaited refuses the start where --await-initialize promises that the first line is initialize, and it is another: the
// host relies on what that request says.
func (c *controller) awaited(l inputLine) error {
	var r controlRequest
	if !c.awaits || l.Type == "control_request" && json.Unmarshal(l.Request, &r) == nil && r.Subtype == "initialize" {
		c.awaits = false
		return nil
	}
	c.awaits = false
	err := usage("send it first, or leave the flag out",
		"the first line of stdin is not the request initialize, which --await-initialize promises")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.openErr = err
	return err
}

// user queues a message, or holds it for the next one.
func (c *controller) user(l inputLine) error {
	var m struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(l.Message, &m); err != nil {
		return fmt.Errorf("the user message: %w", err)
	}
	if m.Role != "" && m.Role != "user" {
		return fmt.Errorf("the message's role is %q; only user messages can be sent", m.Role)
	}
	parts, err := partsOf(m.Content)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = append(c.held, parts...)
	if l.ShouldQuery != nil && !*l.ShouldQuery {
		return nil
	}
	q := queued{
		Message: llm.Message{ID: l.UUID, Role: llm.User, Parts: c.held}, later: l.Priority == "later",
		plain: l.Composed,
	}
	c.held = nil
	if !c.steered(q) {
		c.queue = append(c.queue, q)
		c.signal()
	}
	return nil
}

// steered hands a message to the running turn. Messages keep their order, so that none passes one that waits; a
// command is for between turns. The lock is held.
func (c *controller) steered(q queued) bool {
	s, ok := c.conv.(Steered)
	_, _, command := c.slash(q)
	return ok && c.running && !q.later && !command && len(c.queue) == 0 && s.Steer(q.Message)
}

// contentBlock is one block of a message's content.
type contentBlock struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	Source struct {
		Type  string `json:"type"`
		Media string `json:"media_type"`
		Data  string `json:"data"`
	} `json:"source"`
}

// partsOf reads a message's content: a string, or blocks of text, images and documents.
func partsOf(b json.RawMessage) ([]llm.Part, error) {
	var text string
	blocks := []contentBlock{}
	if json.Unmarshal(b, &text) == nil {
		blocks = append(blocks, contentBlock{Type: "text", Text: text})
	} else if err := json.Unmarshal(b, &blocks); err != nil {
		return nil, fmt.Errorf("the content of the user message is neither a text nor a list of blocks: %w", err)
	}
	var parts, notes []llm.Part
	for _, k := range blocks {
		switch part, err := k.part(); {
		case err != nil: // the model can ask for it in another form
			notes = append(notes, llm.Text{Text: "[Left out: " + err.Error() + "]", Origin: llm.OriginContext})
		case part != nil:
			parts = append(parts, part)
		}
	}
	switch {
	case len(parts) > 0:
		return append(parts, notes...), nil
	case len(notes) > 0:
		return append([]llm.Part{llm.Text{Text: "(The message had nothing that could be sent.)"}}, notes...), nil
	}
	return nil, errors.New("the user message is empty")
}

// part is the block as a part of a message; nil for a text without any words.
func (k contentBlock) part() (llm.Part, error) {
	text := k.Text
	switch {
	case k.Type == "text":
	case k.Type == "document" && k.Source.Type == "text":
		text = k.Source.Data
	case (k.Type == "image" || k.Type == "document") && k.Source.Type == "base64" && k.Source.Data != "":
		data, err := base64.StdEncoding.DecodeString(k.Source.Data)
		if err != nil {
			return nil, fmt.Errorf("the data of a block of type %q is not base64: %w", k.Type, err)
		}
		return llm.Media{MIME: k.Source.Media, Data: data}, nil
	default:
		return nil, fmt.Errorf("a block of type %q (source %q) cannot be sent; use text, or an image as base64", k.Type,
			k.Source.Type)
	}
	if text, _ = plainText(text); strings.TrimSpace(text) == "" {
		return nil, nil
	}
	return llm.Text{Text: text}, nil
}
