package command

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/cost"
)

func modelCommands() []Command {
	return []Command{
		{
			Name: "model", Aliases: []string{"models"}, Group: groupModel, Args: "[name]", Help: "Choose the model",
			Doc: "It answers from the next step on, also within a turn that runs. The choice is kept with the session. A " +
				"change loses the prompt cache.",
			Complete: func(_ context.Context, h *Host, typed string) []event.Candidate {
				var all []event.Candidate
				for _, m := range h.Instance.Models() {
					all = append(all, event.Candidate{Text: m.ID, Help: modelDetail(m)})
				}
				return choices(typed, all)
			},
			Run: func(ctx context.Context, h *Host, args string) (event.Output, error) {
				if args == "" {
					return pickModel(h, "model", "Model", h.Status().Model), nil
				}
				return done(h.SetModel(ctx, args), "The model is %s now.", code(h.Status().Model))
			},
		},
		{
			Name: "smallmodel", Group: groupModel, Args: "[name]", Help: "Choose the model for titles and other small work",
			Run: func(ctx context.Context, h *Host, args string) (event.Output, error) {
				if args == "" {
					return pickModel(h, "smallmodel", "Small model", h.smallModel(ctx)), nil
				}
				return done(h.Instance.SetSmallModel(ctx, args), "Small work is done by %s now.", code(h.smallModel(ctx)))
			},
		},
		{
			Name: "effort", Group: groupModel, Args: "[level]", Help: "Choose how hard the model thinks",
			Complete: func(_ context.Context, h *Host, typed string) []event.Candidate {
				return choices(typed, words(efforts(h)...))
			},
			Run: effort,
		},
		{Name: "status", Group: groupModel, Help: "Show model, mode, tokens, cost and turns", Run: status},
		{Name: "tokens", Group: groupModel, Help: "Show how many tokens the conversation takes", Run: tokens},
		{Name: "context", Group: groupModel, Help: "Show the content of the context window", Run: contextWindow},
		{
			Name: "cost", Aliases: []string{"usage"}, Group: groupModel,
			Help: "Show the cost of the session, by model and request", Run: costs,
		},
		{Name: "cache", Group: groupModel, Help: "Show the savings of the caches of prompts and files", Run: cache},
	}
}

func pickModel(h *Host, name, title, current string) event.Output {
	p := &event.Pick{Title: title, Command: name, Empty: "No model is known here; give its name: /" + name + " NAME"}
	for _, m := range h.Instance.Models() {
		p.Items = append(p.Items, event.PickItem{ID: m.ID, Label: m.ID, Detail: modelDetail(m), Current: m.ID == current})
	}
	return event.Output{Pick: p}
}

// efforts lists the levels that the current model supports.
func efforts(h *Host) []string {
	levels := []string{"off", "low", "medium", "high", "xhigh", "max"}
	now := h.Status().Model
	for _, m := range h.Instance.Models() {
		if m.ID == now && len(m.Efforts) > 0 {
			levels = []string{"off"}
			for _, e := range m.Efforts {
				if e != "off" {
					levels = append(levels, string(e))
				}
			}
		}
	}
	return append(levels, "default")
}

func effort(_ context.Context, h *Host, args string) (event.Output, error) {
	levels := efforts(h)
	now := cmp.Or(h.Status().Effort, "default")
	if args == "" {
		p := &event.Pick{Title: "How hard to think", Command: "effort"}
		for _, l := range levels {
			p.Items = append(p.Items, event.PickItem{ID: l, Label: l, Current: l == now})
		}
		return event.Output{Pick: p}, nil
	}
	args = strings.ToLower(args)
	if !slices.Contains([]string{"off", "low", "medium", "high", "xhigh", "max", "default"}, args) {
		return event.Output{}, fmt.Errorf("there is no effort %q; the levels are %s", args, strings.Join(levels, ", "))
	}
	level := args
	if level == "default" {
		level = ""
	}
	h.Session().SetEffort(llm.Effort(level))
	return text("The effort is %s now.", code(args)), nil
}

func status(_ context.Context, h *Host, _ string) (event.Output, error) {
	s, info := h.Status(), h.Session().Log().Info()
	var b strings.Builder
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "- %s: %s\n", name, fmt.Sprintf(format, args...))
	}
	row("session", "%s", code(info.ID))
	if s.Title != "" {
		row("title", "%s", code(s.Title))
	}
	row("model", "%s", code(s.Model))
	row("effort", "%s", cmp.Or(s.Effort, "default"))
	row("mode", "%s", s.Mode)
	row("sandbox", "%s", cmp.Or(s.Sandbox, "off"))
	row("folder", "%s", code(s.Dir))
	if s.Branch != "" {
		row("branch", "%s", code(s.Branch))
	}
	row("context", "%s", window(s))
	row("turns", "%d", info.Turns)
	row("tokens", "%s", usageLine(s))
	row("cost", "%s", dollars(s.CostUSD))
	if s.Background > 0 {
		row("in the background", "%d", s.Background)
	}
	return event.Output{Text: b.String()}, nil
}

