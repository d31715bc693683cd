package provider

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm"
)

// reader reads the body of a request of any wire into lathe's conversation. host is the owner of opaque data.
type reader struct {
	host  string
	req   llm.Request
	names map[string]string // of calls, by id
	last  int               // ids for calls without one
}

// readRequest reads a request of a wire.
func readRequest(t *testing.T, wire, host string, body []byte) *llm.Request {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatalf("%v: %.200s", err, body)
	}
	r := &reader{host: host, names: map[string]string{}}
	map[string]func(map[string]any){
		"anthropic": r.anthropic, "chat": r.chat, "responses": r.responses, "google": r.google, "converse": r.converse,
	}[wire](v)
	return &r.req
}

func list(v any, path ...any) []any { l, _ := at(v, path...).([]any); return l }

func raw(v any) json.RawMessage { b, _ := json.Marshal(v); return b }

func number(v any) *float64 {
	if f, ok := v.(float64); ok {
		return &f
	}
	return nil
}

func strs(l []any) (out []string) {
	for _, v := range l {
		out = append(out, str(v))
	}
	return out
}

// add adds parts to the conversation; those of one author follow each other in one message.
func (r *reader) add(role llm.Role, parts ...llm.Part) {
	if len(parts) == 0 {
		return
	}
	if n := len(r.req.Messages); n > 0 && r.req.Messages[n-1].Role == role {
		r.req.Messages[n-1].Parts = append(r.req.Messages[n-1].Parts, parts...)
		return
	}
	r.req.Messages = append(r.req.Messages, llm.Message{Role: role, Parts: parts})
}

func (r *reader) opaque(v any) *llm.Opaque { return &llm.Opaque{Provider: r.host, JSON: raw(v)} }

func (r *reader) call(id, name string, input json.RawMessage, o *llm.Opaque) llm.ToolCall {
	r.names[id] = name
	return llm.ToolCall{ID: id, Name: name, Input: input, Opaque: o}
}

func (r *reader) tool(name, description string, schema any) {
	r.req.Tools = append(r.req.Tools, llm.ToolSpec{Name: name, Description: description, Schema: raw(schema)})
}

// dataURL reads "data:image/png;base64,...".
func dataURL(s string) llm.Part {
	kind, data, ok := strings.Cut(strings.TrimPrefix(s, "data:"), ";base64,")
	if !ok {
		return llm.Text{Text: "[at " + s + "]"}
	}
	return media(kind, data, "")
}

func media(kind, data, name string) llm.Part {
	b, _ := base64.StdEncoding.DecodeString(data)
	return llm.Media{MIME: kind, Data: b, Name: name}
}

func (r *reader) anthropic(v map[string]any) {
	r.req.MaxTokens, r.req.Temperature = num(v["max_tokens"]), number(v["temperature"])
	r.req.Stop, r.req.Effort = strs(list(v, "stop_sequences")), llm.Effort(str(at(v, "output_config", "effort")))
	r.req.System = r.blocks(v["system"])
	for _, m := range list(v, "messages") {
		role := llm.Role(str(at(m, "role")))
		r.add(role, r.blocks(at(m, "content"))...)
	}
	for _, t := range list(v, "tools") {
		if at(t, "input_schema") == nil {
			r.req.Tools = append(r.req.Tools, llm.ToolSpec{Name: str(at(t, "name")), Server: raw(t)})
			continue
		}
		r.tool(str(at(t, "name")), str(at(t, "description")), at(t, "input_schema"))
	}
	switch kind := str(at(v, "tool_choice", "type")); kind {
	case "tool":
		r.req.ToolChoice = str(at(v, "tool_choice", "name"))
	default:
		r.req.ToolChoice = kind
	}
	if str(at(v, "thinking", "type")) == "disabled" {
		r.req.Effort = "off"
	}
}

func (r *reader) blocks(v any) (out []llm.Part) {
	if s, ok := v.(string); ok {
		return []llm.Part{llm.Text{Text: s}}
	}
	for _, b := range list(v) {
		switch at(b, "type") {
		case "text":
			text := llm.Text{Text: str(at(b, "text"))}
			if c := at(b, "citations"); c != nil {
				text.Opaque = r.opaque(c)
			}
			out = append(out, text)
		case "thinking":
			out = append(out, llm.Reasoning{Text: str(at(b, "thinking")), Signature: str(at(b, "signature")), Provider: r.host})
		case "redacted_thinking":
			out = append(out, llm.Reasoning{Data: str(at(b, "data")), Provider: r.host})
		case "image", "document":
			out = append(out, media(str(at(b, "source", "media_type")), str(at(b, "source", "data")), ""))
		case "tool_use":
			out = append(out, r.call(str(at(b, "id")), str(at(b, "name")), raw(at(b, "input")), nil))
		case "tool_result":
			id := str(at(b, "tool_use_id"))
			out = append(out, llm.ToolResult{
				CallID: id, Name: r.names[id], Parts: r.blocks(at(b, "content")),
				IsError: at(b, "is_error") == true,
			})
		default:
			out = append(out, *r.opaque(b))
		}
	}
	return out
}

