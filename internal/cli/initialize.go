package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/extend/style"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/ui/command"
)

// initializing has the options that a host may set before the first message.
type initializing struct {
	Hooks        json.RawMessage `json:"hooks"`
	Agents       json.RawMessage `json:"agents"`
	SDKServers   json.RawMessage `json:"sdkMcpServers"`
	Servers      json.RawMessage `json:"mcpServers"`
	Plugins      json.RawMessage `json:"plugins"`
	JSONSchema   json.RawMessage `json:"jsonSchema"`
	SystemPrompt json.RawMessage `json:"systemPrompt"` // a text or a list of texts
	AppendSystem *string         `json:"appendSystemPrompt"`
	Aliases      json.RawMessage `json:"toolAliases"`
	PlanText     *string         `json:"planModeInstructions"`
	Skills       []string        `json:"skills"` // nil: all
	Name         string          `json:"-"`      // the request's title
}

// initialize takes the host's settings into the options and opens the conversation. What lathe cannot do
// is refused rather than ignored, except hooks of events that it does not have. Hosts send their first message
// without waiting for the answer, so that a refusal holds for all that follows.
func (c *controller) initialize(ctx context.Context, in initializing) (any, error) {
	answer, err := c.initialized(ctx, in)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil && c.conv == nil && c.openErr == nil {
		c.openErr = &Error{Code: exitUsage, Err: err}
	}
	return answer, err
}

func (c *controller) initialized(ctx context.Context, in initializing) (any, error) {
	if err := c.takeInit(in); err != nil {
		return nil, err
	}
	if err := c.open(ctx); err != nil {
		return nil, err
	}
	a := c.conv.About()
	parts := a.parts()
	answer := map[string]any{
		"commands": described(parts.Commands), "agents": describedAgents(parts.Agents), "models": modelList(a),
		"account":      accountOf(a),
		"output_style": cmp.Or(a.Style, style.Default), "available_output_styles": styleNames(c.conv),
		"capabilities": capabilities, "claude_code_version": protocolVersion,
		"hook_on_failure_supported": true,
	}
	for field, raw := range map[string]json.RawMessage{
		"hooks_applied": in.Hooks, "plugins_applied": in.Plugins,
		"mcp_servers_applied": in.Servers,
	} {
		if !isEmptyJSON(raw) {
			answer[field] = true // else takeInit had refused
		}
	}
	return answer, nil
}

func (c *controller) takeInit(in initializing) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conv != nil { // the host sends it again after a gap; all but its hooks is as it was
		return c.newHooks(in.Hooks)
	}
	if err := c.takeServers(in); err != nil {
		return err
	}
	if !isEmptyJSON(in.JSONSchema) {
		c.o.JSONSchema = string(in.JSONSchema)
		if err := checkSchema(c.o); err != nil {
			return err
		}
	}
	if len(in.SystemPrompt) > 0 && string(in.SystemPrompt) != "null" {
		text, err := textOrTexts(in.SystemPrompt)
		if err != nil {
			return err
		}
		c.o.System = text
	}
	if err := c.o.takePlugins(in.Plugins); err != nil {
		return err
	}
	if !isEmptyJSON(in.Aliases) {
		if err := json.Unmarshal(in.Aliases, &c.o.ToolAliases); err != nil {
			return fmt.Errorf("initialize: toolAliases is not an object of names: %w", err)
		}
	}
	if in.AppendSystem != nil {
		c.o.AppendSystem = *in.AppendSystem
	}
	if in.PlanText != nil {
		c.o.PlanGuide = *in.PlanText
	}
	if in.Skills != nil {
		c.o.Skills = in.Skills
	}
	if !isEmptyJSON(in.Agents) {
		if _, err := subagent.Given(in.Agents, ""); err != nil {
			return fmt.Errorf("initialize: agents: %w", err)
		}
		c.o.Agents = string(in.Agents)
	}
	if !isEmptyJSON(in.Hooks) {
		groups, err := c.hostHooks(in.Hooks)
		if err != nil {
			return err
		}
		c.o.Hooks = groups
	}
	c.o.Name = cmp.Or(in.Name, c.o.Name)
	return nil
}

