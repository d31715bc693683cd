package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
	"github.com/lathe-dev/lathe/internal/tool"
)

// checker answers the lines of permission check.
type checker struct {
	tools   *call.Catalogue
	machine *call.Machine
	policy  *permission.Policy
	mode    permission.Mode
	box     *boundary.Boundary // nil: commands have no sandbox
	notes   []string           // problems with the rules of the settings
}

// maxCheckLine is the longest line that is read.
const maxCheckLine = 16 << 20

// checkLine is one line: a call when Tool is set, a rule when Rule is.
type checkLine struct {
	ID     json.RawMessage `json:"id"`
	Tool   string          `json:"tool"`
	Input  json.RawMessage `json:"input"`
	Rule   *string         `json:"rule"`
	Effect string          `json:"effect"`
	Mode   permission.Mode `json:"mode"`
	Agent  []string        `json:"agent"`

	Machine call.Fixture `json:"machine"` // its differences for this call
}

// fixture is a line's description of the machine: the field "machine", or, as in the public corpora of calls, the
// input's members _fs, _dns and _redirect, and cwd or workdir for the folder in which the call runs.
func (l checkLine) fixture() (call.Fixture, json.RawMessage) {
	f := l.Machine
	var fields map[string]json.RawMessage
	if json.Unmarshal(l.Input, &fields) != nil {
		return f, l.Input
	}
	moved := false
	for name, to := range map[string]*string{
		"_fs": &f.Files, "_dns": &f.DNS, "_redirect": &f.Redirect, "cwd": &f.Dir,
		"workdir": &f.Dir,
	} {
		if raw, ok := fields[name]; ok && json.Unmarshal(raw, to) == nil {
			delete(fields, name)
			moved = true
		}
	}
	if !moved {
		return f, l.Input
	}
	rest, err := json.Marshal(fields)
	if err != nil {
		return f, l.Input
	}
	return f, rest
}

type checkedCall struct {
	ID       json.RawMessage      `json:"id,omitempty"`
	Decision permission.Effect    `json:"decision"`
	Class    permission.Class     `json:"class,omitempty"`
	Layer    permission.Layer     `json:"layer,omitempty"`
	Confirm  bool                 `json:"confirm,omitempty"`
	Reason   string               `json:"reason"`
	Rule     string               `json:"rule,omitempty"`
	Source   string               `json:"source,omitempty"`
	Findings []permission.Finding `json:"findings,omitempty"`
	Accesses []permission.Access  `json:"accesses"`
	Propose  []string             `json:"propose,omitempty"`  // the rules that "always" would keep
	Boundary string               `json:"boundary,omitempty"` // of a command: see boundaryOf
	Tier     string               `json:"tier,omitempty"`     // of a command
}

type checkedRule struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Match  bool            `json:"match"`
	Reason string          `json:"reason"`
}

type checkedError struct {
	ID    json.RawMessage `json:"id,omitempty"`
	Error string          `json:"error"`
}

// run answers line by line until the input ends. Each answer is written at once.
func (k *checker) run(ctx context.Context, in io.Reader, out io.Writer) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for ctx.Err() == nil {
		line, err := boundedLine(r)
		if len(bytes.TrimSpace(line)) > 0 || errors.Is(err, errLongLine) {
			answer := any(checkedError{Error: "the line is too long"})
			if !errors.Is(err, errLongLine) {
				answer = k.answer(line)
			}
			if werr := writeLine(out, answer); werr != nil {
				return werr
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, errLongLine):
			return fmt.Errorf("reading the lines: %w", err)
		}
	}
	return nil
}

var errLongLine = errors.New("the line is too long")

