package llmtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Script is the scripted behaviour of the model. The JSON form has the same names; docs/wire-server.md
// explains them.
type Script struct {
	Replies []Reply `json:"replies"`
	// Order selects the reply to a request: "turn" (the default) takes the one whose index is the number of
	// assistant messages in the request, so a retry gets the same reply; "arrival" takes the next one after
	// each reply that was delivered completely.
	Order string `json:"order,omitempty"`
	// Final answers once all replies are used; the default says "All done.".
	Final *Reply `json:"final,omitempty"`
	// NoTools answers requests for summaries and those that offer no tools (titles) and match no When; the default is a
	// short text, or a value of the JSON Schema the request asks for.
	NoTools *Reply `json:"no_tools,omitempty"`
	// Faults strike any request that offers tools, before those of the reply.
	Faults []Fault `json:"faults,omitempty"`
	// Vars are values for ${NAME}. Options.Vars has precedence.
	Vars   map[string]string `json:"vars,omitempty"`
	Models []string          `json:"models,omitempty"` // the list at /v1/models

	// Defaults for replies that do not override them.
	Chunk     int      `json:"chunk,omitempty"`
	FirstByte Duration `json:"first_byte,omitempty"`
	Gap       Duration `json:"gap,omitempty"`
}

// Reply is one answer of the model.
type Reply struct {
	When    *When              `json:"when,omitempty"`
	Capture map[string]Capture `json:"capture,omitempty"` // values for ${NAME}, taken from the request
	Parts   []Part             `json:"parts"`
	Usage   *llm.Usage         `json:"usage,omitempty"` // nil: counted from the request and the parts
	Stop    llm.StopReason     `json:"stop,omitempty"`  // "": tool_use if a part is a call, else end_turn
	Finish  string             `json:"finish,omitempty"`
	// Finish is sent verbatim as the wire's stop or finish reason, for one that does not match the reply.

	Chunk     int      `json:"chunk,omitempty"`      // characters per delta; 0: a part is one delta
	Write     int      `json:"write,omitempty"`      // bytes per write to the connection; 0: no limit
	FirstByte Duration `json:"first_byte,omitempty"` // wait before the response starts
	Gap       Duration `json:"gap,omitempty"`        // wait between events, or between writes if Write is set
	Shape     []string `json:"shape,omitempty"`      // irregularities; see Shapes
	Faults    []Fault  `json:"faults,omitempty"`
}

// Part is one block of a reply: exactly one of Text, Thinking, Redacted, Tool and Do is set (Fill alone is
// a text).
type Part struct {
	Name     string `json:"name,omitempty"` // a name for a fault's At
	Text     string `json:"text,omitempty"`
	Thinking string `json:"thinking,omitempty"`
	Redacted string `json:"redacted,omitempty"` // data of a redacted thinking block
	Tool     string `json:"tool,omitempty"`     // a call of the tool of this name
	Do       string `json:"do,omitempty"`       // a call of any tool that does this: read, write, edit, bash, grep, glob

	Signature string          `json:"signature,omitempty"` // of Thinking; "": Sign(Thinking)
	Input     json.RawMessage `json:"input,omitempty"`     // of a call
	Raw       string          `json:"raw,omitempty"`       // of a call: the input's text verbatim, valid or not
	ID        string          `json:"id,omitempty"`        // of a call; "": a new one
	// this many bytes of generated text after Text, Thinking or in the input's "fill"
	Fill int `json:"fill,omitempty"`
}

// When limits a reply to some requests; all set fields must match. A reply with a When is not counted by
// Order and may answer any number of times.
type When struct {
	Contains string `json:"contains,omitempty"` // in the text of the last user message
	Matches  string `json:"matches,omitempty"`  // the same, a regular expression
	Result   string `json:"result,omitempty"`   // contained in one of the tool results at the end of the request
	System   string `json:"system,omitempty"`   // contained in the system prompt
	Model    string `json:"model,omitempty"`    // contained in the model's id
	Tools    *bool  `json:"tools,omitempty"`    // whether tools are offered
	Turn     *int   `json:"turn,omitempty"`     // number of assistant messages in the request
}

// Capture takes a value from the request by a regular expression: its first group, or the whole match.
// A request that does not match is refused.
type Capture struct {
	// result (the default: results at the end), results (all), user (last), users (all), system
	From  string `json:"from,omitempty"`
	Match string `json:"match"`
}