// window reports how full the context window is.
func window(s event.Status) string {
	if s.ContextWindow <= 0 {
		return grouped(s.ContextUsed) + " tokens"
	}
	return fmt.Sprintf("%s of %s tokens (%.0f %%)", grouped(s.ContextUsed), grouped(s.ContextWindow),
		100*float64(s.ContextUsed)/float64(s.ContextWindow))
}

func usageLine(s event.Status) string {
	u := s.Usage
	return fmt.Sprintf("%s read (%s of them from the cache), %s written", grouped(u.Prompt()), grouped(u.CacheRead),
		grouped(u.Output))
}

func tokens(_ context.Context, h *Host, _ string) (event.Output, error) {
	s := h.Status()
	return text("- context: %s\n- whole session: %s", window(s), usageLine(s)), nil
}

// lastSteps is how many requests /cost lists; `lathe session cost` lists all.
const lastSteps = 20

func costs(_ context.Context, h *Host, _ string) (event.Output, error) {
	s, log := h.Status(), h.Session().Log()
	c := cost.Of(log)
	below, _ := h.Instance.Store().CostOfChildren(log.ID()) // lathe session verify reports those that cannot be read
	var out strings.Builder
	fmt.Fprintf(&out, "This session cost %s in %s.\n\n", dollars(s.CostUSD), plural(log.Info().Turns, "turn"))
	models := map[string]*cost.Totals{}
	for _, step := range c.Steps {
		if models[step.Model] == nil {
			models[step.Model] = &cost.Totals{}
		}
		models[step.Model].Add(step)
	}
	for _, m := range slices.Sorted(maps.Keys(models)) {
		t := models[m]
		fmt.Fprintf(&out, "- %s: %s, %s tokens read (%s of them from the cache), %s written, %s\n",
			code(m), plural(t.Steps, "step"), grouped(t.Input+t.Read+t.Written), grouped(t.Read), grouped(t.Output),
			dollars(t.CostUSD))
	}
	if below > 0 {
		fmt.Fprintf(&out, "- agents: %s\n", dollars(below))
	}
	if n := len(c.Steps); n > 0 {
		writeSteps(&out, c.Steps[max(0, n-lastSteps):])
	}
	return event.Output{Text: out.String()}, nil
}

// writeSteps writes the requests as a table, and below it why some missed the cache.
func writeSteps(out *strings.Builder, steps []cost.Step) {
	cells := len(cost.Header) - 1
	out.WriteString("\n| " + strings.Join(cost.Header[:cells], " | ") + " |\n|" + strings.Repeat(" ---: |", cells) + "\n")
	var misses []string
	for _, s := range steps {
		row := s.Row("15:04:05")
		row[2] = code(row[2])
		out.WriteString("| " + strings.Join(row[:cells], " | ") + " |\n")
		if row[cells] != "" {
			misses = append(misses, fmt.Sprintf("- step %d missed the cache: %s\n", s.N, row[cells]))
		}
	}
	if len(misses) > 0 {
		out.WriteString("\n" + strings.Join(misses, ""))
	}
}

func cache(_ context.Context, h *Host, _ string) (event.Output, error) {
	s, c := h.Status(), h.Session().CacheStats()
	var b strings.Builder
	fmt.Fprintf(&b, "- prompts: %.0f %% of the last request came from the provider's cache", 100*s.CacheHit)
	if n := s.Usage.Prompt(); n > 0 {
		fmt.Fprintf(&b, ", %.0f %% of the whole session", 100*float64(s.Usage.CacheRead)/float64(n))
	}
	b.WriteString("\n")
	if !h.Instance.Config().Settings.ExploreCache.Enabled {
		b.WriteString("- files: the explore cache is switched off (exploreCache.enabled)\n")
	} else {
		fmt.Fprintf(&b, "- files: entries %d, hits %d, misses %d, invalidations %d, evictions %d, hit rate %.1f %%\n",
			c.Entries, c.Hits, c.Misses, c.Invalidations, c.Evictions, 100*c.HitRate())
	}
	return event.Output{Text: b.String()}, nil
}

// modelDetail summarises a model for the choice: name, window, price.
func modelDetail(m llm.ModelInfo) string {
	var out []string
	if m.Name != "" && m.Name != m.ID {
		out = append(out, m.Name)
	}
	if m.ContextWindow > 0 {
		out = append(out, fmt.Sprintf("%dk window", m.ContextWindow/1000))
	}
	if m.Price.Input > 0 || m.Price.Output > 0 {
		out = append(out, fmt.Sprintf("$%g in, $%g out per million", m.Price.Input, m.Price.Output))
	}
	return strings.Join(out, " · ")
}

func (h *Host) smallModel(ctx context.Context) string {
	m, err := h.Instance.SmallModel(ctx)
	if err != nil {
		return ""
	}
	return m.Info().ID
}
