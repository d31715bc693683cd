package llmtest

import (
	"encoding/json"
	"slices"
	"strings"
)

// googleCheck refuses invalid requests like the Gemini API, with its messages where they are known.
type googleCheck struct {
	s    *Server
	q    *googleRequest
	body []byte
}

var googleKeys = []string{
	"contents", "systemInstruction", "tools", "toolConfig", "safetySettings", "generationConfig", "cachedContent",
	"labels",
}

var googleSchemaKeys = []string{
	"type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems", "properties", "required",
	"minProperties",
	"maxProperties", "minLength", "maxLength", "pattern", "example", "anyOf", "propertyOrdering", "default", "items",
	"minimum", "maximum",
}

func (k *googleCheck) run() *refusal {
	return first(k.top, k.thinking, k.tools, k.contents, k.pairs)
}

func (k *googleCheck) top() *refusal {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(k.body, &keys); err != nil {
		return refuse("Invalid JSON payload received. %v", err)
	}
	for name := range keys {
		if !slices.Contains(googleKeys, name) {
			return refuse("Invalid JSON payload received. Unknown name %q: Cannot find field.", name)
		}
	}
	switch q := k.q; {
	case len(q.Contents) == 0:
		return refuse("* GenerateContentRequest.contents: contents is not specified")
	case q.System != nil && q.System.text() == "":
		return refuse("* GenerateContentRequest.system_instruction.parts: must not be empty")
	case q.Generation.MaxOutput != nil && *q.Generation.MaxOutput < 1:
		return refuse("max_output_tokens must be positive.")
	case q.ToolConfig != nil && !slices.Contains([]string{"AUTO", "ANY", "NONE", "VALIDATED"}, q.ToolConfig.Calling.Mode):
		return refuse("Invalid value at 'tool_config.function_calling_config.mode': %q", q.ToolConfig.Calling.Mode)
	case q.ToolConfig != nil && len(q.Tools) == 0:
		return refuse("Function calling config is set without function_declarations.")
	}
	return nil
}

func (k *googleCheck) thinking() *refusal {
	t := k.q.Generation.Thinking
	switch {
	case t == nil:
		return nil
	case t.Budget != nil && t.Level != nil:
		return refuse("You can only set only one of thinking budget and thinking level.")
	case t.Level != nil && !slices.Contains([]string{"minimal", "low", "medium", "high"}, *t.Level):
		return refuse("Invalid value at 'generation_config.thinking_config.thinking_level': %q", *t.Level)
	case t.Level != nil && !strings.HasPrefix(k.q.model, "gemini-3"):
		return refuse("Thinking level is not supported for this model.")
	case !strings.HasPrefix(k.q.model, "gemini-3") && !strings.HasPrefix(k.q.model, "gemini-2.5"):
		return refuse("Thinking is not enabled for models/%s", k.q.model)
	}
	return nil
}

func (k *googleCheck) tools() *refusal {
	for _, t := range k.q.Tools {
		for i, f := range t.Functions {
			if !googleName(f.Name) {
				return refuse("* GenerateContentRequest.tools[0].function_declarations[%d].name: Invalid function name. Must "+
					"start with a letter or an underscore.", i)
			}
			if len(f.Parameters) == 0 {
				continue
			}
			if bad := googleSchema(f.Parameters); bad != nil {
				return bad
			}
		}
	}
	return nil
}

func googleName(name string) bool {
	return plainName(name, 64) && !strings.ContainsAny(name[:1], "0123456789-")
}

// googleSchema checks that a schema is of the subset.
func googleSchema(raw json.RawMessage) *refusal {
	var s map[string]json.RawMessage
	if json.Unmarshal(raw, &s) != nil {
		return refuse("Invalid value at 'tools[0].function_declarations[0].parameters'")
	}
	for name := range s {
		if !slices.Contains(googleSchemaKeys, name) {
			return refuse("Invalid JSON payload received. Unknown name %q at 'tools[0].function_declarations[0].parameters': "+
				"Cannot find field.", name)
		}
	}
	var kind string
	if s["type"] != nil && json.Unmarshal(s["type"], &kind) != nil {
		return refuse("Proto field is not repeating, cannot start list.")
	}
	var props map[string]json.RawMessage
	_ = json.Unmarshal(s["properties"], &props) // absent: none
	var required, enum []string
	switch {
	case s["required"] != nil && json.Unmarshal(s["required"], &required) != nil,
		s["enum"] != nil && json.Unmarshal(s["enum"], &enum) != nil:
		return refuse("Invalid value (TYPE_STRING)")
	case enum != nil && kind != "string":
		return refuse("enum: only allowed for STRING type")
	case kind == "object" && len(props) == 0:
		return refuse("properties: should be non-empty for OBJECT type")
	case kind == "array" && s["items"] == nil:
		return refuse("items: missing field.")
	case kind == "" && s["anyOf"] == nil:
		return refuse("type: missing field.")
	}
	for _, name := range required {
		if props[name] == nil {
			return refuse("required[0]: property is not defined")
		}
	}
	return googleChildren(s, props)
}

