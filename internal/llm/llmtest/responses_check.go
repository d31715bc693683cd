package llmtest

import (
	"encoding/json"
	"slices"
	"strings"
)

// responsesCheck refuses invalid requests like OpenAI's Responses API, with its messages where they are known.
type responsesCheck struct {
	s    *Server
	q    *responsesRequest
	body []byte
}

var responsesKeys = []string{
	"model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "stream", "stream_options", "store",
	"include",
	"max_output_tokens", "max_tool_calls", "reasoning", "text", "temperature", "top_p", "top_logprobs", "truncation",
	"metadata", "user",
	"previous_response_id", "conversation", "background", "service_tier", "prompt", "prompt_cache_key",
	"prompt_cache_retention",
	"safety_identifier", "context_management",
}

func (k *responsesCheck) run() *refusal {
	return first(k.top, k.tools, k.items, k.pairs)
}

func (k *responsesCheck) top() *refusal {
	q := k.q
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(k.body, &keys); err != nil {
		return refuse("We could not parse the JSON body of your request: %v", err)
	}
	for name := range keys {
		if !slices.Contains(responsesKeys, name) {
			return refuse("Unknown parameter: '%s'.", name)
		}
	}
	switch r := q.Reasoning; {
	case q.Model == "":
		return refuse("Missing required parameter: 'model'.")
	case len(q.Input) == 0:
		return refuse("One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation' must be provided.")
	case q.MaxOutput != nil && *q.MaxOutput < 16:
		return refuse(
			"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got %d instead.",
			*q.MaxOutput)
	case keys["tool_choice"] != nil && len(q.Tools) == 0:
		return refuse("Tool choice must be 'none' or 'auto' when no tools are specified.")
	case r != nil && r.Effort != nil && !slices.Contains([]string{"none", "minimal", "low", "medium", "high", "xhigh"},
		*r.Effort):
		return refuse("Invalid value: '%s'. Supported values are: 'none', 'minimal', 'low', 'medium', 'high', and 'xhigh'.",
			*r.Effort)
	case slices.Contains(q.Include, "reasoning.encrypted_content") && !reasons(q.Model):
		return refuse("Encrypted content is not supported with this model.")
	case r != nil && strings.HasPrefix(q.Model, "gpt-4"):
		return refuse("Unsupported parameter: 'reasoning.effort' is not supported with this model.")
	}
	return nil
}

func (k *responsesCheck) tools() *refusal {
	for i, t := range k.q.Tools {
		var schema map[string]any
		switch {
		case t.Type != "function":
			continue // a tool of the server
		case !plainName(t.Name, 64):
			return refuse("Invalid 'tools[%d].name': string does not match pattern. Expected a string that matches the "+
				"pattern '^[a-zA-Z0-9_-]+$'.", i)
		case json.Unmarshal(t.Parameters, &schema) != nil || schema["type"] != "object":
			return refuse("Invalid schema for function '%s': schema must be a JSON Schema of 'type: \"object\"', got 'type: "+
				"\"%v\"'.", t.Name, schema["type"])
		case (t.Strict == nil || *t.Strict) && schema["additionalProperties"] != false:
			return refuse("Invalid schema for function '%s': In context=(), 'additionalProperties' is required to be "+
				"supplied and to be false.", t.Name)
		}
	}
	return nil
}

func (k *responsesCheck) items() *refusal {
	for i := range k.q.Input {
		it := &k.q.Input[i]
		var bad *refusal
		switch it.Type {
		case "message":
			bad = k.message(i, it)
		case "function_call":
			bad = k.call(i, it)
		case "function_call_output":
			bad = k.output(i, it)
		case "reasoning":
			bad = k.reasoning(i, it)
		default:
			bad = refuse("Invalid value: '%s'. Supported values are: 'message', 'function_call', 'function_call_output', "+
				"'reasoning', and others.", it.Type)
		}
		if bad != nil {
			return bad
		}
	}
	return nil
}

