package llmtest

import (
	"encoding/json"
	"slices"
	"strings"
)

// converseCheck refuses invalid requests like Bedrock, with its messages where they are known.
type converseCheck struct {
	s    *Server
	q    *converseRequest
	body []byte
}

var converseKeys = []string{
	"messages", "system", "inferenceConfig", "toolConfig", "additionalModelRequestFields",
	"additionalModelResponseFieldPaths",
	"guardrailConfig", "performanceConfig", "promptVariables", "requestMetadata", "outputConfig", "serviceTier",
}

func (k *converseCheck) run() *refusal {
	return first(k.top, k.tools, k.messages, k.pairs, k.marks)
}

func (k *converseCheck) top() *refusal {
	var keys map[string]json.RawMessage
	_ = json.Unmarshal(k.body, &keys) // read before
	for name := range keys {
		if !slices.Contains(converseKeys, name) {
			return refuse("Unexpected field type: %s", name)
		}
	}
	switch q := k.q; {
	case q.model == "":
		return refuse("The provided model identifier is invalid.")
	case len(q.Messages) == 0:
		return refuse("The messages field is required.")
	case q.Config.MaxTokens != nil && *q.Config.MaxTokens < 1:
		return refuse("Value '%d' at 'inferenceConfig.maxTokens' failed to satisfy constraint: Member must have value "+
			"greater than or equal to 1", *q.Config.MaxTokens)
	}
	return nil
}

func (k *converseCheck) tools() *refusal {
	t := k.q.Tools
	if t == nil {
		for _, m := range k.q.Messages {
			if slices.ContainsFunc(m.Content, func(b converseBlock) bool { return b.Tool != nil || b.Result != nil }) {
				return refuse("The toolConfig field must be defined when using toolUse and toolResult content blocks.")
			}
		}
		return nil
	}
	if len(t.Tools) == 0 {
		return refuse("Value at 'toolConfig.tools' failed to satisfy constraint: Member must have length greater than or " +
			"equal to 1")
	}
	for _, one := range t.Tools {
		switch {
		case one.Mark != nil:
		case one.Spec == nil || !plainName(one.Spec.Name, 64):
			return refuse("Value at 'toolConfig.tools.1.member.toolSpec.name' failed to satisfy constraint: Member must " +
				"satisfy regular expression pattern: [a-zA-Z0-9_-]+")
		case one.Spec.Description == "":
			return refuse("Value at 'toolConfig.tools.1.member.toolSpec.description' failed to satisfy constraint: Member " +
				"must have length greater than or equal to 1")
		case !strings.Contains(string(one.Spec.Schema.JSON), `"object"`):
			return refuse("The value at toolConfig.tools.0.toolSpec.inputSchema.json.type must be one of the following: object.")
		}
	}
	for name := range t.Choice {
		if name != "auto" && name != "any" && name != "tool" {
			return refuse("Unexpected field type: toolChoice.%s", name)
		}
	}
	return nil
}

func (k *converseCheck) messages() *refusal {
	last := ""
	for i, m := range k.q.Messages {
		switch {
		case m.Role != "user" && m.Role != "assistant":
			return refuse("Value '%s' at 'messages.%d.member.role' failed to satisfy constraint: Member must satisfy enum "+
				"value set: [user, assistant]", m.Role, i+1)
		case i == 0 && m.Role != "user":
			return refuse("A conversation must start with a user message. Try again with a conversation that starts with a " +
				"user message.")
		case m.Role == last:
			return refuse("A conversation must alternate between user and assistant roles. Make sure the conversation " +
				"alternates between user and assistant roles and try again.")
		case len(m.Content) == 0:
			return refuse("The content field in the Message object at messages.%d is empty.", i)
		}
		last = m.Role
		if bad := k.content(i, m.Role, m.Content, false); bad != nil {
			return bad
		}
	}
	return nil
}

