package provider

import (
	"strings"
	"testing"
)

// judged are the members in which lathe's requests differ on purpose from those that hosts accepted from other
// programs, and why the host takes them.
func judged() map[string]string {
	const (
		marks   = "lathe marks what the cache should keep; hosts take the marks anywhere"
		thought = "lathe has models think by default"
		cold    = "a model that thinks refuses a temperature"
		prompt  = "instructions and an item of the system are the same"
		plain   = "a text, and a list with one, are the same"
		routed  = "a key brings a conversation to its cache"
		sealed  = "without them nothing could go back, as the host keeps nothing"
	)
	return map[string]string{
		"anthropic +messages[].content[].cache_control.type=ephemeral": marks,
		"anthropic +system[].cache_control.type=ephemeral":             marks,
		"anthropic +tools[].cache_control.type=ephemeral":              marks,
		"anthropic +thinking.budget_tokens":                            thought,
		"anthropic +thinking.type=enabled":                             thought,
		"anthropic +thinking.type=adaptive":                            thought,
		"anthropic +thinking.display":                                  thought,
		"anthropic -temperature":                                       cold,
		"anthropic -messages[].content":                                plain,
		"anthropic +messages[].content[].text":                         plain,
		"anthropic +messages[].content[].type=text":                    plain,
		"anthropic -messages[].content[].content":                      plain,
		"anthropic +messages[].content[].content[].text":               plain,
		"anthropic +messages[].content[].content[].type=text":          plain,
		"google +generationConfig.thinkingConfig.includeThoughts":      thought,
		"converse +system[].cachePoint.type=default":                   marks,
		"converse +messages[].content[].cachePoint.type=default":       marks,
		"converse +toolConfig.tools[].cachePoint.type=default":         marks,
		"converse -modelId":                                            "it is in the address",
		"converse -messages[].content[].toolResult.content[].json":     "the result of a tool is a text",
		"converse +messages[].content[].toolResult.content[].text":     "the result of a tool is a text",
		"converse -messages[].content[].toolResult.status":             "a result without a status is no error",
		"chat +max_completion_tokens":                                  "OpenAI's newer name of max_tokens",
		"chat -max_tokens":                                             "OpenAI's newer name of max_tokens",
		"chat -temperature":                                            cold,
		"chat +prompt_cache_key":                                       routed,
		"chat +messages[].content[].cache_control.type=ephemeral":      marks,
		"chat +messages[].content[].text":                              marks,
		"chat +messages[].content[].type=text":                         marks,
		"chat -messages[].content":                                     marks,
		"responses +instructions":                                      prompt,
		"responses -input[].role=system":                               prompt,
		"responses -input[].content":                                   prompt,
		"responses +input[].type=message":                              "the default, said",
		"responses +prompt_cache_key":                                  routed,
		"responses +tools[].strict":                                    "without it the host rewrites schemas",
		"responses -text.verbosity":                                    "the default of the model",
		"responses +max_output_tokens":                                 "lathe limits every reply",
		"responses +store":                                             sealed,
		"responses +include[]":                                         sealed,
		"responses +reasoning.summary":                                 "lathe shows what the model thinks",
	}
}

// acceptedForm is a request in the form that a host documents and takes, and the members in which lathe's differs.
type acceptedForm struct{ name, address, body, differs string }