func (k *responsesCheck) message(i int, it *responsesItem) *refusal {
	if !slices.Contains([]string{"system", "developer", "user", "assistant"}, it.Role) {
		return refuse("Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'.", it.Role)
	}
	if len(it.contents) == 0 {
		return refuse("Missing required parameter: 'input[%d].content'.", i)
	}
	allowed := []string{"input_text", "input_image", "input_file"}
	if it.Role == "assistant" {
		allowed = []string{"output_text", "refusal"}
	}
	return contents(i, "content", it, allowed)
}

func contents(i int, name string, it *responsesItem, allowed []string) *refusal {
	for j, c := range it.contents {
		switch {
		case !slices.Contains(allowed, c.Type):
			return refuse("Invalid value: '%s'. Supported values are: '%s'.", c.Type, strings.Join(allowed, "', '"))
		case strings.HasSuffix(c.Type, "_text") && c.Text == nil:
			return refuse("Missing required parameter: 'input[%d].%s[%d].text'.", i, name, j)
		case c.Type == "input_image" && c.ImageURL == "":
			return refuse("Missing required parameter: 'input[%d].%s[%d].image_url'.", i, name, j)
		}
	}
	return nil
}

func (k *responsesCheck) call(i int, it *responsesItem) *refusal {
	switch {
	case it.CallID == "" || len(it.CallID) > 64:
		return refuse("Invalid 'input[%d].call_id': expected a string of 1 to 64 characters.", i)
	case !plainName(it.Name, 64):
		return refuse("Invalid 'input[%d].name': string does not match pattern. Expected a string that matches the "+
			"pattern '^[a-zA-Z0-9_-]+$'.", i)
	case len(it.Arguments) == 0 || it.Arguments[0] != '"':
		return refuse("Invalid type for 'input[%d].arguments': expected a string, but got an object instead.", i)
	}
	if want := k.s.reasoningBefore(it.CallID); k.s.opts.ReasoningBack && want != "" && k.running(i) && !k.encryptedBefore(
		i, Sign(want)) {
		return refuse("Item '%s' of type 'function_call' was provided without its required 'reasoning' item.", it.CallID)
	}
	return nil
}

// running reports whether item i belongs to the tool loop at the end of the request.
func (k *responsesCheck) running(i int) bool {
	for _, it := range k.q.Input[i:] {
		if it.Type == "message" && it.Role == "user" {
			return false
		}
	}
	return true
}

func (k *responsesCheck) encryptedBefore(i int, sign string) bool {
	for j := i - 1; j >= 0 && k.q.Input[j].ofModel(); j-- {
		if k.q.Input[j].Encrypted == sign {
			return true
		}
	}
	return false
}

func (k *responsesCheck) output(i int, it *responsesItem) *refusal {
	if len(it.Output) == 0 || string(it.Output) == "null" {
		return refuse("Missing required parameter: 'input[%d].output'.", i)
	}
	return contents(i, "output", it, []string{"input_text", "input_image", "input_file"})
}

// reasoning must be this server's, and a text or a call must follow it.
func (k *responsesCheck) reasoning(i int, it *responsesItem) *refusal {
	if it.Summary == nil {
		return refuse("Missing required parameter: 'input[%d].summary'.", i)
	}
	if !strings.HasPrefix(it.Encrypted, signaturePrefix) || strings.HasPrefix(it.Encrypted, Sign("")) {
		return &refusal{
			status: 400, kind: "invalid_request_error",
			message: "The encrypted content could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
		}
	}
	if i+1 >= len(k.q.Input) || !k.q.Input[i+1].ofModel() {
		return refuse("Item 'rs' of type 'reasoning' was provided without its required following item.")
	}
	return nil
}

// pairs checks that each output has its call before it, and each call its output.
func (k *responsesCheck) pairs() *refusal {
	open := map[string]bool{}
	for i := range k.q.Input {
		switch it := &k.q.Input[i]; it.Type {
		case "function_call":
			if open[it.CallID] {
				return refuse("Duplicate item found with id %s.", it.CallID)
			}
			open[it.CallID] = true
		case "function_call_output":
			if !open[it.CallID] {
				return refuse("No tool call found for function call output with call_id %s.", it.CallID)
			}
			delete(open, it.CallID)
		}
	}
	for id := range open {
		return refuse("No tool output found for function call %s.", id)
	}
	return nil
}
