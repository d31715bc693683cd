package cli

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"sync"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/term"
)

// The lines of stream-json, in Claude Code's shapes (its SDK's published types; claude_code_version is
// there for readers that require it). Every line has uuid and session_id.

// lineWriter writes whole lines, one write each, from any goroutine.
type lineWriter struct {
	mu      sync.Mutex
	w       io.Writer
	buf     bytes.Buffer
	err     error
	session string
	uuid    func() string
	array   bool // write one JSON array instead of lines
	wrote   bool
	results int // result lines written
}

// line is anything with the two fields that every line has.
type line interface{ stamp(uuid, session string) }

// stamped is embedded last, as its fields close a line.
type stamped struct {
	UUID      string `json:"uuid"`
	SessionID string `json:"session_id"`
}

func (s *stamped) stamp(uuid, session string) {
	if s.UUID == "" {
		s.UUID = uuid
	}
	s.SessionID = session
}

// write stamps and writes a line. After a failed write it does only return that error.
func (w *lineWriter) write(l line) error {
	l.stamp(w.uuid(), w.session)
	return w.encode(l)
}

// encode writes any value as a line.
func (w *lineWriter) encode(v any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	w.buf.Reset()
	if w.array {
		w.buf.WriteString(map[bool]string{false: "[", true: ","}[w.wrote])
	}
	enc := json.NewEncoder(&w.buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	if _, ok := v.(*resultLine); ok {
		w.results++
	}
	w.wrote = true
	return w.flush()
}

// end closes the array, if there is one.
func (w *lineWriter) end() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.array || w.err != nil {
		return w.err
	}
	w.buf.Reset()
	w.buf.WriteString("]\n")
	return w.flush()
}

func (w *lineWriter) flush() error {
	_, err := w.w.Write(term.EscapeJSON(w.buf.Bytes()))
	if w.buf.Cap() > 1<<20 {
		w.buf = bytes.Buffer{}
	}
	if err != nil {
		w.err = &Error{Code: exitFailed, Msg: "writing to stdout", Err: err, Hint: hintKept}
		if isBrokenPipe(err) {
			w.err = errBrokenPipe
		}
	}
	return w.err
}

type initLine struct {
	Type           string       `json:"type"`
	Subtype        string       `json:"subtype"`
	Dir            string       `json:"cwd"`
	Tools          []string     `json:"tools"`
	MCPServers     []serverLine `json:"mcp_servers"`
	Model          string       `json:"model"`
	PermissionMode string       `json:"permissionMode"`
	SlashCommands  []string     `json:"slash_commands"`
	APIKeySource   string       `json:"apiKeySource"`
	Version        string       `json:"claude_code_version"`
	OutputStyle    string       `json:"output_style"`
	Agents         []string     `json:"agents"`
	Skills         []string     `json:"skills"`
	Plugins        []pluginLine `json:"plugins"`
	Capabilities   []string     `json:"capabilities"`
	Held           *heldLine    `json:"held_back,omitempty"`
	stamped
}

type assistantLine struct {
	Type    string      `json:"type"`
	Message wireMessage `json:"message"`
	Parent  *string     `json:"parent_tool_use_id"`
	Error   string      `json:"error,omitempty"`
	Aborted bool        `json:"aborted,omitempty"`
	stamped
}

type userLine struct {
	Type      string   `json:"type"`
	Message   wireUser `json:"message"`
	Parent    *string  `json:"parent_tool_use_id"`
	Result    any      `json:"tool_use_result,omitempty"`
	Timestamp string   `json:"timestamp,omitempty"` // of a result
	Synthetic bool     `json:"isSynthetic,omitempty"`
	Replay    bool     `json:"isReplay,omitempty"`
	stamped
}

type streamLine struct {
	Type   string  `json:"type"`
	Event  any     `json:"event"`
	Parent *string `json:"parent_tool_use_id"`
	TTFT   *int64  `json:"ttft_ms,omitempty"`
	stamped
}

type retryLine struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	Attempt int    `json:"attempt"`
	Max     int    `json:"max_retries"`
	Delay   int64  `json:"retry_delay_ms"`
	Status  *int   `json:"error_status"`
	Error   string `json:"error"`
	stamped
}

type deniedLine struct {
	Type       string `json:"type"`
	Subtype    string `json:"subtype"`
	Tool       string `json:"tool_name"`
	ToolUseID  string `json:"tool_use_id"`
	AgentID    string `json:"agent_id,omitempty"`
	ReasonType string `json:"decision_reason_type,omitempty"`
	Reason     string `json:"decision_reason,omitempty"`
	Message    string `json:"message"`
	stamped
}

type informationalLine struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	Content string `json:"content"`
	Level   string `json:"level"`
	stamped
}

// evalLine is an event of the eval gate; Eval has its fields.
type evalLine struct {
	Type    string  `json:"type"`
	Subtype string  `json:"subtype"`
	Parent  *string `json:"parent_tool_use_id"`
	Eval    any     `json:"eval"`
	stamped
}

