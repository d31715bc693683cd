package hook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/config"
)

// Group is a matcher and its handlers, in Claude Code's form, from elsewhere than the settings.
type Group struct {
	Event string
	JSON  json.RawMessage
	From  string // where it is from, for people
	Call  Callback
	Place
}

// Place is where hooks come from.
type Place struct {
	Foreign bool     // their commands are confined and get no credentials
	Root    string   // ${CLAUDE_PLUGIN_ROOT}: the folder of the plugin or skill; "": none
	Data    string   // ${CLAUDE_PLUGIN_DATA}: where a plugin keeps files; "": none
	Environ []string // more variables, NAME=VALUE
}

// Handler is one hook.
type Handler struct {
	Event   string `json:"event"`
	Matcher string `json:"matcher,omitempty"`
	From    string `json:"from"` // the file, or the host program

	Type          string  `json:"type"`
	If            string  `json:"if,omitempty"`
	Timeout       float64 `json:"timeout,omitempty"` // seconds; 0: the event's default
	StatusMessage string  `json:"statusMessage,omitempty"`

	Command     string   `json:"command,omitempty"`
	Args        []string `json:"args,omitempty"` // not nil: the command is a program, and runs without a shell
	Shell       string   `json:"shell,omitempty"`
	Async       bool     `json:"async,omitempty"`
	AsyncRewake bool     `json:"asyncRewake,omitempty"`
	Once        bool     `json:"once,omitempty"` // of a skill: it runs once in a session

	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	EnvVars []string          `json:"allowedEnvVars,omitempty"`

	Server string          `json:"server,omitempty"`
	Tool   string          `json:"tool,omitempty"`
	Input  json.RawMessage `json:"input,omitempty"`

	Prompt          string `json:"prompt,omitempty"`
	Model           string `json:"model,omitempty"`
	ContinueOnBlock bool   `json:"continueOnBlock,omitempty"`

	CallbackID string `json:"-"`

	number int
	place  Place
	test   func(subject string) bool
	call   Callback

	lenient bool // a failure decides nothing, as the host program wants it (onFailure)
}

// The types of handlers.
const (
	typeCommand  = "command"
	typeHTTP     = "http"
	typePrompt   = "prompt"
	typeAgent    = "agent"
	typeMCP      = "mcp_tool"
	typeCallback = "callback"
)

// table has the handlers by event.
type table struct {
	handlers map[string][]*Handler
	notes    []string
	err      error
	once     bool // the field once means something
	seen     map[string]bool
	count    int
}

// read reads the groups of the settings, then those of the host program.
func read(groups []config.HookGroup, given []Group) *table {
	t := &table{handlers: map[string][]*Handler{}, seen: map[string]bool{}}
	for _, g := range groups {
		foreign := g.Origin.Layer == config.Project || g.Origin.Layer == config.Local
		t.add(Group{Event: g.Event, JSON: g.JSON, From: g.Origin.String(), Place: Place{Foreign: foreign}}, true)
	}
	for _, g := range given {
		t.add(g, false)
	}
	return t
}

// add adds the handlers of a group. Of equal handlers in several settings files the first runs.
func (t *table) add(g Group, once bool) {
	var group struct {
		Matcher string            `json:"matcher"`
		Hooks   []json.RawMessage `json:"hooks"`
		IDs     []string          `json:"hookCallbackIds"`
		Timeout float64           `json:"timeout"`
		Failure string            `json:"onFailure"`
	}
	if !t.known(g) {
		return
	}
	if err := json.Unmarshal(g.JSON, &group); err != nil {
		t.bad(g, fmt.Errorf("a group is an object with a matcher and a list of hooks: %w", err))
		return
	}
	test, err := matcher(g.Event, group.Matcher)
	if err != nil {
		t.bad(g, err)
		return
	}
	if len(group.Hooks)+len(group.IDs) == 0 {
		t.bad(g, errors.New(`the group has no list "hooks"`))
		return
	}
	for _, id := range group.IDs {
		t.put(&Handler{
			Type: typeCallback, CallbackID: id, Timeout: group.Timeout, call: g.Call,
			lenient: group.Failure == "continue",
		}, g, group.Matcher, test)
	}
	for _, raw := range group.Hooks {
		key := g.Event + "\x00" + group.Matcher + "\x00" + compact(raw)
		if once && t.seen[key] {
			continue
		}
		t.seen[key] = true
		h := &Handler{}
		if err := json.Unmarshal(raw, h); err != nil {
			t.bad(g, err)
			continue
		}
		if err := h.check(g.Event); err != nil {
			t.bad(g, err)
			continue
		}
		t.put(h, g, group.Matcher, test)
	}
}