func (k *converseCheck) content(i int, role string, blocks []converseBlock, inResult bool) *refusal {
	text, document := false, false
	for j, b := range blocks {
		switch {
		case b.Text != nil && strings.TrimSpace(*b.Text) == "":
			return refuse("The text field in the ContentBlock object at messages.%d.content.%d is blank. Add text to the "+
				"text field, and try again.", i, j)
		case b.Text != nil:
			text = true
		case b.Tool != nil:
			if bad := k.callBlock(i, role, b); bad != nil {
				return bad
			}
		case b.Result != nil:
			if inResult || role != "user" || len(b.Result.Content) == 0 {
				return refuse("The content field in the ToolResultBlock object at messages.%d.content.%d is empty.", i, j)
			}
			if bad := k.content(i, role, b.Result.Content, true); bad != nil {
				return bad
			}
		case b.Reasoning != nil:
			if bad := k.reasoning(role, b); bad != nil {
				return bad
			}
		case b.Image != nil:
			if !slices.Contains([]string{"png", "jpeg", "gif", "webp"}, b.Image.Format) || b.Image.Source.Bytes == "" {
				return refuse("The model returned the following errors: Could not process image")
			}
		case b.Document != nil:
			document = true
			if b.Document.Name == "" || strings.ContainsAny(b.Document.Name, "._/\\,") || strings.Contains(b.Document.Name,
				"  ") {
				return refuse("The document file name can only contain alphanumeric characters, whitespace characters, hyphens, " +
					"parentheses, and square brackets. The name can't contain more than one consecutive whitespace character.")
			}
		case b.Mark == nil:
			return refuse("The ContentBlock object at messages.%d.content.%d must set one of the following keys: text, "+
				"image, toolUse, toolResult, document.", i, j)
		}
	}
	if document && !text && !inResult {
		return refuse("The ContentBlock object at messages.%d must include a text block when using documents.", i)
	}
	return nil
}

func (k *converseCheck) callBlock(i int, role string, b converseBlock) *refusal {
	switch {
	case role != "assistant" || !plainName(b.Tool.ID, 64) || !plainName(b.Tool.Name, 64):
		return refuse("Value at 'messages.%d.member.content.1.member.toolUse.toolUseId' failed to satisfy constraint: "+
			"Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+", i+1)
	case !strings.HasPrefix(strings.TrimSpace(string(b.Tool.Input)), "{"):
		return refuse("The format of the value at messages.%d.content.0.toolUse.input is invalid. Provide a json object "+
			"for the field and try again.", i)
	}
	return nil
}

func (k *converseCheck) reasoning(role string, b converseBlock) *refusal {
	t := b.Reasoning.Text
	switch {
	case role != "assistant":
		return refuse("reasoningContent is not supported in a user message.")
	case t == nil && b.Reasoning.Redacted == "", t != nil && t.Signature == "":
		return refuse("reasoningContent.reasoningText.signature: Field required")
	case t != nil && strings.HasPrefix(t.Signature, signaturePrefix) && t.Signature != Sign(t.Text):
		return refuse("Invalid `signature` in `thinking` block")
	}
	return nil
}

// pairs checks that the calls of a message are answered by the next one, and that the reasoning before a call came
// back.
func (k *converseCheck) pairs() *refusal {
	open := map[string]bool{}
	for i, m := range k.q.Messages {
		calls := map[string]bool{}
		thought := ""
		for _, b := range m.Content {
			switch {
			case b.Reasoning != nil && b.Reasoning.Text != nil:
				thought += b.Reasoning.Text.Text
			case b.Tool != nil && calls[b.Tool.ID]:
				return refuse("The toolUse ids of messages.%d are not unique", i)
			case b.Tool != nil:
				calls[b.Tool.ID] = true
				if want := k.s.reasoningBefore(b.Tool.ID); k.s.opts.ReasoningBack && !strings.Contains(thought, want) {
					return refuse("The reasoning before a call must be passed back.")
				}
			case b.Result != nil && !open[b.Result.ID]:
				return refuse("The number of toolResult blocks at messages.%d.content exceeds the number of toolUse blocks of "+
					"previous turn.", i)
			case b.Result != nil:
				delete(open, b.Result.ID)
			}
		}
		for id := range open {
			return refuse("Expected toolResult blocks at messages.%d.content for the following Ids: %s", i, id)
		}
		open = calls
	}
	for id := range open {
		return refuse("Expected toolResult blocks at messages.%d.content for the following Ids: %s", len(k.q.Messages), id)
	}
	return nil
}

// marks counts cache points.
func (k *converseCheck) marks() *refusal {
	n := 0
	count := func(blocks []converseBlock) {
		for _, b := range blocks {
			if b.Mark != nil {
				n++
			}
		}
	}
	count(k.q.System)
	for _, m := range k.q.Messages {
		count(m.Content)
	}
	if k.q.Tools != nil {
		for _, t := range k.q.Tools.Tools {
			if t.Mark != nil {
				n++
			}
		}
	}
	claude := strings.Contains(k.q.model, "claude")
	switch {
	case n > 4:
		return refuse("A maximum of 4 blocks with cache_control may be provided. Found %d.", n)
	case n > 0 && !claude && !strings.Contains(k.q.model, "nova"):
		return refuse("You invoked an unsupported model or your request did not allow prompt caching. See the " +
			"documentation for more information.")
	}
	return nil
}
