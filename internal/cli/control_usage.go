package cli

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
	"github.com/lathe-dev/lathe/internal/ui/command"
)

type usageCategory struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
	Color  string `json:"color"`
	Kind   string `json:"kind"` // used, free or buffer
}

// categoryOf has the hosts' name for each part of a request; all others are messages.
var categoryOf = map[string]usageCategory{
	"system prompt": {ID: "system_prompt", Name: "System prompt", Color: "promptBorder"},
	"tools":         {ID: "system_tools", Name: "System tools", Color: "inactive"},
	"memory":        {ID: "memory_files", Name: "Memory files", Color: "claude"},
	"skills":        {ID: "skills", Name: "Skills", Color: "warning"},
}

var messagesCategory = usageCategory{ID: "messages", Name: "Messages", Color: "purple"}

type memoryItem struct {
	Path   string `json:"path"`
	Type   string `json:"type"`
	Tokens int    `json:"tokens"`
}

type serverToolItem struct {
	Name   string `json:"name"`
	Server string `json:"serverName"`
	Tokens int    `json:"tokens"`
}

type agentTokens struct {
	Type   string `json:"agentType"`
	Source string `json:"source"`
	Path   string `json:"path,omitempty"`
	Tokens int    `json:"tokens"`
}

// contextUsage estimates the content of the context window, by kind.
func (l *local) contextUsage(ctx context.Context, _ controlRequest) (any, error) {
	shares, err := l.commands.Shares(ctx)
	if err != nil {
		return nil, err
	}
	s := l.front()
	tools := serverTools(s.Specs())
	categories, sum := categoriesOf(shares, tools)
	m, mark := s.Model(), 0
	if k := s.Window(); k != nil {
		mark = k.Mark(s.Model())
	}
	percent := 0
	if size := m.ContextWindow; size > 0 {
		percent = (100*sum + size/2) / size
		free := max(0, size-sum)
		if reserve := min(size-mark, free); mark > 0 {
			categories = append(categories, usageCategory{"autocompact_buffer", "Autocompact buffer", reserve, "inactive", "buffer"})
			free -= reserve
		}
		categories = append(categories, usageCategory{"free_space", "Free space", free, "promptBorder", "free"})
	}
	memory := []memoryItem{}
	for _, f := range command.MemoryFiles(s.Messages()) {
		memory = append(memory, memoryItem{f.Path, memoryType(f.Source), f.Tokens})
	}
	answer := map[string]any{
		"categories": categories, "totalTokens": sum, "maxTokens": m.ContextWindow, "rawMaxTokens": m.ContextWindow,
		"percentage": percent, "gridRows": []any{}, "model": m.ID, "memoryFiles": memory, "mcpTools": tools,
		"agents": l.agentTokens(), "isAutoCompactEnabled": mark > 0, "apiUsage": lastUsage(s.Log()),
	}
	if mark > 0 {
		answer["autoCompactThreshold"] = mark
	}
	return answer, nil
}

// categoriesOf sums the shares up by the hosts' names. The schemas of servers are counted apart.
func categoriesOf(shares []command.Share, tools []serverToolItem) (out []usageCategory, sum int) {
	foreign := 0
	for _, t := range tools {
		foreign += t.Tokens
	}
	messages := messagesCategory
	for _, share := range shares {
		sum += share.Tokens
		c, known := categoryOf[share.Name]
		if !known {
			messages.Tokens += share.Tokens
			continue
		}
		c.Tokens, c.Kind = share.Tokens, "used"
		if c.ID == "system_tools" && foreign > 0 {
			c.Tokens = max(0, c.Tokens-foreign)
			out = append(out, c, usageCategory{"mcp_tools", "MCP tools", foreign, "cyan", "used"})
			continue
		}
		out = append(out, c)
	}
	messages.Kind = "used"
	return append(out, messages), sum
}

// serverTools are the tools of MCP servers in the requests.
func serverTools(specs []llm.ToolSpec) []serverToolItem {
	out := []serverToolItem{}
	for _, spec := range specs {
		if server, name := serverTool(spec.Name); name != "" {
			tokens := llm.EstimateRequest(&llm.Request{Tools: []llm.ToolSpec{spec}})
			out = append(out, serverToolItem{spec.Name, server, tokens})
		}
	}
	return out
}

// agentTokens are the kinds of agents that the user, the project or the host declares.
func (l *local) agentTokens() []agentTokens {
	out := []agentTokens{}
	for _, k := range l.inst.Extensions().Agents.Catalog().All() {
		if k.Source != "built-in" {
			tokens := llm.EstimateTokens(llm.UserText(k.Name + k.Description))
			out = append(out, agentTokens{k.Name, agentSource(k.Source), k.Path, tokens})
		}
	}
	return out
}

// agentSource is a kind's origin in the hosts' words.
func agentSource(source string) string {
	words := map[string]string{
		"command line": "flagSettings", "user": "userSettings", "project": "projectSettings", "organisation": "policySettings",
	}
	if word := words[source]; word != "" {
		return word
	}
	return "plugin"
}

// memoryType is a memory file's origin in the hosts' words.
func memoryType(source string) string {
	switch {
	case strings.Contains(source, "organisation"):
		return "Managed"
	case strings.Contains(source, "for this project"):
		return "Local"
	case strings.Contains(source, "the user"):
		return "User"
	}
	return "Project"
}

// lastUsage is what the provider counted for the newest reply; nil: none.
func lastUsage(log *session.Session) any {
	if log == nil {
		return nil
	}
	b, _ := log.Since("")
	for i := b.Len() - 1; i >= 0; i-- {
		for _, e := range b.Entries(i, i+1) {
			if r, ok := e.Body.(session.Reply); ok && r.Usage != nil {
				u := usageOf(*r.Usage)
				return map[string]int{
					"input_tokens": u.Input, "output_tokens": u.Output, "cache_creation_input_tokens": u.CacheWrite,
					"cache_read_input_tokens": u.CacheRead,
				}
			}
		}
	}
	return nil
}

// usage is the session's cost. Limits of a plan and the habits of the user are nothing that lathe knows.
func (l *local) usage(context.Context, controlRequest) (any, error) {
	s, added, removed := l.commands.Status(), 0, 0
	for _, f := range s.Changed {
		added, removed = added+f.Added, removed+f.Removed
	}
	api, whole, models := l.spent.sums()
	return map[string]any{"session": map[string]any{
		"total_cost_usd": cents(s.CostUSD), "usage": usageOf(s.Usage), "total_api_duration_ms": ms(api),
		"total_duration_ms": ms(whole), "total_lines_added": added, "total_lines_removed": removed, "model_usage": models,
	}, "rate_limits_available": false, "rate_limits": nil, "behaviors": nil, "subscription_type": nil}, nil
}

// spending adds up what the turns of this run took.
type spending struct {
	mu         sync.Mutex
	stats      *resultStats
	whole, api time.Duration
}

func (s *spending) observe(e event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := e.Body.(event.Delta); ok || s.stats == nil {
		return
	}
	s.stats.observe(e)
	if end, ok := e.Body.(event.TurnEnd); ok && len(e.Agent) == 0 {
		s.whole, s.api = s.whole+end.Duration, s.api+end.APITime
	}
}

func (s *spending) sums() (api, whole time.Duration, models map[string]*modelUsage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.api, s.whole, s.stats.modelUsage()
}
