package language

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/extend/format"
	"github.com/lathe-dev/lathe/internal/extend/lsp"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/permission"
)

// maxFormatted bounds what a formatter may print, in bytes.
const maxFormatted = 8 << 20

// edited notes the files of a call for the end of the step.
func (s *Joined) edited(list []lsp.File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range list {
		if !slices.Contains(s.step, f) {
			s.step = append(s.step, f)
		}
	}
}

// Format formats the files that the step before edited, each once, and shows the model what that changed. It fails
// nothing: what a formatter cannot do is left out.
func (s *Joined) Format(ctx context.Context) ([]llm.Message, error) {
	s.mu.Lock()
	list := s.step
	s.step = nil
	s.mu.Unlock()
	set := s.folder.o.Config().Settings.Formatters
	if !set.Enabled || len(list) == 0 {
		return nil, nil
	}
	var shown strings.Builder
	all := format.All(set.Programs)
	for _, f := range list {
		at := slices.IndexFunc(all, func(x format.Formatter) bool {
			return x.For(f.Path, f.Root) && s.folder.formatter(&x, f) != ""
		})
		if at < 0 {
			continue
		}
		diff, err := s.formatOne(ctx, &all[at], f, time.Duration(set.TimeoutMs)*time.Millisecond)
		var none notStarted
		if errors.As(err, &none) && s.untold(all[at].Name) {
			fmt.Fprintf(&shown, "%s could not start, so it formats nothing: %s\n", all[at].Name, none)
		}
		if err != nil || diff == "" {
			continue // a file with a syntax error, mostly: the diagnostics name it
		}
		fmt.Fprintf(&shown, "%s formatted %s:\n%s", all[at].Name, s.Env.Rel(f.Path), diff)
	}
	if shown.Len() == 0 {
		return nil, nil
	}
	text := shown.String()
	if len(text) > 8000 {
		text = strings.ToValidUTF8(text[:8000], "") + "\n[cut; read the files again where their lines matter]\n"
	}
	return []llm.Message{{Role: llm.User, Parts: []llm.Part{llm.Text{Text: "<system-reminder>\n" + text +
		"</system-reminder>", Origin: llm.OriginReminder}}}}, nil
}

// notStarted says why a formatter did not start: in the sandbox it may lack a program or a file.
type notStarted string

func (n notStarted) Error() string { return string(n) }

// untold reports whether nothing was said of a formatter that does not start, and notes that it is now.
func (s *Joined) untold(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.told, name) {
		return false
	}
	s.told = append(s.told, name)
	return true
}

// formatOne formats a file, with its state saved for undo.
func (s *Joined) formatOne(ctx context.Context, x *format.Formatter, f lsp.File, limit time.Duration) (string, error) {
	var after func()
	defer func() {
		if after != nil {
			after()
		}
	}()
	return s.Env.Reformat(ctx, f.Path, func(before []byte) ([]byte, error) {
		now, err := s.folder.runFormatter(ctx, x, f, before, limit)
		if err != nil || bytes.Equal(before, now) || s.Snapshot == nil {
			return now, err
		}
		after, err = s.Snapshot(ctx, &agent.Plan{
			Title:    x.Name,
			Accesses: []permission.Access{{Kind: permission.Write, Target: f.Path, Node: permission.File}},
		})
		return now, err
	})
}

// formatter is the path of a formatter's program, "" if it is not installed or may not run here: programs of the
// project need trust, and so do those that run its code outside of a sandbox.
func (f *Folder) formatter(x *format.Formatter, file lsp.File) string {
	trusted := f.trusted()
	if trusted {
		if own := lsp.InProject(x.Command[0], filepath.Dir(file.Path), file.Root); own != "" {
			return own
		}
	}
	path := lsp.OnPath(x.Command[0], f.environ())
	if !trusted && (lsp.Within(path, file.Root) || !x.Data() && !f.o.Boundary.Confined()) {
		return ""
	}
	return path
}

// runFormatter passes a text through a formatter, inside the boundary: it reads the folder and changes nothing.
func (f *Folder) runFormatter(ctx context.Context, x *format.Formatter, file lsp.File, text []byte,
	limit time.Duration,
) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, said := &bounded{limit: maxFormatted}, &bounded{limit: 4 << 10}
	spec := sandbox.Spec{
		Argv: append([]string{f.formatter(x, file)}, x.Args(file.Path)...), Dir: filepath.Dir(file.Path), Env: f.environ(),
		Stdin: bytes.NewReader(text), Stdout: out, Stderr: said,
	}
	if f.o.Boundary.Confined() {
		run, err := f.o.Boundary.ForServer([]string{file.Root}, false, boundary.Network{})
		if err != nil {
			return nil, err
		}
		defer run.Finish()
		run.Policy.Show = append(run.Policy.Show, filepath.Dir(spec.Argv[0]))
		spec.Confine, spec.Env = run.Confinement, sandbox.Overlay(spec.Env, run.Environ())
	}
	spec.Env = sandbox.Overlay(spec.Env, x.Env)
	exit, err := f.o.Runner.Run(ctx, spec)
	switch {
	case err != nil && ctx.Err() == nil:
		return nil, notStarted(err.Error())
	case err != nil:
		return nil, err
	case exit.Code == 126 || exit.Code == 127: // as shells and env say it
		line, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
		return nil, notStarted(fmt.Sprintf("exit code %d: %s", exit.Code, line))
	case exit.Code != 0:
		return nil, fmt.Errorf("%s ended with exit code %d", x.Name, exit.Code)
	case out.over:
		return nil, errors.New("it printed too much")
	case len(bytes.TrimSpace(out.Bytes())) == 0 && len(bytes.TrimSpace(text)) > 0:
		return nil, errors.New("it printed nothing")
	}
	return out.Bytes(), nil
}

// bounded takes output up to a limit.
type bounded struct {
	bytes.Buffer
	limit int
	over  bool
}

// Write drops what exceeds the limit.
func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.limit {
		b.over = true
		return len(p), nil
	}
	return b.Buffer.Write(p)
}