func googleChildren(s, props map[string]json.RawMessage) *refusal {
	var some []json.RawMessage
	_ = json.Unmarshal(s["anyOf"], &some) // absent: none
	if s["items"] != nil {
		some = append(some, s["items"])
	}
	for _, p := range props {
		some = append(some, p)
	}
	for _, p := range some {
		if bad := googleSchema(p); bad != nil {
			return bad
		}
	}
	return nil
}

func (k *googleCheck) contents() *refusal {
	for i := range k.q.Contents {
		c := &k.q.Contents[i]
		switch {
		case c.Role != "user" && c.Role != "model":
			return refuse("Please use a valid role: user, model.")
		case len(c.Parts) == 0:
			return refuse("* GenerateContentRequest.contents[%d].parts: contents.parts must not be empty.", i)
		}
		for j := range c.Parts {
			if bad := k.part(i, j, c, &c.Parts[j]); bad != nil {
				return bad
			}
		}
	}
	return nil
}

func (k *googleCheck) part(i, j int, c *googleContent, p *googlePart) *refusal {
	switch {
	case p.Call != nil:
		return k.callPart(i, j, c, p)
	case p.Response != nil:
		if c.Role != "user" || !googleName(p.Response.Name) || len(p.Response.Response) == 0 {
			return refuse("* GenerateContentRequest.contents[%d].parts[%d].function_response: name and response are required "+
				"in a user turn", i, j)
		}
	case p.Inline != nil:
		if p.Inline.MIME == "" || p.Inline.Data == "" {
			return refuse("Unable to process input image. Please retry.")
		}
	case p.Text == nil && p.File == nil, p.Text != nil && *p.Text == "" && p.Signature == "":
		return refuse("* GenerateContentRequest.contents[%d].parts[%d].data: required oneof field 'data' must have one "+
			"initialized field", i, j)
	}
	if p.Signature != "" && !strings.HasPrefix(p.Signature, signaturePrefix) {
		return refuse("Thought signature is not valid")
	}
	return nil
}

// running reports whether content i belongs to the tool loop at the end of the request.
func (k *googleCheck) running(i int) bool {
	for _, c := range k.q.Contents[i:] {
		if c.Role == "user" && c.text() != "" {
			return false
		}
	}
	return true
}

func (k *googleCheck) callPart(i, j int, c *googleContent, p *googlePart) *refusal {
	args := strings.TrimSpace(string(p.Call.Args))
	first := !slices.ContainsFunc(c.Parts[:j], func(q googlePart) bool { return q.Call != nil })
	want := k.s.signatureOf(p.Call.ID)
	switch {
	case c.Role != "model" || !googleName(p.Call.Name):
		return refuse("* GenerateContentRequest.contents[%d].parts[%d].function_call.name: Invalid function name.", i, j)
	case args != "" && args[0] != '{':
		return refuse("Invalid value at 'contents[%d].parts[%d].function_call.args'", i, j)
	case k.running(i) && want != p.Signature && want != "",
		k.running(i) && first && p.Signature == "" && strings.HasPrefix(k.q.model, "gemini-3"):
		return refuse("Function call is missing a thought_signature in functionCall parts. This is required for tools to "+
			"work correctly. Function call `default_api:%s`, position %d.", p.Call.Name, i)
	case p.Signature != "" && p.Signature != want && p.Signature != "skip_thought_signature_validator":
		return refuse("Thought signature is not valid")
	case k.s.opts.ReasoningBack && k.running(i) && !strings.Contains(c.thoughts(), k.s.reasoningBefore(p.Call.ID)):
		return refuse("The thoughts before a call must be passed back.")
	}
	return nil
}

func (c *googleContent) thoughts() string {
	out := ""
	for _, p := range c.Parts {
		if p.Thought && p.Text != nil {
			out += *p.Text
		}
	}
	return out
}

// pairs checks that the calls of a content are answered by the next one, in number, by name and id.
func (k *googleCheck) pairs() *refusal {
	var open []*googleCall
	for i := range k.q.Contents {
		var answers []*googleResponse
		var calls []*googleCall
		for _, p := range k.q.Contents[i].Parts {
			if p.Response != nil {
				answers = append(answers, p.Response)
			}
			if p.Call != nil {
				calls = append(calls, p.Call)
			}
		}
		if len(answers) != len(open) {
			return refuse("Please ensure that the number of function response parts is equal to the number of function call " +
				"parts of the function call turn.")
		}
		for j, a := range answers {
			if a.Name != open[j].Name || a.ID != open[j].ID {
				return refuse("Please ensure that function response turn comes immediately after a function call turn.")
			}
		}
		open = calls
	}
	if len(open) > 0 {
		return refuse("Please ensure that the number of function response parts is equal to the number of function call " +
			"parts of the function call turn.")
	}
	return nil
}
