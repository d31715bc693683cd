package llm

import "encoding/json"

// referenceOwner is the owner of references to deferred tools: no host, so no wire sends them as data of its own.
const referenceOwner = "lathe:tool_reference"

// ToolReference is a text of a tool's result that describes a deferred tool. A provider that has deferred tools sends
// the definition of the tool in its place, where the request has it; all others send the text.
func ToolReference(name, text string) Text {
	return Text{Text: text, Opaque: &Opaque{Provider: referenceOwner, JSON: AppendQuoted(nil, name)}}
}

// References lists the deferred tools that the parts of a result refer to.
func References(parts []Part) []string {
	var out []string
	for _, p := range parts {
		t, ok := p.(Text)
		var name string
		if ok && t.Opaque != nil && t.Opaque.Provider == referenceOwner && json.Unmarshal(t.Opaque.JSON, &name) == nil {
			out = append(out, name)
		}
	}
	return out
}
