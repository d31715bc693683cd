package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/approved"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/mcp/client"
	"github.com/lathe-dev/lathe/internal/llm"
)

const (
	maxName        = 64       // characters of a tool's name that every provider takes
	maxDescription = 2 << 10  // bytes of a description that the model gets
	maxSchema      = 64 << 10 // bytes of a schema that is used
)

// listed is a tool that may be offered.
type listed struct {
	server *server
	tool   client.Tool
	spec   llm.ToolSpec
}

// Prefix is what the names of all tools of servers begin with.
const Prefix = "mcp__"

// ToolName is the name of a server's tool for models and rules: mcp__server__tool.
func ToolName(server, tool string) string {
	name := Prefix + server + "__" + plain(tool)
	if len(name) > maxName {
		sum := sha256.Sum256([]byte(tool))
		name = name[:maxName-9] + "_" + hex.EncodeToString(sum[:4])
	}
	return name
}

// plain replaces the characters that a tool's name cannot have.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, s)
}

// accept makes a list the one that counts. The caller holds mu, or is the only one.
func (v *server) accept(tools []client.Tool) {
	v.known, v.listed, v.withheld, v.tokens = true, nil, nil, 0
	taken := map[string]string{}
	for _, t := range tools {
		name := ToolName(v.entry.Name, t.Name)
		if why := v.unfit(t, taken[name]); why != "" {
			v.withheld = append(v.withheld, why)
			continue
		}
		if !v.entry.Offers(t.Name) {
			continue
		}
		taken[name] = t.Name
		l := &listed{server: v, tool: t, spec: llm.ToolSpec{
			Name: name, Description: v.describe(t),
			Schema: Schema(t.InputSchema),
		}}
		v.tokens += size(l.spec)
		v.listed = append(v.listed, l)
	}
}

// size estimates the tokens of a spec in a request.
func size(s llm.ToolSpec) int { return (len(s.Name) + len(s.Description) + len(s.Schema) + 40) / 4 }

// unfit is why a tool is not offered: it cannot be named, or imitates another tool.
func (v *server) unfit(t client.Tool, taken string) string {
	switch {
	case strings.TrimSpace(t.Name) == "" || len(t.Name) > 256:
		return "a tool without a usable name"
	case taken != "":
		return fmt.Sprintf("the tool %q: its name stands for %q already", t.Name, taken)
	case strings.Contains(t.Name, Prefix) || strings.HasPrefix(t.Name, "_"):
		return fmt.Sprintf("the tool %q: its name imitates another server's", t.Name)
	case slices.Contains(v.set.o.Builtin, t.Name) && !slices.Contains(v.entry.EnabledTools, t.Name):
		return fmt.Sprintf("the tool %q: its name imitates lathe's own tool; name it in enabledTools of the server's "+
			"entry to use it", t.Name)
	case speaks(t.InputSchema):
		return fmt.Sprintf("the tool %q: a name in its schema holds a tag in which lathe speaks to the model", t.Name)
	}
	return ""
}

// describe is the description for the model, which names its author.
func (v *server) describe(t client.Tool) string {
	text := strings.TrimSpace(strings.ToValidUTF8(t.Description, "\uFFFD"))
	if text == "" && t.Annotations != nil {
		text = t.Annotations.Title
	}
	if text == "" {
		text = t.Title
	}
	if len(text) > maxDescription {
		text = strings.ToValidUTF8(text[:maxDescription], "") + "…"
	}
	return strings.TrimSpace("[described by the MCP server " + v.entry.Name + "] " + text)
}

// take compares a list with the accepted one and reports whether the tools that are offered changed. The first list,
// and tools that are new, are accepted; those whose description or schema is another wait for the user. The caller
// holds mu.
func (v *server) take(tools []client.Tool) (changed bool) {
	v.recall()
	if !v.known || v.accepted.Tools == nil {
		v.adopt(tools)
		return true
	}
	before := v.accepted.byName()
	var usable []client.Tool
	var differs []string
	same := len(tools) == len(v.accepted.Tools) && v.proposed == nil
	for _, t := range tools {
		old, ok := before[t.Name]
		switch {
		case !ok:
			same = false
			usable = append(usable, t)
		case equal(old, t):
			usable = append(usable, t)
		default:
			same = false
			differs = append(differs, fmt.Sprintf("the tool %q: its description changed since you accepted it; see lathe mcp "+
				"get %s", t.Name, v.entry.ID()))
		}
	}
	v.proposed = nil
	if same {
		return false
	}
	v.accept(usable)
	v.withheld = append(v.withheld, differs...)
	if len(differs) > 0 {
		v.proposed = tools
		return true
	}
	v.accepted.become(tools)
	v.keep()
	return true
}

