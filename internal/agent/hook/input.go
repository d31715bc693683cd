package hook

import (
	"encoding/json"
	"maps"
	"path/filepath"

	"github.com/lathe-dev/lathe/internal/llm"
)

// input is the object that handlers read.
func (h *Hooks) input(o occasion) map[string]any {
	in := map[string]any{
		"session_id": h.s.ID(), "transcript_path": h.Transcript(), "cwd": h.s.Dir(), "hook_event_name": o.event,
	}
	if h.s.Mode != nil {
		in["permission_mode"] = string(h.s.Mode())
	}
	if h.s.Effort != nil {
		if e := h.s.Effort(); e != "" {
			in["effort"] = map[string]any{"level": string(e)}
		}
	}
	if h.s.Agent != "" {
		in["agent_type"] = h.s.Agent
	}
	if h.child() {
		in["session_id"], in["transcript_path"], in["agent_id"] = h.s.Main.s.ID(), h.s.Main.Transcript(), h.s.ID()
	}
	h.mu.Lock()
	if h.prompt != "" {
		in["prompt_id"] = h.prompt
	}
	h.mu.Unlock()
	if who := h.who(); who != "" {
		in["principal"] = who
	}
	maps.Copy(in, o.fields)
	return in
}

// who is the principal of the turn, which subagents work for too.
func (h *Hooks) who() string {
	if h.child() {
		return h.s.Main.who()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.principal
}

// Transcript brings the conversation in the form of Claude Code's transcripts up to date, and returns the path of the
// file; empty where nothing is kept.
func (h *Hooks) Transcript() string {
	if h == nil || h.transcript == nil {
		return ""
	}
	_ = h.transcript.Update() // a full disk is the journal's to report, which writes more
	return h.transcript.Path()
}

// callFields are the fields of a tool event.
func (h *Hooks) callFields(call llm.ToolCall) map[string]any {
	return map[string]any{"tool_name": call.Name, "tool_input": h.absolute(call.Input), "tool_use_id": call.ID}
}

// absolute makes the paths of a call's input absolute, as hooks expect them.
func (h *Hooks) absolute(input json.RawMessage) any {
	var fields map[string]any
	if json.Unmarshal(input, &fields) != nil {
		return input
	}
	for _, key := range []string{"file_path", "notebook_path", "path"} {
		if p, ok := fields[key].(string); ok && p != "" && !filepath.IsAbs(p) {
			fields[key] = filepath.Join(h.s.Dir(), p)
		}
	}
	return fields
}
