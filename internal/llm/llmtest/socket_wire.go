package llmtest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// socketWire is the Responses API over a WebSocket: messages response.create take the place of requests, and may name
// the response before them in place of its input; events are messages. Only the latest complete response of a
// connection can be named, and a failed one is forgotten, as the server keeps no responses (store is false). Facts:
// developers.openai.com, guide "WebSocket mode"; the form of errors as OpenAI's own client reads it.
type socketWire struct {
	responsesWire
	input  []json.RawMessage // of the request, in full
	id     string
	output []any
}

// socketState is what a connection keeps of a response.
type socketState struct {
	id    string
	items []json.RawMessage // the input and the output
}

// state is the response that this answer made.
func (w *socketWire) state() socketState {
	items := slices.Clone(w.input)
	for _, it := range w.output {
		items = append(items, marshal(it))
	}
	return socketState{id: w.id, items: items}
}

// member is one member of an object, in its place.
type member struct {
	name  string
	value json.RawMessage
}

// membersOf splits an object and keeps the order and the bytes of its members.
func membersOf(object []byte) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	var out []member
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		m := member{}
		m.name, _ = name.(string)
		if err := dec.Decode(&m.value); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// expand turns a message into the request that HTTP would carry.
func (w *socketWire) expand(message []byte, last socketState) ([]byte, *refusal) {
	members, err := membersOf(message)
	if err != nil {
		return nil, refuse("We could not parse the JSON of your message: %v", err)
	}
	kind, previous := "", ""
	for _, m := range members {
		switch m.name {
		case "type":
			_ = json.Unmarshal(m.value, &kind)
		case "previous_response_id":
			_ = json.Unmarshal(m.value, &previous)
		case "input":
			if err := json.Unmarshal(m.value, &w.input); err != nil || len(w.input) == 0 {
				return nil, refuse("Missing required parameter: 'input'.")
			}
		case "stream", "background":
			return nil, refuse("Unknown parameter: '%s'.", m.name)
		}
	}
	switch {
	case kind != "response.create":
		return nil, refuse("Invalid value: '%s'. Supported values are: 'response.create'.", kind)
	case previous != "" && previous != last.id:
		return nil, &refusal{
			status: 400, kind: "invalid_request_error", code: "previous_response_not_found", param: "previous_response_id",
			message: "Previous response with id '" + previous + "' not found.",
		}
	case previous != "":
		w.input = append(slices.Clone(last.items), w.input...)
	}
	return w.request(members), nil
}

// request writes the request that HTTP would carry, with the members in their order.
func (w *socketWire) request(members []member) []byte {
	b := []byte("{")
	for _, m := range members {
		if m.name == "type" || m.name == "previous_response_id" {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), m.name...), `":`...)
		if m.name == "input" {
			b = append(append(append(b, '['), bytes.Join(rawBytes(w.input), []byte(","))...), ']')
			continue
		}
		if b = append(b, m.value...); m.name == "model" {
			b = append(b, `,"stream":true`...)
		}
	}
	return append(b, '}')
}

func rawBytes(items []json.RawMessage) [][]byte {
	out := make([][]byte, len(items))
	for i, it := range items {
		out[i] = it
	}
	return out
}

func (w *socketWire) stream(a *answer) *stream {
	a.shape["socket"] = true
	w.id = "resp_" + a.id
	for i, b := range a.blocks {
		w.output = append(w.output, a.responsesItem(b, i))
	}
	return w.responsesWire.stream(a)
}

// failure is an event with the status in it.
func (*socketWire) failure(f *refusal, _ string) (string, map[string]any) {
	body := chatError(f)
	if inner, ok := body["error"].(map[string]any); ok && f.code != "" {
		inner["code"] = f.code
	}
	body["type"], body["status"] = "error", f.status
	return "error", body
}

// onSocket makes a message of a response that is not a stream: a failure, or something else altogether.
func (p *performance) onSocket() {
	if strings.HasPrefix(p.header["Content-Type"], "text/event-stream") {
		return
	}
	var body map[string]any
	if json.Unmarshal(p.body, &body) == nil {
		body["type"], body["status"] = "error", p.status
		headers := map[string]any{}
		for _, name := range []string{"Retry-After", "X-Request-Id"} {
			if p.header[name] != "" {
				headers[name] = p.header[name]
			}
		}
		body["headers"] = headers
		p.body = marshal(body)
	} else if p.status >= 300 {
		p.body = marshal(map[string]any{
			"type": "error", "status": p.status,
			"error": map[string]any{"message": string(p.body)},
		})
	}
	frame := socketFrame(opText, p.body)
	if p.body = nil; p.pinged {
		p.body = socketFrame(opPing, []byte("wait"))
	}
	p.body = append(p.body, frame...)
}