func (r *reader) chat(v map[string]any) {
	r.req.MaxTokens = max(num(v["max_tokens"]), num(v["max_completion_tokens"]))
	r.req.Temperature, r.req.Effort = number(v["temperature"]), llm.Effort(str(v["reasoning_effort"])+
		str(at(v, "reasoning", "effort")))
	r.req.Stop = strs(list(v, "stop"))
	for _, m := range list(v, "messages") {
		switch role := str(at(m, "role")); role {
		case "system", "developer":
			r.req.System = append(r.req.System, contents(at(m, "content"))...)
		case "tool":
			id := str(at(m, "tool_call_id"))
			r.add(llm.User, llm.ToolResult{CallID: id, Name: r.names[id], Parts: contents(at(m, "content"))})
		case "assistant":
			r.chatReply(m)
		default:
			r.add(llm.User, contents(at(m, "content"))...)
		}
	}
	for _, t := range list(v, "tools") {
		r.tool(str(at(t, "function", "name")), str(at(t, "function", "description")), at(t, "function", "parameters"))
	}
	r.openAIChoice(v["tool_choice"], str(at(v, "tool_choice", "function", "name")))
}

func (r *reader) openAIChoice(v any, name string) {
	r.req.ToolChoice = name
	if s, ok := v.(string); ok {
		r.req.ToolChoice = strings.Replace(s, "required", "any", 1)
	}
}

func (r *reader) chatReply(m any) {
	var parts []llm.Part
	if d := at(m, "reasoning_details"); d != nil {
		parts = append(parts, llm.Reasoning{Provider: r.host, Opaque: r.opaque(map[string]any{"reasoning_details": d})})
	}
	if s, ok := at(m, "reasoning_content").(string); ok {
		parts = append(parts, llm.Reasoning{Text: s, Provider: r.host})
	}
	texts := contents(at(m, "content"))
	if e := at(m, "extra_content"); e != nil && len(texts) == 1 {
		texts[0] = llm.Text{Text: texts[0].(llm.Text).Text, Opaque: r.opaque(map[string]any{"extra_content": e})}
	}
	parts = append(parts, texts...)
	for _, c := range list(m, "tool_calls") {
		var o *llm.Opaque
		if e := at(c, "extra_content"); e != nil {
			o = r.opaque(map[string]any{"extra_content": e})
		}
		parts = append(parts, r.call(str(at(c, "id")), str(at(c, "function", "name")),
			json.RawMessage(str(at(c, "function", "arguments"))), o))
	}
	r.add(llm.Assistant, parts...)
}

// contents reads a text, or a list of the contents of OpenAI's two APIs.
func contents(v any) (out []llm.Part) {
	if s := str(v); s != "" {
		return []llm.Part{llm.Text{Text: s}}
	}
	for _, c := range list(v) {
		switch kind := str(at(c, "type")); kind {
		case "text", "input_text", "output_text":
			out = append(out, llm.Text{Text: str(at(c, "text"))})
		case "image_url":
			out = append(out, dataURL(str(at(c, "image_url", "url"))))
		case "input_image":
			out = append(out, dataURL(str(at(c, "image_url"))))
		}
	}
	return out
}

func (r *reader) responses(v map[string]any) {
	r.req.MaxTokens, r.req.Temperature = num(v["max_output_tokens"]), number(v["temperature"])
	r.req.Effort = llm.Effort(str(at(v, "reasoning", "effort")))
	r.req.System = contents(v["instructions"])
	for _, item := range list(v, "input") {
		r.item(item)
	}
	for _, t := range list(v, "tools") {
		r.tool(str(at(t, "name")), str(at(t, "description")), at(t, "parameters"))
	}
	r.openAIChoice(v["tool_choice"], str(at(v, "tool_choice", "name")))
}

func (r *reader) item(item any) {
	id := str(at(item, "call_id"))
	switch kind := str(at(item, "type")); kind {
	case "", "message":
		switch role := str(at(item, "role")); role {
		case "system", "developer":
			r.req.System = append(r.req.System, contents(at(item, "content"))...)
		default:
			r.add(llm.Role(role), contents(at(item, "content"))...)
		}
	case "reasoning":
		r.add(llm.Assistant, llm.Reasoning{Provider: r.host, Opaque: r.opaque(item)})
	case "function_call":
		r.add(llm.Assistant, r.call(id, str(at(item, "name")), json.RawMessage(str(at(item, "arguments"))), nil))
	case "function_call_output":
		r.add(llm.User, llm.ToolResult{CallID: id, Name: r.names[id], Parts: contents(at(item, "output"))})
	default:
		r.add(llm.Assistant, *r.opaque(item))
	}
}

