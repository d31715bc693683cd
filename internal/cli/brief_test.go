//go:build unix

package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// block is a content block of either API, as far as the short forms need it.
type block struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
	ToolUseID string          `json:"tool_use_id"`
}

// blocks reads a message's content, a string or a list.
func blocks(raw json.RawMessage) []block {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		if s == "" {
			return nil
		}
		return []block{{Type: "text", Text: s}}
	}
	var bs []block
	_ = json.Unmarshal(raw, &bs) // anything else has no blocks
	return bs
}

// quoted is the first line of a text, at most 110 characters, with the working folder as $WORK.
func quoted(s, work string) string {
	s = strings.ReplaceAll(s, work, "$WORK")
	line, rest, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if r := []rune(line); len(r) > 110 {
		line, rest = string(r[:110]), "..."
	}
	if rest != "" {
		line += " ..."
	}
	return fmt.Sprintf("%q", line)
}

func (b block) brief(work string) string {
	switch b.Type {
	case "text":
		return quoted(b.Text, work)
	case "thinking":
		return "(" + quoted(b.Thinking, work) + ")"
	case "tool_use":
		return b.Name + " " + strings.ReplaceAll(string(b.Input), work, "$WORK")
	case "tool_result":
		verdict := "ok"
		if b.IsError {
			verdict = "ERROR"
		}
		text := ""
		for _, c := range blocks(b.Content) {
			text += c.Text
		}
		return verdict + " " + quoted(text, work)
	}
	return b.Type
}

// line is a line of stream-json, as far as the short form needs it.
type line struct {
	Type, Subtype, Error, Result, Content string
	Message                               json.RawMessage
	Mode                                  string `json:"permissionMode"`
	Attempt                               int
	Status                                *int   `json:"error_status"`
	Tool                                  string `json:"tool_name"`
	CallID                                string `json:"tool_use_id"`
	IsError                               bool   `json:"is_error"`
	Terminal                              string `json:"terminal_reason"`
	Turns                                 int    `json:"num_turns"`
	Errors                                []string
	Denials                               []any `json:"permission_denials"`
}

// briefing writes the short form. Calls run while the reply streams, so that results may come between its
// parts: the short form has them behind the reply, in call order.
type briefing struct {
	strings.Builder
	work    string
	message string         // id of the newest reply
	order   map[string]int // calls by id
	results map[int]string // by call
}

// briefEvents is a stream of JSON lines with one short line for each.
func briefEvents(out []byte, work string) (string, error) {
	s := briefing{work: work, order: map[string]int{}, results: map[int]string{}}
	for l := range bytes.Lines(out) {
		var m line
		if err := json.Unmarshal(l, &m); err != nil {
			return s.String(), fmt.Errorf("a line is not JSON: %w: %s", err, l)
		}
		s.line(m)
	}
	s.flush()
	return s.String(), nil
}

func (s *briefing) flush() {
	for i := range len(s.order) {
		s.WriteString(s.results[i])
		delete(s.results, i)
	}
}

func (s *briefing) line(m line) {
	var msg struct {
		ID      string
		Content json.RawMessage
	}
	_ = json.Unmarshal(m.Message, &msg) // other lines have none, or a text
	switch m.Type {
	case "assistant":
		if msg.ID != s.message {
			s.flush()
			s.message = msg.ID
		}
		for _, b := range blocks(msg.Content) {
			if b.Type == "tool_use" {
				s.order[b.ID] = len(s.order)
			}
			fmt.Fprintf(s, "model %s\n", b.brief(s.work))
		}
		return
	case "user":
		for _, b := range blocks(msg.Content) {
			if b.Type == "tool_result" {
				s.results[s.order[b.ToolUseID]] += "user  " + b.brief(s.work) + "\n"
				continue
			}
			s.flush()
			fmt.Fprintf(s, "user  %s\n", b.brief(s.work))
		}
		return
	case "system":
		if m.Subtype == "permission_denied" {
			s.results[s.order[m.CallID]] += "denied " + m.Tool + "\n"
			return
		}
	}
	s.flush()
	s.other(m)
}

