package llmtest

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// anthropicCheck refuses invalid requests like the Messages API, with its messages where they are known.
type anthropicCheck struct {
	s      *Server
	q      *anthropicRequest
	body   []byte
	header http.Header
	marks  int
	calls  map[string]bool // ids of all tool_use blocks so far
}

var anthropicKeys = []string{
	"model", "max_tokens", "messages", "system", "tools", "tool_choice", "thinking", "stream", "temperature",
	"top_p", "top_k", "stop_sequences", "metadata", "service_tier", "output_config", "context_management",
	"mcp_servers", "container", "betas", "cache_control", "speed", "inference_geo",
}

func (k *anthropicCheck) run() *refusal {
	k.calls = map[string]bool{}
	return first(k.top, k.thinking, k.tools, k.system, k.messages, k.pairs, k.marked)
}

func (k *anthropicCheck) top() *refusal {
	q := k.q
	if k.header.Get("Anthropic-Version") == "" {
		return refuse("anthropic-version: header is required")
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(k.body, &keys); err != nil {
		return refuse("The request body is not valid JSON: %v", err)
	}
	for name := range keys {
		if !slices.Contains(anthropicKeys, name) {
			return refuse("%s: Extra inputs are not permitted", name)
		}
	}
	counting := keys["stream"] == nil && q.MaxTokens == nil // count_tokens takes neither
	switch {
	case q.Model == "":
		return refuse("model: Field required")
	case q.MaxTokens == nil && !counting:
		return refuse("max_tokens: Field required")
	case q.MaxTokens != nil && *q.MaxTokens < 1:
		return refuse("max_tokens: must be greater than or equal to 1")
	case len(q.Messages) == 0:
		return refuse("messages: at least one message is required")
	case q.Messages[0].Role == "assistant":
		return refuse(`messages: first message must use the "user" role`)
	}
	return nil
}

func (k *anthropicCheck) thinking() *refusal {
	q, t := k.q, k.q.Thinking
	if t == nil {
		return nil
	}
	switch {
	case !slices.Contains([]string{"enabled", "disabled", "adaptive"}, t.Type):
		return refuse("thinking: Input tag '%s' found using 'type' does not match any of the expected tags: 'disabled', "+
			"'enabled', 'adaptive'", t.Type)
	case t.Type == "disabled":
		return nil
	case t.Type == "enabled" && t.Budget < 1024:
		return refuse("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	case t.Type == "enabled" && q.MaxTokens != nil && *q.MaxTokens <= t.Budget:
		return refuse("`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at " +
			"https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size")
	case q.Temperature != nil && *q.Temperature != 1:
		return refuse("`temperature` may only be set to 1 when thinking is enabled.")
	case q.ToolChoice != nil && (q.ToolChoice.Type == "any" || q.ToolChoice.Type == "tool"):
		return refuse("Thinking may not be enabled when tool_choice forces tool use.")
	}
	return nil
}

// plainName reports whether s has 1 to limit characters of a-z A-Z 0-9 _ -.
func plainName(s string, limit int) bool { return len(s) <= limit && llm.PlainName(s) }

func (k *anthropicCheck) tools() *refusal {
	seen, all := map[string]bool{}, len(k.q.Tools) > 0
	for i, t := range k.q.Tools {
		k.mark(t.CacheControl)
		if t.Type != "" && t.Type != "custom" {
			continue // a tool of the server's own
		}
		var schema struct {
			Type any `json:"type"`
		}
		switch {
		case !plainName(t.Name, 128):
			return refuse("tools.%d.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", i)
		case seen[t.Name]:
			return refuse("tools: Tool names must be unique.")
		case len(t.InputSchema) == 0:
			return refuse("tools.%d.custom.input_schema: Field required", i)
		case json.Unmarshal(t.InputSchema, &schema) != nil || schema.Type != "object":
			return refuse("tools.%d.custom.input_schema.type: Input should be 'object'", i)
		}
		if t.Deferred && len(t.CacheControl) > 0 {
			return refuse("tools.%d: defer_loading and cache_control cannot be set together", i)
		}
		seen[t.Name] = true
		all = all && t.Deferred
	}
	if all {
		return refuse("At least one tool must have defer_loading=false.")
	}
	c := k.q.ToolChoice
	switch {
	case c == nil:
	case !slices.Contains([]string{"auto", "any", "tool", "none"}, c.Type):
		return refuse("tool_choice: Input tag '%s' found using 'type' does not match any of the expected tags: 'auto', "+
			"'any', 'tool', 'none'", c.Type)
	case len(k.q.Tools) == 0:
		return refuse("tool_choice: may only be specified while providing tools.")
	case c.Type == "tool" && !seen[c.Name]:
		return refuse("Tool '%s' not found in provided tools", c.Name)
	}
	return nil
}

func (k *anthropicCheck) system() *refusal {
	bs, err := contentBlocks(k.q.System)
	if err != nil {
		return refuse("system: Input should be a valid list: %v", err)
	}
	for i, b := range bs {
		k.mark(b.CacheControl)
		if b.Type != "text" || b.Text == nil {
			return refuse("system.%d: Input should be a text block", i)
		}
		if strings.TrimSpace(*b.Text) == "" && strings.HasPrefix(strings.TrimSpace(string(k.q.System)), "[") {
			return refuse("system: text content blocks must be non-empty")
		}
	}
	return nil
}

func (k *anthropicCheck) messages() *refusal {
	last := len(k.q.Messages) - 1
	for i, m := range k.q.Messages {
		switch {
		case m.Role == "system":
			return refuse(`messages: Unexpected role "system". The Messages API accepts a top-level ` + "`system`" +
				` parameter, not "system" as an input message role.`)
		case m.Role != "user" && m.Role != "assistant":
			return refuse("messages.%d.role: Input should be 'user' or 'assistant'", i)
		case len(m.blocks) == 0 && (i < last || m.Role == "user"):
			return refuse(
				"messages.%d: all messages must have non-empty content except for the optional final assistant message", i)
		}
		for j := range m.blocks {
			if bad := k.block(i, j, m.Role, &m.blocks[j]); bad != nil {
				return bad
			}
		}
		if m.Role == "assistant" && len(m.blocks) > 0 {
			if bad := k.lastBlock(i, i == last, &m.blocks[len(m.blocks)-1]); bad != nil {
				return bad
			}
		}
	}
	return nil
}

func (k *anthropicCheck) lastBlock(i int, final bool, b *anthropicBlock) *refusal {
	switch {
	case b.Type == "thinking" || b.Type == "redacted_thinking":
		return refuse("messages.%d: The final block in an assistant message cannot be `thinking`.", i)
	case final && b.Type == "text" && *b.Text != strings.TrimRight(*b.Text, " \t\r\n"):
		return refuse("messages: final assistant content cannot end with trailing whitespace")
	}
	return nil
}

func (k *anthropicCheck) block(i, j int, role string, b *anthropicBlock) *refusal {
	k.mark(b.CacheControl)
	wrong := func(want string) *refusal {
		return refuse("messages.%d: `%s` blocks can only be in `%s` messages", i, b.Type, want)
	}
	switch b.Type {
	case "text":
		return k.text(i, j, b)
	case "image", "document":
		if role != "user" {
			return wrong("user")
		}
		return k.source(i, j, b)
	case "tool_use":
		if role != "assistant" {
			return wrong("assistant")
		}
		return k.toolUse(i, j, b)
	case "tool_result":
		if role != "user" {
			return wrong("user")
		}
		return k.toolResult(i, j, b)
	case "thinking", "redacted_thinking":
		if role != "assistant" {
			return wrong("assistant")
		}
		return k.thought(i, j, b)
	case "server_tool_use", "web_search_tool_result", "web_fetch_tool_result", "search_result", "container_upload",
		"code_execution_tool_result", "mcp_tool_use", "mcp_tool_result":
		return nil
	}
	return refuse("messages.%d.content.%d: Input tag '%s' found using 'type' does not match any of the expected tags", i,
		j, b.Type)
}

func (k *anthropicCheck) text(i, j int, b *anthropicBlock) *refusal {
	switch {
	case b.Text == nil:
		return refuse("messages.%d.content.%d.text.text: Field required", i, j)
	case *b.Text == "" && len(b.CacheControl) > 0:
		return refuse("messages.%d.content.%d.text: cache_control cannot be set for empty text blocks", i, j)
	case *b.Text == "":
		return refuse("messages: text content blocks must be non-empty")
	case strings.TrimSpace(*b.Text) == "":
		return refuse("messages: text content blocks must contain non-whitespace text")
	}
	return nil
}

func (k *anthropicCheck) source(i, j int, b *anthropicBlock) *refusal {
	src := b.Source
	if src == nil {
		return refuse("messages.%d.content.%d.%s.source: Field required", i, j, b.Type)
	}
	if src.Type != "base64" {
		return nil
	}
	if b.Type == "image" && !slices.Contains([]string{"image/jpeg", "image/png", "image/gif", "image/webp"},
		src.MediaType) {
		return refuse("messages.%d.content.%d.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', "+
			"'image/gif' or 'image/webp'", i, j)
	}
	if _, err := base64.StdEncoding.DecodeString(src.Data); err != nil || src.Data == "" {
		return refuse("messages.%d.content.%d.%s.source.base64.data: invalid base64 data", i, j, b.Type)
	}
	return nil
}

func (k *anthropicCheck) toolUse(i, j int, b *anthropicBlock) *refusal {
	var object map[string]json.RawMessage
	switch {
	case !plainName(b.ID, 1<<10):
		return refuse("messages.%d.content.%d.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", i, j)
	case k.calls[b.ID]:
		return refuse("messages.%d.content.%d: `tool_use` ids must be unique", i, j)
	case b.Name == "" || len(b.Name) > 200:
		return refuse("messages.%d.content.%d.tool_use.name: String should have at least 1 and at most 200 characters", i, j)
	case json.Unmarshal(b.Input, &object) != nil || object == nil:
		return refuse("messages.%d.content.%d.tool_use.input: Input should be a valid dictionary", i, j)
	}
	k.calls[b.ID] = true
	return nil
}

func (k *anthropicCheck) toolResult(i, j int, b *anthropicBlock) *refusal {
	inner, err := contentBlocks(b.Content)
	if err != nil {
		return refuse("messages.%d.content.%d.tool_result.content: Input should be a valid list", i, j)
	}
	if len(b.Content) > 0 && b.Content[0] == '"' {
		return nil // a string may be empty
	}
	for n := range inner {
		in := &inner[n]
		k.mark(in.CacheControl)
		switch in.Type {
		case "text":
			if bad := k.text(i, j, in); bad != nil {
				return bad
			}
		case "image", "document":
			if bad := k.source(i, j, in); bad != nil {
				return bad
			}
		case "tool_reference":
			if !slices.ContainsFunc(k.q.Tools, func(t anthropicTool) bool { return t.Deferred && t.Name == in.ToolName }) {
				return refuse("messages.%d.content.%d.tool_result.content.%d: Tool reference '%s' not found in available tools", i,
					j, n, in.ToolName)
			}
		case "search_result":
		default:
			return refuse("messages.%d.content.%d.tool_result.content.%d: Input tag '%s' found using 'type' does not match "+
				"any of the expected tags", i, j, n, in.Type)
		}
	}
	return nil
}

func (k *anthropicCheck) thought(i, j int, b *anthropicBlock) *refusal {
	switch {
	case len(b.CacheControl) > 0:
		return refuse("messages.%d.content.%d.%s.cache_control: Extra inputs are not permitted", i, j, b.Type)
	case b.Type == "redacted_thinking":
		if b.Data == nil || *b.Data == "" {
			return refuse("messages.%d.content.%d.redacted_thinking.data: Field required", i, j)
		}
	case b.Thinking == nil:
		return refuse("messages.%d.content.%d.thinking.thinking: Field required", i, j)
	case b.Signature == nil || *b.Signature == "":
		return refuse("messages.%d.content.%d.thinking.signature: Field required", i, j)
	case strings.HasPrefix(*b.Signature, signaturePrefix) && *b.Signature != Sign(*b.Thinking):
		return refuse("messages.%d.content.%d: Invalid `signature` in `thinking` block", i, j)
	}
	return nil
}

// pairs checks that every call is answered in the next message and every result answers a call.
func (k *anthropicCheck) pairs() *refusal {
	for i, m := range k.q.Messages {
		open := map[string]bool{}
		if i > 0 && k.q.Messages[i-1].Role == "assistant" {
			for _, b := range k.q.Messages[i-1].blocks {
				if b.Type == "tool_use" {
					open[b.ID] = true
				}
			}
		}
		if bad := pairResults(i, m, open); bad != nil {
			return bad
		}
		if m.Role == "assistant" {
			if bad := k.kept(i, m); bad != nil {
				return bad
			}
		}
	}
	last := k.q.Messages[len(k.q.Messages)-1]
	for _, b := range last.blocks {
		if b.Type == "tool_use" {
			return unanswered(len(k.q.Messages)-1, []string{b.ID})
		}
	}
	return nil
}

func pairResults(i int, m anthropicMessage, open map[string]bool) *refusal {
	seen := map[string]bool{}
	text := false
	for j, b := range m.blocks {
		if b.Type != "tool_result" {
			text = true
			continue
		}
		switch {
		case !open[b.ToolUseID]:
			return refuse("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each "+
				"`tool_result` block must have a corresponding `tool_use` block in the previous message.", i, j, b.ToolUseID)
		case seen[b.ToolUseID]:
			return refuse("messages.%d.content.%d: each tool_use must have a single result. Found multiple `tool_result` "+
				"blocks with id: %s", i, j, b.ToolUseID)
		case text:
			return unanswered(i-1, []string{b.ToolUseID})
		}
		seen[b.ToolUseID] = true
	}
	var missing []string
	for id := range open {
		if !seen[id] {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return unanswered(i-1, missing)
	}
	return nil
}

func unanswered(i int, ids []string) *refusal {
	return refuse("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each "+
		"`tool_use` block must have a corresponding `tool_result` block in the next message.", i, strings.Join(ids, ", "))
}

// kept checks that the reasoning before the calls of the running tool loop was sent back.
func (k *anthropicCheck) kept(i int, m anthropicMessage) *refusal {
	if t := k.q.Thinking; t == nil || t.Type == "disabled" || i != len(k.q.Messages)-2 {
		return nil
	}
	thought := ""
	for _, b := range m.blocks {
		switch {
		case b.Type == "thinking":
			thought += *b.Thinking
		case b.Type == "tool_use" && k.s.reasoningBefore(b.ID) != thought && k.s.reasoningBefore(b.ID) != "":
			return refuse("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When "+
				"`thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost "+
				"set of `tool_use` and `tool_result` blocks).", i, m.blocks[0].Type)
		}
	}
	return nil
}

func (k *anthropicCheck) mark(c json.RawMessage) {
	if len(c) > 0 && string(c) != "null" {
		k.marks++
	}
}

func (k *anthropicCheck) marked() *refusal {
	k.mark(k.q.CacheControl)
	if k.marks > 4 {
		return refuse("A maximum of 4 blocks with cache_control may be provided. Found %d.", k.marks)
	}
	return nil
}