// boundedLine reads a line up to the limit and skips a longer one.
func boundedLine(r *bufio.Reader) (line []byte, err error) {
	for long := false; ; {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxCheckLine; !long {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if long && (err == nil || errors.Is(err, io.EOF)) {
			return nil, errors.Join(errLongLine, err)
		}
		return line, err
	}
}

func writeLine(out io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := out.Write(b.Bytes())
	return err
}

// answer decides on one line. A line that cannot be parsed is answered with an error.
func (k *checker) answer(line []byte) any {
	var l checkLine
	if err := json.Unmarshal(line, &l); err != nil {
		return checkedError{ID: idOf(line), Error: "the line cannot be read: " + err.Error()}
	}
	switch {
	case l.Rule != nil:
		return k.rule(l)
	case l.Tool != "":
		return k.call(l)
	}
	return checkedError{ID: l.ID, Error: `the line names neither a "tool" nor a "rule"`}
}

// idOf finds the id of a line whose other fields are not as they should be.
func idOf(line []byte) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(line, &m) != nil {
		return nil
	}
	return m["id"]
}

// call decides on a tool call. Other spellings of tools and parameters are taken as in a session.
func (k *checker) call(l checkLine) any {
	f, input := l.fixture()
	req, err := k.machine.Request(l.Tool, input, f)
	if err != nil {
		return checkedError{ID: l.ID, Error: err.Error()}
	}
	req.Mode, req.Agent = k.mode, l.Agent
	if l.Mode != "" {
		req.Mode = l.Mode
	}
	if k.box != nil {
		tool.Hold(k.box, k.machine.HomeDir, k.machine.RootDirs, req)
	}
	d := k.policy.Decide(req)
	out := checkedCall{
		ID: l.ID, Decision: d.Effect, Class: permission.ClassOf(req), Layer: d.Layer, Confirm: d.Confirm,
		Reason: d.Reason, Rule: d.Rule, Source: d.Source, Accesses: req.Accesses,
	}
	for _, a := range req.Accesses {
		if a.Command != nil {
			out.Findings = a.Command.Findings
			out.Tier, out.Boundary = k.tier(), boundaryOf(a.Command, d)
		}
	}
	if d.Effect == permission.Ask {
		out.Propose = k.policy.Propose(req)
	}
	return out
}

// tier is that of the sandbox which commands are decided for.
func (k *checker) tier() string {
	if k.box == nil {
		return confine.None.String()
	}
	return confine.Full.String()
}

// boundaryOf says how far a command goes once it is allowed: outside of a sandbox, or in it with the project to read,
// in a private view, to write, or to write with the network.
func boundaryOf(cmd *permission.Command, d permission.Decision) string {
	switch {
	case !cmd.Held:
		return "outside"
	case d.Reach == permission.ReachWrite || d.Reach == permission.ReachEdit:
		return "write"
	}
	return string(d.Reach)
}

// rule reports whether a rule applies to an input.
func (k *checker) rule(l checkLine) any {
	effect := permission.Effect(l.Effect)
	switch effect {
	case permission.Allow, permission.Ask, permission.Deny:
	case "":
		effect = permission.Allow
	default:
		return checkedError{ID: l.ID, Error: fmt.Sprintf(`the effect is %q; it is one of "allow", "ask", "deny"`, l.Effect)}
	}
	subject, err := subjectOf(l.Input)
	if err != nil {
		return checkedError{ID: l.ID, Error: err.Error()}
	}
	r, err := permission.ParseRule(k.tools, *l.Rule, effect, permission.Source{Name: "the line", Base: k.machine.Dir})
	if err != nil {
		return checkedRule{ID: l.ID, Reason: err.Error()}
	}
	req, err := k.machine.Subject(r, subject)
	if err != nil {
		return checkedError{ID: l.ID, Error: err.Error()}
	}
	if !k.policy.Matches(r, req) {
		return checkedRule{ID: l.ID, Reason: fmt.Sprintf("%s does not cover it", r.Text)}
	}
	return checkedRule{ID: l.ID, Match: true, Reason: fmt.Sprintf("%s covers it", r.Text)}
}

// subjectOf reads the input of a rule line: a text, or the input of a call as an object.
func subjectOf(input json.RawMessage) (string, error) {
	var s string
	if err := json.Unmarshal(input, &s); err == nil {
		return s, nil
	}
	if in := bytes.TrimSpace(input); len(in) > 0 && in[0] == '{' {
		return string(in), nil
	}
	return "", errors.New(`a rule line needs an "input": a command, a path, an address or a tool's name`)
}