// adopt makes a list the accepted one, and keeps it. The caller holds mu.
func (v *server) adopt(tools []client.Tool) {
	v.accept(tools)
	v.accepted.become(tools)
	v.proposed = nil
	v.keep()
}

// accepted are the tools whose descriptions the user accepted.
type accepted struct {
	Tools []client.Tool `json:"tools"` // that the server lists
	// that it listed earlier; one that comes back with another description is a changed one
	Gone []client.Tool `json:"gone"`
}

func (a *accepted) byName() map[string]client.Tool {
	out := make(map[string]client.Tool, len(a.Tools)+len(a.Gone))
	for _, t := range slices.Concat(a.Gone, a.Tools) {
		out[t.Name] = t
	}
	return out
}

func (a *accepted) become(tools []client.Tool) {
	before := a.byName()
	for _, t := range tools {
		delete(before, t.Name)
	}
	a.Tools, a.Gone = tools, nil
	for _, name := range slices.Sorted(maps.Keys(before)) {
		a.Gone = append(a.Gone, before[name])
	}
	a.Gone = a.Gone[:min(len(a.Gone), client.MaxListed)]
}

// equal reports whether two descriptions of a tool are one for the model.
func equal(a, b client.Tool) bool {
	return a.Name == b.Name && a.Title == b.Title && a.Description == b.Description && bytes.Equal(compact(a.InputSchema),
		compact(b.InputSchema))
}

func compact(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

// keep writes the accepted list. A failure costs the next run a start that is not known.
func (v *server) keep() {
	if v.file == "" {
		return
	}
	if err := approved.WriteJSON(v.file, &v.accepted); err != nil {
		v.log.note(err.Error())
		return
	}
	v.keepIndex()
}

// offered is a tool by its name at the server; nil if it may not be called.
func (v *server) offered(tool string) *client.Tool {
	v.mu.Lock()
	defer v.mu.Unlock()
	at := slices.IndexFunc(v.listed, func(l *listed) bool { return l.tool.Name == tool })
	if at < 0 {
		return nil
	}
	full := slices.IndexFunc(v.accepted.Tools, func(t client.Tool) bool { return t.Name == tool })
	if full >= 0 { // what is remembered in the index has no schema as the server wrote it
		return &v.accepted.Tools[full]
	}
	return &v.listed[at].tool
}

// notOfferedError is why a tool of an earlier list cannot be called.
type notOfferedError string

func (e notOfferedError) Error() string { return string(e) }

func (v *server) notOffered(tool string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if slices.ContainsFunc(v.proposed, func(t client.Tool) bool { return t.Name == tool }) {
		return notOfferedError(fmt.Sprintf("The MCP server %s changed its tool %s, and the user has not accepted the "+
			"change; lathe mcp get %s shows it.", v.entry.Name, tool, v.entry.ID()))
	}
	var names []string
	for _, l := range v.listed {
		names = append(names, l.tool.Name)
	}
	return notOfferedError(fmt.Sprintf("The MCP server %s has no tool %s any more. Its tools are: %s", v.entry.Name, tool,
		strings.Join(names, ", ")))
}

// Accept accepts the descriptions that a server changed.
func (s *Set) Accept(name string) error {
	v := s.find(name)
	if v == nil {
		return fmt.Errorf("there is no MCP server %q", name)
	}
	v.acceptChanges()
	return nil
}

func (v *server) acceptChanges() {
	v.mu.Lock()
	if v.proposed != nil {
		v.adopt(v.proposed)
	}
	v.mu.Unlock()
	v.set.version.Add(1)
}

// askChanges asks about descriptions that changed, where somebody answers.
func (v *server) askChanges() {
	v.mu.Lock()
	proposed := v.proposed
	v.mu.Unlock()
	if proposed == nil {
		return
	}
	for _, w := range v.views() {
		if w.seat.Ask == nil {
			if w.seat.Notice != nil {
				w.seat.Notice(fmt.Sprintf("the MCP server %s changed the description of tools that you accepted; they are "+
					"withheld until you accept them: lathe mcp get %s shows the changes", v.entry.Name, v.entry.ID()))
			}
			continue
		}
		a, err := w.seat.Ask(v.set.life, event.Question{
			Title:   "The MCP server " + v.entry.Name + " changed its tools. Use them as they are now?",
			Preview: event.TextView{Text: v.Changes(), Language: "diff"},
			Reason:  "a description speaks to the model, and these are not the ones that you accepted",
			Options: []event.Option{{ID: answerStart, Label: "Yes"}, {ID: answerNot, Label: "No, leave the changed tools out"}},
		})
		if err == nil && a.Choice == answerStart {
			v.acceptChanges()
		}
		return
	}
}
