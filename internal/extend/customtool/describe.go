package customtool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

// Bounds of a description.
const (
	describeLimit  = 5 * time.Second
	maxDescribe    = 64 << 10 // bytes of all of it
	maxDescription = 2 << 10  // bytes of the text for the model
	defaultTimeout = 2 * time.Minute
	maxTimeout     = 30 * time.Minute
)

// Description is the JSON that PROGRAM --describe prints, and the tool of a plugin process.
type Description struct {
	Name        string          `json:"name" jsonschema:"up to 64 letters, digits, _ and -, with a letter first"`
	Description string          `json:"description" jsonschema:"the text that the model chooses the tool by"`
	InputSchema json.RawMessage `json:"input_schema,omitempty" jsonschema:"JSON Schema of the input, of the type object"`
	Accesses    []Access        `json:"accesses,omitempty" jsonschema:"the files and hosts that a call touches; missing: each call asks; empty: nothing outside of the session"`
	Timeout     float64         `json:"timeout,omitempty" jsonschema:"seconds of a call; 0 is two minutes"`
	AlwaysLoad  bool            `json:"always_load,omitempty" jsonschema:"each request has the tool's schema; otherwise ToolSearch finds it"`
	Parallel    bool            `json:"parallel,omitempty" jsonschema:"calls may run beside others"`
}

// Access declares one thing that a call touches: a literal value, or the value of a parameter of the input.
type Access struct {
	Kind  string `json:"kind" jsonschema:"read, write or net"`
	Value string `json:"value,omitempty" jsonschema:"a path from the working folder, a host or URL"`
	Param string `json:"param,omitempty" jsonschema:"the parameter that holds it: a text, or a list of texts"`
}

var (
	errChanged = errors.New("its content changed since you trusted the folder; look at it, then run: lathe config trust")
	goodName   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`) })
)

// parse reads and checks a description.
func parse(text []byte) (d Description, err error) {
	if err := json.Unmarshal(text, &d); err != nil {
		return d, fmt.Errorf("--describe printed no JSON object: %w", err)
	}
	return d, d.Check()
}

// Check refuses a description that cannot be used, and brings the others into form.
func (d *Description) Check() (err error) {
	d.Description = strings.TrimSpace(d.Description)
	switch {
	case !goodName().MatchString(d.Name):
		return fmt.Errorf("the name %q is not up to 64 letters, digits, _ and -, with a letter first", d.Name)
	case strings.HasPrefix(strings.ToLower(d.Name), "mcp__"):
		return fmt.Errorf("the name %q imitates the tool of an MCP server", d.Name)
	case d.Description == "":
		return errors.New(`the description is empty; the model chooses the tool by it`)
	case d.Timeout < 0:
		return fmt.Errorf("the timeout is %v seconds", d.Timeout)
	}
	if len(d.Description) > maxDescription {
		d.Description = strings.ToValidUTF8(d.Description[:maxDescription], "") + "…"
	}
	if d.InputSchema, err = schema(d.InputSchema); err != nil {
		return err
	}
	for _, a := range d.Accesses {
		if err := a.check(); err != nil {
			return err
		}
	}
	return nil
}

// schema checks the schema of an input.
func schema(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage(`{"type":"object","properties":{}}`), nil
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("the input_schema is no JSON Schema: %w", err)
	}
	if s.Type != "object" {
		return nil, errors.New(`the input_schema is not of the type "object"`)
	}
	var b bytes.Buffer
	err := json.Compact(&b, raw)
	return b.Bytes(), err
}

func (a Access) check() error {
	switch a.Kind {
	case "read", "write", "net":
	default:
		return fmt.Errorf("the access %q is none of read, write and net; leave accesses out for a tool that does more, "+
			"and each call asks", a.Kind)
	}
	if (a.Value == "") == (a.Param == "") {
		return fmt.Errorf("the access %s needs either a value or a param", a.Kind)
	}
	return nil
}

// Limit is how long a call may take.
func (d *Description) Limit() time.Duration {
	if d.Timeout == 0 {
		return defaultTimeout
	}
	return time.Duration(min(d.Timeout, maxTimeout.Seconds()) * float64(time.Second))
}

// ask runs PROGRAM --describe. The sum that is known may be that of an earlier content with the same size and time.
func (s *Set) ask(ctx context.Context, p *program) ([]byte, error) {
	if err := p.asTrusted(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, describeLimit, fmt.Errorf("--describe did not end within %v",
		describeLimit))
	defer cancel()
	var out, errOut head
	out.most, errOut.most = maxDescribe, 4<<10
	spec := sandbox.Spec{Argv: []string{p.Path, "--describe"}, Dir: filepath.Dir(p.Path), Stdout: &out, Stderr: &errOut}
	done, err := s.confine(p, &spec)
	if err != nil {
		return nil, err
	}
	defer done()
	exit, err := s.o.Runner.Run(ctx, spec)
	switch {
	case err != nil:
		return nil, err
	case exit.Code != 0:
		return nil, fmt.Errorf("--describe ended with exit code %d: %s", exit.Code, firstLine(errOut.kept))
	case out.dropped > 0:
		return nil, fmt.Errorf("--describe printed more than %d kB", maxDescribe>>10)
	}
	_, err = parse(out.kept)
	return out.kept, err
}

// asTrusted reads the file, and is an error if it is not what the user trusted.
func (p *program) asTrusted() error {
	sum, err := config.SumOf(p.Path)
	if err == nil && p.Sum != "" && sum != p.Sum {
		err = errChanged
	}
	return err
}

// confine prepares the environment of a program, and its boundary if it is a stranger's.
func (s *Set) confine(p *program, spec *sandbox.Spec) (done func(), err error) {
	foreign := p.Layer == config.Project || p.Layer == config.Local
	root := s.o.Config().Paths().Root
	spec.Env = append(s.o.Environ(foreign), "LATHE_PROJECT_DIR="+root, "CLAUDE_PROJECT_DIR="+root)
	if p.environ != nil {
		spec.Env = p.environ(spec.Env)
	}
	if !foreign || s.o.Confine == nil {
		return func() {}, nil
	}
	if spec.Confine, done, err = s.o.Confine(); err != nil {
		return nil, err
	}
	return done, nil
}

func firstLine(text []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
	if len(line) == 0 {
		return "it printed no error"
	}
	return string(line)
}

// head keeps the beginning of an output.
type head struct {
	kept    []byte
	most    int
	dropped int
}

func (h *head) Write(p []byte) (int, error) {
	n := min(len(p), h.most-len(h.kept))
	h.kept = append(h.kept, p[:n]...)
	h.dropped += len(p) - n
	return len(p), nil
}
