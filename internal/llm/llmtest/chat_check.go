package llmtest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// chatCheck refuses invalid requests like OpenAI's Chat Completions, with its messages where they are known.
type chatCheck struct {
	s    *Server
	q    *chatRequest
	body []byte
}

var chatKeys = []string{
	"model", "messages", "tools", "tool_choice", "parallel_tool_calls", "stream", "stream_options", "max_tokens",
	"max_completion_tokens", "reasoning_effort", "temperature", "top_p", "n", "stop", "seed", "user", "metadata",
	"store", "response_format", "frequency_penalty", "presence_penalty", "logprobs", "top_logprobs", "logit_bias",
	"service_tier", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "verbosity", "modalities",
	"prediction", "audio", "web_search_options", "functions", "function_call",
	// of compatible servers
	"reasoning", "thinking", "provider", "transforms", "usage", "enable_thinking", "chat_template_kwargs", "extra_body",
}

func (k *chatCheck) run() *refusal {
	return first(k.top, k.limits, k.tools, k.messages, k.pairs)
}

func (k *chatCheck) top() *refusal {
	q := k.q
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(k.body, &keys); err != nil {
		return refuse("We could not parse the JSON body of your request: %v", err)
	}
	for name := range keys {
		if !slices.Contains(chatKeys, name) {
			return refuse("Unrecognized request argument supplied: %s", name)
		}
	}
	switch {
	case q.Model == "":
		return refuse("you must provide a model parameter")
	case len(q.Messages) == 0:
		return refuse("Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array " +
			"instead.")
	case q.StreamOptions != nil && !q.Stream:
		return refuse("The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	case keys["tool_choice"] != nil && len(q.Tools) == 0:
		return refuse("'tool_choice' is only allowed when 'tools' are specified.")
	case keys["parallel_tool_calls"] != nil && len(q.Tools) == 0:
		return refuse("'parallel_tool_calls' is only allowed when 'tools' are specified.")
	case keys["tools"] != nil && len(q.Tools) == 0:
		return refuse(
			"Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	return nil
}

// reasons reports whether the model is one of OpenAI's reasoning models, which refuse some parameters.
func reasons(model string) bool {
	if i := strings.LastIndex(model, "/"); i >= 0 {
		model = model[i+1:]
	}
	return strings.HasPrefix(model, "gpt-5") || len(model) > 1 && model[0] == 'o' && model[1] >= '1' && model[1] <= '9'
}

func (k *chatCheck) limits() *refusal {
	q := k.q
	switch {
	case q.MaxTokens != nil && q.MaxCompletion != nil:
		return refuse("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
	case q.MaxTokens != nil && reasons(q.Model):
		return refuse("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' " +
			"instead.")
	case q.MaxTokens != nil && *q.MaxTokens < 1, q.MaxCompletion != nil && *q.MaxCompletion < 1:
		return refuse("Invalid 'max_tokens': integer below minimum value. Expected a value >= 1.")
	case q.Effort != nil && !slices.Contains([]string{"none", "minimal", "low", "medium", "high", "xhigh", "max"},
		*q.Effort):
		return refuse("Invalid value: '%s'. Supported values are: 'none', 'minimal', 'low', 'medium', 'high' and 'xhigh'.",
			*q.Effort)
	case q.Effort != nil && strings.HasPrefix(q.Model, "gpt-4"):
		return refuse("Unrecognized request argument supplied: reasoning_effort")
	}
	return nil
}

func (k *chatCheck) tools() *refusal {
	for i, t := range k.q.Tools {
		var schema map[string]any
		switch {
		case t.Type != "function":
			return refuse("Invalid value: '%s'. Supported values are: 'function' and 'custom'.", t.Type)
		case !plainName(t.Function.Name, 64):
			return refuse("Invalid 'tools[%d].function.name': string does not match pattern. Expected a string that matches "+
				"the pattern '^[a-zA-Z0-9_-]+$'.", i)
		case len(t.Function.Parameters) > 0 && json.Unmarshal(t.Function.Parameters, &schema) != nil:
			return refuse("Invalid type for 'tools[%d].function.parameters': expected an object.", i)
		case schema != nil && schema["type"] != "object":
			return refuse("Invalid schema for function '%s': schema must be a JSON Schema of 'type: \"object\"', got 'type: "+
				"\"%v\"'.", t.Function.Name, schema["type"])
		}
	}
	return nil
}

func (k *chatCheck) messages() *refusal {
	for i := range k.q.Messages {
		m := &k.q.Messages[i]
		if !slices.Contains([]string{"system", "developer", "user", "assistant", "tool"}, m.Role) {
			return refuse("Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and "+
				"'developer'.", m.Role)
		}
		null := m.parts == nil
		switch {
		case null && m.Role != "assistant":
			return refuse("Invalid value for 'content': expected a string, got null.")
		case null && len(m.ToolCalls) == 0:
			return refuse("Invalid value for 'content': expected a string, got null.")
		case !null && len(m.parts) == 0:
			return refuse("Invalid 'messages[%d].content': empty array. Expected an array with minimum length 1, but got an "+
				"empty array instead.", i)
		case m.ToolCalls != nil && len(m.ToolCalls) == 0:
			return refuse("Invalid 'messages[%d].tool_calls': empty array. Expected an array with minimum length 1, but got "+
				"an empty array instead.", i)
		}
		if bad := k.parts(i, m); bad != nil {
			return bad
		}
		if bad := k.calls(i, m); bad != nil {
			return bad
		}
	}
	return nil
}

func (k *chatCheck) parts(i int, m *chatMessage) *refusal {
	for j, p := range m.parts {
		switch p.Type {
		case "text":
			if p.Text == nil {
				return refuse("Missing required parameter: 'messages[%d].content[%d].text'.", i, j)
			}
		case "image_url":
			if m.Role != "user" {
				return refuse("Invalid 'messages[%d]'. Image URLs are only allowed for messages with role 'user', but this "+
					"message with role '%s' contains an image URL.", i, m.Role)
			}
			if p.ImageURL == nil || p.ImageURL.URL == "" {
				return refuse("Missing required parameter: 'messages[%d].content[%d].image_url.url'.", i, j)
			}
		case "input_audio", "file", "refusal":
		default:
			return refuse(
				"Invalid value: '%s'. Supported values are: 'text', 'image_url', 'input_audio', 'refusal', and 'file'.", p.Type)
		}
	}
	return nil
}

func (k *chatCheck) calls(i int, m *chatMessage) *refusal {
	seen := map[string]bool{}
	for j, c := range m.ToolCalls {
		args := bytes.TrimSpace(c.Function.Arguments)
		switch {
		case m.Role != "assistant":
			return refuse("Unknown parameter: 'messages[%d].tool_calls'.", i)
		case c.ID == "":
			return refuse("Missing required parameter: 'messages[%d].tool_calls[%d].id'.", i, j)
		case len(c.ID) > 40:
			return refuse("Invalid 'messages[%d].tool_calls[%d].id': string too long. Expected a string with maximum length "+
				"40, but got a string with length %d instead.", i, j, len(c.ID))
		case seen[c.ID]:
			return refuse("Duplicate value for 'tool_call_id' of '%s' in message[%d].", c.ID, i)
		case c.Type != "function":
			return refuse("Missing required parameter: 'messages[%d].tool_calls[%d].type'.", i, j)
		case len(args) == 0 || args[0] != '"':
			return refuse("Invalid type for 'messages[%d].tool_calls[%d].function.arguments': expected a string, but got an "+
				"object instead.", i, j)
		case c.Function.Name == "":
			return refuse("Invalid 'messages[%d].tool_calls[%d].function.name': empty string. Expected a string with minimum "+
				"length 1, but got an empty string instead.", i, j)
		case k.s.opts.ReasoningBack && k.running(i) && !strings.Contains(m.Reasoning, k.s.reasoningBefore(c.ID)):
			return refuse("The `reasoning_content` in the thinking mode must be passed back to the API.")
		case k.running(i) && c.Extra.Google.Signature != k.s.signatureOf(c.ID):
			return refuse(
				"Function call is missing a thought_signature in functionCall parts. Function call `%s`, position %d.",
				c.Function.Name, i)
		}
		seen[c.ID] = true
	}
	return nil
}

// running reports whether message i belongs to the tool loop at the end of the request.
func (k *chatCheck) running(i int) bool {
	for _, m := range k.q.Messages[i:] {
		if m.Role == "user" {
			return false
		}
	}
	return true
}

// pairs checks that tool messages follow their call and that all calls are answered.
func (k *chatCheck) pairs() *refusal {
	var open []string
	for i := range k.q.Messages {
		m := &k.q.Messages[i]
		if m.Role == "tool" {
			at := slices.Index(open, m.ToolCallID)
			if at < 0 {
				return &refusal{
					status: 400, param: "messages.[" + m.ToolCallID + "].role",
					message: "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with " +
						"'tool_calls'.",
				}
			}
			open = slices.Delete(open, at, at+1)
			continue
		}
		if len(open) > 0 {
			break
		}
		for _, c := range m.ToolCalls {
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		return refuse("An assistant message with 'tool_calls' must be followed by tool messages responding to each "+
			"'tool_call_id'. The following tool_call_ids did not have response messages: %s", strings.Join(open, ", "))
	}
	return nil
}
