package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// View shows a call to people, as one of the shapes below.
type View interface{ view() }

// Diff is a change of one file, as a unified diff, or of several (Files): then the diffs follow each other, Path is
// that of the first, and the numbers are the sums.
type Diff struct {
	Path    string     `json:"path"`
	Unified string     `json:"unified"`
	Added   int        `json:"added"`   // lines
	Removed int        `json:"removed"` // lines
	Created bool       `json:"created,omitempty"`
	Files   []DiffFile `json:"files,omitempty"`
}

// DiffFile is one of several files of a Diff.
type DiffFile struct {
	Path    string `json:"path"`
	Bytes   int    `json:"bytes"` // of Unified that are its diff
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
	Created bool   `json:"created,omitempty"`
}

// Each is the diff of each file.
func (d Diff) Each() []Diff {
	if len(d.Files) == 0 {
		return []Diff{d}
	}
	out := make([]Diff, len(d.Files))
	rest := d.Unified
	for i, f := range d.Files {
		n := max(0, min(f.Bytes, len(rest)))
		out[i] = Diff{Path: f.Path, Unified: rest[:n], Added: f.Added, Removed: f.Removed, Created: f.Created}
		rest = rest[n:]
	}
	return out
}

// JoinDiffs is the Diff of several files.
func JoinDiffs(list []Diff) Diff {
	if len(list) == 1 {
		return list[0]
	}
	var d Diff
	for i, one := range list {
		if i == 0 {
			d.Path = one.Path
		}
		d.Unified += one.Unified
		d.Added += one.Added
		d.Removed += one.Removed
		d.Files = append(d.Files, DiffFile{
			Path: one.Path, Bytes: len(one.Unified), Added: one.Added, Removed: one.Removed,
			Created: one.Created,
		})
	}
	return d
}

// Command is a program that ran or would run.
type Command struct {
	Command   string        `json:"command"`
	Dir       string        `json:"dir,omitempty"`
	Output    string        `json:"output,omitempty"`
	ExitCode  int           `json:"exit_code"`
	Duration  time.Duration `json:"duration_ns,omitempty"`
	TimedOut  bool          `json:"timed_out,omitempty"`
	Cancelled bool          `json:"cancelled,omitempty"`
	OutputRef string        `json:"output_ref,omitempty"` // a file with all of the output
	// Background is the id of the shell in which the command runs, or ran, beside the conversation.
	Background string `json:"background,omitempty"`
	// Warning says in a preview which data the command would destroy, one line each; it may hold foreign
	// text.
	Warning []string `json:"warning,omitempty"`
}

// Listing is a list of things found.
type Listing struct {
	Title     string   `json:"title"`
	Items     []string `json:"items"`
	Total     int      `json:"total"`
	Truncated bool     `json:"truncated,omitempty"`
}

// TextView is text. Path is the file it came from, whose name gives the language; without one, Language is set.
type TextView struct {
	Text     string `json:"text"`
	Path     string `json:"path,omitempty"`
	Language string `json:"language,omitempty"`
	Summary  string `json:"summary,omitempty"` // one line, for folding
}

// Todo is the task list.
type Todo struct {
	Items []TodoItem `json:"items"`
}

// TodoItem is one task. Status is pending, in_progress or completed.
type TodoItem struct {
	Content    string `json:"content"`
	Status     string `json:"status"`
	ActiveForm string `json:"activeForm,omitempty"`
}

// Image is a picture.
type Image struct {
	MIME string `json:"mime"`
	Data []byte `json:"data"`
	Name string `json:"name,omitempty"`
}

// Subagent is the work of a subagent.
type Subagent struct {
	Agent string `json:"agent"`
	// of its kind: red, blue, green, yellow, purple, orange, pink, cyan; empty: none
	Color   string `json:"color,omitempty"`
	Title   string `json:"title"`
	Result  string `json:"result,omitempty"`
	Steps   int    `json:"steps,omitempty"`
	Session string `json:"session,omitempty"`
}

// UnknownView is a shape this version does not know, kept and written back unchanged.
type UnknownView struct {
	Shape string
	JSON  json.RawMessage // the whole object, the shape in it
}

func (Diff) view()        {}
func (Command) view()     {}
func (Listing) view()     {}
func (TextView) view()    {}
func (Todo) view()        {}
func (Image) view()       {}
func (Subagent) view()    {}
func (UnknownView) view() {}

// MarshalView writes a view as {"shape":"diff",...}; nil is null.
func MarshalView(v View) (json.RawMessage, error) {
	shape := ""
	switch v := v.(type) {
	case nil:
		return json.RawMessage("null"), nil
	case UnknownView:
		return v.JSON, nil
	case Diff:
		shape = "diff"
	case Command:
		shape = "command"
	case Listing:
		shape = "listing"
	case TextView:
		shape = "text"
	case Todo:
		shape = "todo"
	case Image:
		shape = "image"
	case Subagent:
		shape = "subagent"
	default:
		return nil, fmt.Errorf("event: unknown view %T", v)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	head := `{"shape":"` + shape + `"`
	if len(b) > 2 {
		head += ","
	}
	return append([]byte(head), b[1:]...), nil
}

// UnmarshalView reads the form of MarshalView. A shape that this version does not know becomes UnknownView.
func UnmarshalView(b []byte) (View, error) {
	if string(b) == "null" || len(b) == 0 {
		return nil, nil
	}
	shape, err := shapeOf(b)
	if err != nil {
		return nil, err
	}
	switch shape {
	case "diff":
		return unmarshalView[Diff](b)
	case "command":
		return unmarshalView[Command](b)
	case "listing":
		return unmarshalView[Listing](b)
	case "text":
		return unmarshalView[TextView](b)
	case "todo":
		return unmarshalView[Todo](b)
	case "image":
		return unmarshalView[Image](b)
	case "subagent":
		return unmarshalView[Subagent](b)
	}
	return UnknownView{shape, append(json.RawMessage(nil), b...)}, nil
}

// shapeOf reads the shape, which MarshalView writes first: searching the whole object would cost as much as
// decoding the view.
func shapeOf(b []byte) (string, error) {
	if rest, ok := bytes.CutPrefix(b, []byte(`{"shape":"`)); ok {
		if end := bytes.IndexAny(rest, "\"\\"); end >= 0 && rest[end] == '"' {
			return string(rest[:end]), nil
		}
	}
	var t struct {
		Shape string `json:"shape"`
	}
	err := json.Unmarshal(b, &t)
	return t.Shape, err
}

func unmarshalView[T View](b []byte) (View, error) {
	var v T
	err := json.Unmarshal(b, &v)
	return v, err
}
