package event

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/llm"
)

// The stored form of a result says nothing twice. The text of a file that was read is in the result for the model,
// in the view for people and in the structured output; the log keeps the first, and in the others a reference to it.

// storeMin is the shortest text, in bytes, that is replaced by a reference.
const storeMin = 160

// reference says where a text is: one of its fields but the last three is set.
type reference struct {
	Text  []int  `json:"text,omitempty"`  // from and to, in bytes, in the result's text
	End   bool   `json:"end,omitempty"`   // with Text: and a line end, which the result's text lacks
	Lines bool   `json:"lines,omitempty"` // the result's text without its line numbers
	View  bool   `json:"view,omitempty"`  // the text of the view
	Input string `json:"input,omitempty"` // this parameter of the call
	Patch bool   `json:"patch,omitempty"` // the hunks of the view's diff
	Split bool   `json:"split,omitempty"` // a list, one item a line
	Size  int    `json:"size,omitempty"`  // bytes of the content there
}

// Hunk is one part of a diff, in the shape of Claude Code's structuredPatch. A line begins with a space, - or +.
type Hunk struct {
	OldStart int      `json:"oldStart"`
	OldLines int      `json:"oldLines"`
	NewStart int      `json:"newStart"`
	NewLines int      `json:"newLines"`
	Lines    []string `json:"lines"`
}

// StoreView is MarshalView for the log: a text of the result that v shows again is a reference.
func StoreView(v View, r llm.ToolResult) (json.RawMessage, error) {
	var ref *reference
	s := source{result: textOf(r)}
	switch w := v.(type) {
	case TextView:
		if ref = s.find(w.Text); ref != nil {
			w.Text = ""
			v = w
		}
	case Command:
		if ref = s.find(w.Output); ref != nil {
			w.Output = ""
			v = w
		}
	case Listing:
		if ref = s.findList(w.Items); ref != nil {
			w.Items = nil
			v = w
		}
	}
	b, err := MarshalView(v)
	if ref == nil || err != nil {
		return b, err
	}
	from, err := json.Marshal(ref)
	b = append(b[:len(b)-1], `,"stored":`...)
	return append(append(b, from...), '}'), err
}

// RestoreView is the inverse of StoreView and MarshalView.
func RestoreView(b json.RawMessage, r llm.ToolResult) (View, error) {
	v, err := UnmarshalView(b)
	if err != nil || v == nil || !strings.Contains(string(b[max(0, len(b)-200):]), `"stored":{`) {
		return v, err
	}
	var in struct {
		Stored reference `json:"stored"`
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return v, err
	}
	s := source{result: textOf(r)}
	switch w := v.(type) {
	case TextView:
		w.Text = s.text(in.Stored)
		return w, nil
	case Command:
		w.Output = s.text(in.Stored)
		return w, nil
	case Listing:
		w.Items = strings.Split(s.text(in.Stored), "\n")
		return w, nil
	}
	return v, nil
}

// storedMark is the key of a structured output that has references, and of each of them. An output that has this key
// of its own is kept as it is, in a list.
const storedMark = "$stored"

// StoreMeta writes a structured output for the log. Texts that the view, the result or the input of the call has are
// references, and drop names keys whose texts are left out (null), since they are in none of them.
func StoreMeta(meta map[string]any, v View, call llm.ToolCall, r llm.ToolResult, drop ...string) (json.RawMessage,
	error,
) {
	if meta == nil {
		return nil, nil
	}
	s := source{view: v, result: textOf(r), input: call.Input}
	short := maps.Clone(meta)
	for _, k := range drop {
		if text, ok := short[k].(string); ok && len(text) >= storeMin {
			short[k] = nil
		}
	}
	packed, _ := s.pack(short).(map[string]any)
	switch {
	case s.foreign:
		return json.Marshal(map[string]any{storedMark: []any{short}})
	case s.refs == 0:
		return json.Marshal(short)
	}
	return json.Marshal(map[string]any{storedMark: packed})
}

// RestoreMeta is the inverse of StoreMeta. v is the restored view.
func RestoreMeta(b json.RawMessage, v View, call llm.ToolCall, r llm.ToolResult) (map[string]any, error) {
	if len(b) == 0 {
		return nil, nil
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("event: read the structured output of %s: %w", call.Name, err)
	}
	if len(m) != 1 {
		return m, nil
	}
	switch stored := m[storedMark].(type) {
	case map[string]any:
		s := source{view: v, result: textOf(r), input: call.Input}
		m, _ = s.unpack(stored).(map[string]any)
	case []any:
		if len(stored) == 1 {
			m, _ = stored[0].(map[string]any)
		}
	}
	return m, nil
}

// source is where references lead.
type source struct {
	view   View
	result string
	input  json.RawMessage

	params  map[string]any // of the input, once read
	plain   *string        // the result without line numbers, once made
	refs    int
	foreign bool // the output has maps that look like references
}

func textOf(r llm.ToolResult) string {
	for _, p := range r.Parts {
		if t, ok := p.(llm.Text); ok && utf8.ValidString(t.Text) {
			return t.Text
		}
	}
	return ""
}

