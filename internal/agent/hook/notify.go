package hook

import (
	"context"
	"fmt"

	"github.com/lathe-dev/lathe/internal/event"
)

// Notify fires Notification. The word is its type in Claude Code's words.
func (h *Hooks) Notify(ctx context.Context, word, text string) {
	h.fire(ctx, occasion{event: "Notification", subject: word, fields: map[string]any{
		"message": text, "notification_type": word, "title": notificationTitle(word),
	}})
}

func notificationTitle(word string) string {
	switch word {
	case "permission_prompt":
		return "Permission needed"
	case "idle_prompt":
		return "Waiting for you"
	case "agent_needs_input":
		return "An agent waits for you"
	case "agent_completed":
		return "An agent has ended"
	case "auth_success":
		return "Logged in"
	case "elicitation_dialog", "elicitation_url_dialog":
		return "A server asks"
	}
	return "lathe"
}

// AgentEnded notifies of the end of an agent in the background that nobody asked for. It waits for nothing.
func (h *Hooks) AgentEnded(kind, title, status string) {
	if h.Any("Notification") {
		h.running.Go(func() {
			h.Notify(h.s.Life, "agent_completed", fmt.Sprintf("the agent %s (%s) has ended: %s", kind, title, status))
		})
	}
}

// inBackground are the tasks of the conversation that work in the background, but this agent.
func (h *Hooks) inBackground() (others []event.BackgroundTask, self bool) {
	if h.s.Background == nil {
		return nil, false
	}
	for _, t := range h.s.Background() {
		if t.ID == h.s.ID() {
			self = true
			continue
		}
		others = append(others, t)
	}
	return others, self
}

// detached reports whether this is a subagent that works in the background.
func (h *Hooks) detached() bool {
	_, self := h.inBackground()
	return self
}

// background lists what works in the background, as the input of Stop has it.
func (h *Hooks) background() []map[string]any {
	tasks, _ := h.inBackground()
	out := make([]map[string]any, 0, len(tasks))
	for _, t := range tasks {
		m := map[string]any{"id": t.ID, "status": t.Status, "description": t.Command}
		if t.Agent != "" {
			m["type"], m["agent_type"] = "subagent", t.Agent
		} else {
			m["type"], m["command"] = "shell", t.Command
		}
		out = append(out, m)
	}
	return out
}