// Fault is an injected failure. Faults that end or corrupt a response are applied one after the other: each
// request takes the first of the list with applications left.
type Fault struct {
	Kind       string            `json:"kind"`            // see FaultKinds
	Times      int               `json:"times,omitempty"` // number of requests it applies to; 0: one, -1: all
	At         string            `json:"at,omitempty"`    // where; see ParseAt
	Status     int               `json:"status,omitempty"`
	Body       string            `json:"body,omitempty"` // of status, html, garbage and error; "": a suitable one
	Type       string            `json:"type,omitempty"` // error type in the provider's form
	Header     map[string]string `json:"header,omitempty"`
	RetryAfter string            `json:"retry_after,omitempty"`
	For        Duration          `json:"for,omitempty"` // of stall; 0: until the client leaves
}

// FaultKinds lists the kinds with their meaning.
var FaultKinds = map[string]string{
	"status":  "an HTTP status instead of a reply, in the provider's error shape",
	"reset":   "the connection is reset (RST) at At",
	"close":   "the connection is closed (FIN) at At, in the middle of the body",
	"end":     "the body ends cleanly at At; terminal events are missing",
	"garbage": "an unparsable data line before the event at At, the rest intact",
	"html":    "an HTML page instead of events",
	"error":   "an error event inside the 200 stream at At, then the end",
	"stall":   "silence at At for For, then the rest",
}

// Shapes lists the irregularities a reply may have, with their meaning.
var Shapes = map[string]string{
	"unknown_events":     "events of unknown type among the known",
	"unknown_fields":     "unknown fields in every event",
	"comments":           "comment lines between events",
	"crlf":               "lines end in CR LF",
	"no_space":           "no space after the colon of a field",
	"no_event_name":      "anthropic: no event lines",
	"json":               "a single JSON object although a stream was asked for",
	"usage_absent":       "no usage at all",
	"ids_missing":        "calls without an id",
	"ids_empty":          "calls with an empty id",
	"ids_same":           "every call of the reply has the same id",
	"ids_repeated":       "chat: the id stands in every piece of its call",
	"arguments_object":   "chat: arguments as an object, not a string",
	"name_late":          "chat: a call's name comes after its first piece",
	"calls_batched":      "chat: all calls in one chunk",
	"index_missing":      "chat: calls without an index",
	"arguments_at_end":   "responses: a call's arguments come with its end only",
	"done_absent":        "chat: no [DONE] line",
	"usage_with_finish":  "chat: usage in the chunk that has the finish reason",
	"reasoning":          "chat: reasoning in the field reasoning",
	"reasoning_details":  "chat: reasoning in the field reasoning_details",
	"reasoning_repeated": "chat: reasoning in reasoning and reasoning_details at once",
	"details_signed":     "chat: reasoning in reasoning_details, with a signature and an encrypted item",
	"calls_signed":       "chat, google: a thought signature beside every call, which has to come back",
	"text_signed":        "google: a thought signature on a text",
	"text_signed_late":   "google: a thought signature on an empty text after a text",
	"array":              "google: a single JSON list of chunks although a stream was asked for",
}

// Duration is a time.Duration that is written "250ms" or as a number of milliseconds.
type Duration time.Duration

// UnmarshalJSON reads both forms.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var ms float64
	if json.Unmarshal(b, &ms) == nil {
		*d = Duration(ms * float64(time.Millisecond))
		return nil
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	v, err := time.ParseDuration(s)
	*d = Duration(v)
	return err
}