// find looks for a text, or returns nil.
func (s *source) find(text string) *reference {
	if len(text) < storeMin || !utf8.ValidString(text) {
		return nil
	}
	ref := &reference{Size: len(text)}
	shown := strings.TrimSuffix(text, "\n")
	switch at := strings.Index(s.result, shown); {
	case text == s.viewText():
		ref.View = true
	case at >= 0:
		ref.Text, ref.End = []int{at, at + len(shown)}, len(shown) < len(text)
	case text == s.unnumbered():
		ref.Lines = true
	default:
		if ref.Input = s.param(text); ref.Input == "" {
			return nil
		}
	}
	s.refs++
	return ref
}

// findList looks for the lines of a list.
func (s *source) findList(items []string) *reference {
	joined := strings.Join(items, "\n")
	if strings.Count(joined, "\n") != len(items)-1 {
		return nil // an item of several lines
	}
	ref := s.find(joined)
	if ref != nil {
		ref.Split = true
	}
	return ref
}

func (s *source) viewText() string {
	switch v := s.view.(type) {
	case TextView:
		return v.Text
	case Command:
		return v.Output
	case Listing:
		return strings.Join(v.Items, "\n")
	}
	return ""
}

// unnumbered is the result's text as far as each line has its number before it, without those.
func (s *source) unnumbered() string {
	if s.plain == nil {
		text := withoutNumbers(s.result)
		s.plain = &text
	}
	return *s.plain
}

func withoutNumbers(text string) string {
	var b strings.Builder
	next := -1
	for line := range strings.Lines(text) {
		num, rest, ok := strings.Cut(line, "\t")
		n, err := strconv.Atoi(num)
		if !ok || err != nil || next >= 0 && n != next {
			break
		}
		b.WriteString(rest)
		next = n + 1
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (s *source) inputs() map[string]any {
	if s.params == nil {
		s.params = map[string]any{}
		_ = json.Unmarshal(s.input, &s.params) // an input that cannot be read holds no text
	}
	return s.params
}

// param is the parameter that is a text, or "".
func (s *source) param(text string) string {
	if len(s.input) < len(text) {
		return ""
	}
	for k, v := range s.inputs() {
		if v == any(text) {
			return k
		}
	}
	return ""
}

// text follows a reference; "" when it leads nowhere.
func (s *source) text(ref reference) string {
	out := ""
	switch {
	case ref.View:
		out = s.viewText()
	case ref.Lines:
		out = s.unnumbered()
	case ref.Input != "":
		out, _ = s.inputs()[ref.Input].(string)
	case len(ref.Text) == 2 && 0 <= ref.Text[0] && ref.Text[0] <= ref.Text[1] && ref.Text[1] <= len(s.result):
		if out = s.result[ref.Text[0]:ref.Text[1]]; ref.End {
			out += "\n"
		}
	}
	if len(out) != ref.Size {
		return ""
	}
	return out
}

// pack replaces texts by references.
func (s *source) pack(v any) any {
	switch v := v.(type) {
	case string:
		if ref := s.find(v); ref != nil {
			return map[string]any{storedMark: ref}
		}
	case []string:
		if ref := s.findList(v); ref != nil {
			return map[string]any{storedMark: ref}
		}
	case []Hunk:
		if d, ok := s.view.(Diff); ok && len(v) > 0 && reflect.DeepEqual(d.Hunks(), v) {
			s.refs++
			return map[string]any{storedMark: reference{Patch: true}}
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			s.foreign = s.foreign || k == storedMark
			out[k] = s.pack(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = s.pack(e)
		}
		return out
	}
	return v
}

// unpack follows the references.
func (s *source) unpack(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if m, ok := v[storedMark]; ok && len(v) == 1 {
			return s.follow(m)
		}
		for k, e := range v {
			v[k] = s.unpack(e)
		}
	case []any:
		for i, e := range v {
			v[i] = s.unpack(e)
		}
	}
	return v
}

func (s *source) follow(m any) any {
	var ref reference
	b, err := json.Marshal(m)
	if err != nil || json.Unmarshal(b, &ref) != nil {
		return nil
	}
	if d, ok := s.view.(Diff); ok && ref.Patch {
		return d.Hunks()
	}
	text := s.text(ref)
	if !ref.Split {
		return text
	}
	var list []any // as JSON is read
	for item := range strings.SplitSeq(text, "\n") {
		list = append(list, item)
	}
	return list
}

// Hunks reads the diff's parts out of its text.
func (d Diff) Hunks() []Hunk {
	var out []Hunk
	for line := range strings.Lines(d.Unified) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "@@ "):
			out = append(out, Hunk{})
			h := &out[len(out)-1]
			if f := strings.Fields(line); len(f) >= 3 {
				h.OldStart, h.OldLines = hunkRange(f[1])
				h.NewStart, h.NewLines = hunkRange(f[2])
			}
		case len(out) > 0 && line != "" && strings.ContainsRune(" -+", rune(line[0])):
			out[len(out)-1].Lines = append(out[len(out)-1].Lines, line)
		}
	}
	return slices.Clip(out)
}

// hunkRange reads -3,4 or +3, which is one line.
func hunkRange(s string) (start, lines int) {
	from, n, ok := strings.Cut(s[1:], ",")
	start, _ = strconv.Atoi(from)
	lines = 1
	if ok {
		lines, _ = strconv.Atoi(n)
	}
	return start, lines
}