func acceptedForms() []acceptedForm {
	return []acceptedForm{
		{
			"messages", "https://api.anthropic.com/v1/messages",
			`{"model":"claude-sonnet-4-5","max_tokens":2000,"stream":true,"stop_sequences":["END"],
			"system":[{"type":"text","text":"Be brief."}],"tools":[{"name":"Look","description":"Looks.","input_schema":{"type":"object"}}],
			"messages":[{"role":"user","content":[{"type":"text","text":"Look."},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]},
			{"role":"assistant","content":[{"type":"thinking","thinking":"Both.","signature":"s1"},{"type":"redacted_thinking","data":"r1"},{"type":"text","text":"Yes."},
			{"type":"tool_use","id":"toolu_1","name":"Look","input":{"at":"a"}},{"type":"tool_use","id":"toolu_2","name":"Look","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"a"}]},{"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"text","text":"no"}],"is_error":true},{"type":"text","text":"Hurry."}]}]}`, "+messages[].content[].cache_control.type=ephemeral +system[].cache_control.type=ephemeral +thinking.budget_tokens +thinking.type=enabled +tools[].cache_control.type=ephemeral",
		},
		{
			"claude on bedrock",
			"https://bedrock-runtime.eu-west-1.amazonaws.com/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke-with-response-stream", `{"anthropic_version":"bedrock-2023-05-31","max_tokens":900,
			"messages":[{"role":"user","content":[{"type":"text","text":"Look."}]},{"role":"assistant","content":[{"type":"thinking","thinking":"T","signature":"s"},{"type":"tool_use","id":"toolu_bdrk_1","name":"Look","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_bdrk_1","content":[{"type":"text","text":"a"}]}]}],"tools":[{"name":"Look","description":"Looks.","input_schema":{"type":"object"}}],"anthropic_beta":["interleaved-thinking-2025-05-14"]}`, "+messages[].content[].cache_control.type=ephemeral +thinking.budget_tokens +thinking.type=enabled +tools[].cache_control.type=ephemeral",
		},
		{
			"an older claude on bedrock",
			"https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-3-haiku-20240307-v1%3A0/invoke-with-response-stream", `{"anthropic_version":"bedrock-2023-05-31","max_tokens":900,
			"messages":[{"role":"user","content":[{"type":"text","text":"Look."}]}],"tools":[{"name":"Look","description":"Looks.","input_schema":{"type":"object"}}]}`, "",
		},
		{
			"an older claude on converse",
			"https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-3-haiku-20240307-v1%3A0/converse-stream",
			`{"inferenceConfig":{"maxTokens":900},"system":[{"text":"Be brief."}],
			"messages":[{"role":"user","content":[{"text":"Look."}]}],"toolConfig":{"tools":[{"toolSpec":{"name":"Look","description":"Looks.","inputSchema":{"json":{"type":"object"}}}}]}}`, "",
		},
		{
			"claude on vertex",
			"https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict", `{"anthropic_version":"vertex-2023-10-16","max_tokens":900,"stream":true,
			"messages":[{"role":"user","content":[{"type":"text","text":"Hello."}]}]}`,
			"+messages[].content[].cache_control.type=ephemeral +thinking.budget_tokens +thinking.type=enabled",
		},
		{
			"chat", "https://api.openai.com/v1/chat/completions",
			`{"model":"gpt-4o","stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":900,"temperature":0.5,"stop":["END"],"tool_choice":"required",
			"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":[{"type":"text","text":"Look."},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]},
			{"role":"assistant","content":"Yes.","tool_calls":[{"id":"call_1","type":"function","function":{"name":"Look","arguments":"{\"at\":\"a\"}"}},{"id":"call_2","type":"function","function":{"name":"Look","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"call_1","content":"a"},{"role":"tool","tool_call_id":"call_2","content":"b"}],"tools":[{"type":"function","function":{"name":"Look","description":"Looks.","parameters":{"type":"object"}}}]}`, "+prompt_cache_key",
		},
		{
			"openrouter, a model of openai's", "https://openrouter.ai/api/v1/chat/completions",
			`{"model":"openai/gpt-5.1","stream":true,"stream_options":{"include_usage":true},"max_tokens":900,"messages":[{"role":"user","content":"Hello."}]}`, "",
		},
		{
			"openrouter, sealed thoughts", "https://openrouter.ai/api/v1/chat/completions",
			`{"model":"google/gemini-3-pro-preview","stream":true,"stream_options":{"include_usage":true},"max_tokens":900,"reasoning":{"effort":"high"},
			"messages":[{"role":"user","content":"Look."},{"role":"assistant","content":null,"reasoning_details":[{"type":"reasoning.text","text":"T","index":0,"format":"google-gemini-v1"},{"type":"reasoning.encrypted","data":"e1","id":"call_1","index":0,"format":"google-gemini-v1"}],
			"tool_calls":[{"id":"call_1","type":"function","function":{"name":"Look","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_1","content":"a"}],"tools":[{"type":"function","function":{"name":"Look","description":"Looks.","parameters":{"type":"object"}}}]}`, "",
		},
		{
			"deepseek, thoughts between calls", "https://api.deepseek.com/chat/completions",
			`{"model":"deepseek-v4-pro","stream":true,"stream_options":{"include_usage":true},"max_tokens":900,
			"messages":[{"role":"user","content":"Look."},{"role":"assistant","content":null,"reasoning_content":"T","tool_calls":[{"id":"call_1","type":"function","function":{"name":"Look","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"call_1","content":"a"}],"tools":[{"type":"function","function":{"name":"Look","description":"Looks.","parameters":{"type":"object"}}}]}`, "",
		},
		{
			"gemini behind openai's wire", "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
			`{"model":"gemini-3-flash-preview","stream":true,"stream_options":{"include_usage":true},"max_tokens":900,"reasoning_effort":"low",
			"messages":[{"role":"user","content":"Look."},{"role":"assistant","content":null,"tool_calls":[{"id":"function-call-1","type":"function","function":{"name":"Look","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s1"}}}]},
			{"role":"tool","tool_call_id":"function-call-1","content":"a"}],"tools":[{"type":"function","function":{"name":"Look","description":"Looks.","parameters":{"type":"object"}}}]}`, "",
		},
		{
			"responses", "https://api.openai.com/v1/responses",
			`{"model":"gpt-5.1","stream":true,"store":false,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"low","summary":"auto"},"max_output_tokens":900,"prompt_cache_key":"k","instructions":"Be brief.",
			"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"Look."}]},{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"e1"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Yes."}]},
			{"type":"function_call","call_id":"call_1","name":"Look","arguments":"{}"},{"type":"function_call","call_id":"call_2","name":"Look","arguments":"{\"at\":1}"},{"type":"function_call_output","call_id":"call_1","output":"a"},
			{"type":"function_call_output","call_id":"call_2","output":[{"type":"input_text","text":"b"},{"type":"input_image","image_url":"data:image/png;base64,AAAA"}]}],
			"tools":[{"type":"function","name":"Look","description":"Looks.","parameters":{"type":"object"},"strict":false}]}`,
			"",
		},
		{
			"gemini",
			"https://generativelanguage.googleapis.com/v1beta/models/gemini-3-flash-preview:streamGenerateContent?alt=sse",
			`{"generationConfig":{"maxOutputTokens":900,"stopSequences":["END"],"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"low"}},
			"systemInstruction":{"parts":[{"text":"Be brief."}]},"contents":[{"role":"user","parts":[{"text":"Look."},{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]},
			{"role":"model","parts":[{"text":"T","thought":true},{"functionCall":{"name":"Look","args":{"at":"a"}},"thoughtSignature":"s1"},{"functionCall":{"name":"Glance","args":{}}}]},
			{"role":"user","parts":[{"functionResponse":{"name":"Look","response":{"output":"a"}}},{"functionResponse":{"name":"Glance","response":{"output":"b"}}}]}],
			"tools":[{"functionDeclarations":[{"name":"Look","description":"Looks.","parameters":{"type":"object","properties":{"at":{"type":"string"}}}},{"name":"Glance","description":"Glances."}]}]}`, "",
		},
		{
			"converse",
			"https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream", `{"inferenceConfig":{"maxTokens":20000,"stopSequences":["END"]},"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":10000}},"system":[{"text":"Be brief."}],
			"messages":[{"role":"user","content":[{"text":"Look."},{"image":{"format":"png","source":{"bytes":"AAAA"}}}]},{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"T","signature":"s"}}},{"toolUse":{"toolUseId":"tooluse_1","name":"Look","input":{}}}]},
			{"role":"user","content":[{"toolResult":{"toolUseId":"tooluse_1","content":[{"text":"no"}],"status":"error"}}]}],"toolConfig":{"tools":[{"toolSpec":{"name":"Look","description":"Looks.","inputSchema":{"json":{"type":"object"}}}}]}}`, "+messages[].content[].cachePoint.type=default +system[].cachePoint.type=default +toolConfig.tools[].cachePoint.type=default",
		},
	}
}

func TestRequestsHaveTheAcceptedForms(t *testing.T) {
	for _, row := range acceptedForms() {
		t.Run(row.name, func(t *testing.T) {
			all := checkAccepted(t, row.address, []byte(row.body),
				func(wire, f string) bool { return judged()[wire+" "+f] != "" })
			if got := strings.Join(all, " "); got != row.differs {
				t.Errorf("members differ: %s\nwant %s", got, row.differs)
			}
		})
	}
}
