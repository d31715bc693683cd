package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// field is one member of the body's settings.
type field struct {
	key   string
	value []byte
}

// build makes the body: settings, tools, system, messages, in this order, to give two requests of one
// conversation the longest common prefix.
func (m *model) build(req *llm.Request) (*llm.Body, http.Header) {
	think := m.thinking(req)
	header := m.header(req, think)
	var b llm.Body
	b.Append(m.head(req, think, header))
	m.messages(&b, req)
	b.AppendString("]}")
	return &b, m.cloudHeader(header)
}

// head returns everything before the first message.
func (m *model) head(req *llm.Request, think thinking, header http.Header) []byte {
	buf := make([]byte, 0, 512+sizeOf(req))
	buf = append(buf, '{')
	for _, f := range m.cloudFields(m.settings(req, think), header) {
		buf = append(llm.AppendQuoted(buf, f.key), ':')
		buf = append(append(buf, f.value...), ',')
	}
	if len(req.Tools) > 0 {
		buf = append(m.tools(append(buf, `"tools":[`...), req.Tools), "],"...)
	}
	if blocks := m.system(nil, req.System); len(blocks) > 0 {
		buf = append(append(append(buf, `"system":[`...), blocks...), "],"...)
	}
	return append(buf, `"messages":[`...)
}

func sizeOf(req *llm.Request) int {
	n := 0
	for _, t := range req.Tools {
		n += len(t.Name) + len(t.Description)*17/16 + len(t.Schema) + 64
	}
	for _, p := range req.System {
		if t, ok := p.(llm.Text); ok {
			n += len(t.Text)*17/16 + 64
		}
	}
	return n
}

// settings lists the scalar members; those of Config.ExtraBody replace or follow lathe's.
func (m *model) settings(req *llm.Request, think thinking) []field {
	fs := []field{
		{"model", llm.AppendQuoted(nil, m.info.ID)},
		{"max_tokens", strconv.AppendInt(nil, int64(think.maxTokens), 10)},
		{"stream", []byte("true")},
	}
	if think.param != "" {
		fs = append(fs, field{"thinking", []byte(think.param)})
	}
	if req.Temperature != nil && think.param == "" && m.info.Thinking != llm.ThinkingAdaptive { // the others refuse it
		fs = append(fs, field{"temperature", strconv.AppendFloat(nil, *req.Temperature, 'g', -1, 64)})
	}
	if c := m.outputConfig(req, think); c != "" {
		fs = append(fs, field{"output_config", []byte("{" + c + "}")})
	}
	if c := toolChoice(req); c != nil {
		fs = append(fs, field{"tool_choice", c})
	}
	if len(req.Stop) > 0 {
		fs = append(fs, field{"stop_sequences", quotedList(req.Stop)})
	}
	for _, x := range m.p.extra {
		if i := slices.IndexFunc(fs, func(f field) bool { return f.key == x.key }); i >= 0 {
			fs[i] = x
		} else {
			fs = append(fs, x)
		}
	}
	return fs
}

// outputConfig lists the members of output_config. A task is work with tools: the small requests beside a conversation
// have no budget.
func (m *model) outputConfig(req *llm.Request, think thinking) string {
	var members []string
	if think.effort != "" {
		members = append(members, `"effort":"`+string(think.effort)+`"`)
	}
	if m.budgeted(req) {
		budget := `"task_budget":{"type":"tokens","total":` + strconv.Itoa(m.p.conf.TaskBudget)
		if req.Spent > 0 { // the API counts by what it sees, which a compaction has shortened
			budget += `,"remaining":` + strconv.Itoa(max(0, m.p.conf.TaskBudget-req.Spent))
		}
		members = append(members, budget+"}")
	}
	return strings.Join(members, ",")
}

func (m *model) budgeted(req *llm.Request) bool { return m.p.conf.TaskBudget > 0 && len(req.Tools) > 0 }

func toolChoice(req *llm.Request) []byte {
	switch {
	case len(req.Tools) == 0:
		return nil
	case req.ToolChoice == "" || req.ToolChoice == "auto":
		return nil // the default
	case req.ToolChoice == "none" || req.ToolChoice == "any":
		return []byte(`{"type":"` + req.ToolChoice + `"}`)
	}
	return append(llm.AppendQuoted([]byte(`{"type":"tool","name":`), req.ToolChoice), '}')
}

func quotedList(ss []string) []byte {
	b := []byte{'['}
	for i, s := range ss {
		if i > 0 {
			b = append(b, ',')
		}
		b = llm.AppendQuoted(b, s)
	}
	return append(b, ']')
}

// extraFields reads Config.ExtraBody, without members that would break the request or the decoder.
func extraFields(raw json.RawMessage) ([]field, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, nil
	}
	fs, err := members(raw)
	if err != nil {
		return nil, fmt.Errorf("%w; write it like {\"metadata\":{\"user_id\":\"me\"}}", err)
	}
	for _, f := range fs {
		switch f.key {
		case "messages", "system", "tools", "stream":
			return nil, fmt.Errorf("it may not set %q", f.key)
		}
	}
	return fs, nil
}

