package consult

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// told is the state of plan mode as the conversation has it.
type told struct {
	known bool // the conversation was looked at
	on    bool
	at    int // the revision of the conversation that this belongs to
}

// The beginnings of the reminders, by which a resumed conversation is read.
const (
	onHead  = "<system-reminder>\nPlan mode is on"
	offHead = "<system-reminder>\nPlan mode is off"
)

const guide = `Read what you need and think it through. Where the user's answer decides the plan, ask with AskUserQuestion. ` +
	`The plan is Markdown: the goal, the steps in order with the files they touch, and how to check the result; short enough to be read.`

// Hook announces before each step that plan mode is on, or that it is off again. It costs a comparison while nothing
// changed. A nil plan announces nothing.
func (p *Plan) Hook(messages func() []llm.Message, revision func() int) agent.BeforeStep {
	return agent.BeforeStep{Name: "plan mode", Run: func(ctx context.Context) ([]llm.Message, error) {
		if p == nil {
			return nil, nil
		}
		if err := p.clear(ctx); err != nil {
			return nil, err
		}
		text := p.announce(messages, revision())
		if text == "" {
			return nil, nil
		}
		return []llm.Message{{Role: llm.User, Parts: []llm.Part{llm.Text{Text: text, Origin: llm.OriginReminder}}}}, nil
	}}
}

// clear replaces the conversation where the user approved the plan with a fresh context.
func (p *Plan) clear(ctx context.Context) error {
	p.mu.Lock()
	fresh := p.fresh
	p.fresh = false
	p.mu.Unlock()
	if !fresh {
		return nil
	}
	return p.Fresh(ctx, "The user approved the plan below and had the conversation before it cleared. Plan mode is "+
		"off: carry the plan out.")
}

func (p *Plan) announce(messages func() []llm.Message, revision int) string {
	mode := p.Modes.Mode()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.told.known || p.told.at != revision {
		p.told = told{known: true, on: isOn(messages()), at: revision}
	}
	if p.told.on == (mode == permission.Plan) {
		return ""
	}
	p.told.on = mode == permission.Plan
	if !p.told.on {
		return offHead + ", and the mode is " + string(mode) +
			". You may change things again, as that mode allows.\n</system-reminder>"
	}
	return onHead + p.onText() + "\n</system-reminder>"
}

func (p *Plan) onText() string {
	var b strings.Builder
	b.WriteString(": every call that changes something is refused, also in commands and by subagents. Do not try to " +
		"get around that.\n")
	if p.Guide != "" {
		b.WriteString(strings.TrimSpace(p.Guide) + "\n")
	} else {
		b.WriteString(guide + "\n")
	}
	switch {
	case !p.Asks:
		b.WriteString("Nobody can approve the plan in this run: end your turn with the plan as your answer.")
	case p.File == "":
		b.WriteString("When the plan is ready, call ExitPlanMode with it.")
	default:
		fmt.Fprintf(&b, "The one file that you may write is the plan, %s. When it is ready, call ExitPlanMode: the user "+
			"reads it there and approves it or says what to change. Do not ask for approval in another way.", p.File)
		if old, _ := p.Read(); old != "" {
			b.WriteString(" The file has an earlier plan: read it, then change or replace it.")
		}
	}
	return b.String()
}

// isOn reads out of a conversation whether its model believes that plan mode is on.
func isOn(msgs []llm.Message) bool {
	exits := map[string]bool{}
	on := false
	for _, m := range msgs {
		for _, part := range m.Parts {
			switch part := part.(type) {
			case llm.Text:
				if part.Origin == llm.OriginReminder {
					on = strings.HasPrefix(part.Text, onHead) || on && !strings.HasPrefix(part.Text, offHead)
				}
			case llm.ToolCall:
				if part.Name == ExitPlanName {
					exits[part.ID] = true
				}
			case llm.ToolResult:
				on = on && (part.IsError || !exits[part.CallID])
			}
		}
	}
	return on
}

// Approved returns the newest plan of a conversation that was approved, or "".
func Approved(log *session.Session) string {
	if log == nil {
		return ""
	}
	plans := map[string]string{}
	approved := ""
	b := log.Branch().Only(session.CallStart{}.Kind(), session.CallStart{Invoked: true}.Kind(),
		session.CallEnd{}.Kind()).Holding(ExitPlanName)
	for _, e := range b.Entries(0, b.Len()) {
		switch b := e.Body.(type) {
		case session.CallStart:
			if b.Call != nil && b.Call.Name == ExitPlanName {
				var in Exit
				_ = json.Unmarshal(b.Call.Input, &in)
				plans[b.CallID] = in.Plan
			}
		case session.CallEnd:
			if text := plans[b.Result.CallID]; text != "" && !b.Result.IsError {
				approved = text
			}
		}
	}
	return approved
}

// keptPlan is the longest plan that goes through a compaction whole, in bytes.
const keptPlan = 24_000

// Kept is the approved plan for the message that replaces a compacted conversation. It says whether the plan's file
// still has it.
func (p *Plan) Kept(log *session.Session) string {
	text := Approved(log)
	if text == "" {
		return ""
	}
	file, rest := "", "the log of the conversation"
	if p != nil && p.File != "" {
		switch now, err := p.Read(); {
		case err == nil && now == text:
			file, rest = "\n\n(in "+p.File+")", "the file"
		case now != "":
			file = "\n\n(" + p.File + " was changed after the approval)"
		}
	}
	if len(text) > keptPlan {
		text = beginning(text, keptPlan) + "\n[the rest is in " + rest + "]"
	}
	return text + file
}

// beginning is at most n bytes of a text: whole lines, or a part of the first.
func beginning(text string, n int) string {
	text = strings.ToValidUTF8(text[:n], "")
	if end := strings.LastIndexByte(text, '\n'); end > 0 {
		return text[:end]
	}
	return text
}