func (r *reader) google(v map[string]any) {
	conf := v["generationConfig"]
	r.req.MaxTokens, r.req.Temperature = num(at(conf, "maxOutputTokens")), number(at(conf, "temperature"))
	r.req.Stop, r.req.Effort = strs(list(conf, "stopSequences")),
		llm.Effort(str(at(conf, "thinkingConfig", "thinkingLevel")))
	for _, p := range list(v, "systemInstruction", "parts") {
		r.req.System = append(r.req.System, llm.Text{Text: str(at(p, "text"))})
	}
	for _, c := range list(v, "contents") {
		for _, p := range list(c, "parts") {
			role := llm.User
			if at(c, "role") == "model" {
				role = llm.Assistant
			}
			r.add(role, r.googlePart(p))
		}
	}
	for _, tools := range list(v, "tools") {
		for _, t := range list(tools, "functionDeclarations") {
			r.tool(str(at(t, "name")), str(at(t, "description")), at(t, "parameters"))
		}
	}
	choice := at(v, "toolConfig", "functionCallingConfig")
	r.req.ToolChoice = str(at(choice, "allowedFunctionNames", 0))
	if r.req.ToolChoice == "" {
		r.req.ToolChoice = strings.ToLower(str(at(choice, "mode")))
	}
}

func (r *reader) googlePart(p any) llm.Part {
	var signed *llm.Opaque
	if s := at(p, "thoughtSignature"); s != nil {
		signed = r.opaque(map[string]any{"thoughtSignature": s})
	}
	switch {
	case at(p, "functionCall") != nil:
		r.last++
		name := str(at(p, "functionCall", "name"))
		return r.call(name, name, raw(at(p, "functionCall", "args")), signed)
	case at(p, "functionResponse") != nil:
		name := str(at(p, "functionResponse", "name"))
		text := raw(at(p, "functionResponse", "response"))
		if s, ok := at(p, "functionResponse", "response", "output").(string); ok {
			text = []byte(s)
		}
		return llm.ToolResult{CallID: name, Name: name, Parts: []llm.Part{llm.Text{Text: string(text)}}}
	case at(p, "inlineData") != nil:
		return media(str(at(p, "inlineData", "mimeType")), str(at(p, "inlineData", "data")), "")
	case at(p, "thought") == true:
		return llm.Reasoning{Text: str(at(p, "text")), Provider: r.host, Opaque: signed}
	case at(p, "text") != nil:
		return llm.Text{Text: str(at(p, "text")), Opaque: signed}
	}
	return *r.opaque(p)
}

func (r *reader) converse(v map[string]any) {
	conf := v["inferenceConfig"]
	r.req.MaxTokens, r.req.Temperature, r.req.Stop = num(at(conf, "maxTokens")), number(at(conf, "temperature")),
		strs(list(conf, "stopSequences"))
	r.req.System = r.converseParts(v["system"])
	for _, m := range list(v, "messages") {
		r.add(llm.Role(str(at(m, "role"))), r.converseParts(at(m, "content"))...)
	}
	for _, t := range list(v, "toolConfig", "tools") {
		if spec := at(t, "toolSpec"); spec != nil {
			r.tool(str(at(spec, "name")), str(at(spec, "description")), at(spec, "inputSchema", "json"))
		}
	}
	r.req.ToolChoice = str(at(v, "toolConfig", "toolChoice", "tool", "name"))
	if at(v, "toolConfig", "toolChoice", "any") != nil {
		r.req.ToolChoice = "any"
	}
}

func (r *reader) converseParts(v any) (out []llm.Part) {
	for _, b := range list(v) {
		call, result, thought := at(b, "toolUse"), at(b, "toolResult"), at(b, "reasoningContent")
		switch {
		case at(b, "text") != nil:
			out = append(out, llm.Text{Text: str(at(b, "text"))})
		case at(b, "json") != nil:
			out = append(out, llm.Text{Text: string(raw(at(b, "json")))})
		case at(b, "image") != nil:
			out = append(out, media("image/"+str(at(b, "image", "format")), str(at(b, "image", "source", "bytes")), ""))
		case call != nil:
			out = append(out, r.call(str(at(call, "toolUseId")), str(at(call, "name")), raw(at(call, "input")), nil))
		case result != nil:
			id := str(at(result, "toolUseId"))
			out = append(out, llm.ToolResult{
				CallID: id, Name: r.names[id], Parts: r.converseParts(at(result, "content")),
				IsError: at(result, "status") == "error",
			})
		case thought != nil:
			out = append(out, llm.Reasoning{
				Text: str(at(thought, "reasoningText", "text")), Signature: str(at(thought, "reasoningText", "signature")),
				Data: str(at(thought, "redactedContent")), Provider: r.host,
			})
		case at(b, "cachePoint") == nil:
			out = append(out, *r.opaque(b))
		}
	}
	return out
}