// members splits an object into its members, in order.
func members(raw json.RawMessage) ([]field, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("not a JSON object")
	}
	var fs []field
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		fs = append(fs, field{key.(string), llm.AppendCanonical(nil, value)})
	}
	_, err := dec.Token()
	return fs, err
}

// tools appends the tool list, with the first cache mark on the last tool.
func (m *model) tools(buf []byte, tools []llm.ToolSpec) []byte {
	last := slices.IndexFunc(tools, func(t llm.ToolSpec) bool { return t.Deferred }) // it takes no mark
	if last < 0 {
		last = len(tools)
	}
	for i, t := range tools {
		if i > 0 {
			buf = append(buf, ',')
		}
		if t.Server != nil {
			buf = append(buf, t.Server...)
			continue
		}
		buf = llm.AppendQuoted(append(buf, `{"name":`...), t.Name)
		if t.Description != "" {
			buf = llm.AppendQuoted(append(buf, `,"description":`...), t.Description)
		}
		schema := t.Schema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		buf = append(append(buf, `,"input_schema":`...), schema...)
		if t.Deferred {
			buf = append(buf, `,"defer_loading":true`...)
		}
		if i == last-1 {
			buf = append(buf, m.mark()...)
		}
		buf = append(buf, '}')
	}
	return buf
}

// system appends the system blocks, with the second cache mark on the last.
func (m *model) system(buf []byte, parts []llm.Part) []byte {
	last := -1
	for i, p := range parts {
		if t, ok := p.(llm.Text); ok && !blank(t.Text) {
			last = i
		}
	}
	for i, p := range parts {
		t, ok := p.(llm.Text)
		if !ok || blank(t.Text) {
			continue
		}
		if len(buf) > 0 {
			buf = append(buf, ',')
		}
		buf = llm.AppendQuoted(append(buf, `{"type":"text","text":`...), t.Text)
		if i == last {
			buf = append(buf, m.mark()...)
		}
		buf = append(buf, '}')
	}
	return buf
}

// mark returns the text of a cache mark, inserted before a block's closing brace.
func (m *model) mark() string {
	switch {
	case m.p.conf.NoCache, m.p.conf.Cloud == Bedrock && !llm.CachedOnBedrock(m.info.ID):
		return ""
	case m.p.conf.CacheTTL == "1h":
		return `,"cache_control":{"type":"ephemeral","ttl":"1h"}`
	}
	return `,"cache_control":{"type":"ephemeral"}`
}

// messages appends all messages, with cache marks in two user messages.
func (m *model) messages(b *llm.Body, req *llm.Request) {
	msgs := req.Messages
	first, mark := true, m.mark()
	newest, before := -1, -1
	b.Grow(len(msgs) + 8)
	encs := make([]encoded, len(msgs))
	m.cache.Encode(msgs, m.encode, func(i int, e encoded) { encs[i] = e.in(req.Tools) })
	if mark != "" {
		newest, before = marked(msgs, encs)
	}
	for i, e := range encs {
		if len(e.json) == 0 {
			continue
		}
		json := e.json
		if first {
			json, first = json[1:], false // without the comma
			e.mark--
		}
		if i == newest || i == before {
			b.Append(json[:e.mark])
			b.AppendString(mark)
			json = json[e.mark:]
		}
		b.Append(json)
	}
}

// marked finds the two user messages that get cache marks: the newest, and the newest one of the previous
// request (the last before the last reply), whose cached prefix this request can read. -1 means none.
func marked(msgs []llm.Message, encs []encoded) (newest, before int) {
	newest, before = -1, -1
	replied := false
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].Role == llm.Assistant {
			replied = replied || newest >= 0
			continue
		}
		switch {
		case encs[i].mark <= 0:
		case newest < 0:
			newest = i
		case replied:
			return newest, i
		case before < 0:
			before = i
		}
	}
	return newest, before
}

// header adds the betas that this request needs.
func (m *model) header(req *llm.Request, think thinking) http.Header {
	betas := slices.Clone(m.p.conf.Betas)
	if think.interleave {
		betas = append(betas, betaInterleave)
	}
	if m.long {
		betas = append(betas, betaLong)
	}
	if m.budgeted(req) {
		betas = append(betas, betaTaskBudget)
	}
	if len(betas) == 0 || m.p.conf.NoBetas {
		return m.p.header
	}
	h := m.p.header.Clone()
	var list []string
	for _, v := range append(h.Values("Anthropic-Beta"), betas...) {
		for one := range strings.SplitSeq(v, ",") {
			if one = strings.TrimSpace(one); one != "" && !slices.Contains(list, one) {
				list = append(list, one)
			}
		}
	}
	h.Set("Anthropic-Beta", strings.Join(list, ","))
	return h
}