func (t *table) put(h *Handler, g Group, m string, test func(string) bool) {
	t.count++
	h.Event, h.Matcher, h.From, h.test, h.number, h.place = g.Event, m, g.From, test, t.count, g.Place
	h.Async, h.Once = h.Async || h.AsyncRewake, h.Once && t.once
	t.handlers[g.Event] = append(t.handlers[g.Event], h)
}

// known reports whether lathe fires an event; of others there is a note.
func (t *table) known(g Group) bool {
	if Fires(g.Event) {
		return true
	}
	t.notes = append(t.notes, fmt.Sprintf("%s: there is no event %q for hooks; the events are %s", g.From, g.Event,
		strings.Join(Names(), ", ")))
	return false
}

// bad reports a hook that cannot be used. One that protects the user is an error: without it more would be allowed.
func (t *table) bad(g Group, err error) {
	text := fmt.Sprintf("%s: hooks.%s: %v", g.From, g.Event, err)
	if events()[g.Event].protects && t.err == nil {
		t.err = errors.New(text + "; correct it, or take it out")
		return
	}
	t.notes = append(t.notes, text)
}

// check reports a handler that could not run.
func (h *Handler) check(name string) error {
	missing := func(field, value string) error {
		if strings.TrimSpace(value) == "" {
			return fmt.Errorf("a hook of the type %s needs %q", h.Type, field)
		}
		return nil
	}
	if !events()[name].takes(h.Type) {
		return fmt.Errorf("a hook of this event cannot have the type %q; it is one of %s", h.Type,
			strings.Join(events()[name].types(), ", "))
	}
	if h.Timeout < 0 {
		return fmt.Errorf("the timeout is %v seconds; leave it out for the default", h.Timeout)
	}
	switch h.Type {
	case typeCommand:
		return missing("command", h.Command)
	case typeHTTP:
		if !strings.HasPrefix(h.URL, "http://") && !strings.HasPrefix(h.URL, "https://") {
			return fmt.Errorf("the url %q is not one of http or https", h.URL)
		}
	case typeMCP:
		return cmp.Or(missing("server", h.Server), missing("tool", h.Tool))
	default:
		return missing("prompt", h.Prompt)
	}
	return nil
}

// limit is how long a handler may run.
func (h *Handler) limit() time.Duration {
	d := events()[h.Event].limit
	switch {
	case h.Timeout > 0:
		d = time.Duration(h.Timeout * float64(time.Second))
	case h.Type == typePrompt:
		d = 30 * time.Second
	case h.Type == typeAgent:
		d = time.Minute
	case d == 0:
		d = 10 * time.Minute
	}
	if h.Event == "SessionEnd" { // lathe cannot end before
		d = min(d, time.Minute)
	}
	return d
}

// name describes a handler in messages.
func (h *Handler) name(subject string) string {
	text := h.Event
	if subject != "" {
		text += ":" + subject
	}
	if what := h.Text(); what != "" {
		text += " (" + what + ")"
	}
	return text
}

// Text is the command, address or question of a handler on one short line.
func (h *Handler) Text() string {
	text := h.Command
	switch h.Type {
	case typeHTTP:
		text = h.URL
	case typePrompt, typeAgent:
		text = h.Type + ": " + h.Prompt
	case typeMCP:
		text = h.Server + "." + h.Tool
	case typeCallback:
		text = "of the host program"
	}
	text = strings.Join(strings.Fields(strings.Join(append([]string{text}, h.Args...), " ")), " ")
	if r := []rune(text); len(r) > 60 {
		text = string(r[:59]) + "…"
	}
	return text
}

// compact is the JSON without spaces, so that equal handlers compare as equal.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}