// newHooks puts the host's hooks in the place of those of an earlier initialize.
func (c *controller) newHooks(raw json.RawMessage) error {
	l, ok := c.conv.(*local)
	if !ok || isEmptyJSON(raw) {
		return nil
	}
	groups, err := c.hostHooks(raw)
	if err == nil {
		l.inst.Hooks().Give(groups)
	}
	return err
}

func textOrTexts(b json.RawMessage) (string, error) {
	var one string
	if json.Unmarshal(b, &one) == nil {
		return one, nil
	}
	var many []string
	if err := json.Unmarshal(b, &many); err != nil {
		return "", fmt.Errorf("initialize: systemPrompt is neither a text nor a list of texts")
	}
	return strings.Join(slices.DeleteFunc(many, func(s string) bool { return s == promptBoundary }), "\n\n"), nil
}

// promptBoundary splits a host's system prompt into a part for all sessions and one for this one. lathe's cache marks
// need no such hint, and the model should not read it.
const promptBoundary = "__SYSTEM_PROMPT_DYNAMIC_BOUNDARY__"

func isEmptyJSON(b json.RawMessage) bool {
	switch string(bytes.TrimSpace(b)) {
	case "", "null", "{}", "[]", `""`:
		return true
	}
	return false
}

type describedItem struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Hint        string   `json:"argumentHint"`
	Aliases     []string `json:"aliases,omitempty"`
}

func described(ds []Described) []describedItem {
	out := make([]describedItem, len(ds))
	for i, d := range ds {
		out[i] = describedItem{d.Name, d.Text, d.Hint, d.Aliases}
	}
	return out
}

// accountOf says how requests are authenticated.
func accountOf(a About) map[string]any {
	out := map[string]any{"tokenSource": "none", "apiKeySource": a.KeySource}
	if a.Info != nil && a.Info(a.Model).Provider == "anthropic" {
		out["apiProvider"] = "firstParty"
	}
	return out
}

type agentItem struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Model       string `json:"model,omitempty"`
}

func describedAgents(ds []Described) []agentItem {
	out := make([]agentItem, len(ds))
	for i, d := range ds {
		out[i] = agentItem{d.Name, d.Text, d.Model}
	}
	return out
}

// slashCommands describes the commands that work without a terminal's own views.
func slashCommands() []Described {
	var out []Described
	for _, c := range command.All() {
		if !c.Hidden {
			out = append(out, Described{Name: c.Name, Text: c.Help, Hint: c.Args, Aliases: c.Aliases})
		}
	}
	return out
}

type modelItem struct {
	Value       string   `json:"value"`
	Resolved    string   `json:"resolvedModel,omitempty"`
	Display     string   `json:"displayName"`
	Description string   `json:"description"`
	Effort      bool     `json:"supportsEffort,omitempty"`
	Efforts     []string `json:"supportedEffortLevels,omitempty"`
	Adaptive    bool     `json:"supportsAdaptiveThinking,omitempty"`
}

func modelList(a About) []modelItem {
	out := []modelItem{{
		Value: "default", Resolved: a.Model, Display: "Default (" + a.Model + ")",
		Description: "The model this conversation began with",
	}}
	for _, m := range a.Models() {
		item := modelItem{Value: m.ID, Display: m.ID, Adaptive: m.Thinking == llm.ThinkingAdaptive}
		if m.Name != "" {
			item.Display = m.Name
		}
		if m.ContextWindow > 0 {
			item.Description = fmt.Sprintf("%d thousand tokens of context", m.ContextWindow/1000)
		}
		for _, e := range m.Efforts {
			item.Efforts = append(item.Efforts, string(e))
		}
		item.Effort = len(item.Efforts) > 0
		out = append(out, item)
	}
	return out
}

func first[A, B any](a A, _ B) A { return a }