type fallbackLine struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	From    string `json:"from_model"`
	To      string `json:"to_model"`
	Reason  string `json:"reason"`
	stamped
}

type localOutputLine struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	Content string `json:"content"`
	stamped
}

// compactLine is Claude Code's compact_boundary; post_tokens and level are lathe's own.
type compactLine struct {
	Type     string          `json:"type"`
	Subtype  string          `json:"subtype"`
	Metadata compactMetadata `json:"compact_metadata"`
	stamped
}

type compactMetadata struct {
	Trigger string `json:"trigger"` // auto, overflow or manual
	Before  int    `json:"pre_tokens"`
	After   int    `json:"post_tokens"`
	Level   int    `json:"level"`
}

type statusLine struct {
	Type           string  `json:"type"`
	Subtype        string  `json:"subtype"`
	Status         *string `json:"status"`
	PermissionMode string  `json:"permissionMode,omitempty"`
	stamped
}

// wireMessage is a reply in the form of Anthropic's Messages API. While a reply streams its stop reason is
// null and its usage not final.
type wireMessage struct {
	ID           string    `json:"id"`
	Type         string    `json:"type"`
	Role         string    `json:"role"`
	Model        string    `json:"model"`
	Content      []any     `json:"content"`
	StopReason   *string   `json:"stop_reason"`
	StopSequence *string   `json:"stop_sequence"`
	Usage        wireUsage `json:"usage"`
}

type wireUser struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

type wireUsage struct {
	Input      int         `json:"input_tokens"`
	CacheWrite int         `json:"cache_creation_input_tokens"`
	CacheRead  int         `json:"cache_read_input_tokens"`
	Output     int         `json:"output_tokens"`
	Cache      wireCache   `json:"cache_creation"`
	ServerTool *wireServer `json:"server_tool_use,omitempty"`
	Tier       string      `json:"service_tier,omitempty"`
}

type wireCache struct {
	FiveMinutes int `json:"ephemeral_5m_input_tokens"`
	OneHour     int `json:"ephemeral_1h_input_tokens"`
}

type wireServer struct {
	Searches int `json:"web_search_requests"`
	Fetches  int `json:"web_fetch_requests"`
}

func usageOf(u llm.Usage) wireUsage {
	return wireUsage{
		Input: u.Input, CacheWrite: u.CacheWrite, CacheRead: u.CacheRead, Output: u.Output,
		Cache: wireCache{u.CacheWrite - u.CacheWrite1h, u.CacheWrite1h},
	}
}

type (
	textBlock struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	thinkingBlock struct {
		Type      string `json:"type"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
	}
	redactedBlock struct {
		Type string `json:"type"`
		Data string `json:"data"`
	}
	toolUseBlock struct {
		Type  string          `json:"type"`
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	}
	toolResultBlock struct {
		ToolUseID string `json:"tool_use_id"`
		Type      string `json:"type"`
		Content   any    `json:"content"`
		IsError   *bool  `json:"is_error,omitempty"` // of Bash always, else only where it is true
	}
	imageBlock struct {
		Type   string      `json:"type"`
		Source imageSource `json:"source"`
	}
	imageSource struct {
		Type  string `json:"type"`
		Media string `json:"media_type"`
		Data  string `json:"data"`
	}
)

// blockOf is a part as a content block, or nil for a part that has no such form.
func blockOf(p llm.Part) any {
	switch p := p.(type) {
	case llm.Text:
		return textBlock{"text", p.Text}
	case llm.Reasoning:
		if p.Data != "" {
			return redactedBlock{"redacted_thinking", p.Data}
		}
		return thinkingBlock{"thinking", p.Text, p.Signature}
	case llm.ToolCall:
		return toolUseBlock{"tool_use", p.ID, p.Name, objectOr(p.Input)}
	case llm.Media:
		return imageBlock{"image", imageSource{"base64", p.MIME, base64.StdEncoding.EncodeToString(p.Data)}}
	case llm.ToolResult:
		b := toolResultBlock{p.CallID, "tool_result", contentOf(p.Parts), nil}
		if p.IsError || p.Name == "Bash" {
			b.IsError = &p.IsError
		}
		return b
	case llm.Opaque:
		if isBlock(p.JSON) {
			return p.JSON
		}
	}
	return nil
}

// isBlock reports whether opaque data is a content block, such as that of a tool that the server runs.
func isBlock(b json.RawMessage) bool {
	var block struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(b, &block) == nil && block.Type != ""
}

// contentOf is a string for text alone, else a list of blocks.
func contentOf(ps []llm.Part) any {
	switch len(ps) {
	case 0:
		return ""
	case 1:
		if t, ok := ps[0].(llm.Text); ok {
			return t.Text
		}
	}
	return blocksOf(ps)
}

func blocksOf(ps []llm.Part) []any {
	out := make([]any, 0, len(ps))
	for _, p := range ps {
		if b := blockOf(p); b != nil {
			out = append(out, b)
		}
	}
	return out
}

func objectOr(b json.RawMessage) json.RawMessage {
	if len(b) == 0 || !json.Valid(b) {
		return json.RawMessage("{}")
	}
	return b
}