// MarshalJSON writes the text form.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// Parse parses a script in its JSON form, or in its text form if the first character is not a brace, and
// checks it. Unknown names are errors.
func Parse(b []byte) (*Script, error) {
	if t := bytes.TrimSpace(b); len(t) == 0 || t[0] != '{' {
		return parseText(string(b))
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	var s Script
	if err := dec.Decode(&s); err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	return &s, s.Check()
}

// Check returns the first mistake in a script, or nil.
func (s *Script) Check() error {
	var errs []error
	if !slices.Contains([]string{"", "turn", "arrival"}, s.Order) {
		errs = append(errs, fmt.Errorf("script: order %q is neither turn nor arrival", s.Order))
	}
	errs = append(errs, checkFaults("script", s.Faults)...)
	for i := range s.Replies {
		errs = append(errs, s.Replies[i].check(fmt.Sprintf("script: reply %d", i))...)
	}
	for name, r := range map[string]*Reply{"final": s.Final, "no_tools": s.NoTools} {
		if r != nil {
			errs = append(errs, r.check("script: "+name)...)
		}
	}
	return errors.Join(errs...)
}

func (r *Reply) check(where string) []error {
	errs := checkFaults(where, r.Faults)
	for _, name := range r.Shape {
		if Shapes[name] == "" {
			errs = append(errs, fmt.Errorf("%s: unknown shape %q", where, name))
		}
	}
	for i := range r.Parts {
		if err := r.Parts[i].check(); err != nil {
			errs = append(errs, fmt.Errorf("%s: part %d: %w", where, i, err))
		}
	}
	if r.When != nil {
		if _, err := regexp.Compile(r.When.Matches); err != nil {
			errs = append(errs, fmt.Errorf("%s: when: %w", where, err))
		}
	}
	for name, c := range r.Capture {
		if _, err := regexp.Compile(c.Match); err != nil || c.Match == "" {
			errs = append(errs, fmt.Errorf("%s: capture %s: needs a regular expression in match: %w", where, name, err))
		}
		if !slices.Contains([]string{"", "result", "results", "user", "users", "system"}, c.From) {
			errs = append(errs, fmt.Errorf("%s: capture %s: unknown source %q", where, name, c.From))
		}
	}
	return errs
}

func (p *Part) check() error {
	set := 0
	for _, v := range []string{p.Text, p.Thinking, p.Redacted, p.Tool, p.Do} {
		if v != "" {
			set++
		}
	}
	switch {
	case set > 1, set == 0 && p.Fill == 0:
		return errors.New("needs exactly one of text, thinking, redacted, tool, do")
	case p.isCall() && len(p.Input) > 0 && p.Raw != "":
		return errors.New("has both input and raw")
	case p.Do != "" && toolNames[p.Do] == nil:
		return fmt.Errorf("cannot do %q: known are read, write, edit, bash, grep, glob", p.Do)
	case len(p.Input) > 0 && !json.Valid(p.Input):
		return errors.New("input is not JSON; broken text goes into raw")
	}
	return nil
}

func (p *Part) isCall() bool { return p.Tool != "" || p.Do != "" }

func checkFaults(where string, fs []Fault) []error {
	var errs []error
	for i, f := range fs {
		if FaultKinds[f.Kind] == "" {
			errs = append(errs, fmt.Errorf("%s: fault %d: unknown kind %q", where, i, f.Kind))
		}
		if f.Kind == "status" && (f.Status < 300 || f.Status > 599) {
			errs = append(errs, fmt.Errorf("%s: fault %d: status %d is not an error status", where, i, f.Status))
		}
		if _, err := ParseAt(f.At); err != nil {
			errs = append(errs, fmt.Errorf("%s: fault %d: %w", where, i, err))
		}
	}
	return errs
}

// At is a place in a response.
type At struct {
	Start    bool    // before the response's headers
	Part     string  // name or number of a part; "" the whole stream
	After    bool    // after the part
	Event    *int    // number of an event; negative counts from the end
	Byte     *int    // offset in the body (or the part's events); negative counts from the end
	Fraction float64 // of the bytes of the body (or the part's events)
}

// ParseAt reads where a fault strikes:
//
//	""             the middle of the body's bytes
//	"start"        before the response's headers
//	"30%"          after that share of the body's bytes
//	"120", "-5"    after 120 bytes; 5 bytes before the end
//	"event 3"      before event 3 (from 0); "event -1": before the last
//	"part x"       before the first event of the part with that name or number
//	"part x 30%"   after that share of the bytes of the part's events; also with a number of bytes
//	"after part x" behind the last event of the part
func ParseAt(s string) (At, error) {
	bad := fmt.Errorf("cannot read the place %q: use start, 30%%, a number of bytes, event N, part N [30%%|BYTES], "+
		"after part N", s)
	var at At
	words := strings.Fields(s)
	if len(words) > 0 && words[0] == "after" {
		at.After = true
		words = words[1:]
		if len(words) != 2 || words[0] != "part" {
			return at, bad
		}
	}
	switch {
	case len(words) == 0:
		at.Fraction = 0.5
		return at, nil
	case words[0] == "start" && len(words) == 1:
		at.Start = true
		return at, nil
	case words[0] == "event" && len(words) == 2:
		n, err := strconv.Atoi(words[1])
		if err != nil {
			return at, bad
		}
		at.Event = &n
		return at, nil
	case words[0] == "part" && len(words) >= 2:
		at.Part = words[1]
		words = words[2:]
	}
	if len(words) == 0 {
		return at, nil
	}
	if len(words) > 1 || !at.offset(words[0]) {
		return at, bad
	}
	return at, nil
}

func (a *At) offset(s string) bool {
	if p, ok := strings.CutSuffix(s, "%"); ok {
		v, err := strconv.ParseFloat(p, 64)
		a.Fraction = v / 100
		return err == nil && v >= 0 && v <= 100
	}
	n, err := strconv.Atoi(s)
	a.Byte = &n
	return err == nil
}