func (s *briefing) other(m line) {
	switch m.Type + " " + m.Subtype {
	case "system init":
		fmt.Fprintf(s, "init %s\n", m.Mode)
	case "system api_retry":
		status := ""
		if m.Status != nil {
			status = fmt.Sprint(" ", *m.Status)
		}
		fmt.Fprintf(s, "retry %d %s%s\n", m.Attempt, m.Error, status)
	case "system informational":
		fmt.Fprintf(s, "note %s\n", quoted(m.Content, s.work))
	default:
		if m.Type != "result" {
			fmt.Fprintf(s, "%s %s\n", m.Type, m.Subtype)
			return
		}
		text := portNumber.ReplaceAllString(m.Result+strings.Join(m.Errors, "; "), "127.0.0.1:PORT")
		fmt.Fprintf(s, "%s error=%v %s steps=%d denied=%d %s\n", m.Subtype, m.IsError, m.Terminal, m.Turns, len(m.Denials),
			quoted(text, s.work))
	}
}

var (
	portNumber = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	cacheMark  = regexp.MustCompile(`,"cache_control":\{[^{}]*\}`)
)

// body is a request of either API.
type body struct {
	Tools    json.RawMessage
	System   json.RawMessage
	Messages []json.RawMessage
}

// briefRequests is, for each request, its additions to the one before it. The rest must be the same bytes,
// but for cache marks; a shorter request, or a first one with another prompt, begins another conversation.
func briefRequests(rs []llmtest.Request, work string) (string, error) {
	var s strings.Builder
	var before body
	var errs []error
	for _, r := range rs {
		var now body
		if err := json.Unmarshal(cacheMark.ReplaceAll(r.Body, nil), &now); err != nil {
			return "", err
		}
		fmt.Fprintf(&s, "request %d", r.N)
		if r.Fault != "" {
			fmt.Fprintf(&s, " (%s)", r.Fault)
		}
		if r.Refused != "" {
			errs = append(errs, fmt.Errorf("request %d was refused: %s", r.N, r.Refused))
		}
		s.WriteString("\n")
		if len(now.Messages) < len(before.Messages) || r.Turn == 0 && len(before.Messages) > 0 &&
			!bytes.Equal(now.Messages[0], before.Messages[0]) {
			before = body{Tools: now.Tools, System: now.System}
		} else if err := sameStart(before, now); err != nil {
			errs = append(errs, fmt.Errorf("request %d: %w", r.N, err))
		}
		for _, m := range now.Messages[len(before.Messages):] {
			s.WriteString(briefMessage(m, work))
		}
		before = now
	}
	return s.String(), errors.Join(errs...)
}

func sameStart(before, now body) error {
	if before.Messages == nil {
		return nil
	}
	if !bytes.Equal(before.Tools, now.Tools) || !bytes.Equal(before.System, now.System) {
		return errors.New("the tools or the system prompt changed")
	}
	for i, m := range before.Messages {
		if !bytes.Equal(m, now.Messages[i]) {
			return fmt.Errorf("message %d changed:\n%s\n%s", i, m, now.Messages[i])
		}
	}
	return nil
}

func briefMessage(raw json.RawMessage, work string) string {
	var m struct {
		Role    string
		Content json.RawMessage
		Calls   []struct {
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return err.Error()
	}
	var out []string
	for _, b := range blocks(m.Content) {
		if m.Role == "system" {
			continue
		}
		if strings.HasPrefix(b.Text, "<") { // the context; where a message is one text, the prompt is its end
			b.Text = strings.TrimSpace(b.Text[strings.LastIndex(b.Text, ">")+1:])
		}
		if b.Type != "text" || b.Text != "" {
			out = append(out, b.brief(work))
		}
	}
	for _, c := range m.Calls {
		out = append(out, c.Function.Name+" "+strings.ReplaceAll(c.Function.Arguments, work, "$WORK"))
	}
	if len(out) == 0 {
		return ""
	}
	return "  " + m.Role + ": " + strings.Join(out, " | ") + "\n"
}
