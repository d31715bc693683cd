package tool

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/llm"
)

// Deferral are the tools of a session that the model's list leaves out until they are wanted. The model gets the names
// of unlisted ones in the description of ToolSearch, those of others with a line each, appended to the conversation: at
// the start, and again when one arrives or leaves. ToolSearch gives their schemas; they are called by name, or by
// CallTool. Safe for concurrent use.
type Deferral struct {
	mu       sync.Mutex
	tools    []agent.Tool
	unlisted []string          // the names in the description of ToolSearch that the next conversation begins with
	told     map[string]string // name to line, as the conversation has it; nil: not looked yet
	at       int               // revision of the conversation that told belongs to
}

// Split divides tools into those that are sent and those that are deferred: those declared so, the named ones and all
// of later. Where there is no ToolSearch nothing can be found, so the named ones are sent. Where nothing is deferred
// ToolSearch is left out.
func (d *Deferral) Split(tools []agent.Tool, names []string, later ...agent.Tool) (sent, deferred []agent.Tool) {
	search := slices.ContainsFunc(tools, func(t agent.Tool) bool { return t.Spec().Name == ToolSearchName })
	for _, t := range tools {
		name := t.Spec().Name
		named := func() bool {
			return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
		}
		if search && name != ToolSearchName && (t.Spec().Unlisted || named()) {
			deferred = append(deferred, t)
			continue
		}
		sent = append(sent, t)
	}
	if search {
		deferred = append(deferred, later...)
	} else {
		sent = append(sent, later...)
	}
	if len(deferred) == 0 {
		sent = slices.DeleteFunc(sent, func(t agent.Tool) bool { return t.Spec().Name == ToolSearchName })
	} else {
		d.describe(sent, deferred)
		sent = append(sent, newCallTool())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tools = deferred
	return sent, deferred
}

// describe puts the names of unlisted tools into the description of ToolSearch.
func (d *Deferral) describe(sent, deferred []agent.Tool) {
	var names []string
	for _, t := range deferred {
		if s := t.Spec(); s.Unlisted && !strings.HasPrefix(s.Name, "mcp__") {
			names = append(names, s.Name)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unlisted = names
	for i, t := range sent {
		if t.Spec().Name == ToolSearchName {
			sent[i] = d.toolSearch(names)
		}
	}
}

func (d *Deferral) specs() []llm.ToolSpec {
	d.mu.Lock()
	defer d.mu.Unlock()
	return SpecsOf(d.tools)
}

// SpecsOf are the specs of tools.
func SpecsOf(tools []agent.Tool) []llm.ToolSpec {
	out := make([]llm.ToolSpec, len(tools))
	for i, t := range tools {
		out[i] = t.Spec()
	}
	return out
}

// NamesOf are the names of the tools that a model can call, the deferred ones last.
func NamesOf(set agent.ToolSet) []string {
	out := make([]string, 0, len(set.Tools)+len(set.Deferred))
	for _, list := range [][]agent.Tool{set.Tools, set.Deferred} {
		for _, t := range list {
			out = append(out, t.Spec().Name)
		}
	}
	return out
}

// Hook announces before each step the tools that the step will have.
func (d *Deferral) Hook(tools func(context.Context) (agent.ToolSet, error), messages func() []llm.Message,
	revision func() int,
) agent.BeforeStep {
	return agent.BeforeStep{Name: "deferred tools", Run: func(ctx context.Context) ([]llm.Message, error) {
		if _, err := tools(ctx); err != nil {
			return nil, err
		}
		return d.BeforeStep(messages, revision()), nil
	}}
}

// The beginnings of the announcements, by which a resumed conversation is read.
const (
	deferredHead = "<system-reminder>\nThese tools are there too. Load their schemas with ToolSearch before you call " +
		"them:\n"
	arrivedHead = "<system-reminder>\nMore tools are there now, to be loaded with ToolSearch:\n"
	leftHead    = "<system-reminder>\nThese tools are not there any more:\n"
	deferredEnd = "</system-reminder>"
)

// BeforeStep announces the tools that the conversation does not list yet, and those that are gone. It costs a
// comparison while nothing changed. revision is that of the conversation (agent.Transcript).
func (d *Deferral) BeforeStep(messages func() []llm.Message, revision int) []llm.Message {
	names, now := announceable(d.specs())
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.told == nil || d.at != revision {
		d.told, d.at = announced(messages()), revision
		for _, n := range d.unlisted {
			d.told[n] = ""
		}
	}
	if maps.Equal(now, d.told) {
		return nil
	}
	text := announcement(names, now, d.told)
	d.told = now
	return []llm.Message{{Role: llm.User, Parts: []llm.Part{llm.Text{Text: text, Origin: llm.OriginReminder}}}}
}

// serverTools are the tools of a server that one line announces at most by name.
const serverTools = 100 // bytes

// announceable returns what there is to announce: a line for each tool, and one for all tools of a server together, by
// the pattern of their names.
func announceable(specs []llm.ToolSpec) (names []string, about map[string]string) {
	about = map[string]string{}
	counts := map[string]int{}
	for _, s := range specs {
		server, name, ok := serverTool(s.Name)
		if !ok {
			names = append(names, s.Name)
			if about[s.Name] = ""; !s.Unlisted {
				about[s.Name] = oneLine(s.Description)
			}
			continue
		}
		if counts[server]++; counts[server] == 1 {
			names = append(names, server)
			about[server] = name
		} else if len(about[server])+len(name) < serverTools {
			about[server] += ", " + name
		}
	}
	for server, n := range counts {
		if strings.Count(about[server], ", ")+1 < n {
			about[server] += fmt.Sprintf(", ... (%d tools)", n)
		}
	}
	return names, about
}

// serverTool divides the name of an MCP server's tool: mcp__server__* stands for all of them.
func serverTool(name string) (server, tool string, ok bool) {
	rest, ok := strings.CutPrefix(name, "mcp__")
	server, tool, both := strings.Cut(rest, "__")
	return "mcp__" + server + "__*", tool, ok && both
}

func announcement(names []string, now, told map[string]string) string {
	var fresh, gone strings.Builder
	for _, n := range names {
		if line, ok := told[n]; !ok || line != now[n] {
			fresh.WriteString(strings.TrimSuffix("- "+n+": "+now[n], ": ") + "\n")
		}
	}
	for _, n := range slices.Sorted(maps.Keys(told)) {
		if _, ok := now[n]; !ok {
			fmt.Fprintf(&gone, "- %s\n", n)
		}
	}
	head := deferredHead
	for _, line := range told {
		if line != "" { // an earlier announcement
			head = arrivedHead
		}
	}
	var out []string
	if fresh.Len() > 0 {
		out = append(out, head+fresh.String()+deferredEnd)
	}
	if gone.Len() > 0 {
		out = append(out, leftHead+gone.String()+deferredEnd)
	}
	return strings.Join(out, "\n")
}

// announced reads earlier announcements back from the conversation.
func announced(msgs []llm.Message) map[string]string {
	told := map[string]string{}
	for _, m := range msgs {
		for _, p := range m.Parts {
			if t, ok := p.(llm.Text); ok && t.Origin == llm.OriginReminder {
				readAnnouncement(t.Text, told)
			}
		}
	}
	return told
}

func readAnnouncement(text string, told map[string]string) {
	for block := range strings.SplitSeq(text, deferredEnd) {
		block = strings.TrimLeft(block, "\n")
		lines, gone := strings.CutPrefix(block, leftHead)
		if !gone {
			var ok bool
			if lines, ok = strings.CutPrefix(block, deferredHead); !ok {
				if lines, ok = strings.CutPrefix(block, arrivedHead); !ok {
					continue
				}
			}
		}
		for line := range strings.Lines(lines) {
			name, about, _ := strings.Cut(strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "- "), ": ")
			if gone {
				delete(told, name)
			} else {
				told[name] = about
			}
		}
	}
}

// oneLine is the first sentence or line of a description, without marks that could end the announcement.
func oneLine(description string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(description), "\n")
	if at := strings.Index(line, ". "); at > 0 {
		line = line[:at]
	}
	line = strings.NewReplacer("<", "(", ">", ")").Replace(strings.ToValidUTF8(line, ""))
	if cut := cutLine(line, 120); cut != line {
		line = cut + "…"
	}
	return strings.TrimSpace(strings.TrimSuffix(line, "."))
}
