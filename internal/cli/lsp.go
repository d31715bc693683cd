package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/extend/lsp"
	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/machine/term"
)

func lspCommand(p *program, o *Options) *cobra.Command {
	c := &cobra.Command{
		Use: "lsp", Short: "List language servers, print diagnostics", Args: noArgs,
		Long: "Language servers report errors after edits and answer the tool LSP. Those that are installed are used; " +
			"lathe installs none.",
		RunE: func(c *cobra.Command, _ []string) error { return showHelp(c) },
	}
	c.AddCommand(lspListCommand(p, o), lspCheckCommand(p, o), lspInstallCommand(p, o), lspDiagnosticsCommand(p, o))
	return c
}

// withLanguage opens an instance for a subcommand.
func (p *program) withLanguage(c *cobra.Command, o *Options, f func(inst *conversation.Instance,
	dir string) error,
) error {
	o.set = c.Flags().Changed
	inst, err := p.instance(o)
	if err != nil {
		return err
	}
	return joinErrors(f(inst, inst.Dir()), inst.Close())
}

// serverJSON is a server in the JSON output.
type serverJSON struct {
	Name    string   `json:"name"`
	State   string   `json:"state"`
	Program string   `json:"program,omitempty"`
	Why     string   `json:"why,omitempty"`
	For     []string `json:"for"`
	Source  string   `json:"source"`
	Install string   `json:"install,omitempty"`
}

func lspListCommand(p *program, o *Options) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List the known language servers", Args: noArgs,
		Long: "List the language servers that lathe knows, built in and of the settings, with their programs where they " +
			"are installed.",
		RunE: func(c *cobra.Command, _ []string) error {
			return p.withLanguage(c, o, func(inst *conversation.Instance, dir string) error {
				all := inst.Code.Pool().Known(dir)
				if asJSON {
					out := make([]serverJSON, len(all))
					for i, s := range all {
						out[i] = serverJSON{s.Name, s.State, s.Program, s.Detail, s.For, s.Source, s.Install}
					}
					return json.NewEncoder(p.out).Encode(out)
				}
				for _, s := range all {
					where := cmp.Or(s.Program, s.Detail)
					if _, err := fmt.Fprintf(p.out, "%-28s %-14s %s\n", term.EscapeLine(s.Name), s.State,
						term.EscapeLine(cmp.Or(where, strings.Join(s.For, " ")))); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return c
}

func lspInstallCommand(p *program, o *Options) *cobra.Command {
	return &cobra.Command{
		Use: "install NAME", Short: "Print the command that installs a server", Args: exactly("NAME"),
		Long: "Print the command that installs a language server. Nothing is run.",
		RunE: func(c *cobra.Command, args []string) error {
			return p.withLanguage(c, o, func(inst *conversation.Instance, dir string) error {
				for _, s := range inst.Code.Pool().Known(dir) {
					if s.Name != args[0] {
						continue
					}
					if s.Install == "" {
						return &Error{Code: exitFailed, Msg: "lathe knows no way to install " + s.Name}
					}
					_, err := fmt.Fprintln(p.out, term.EscapeLine(s.Install))
					return err
				}
				return usage("lathe lsp list names them", "there is no language server %q", args[0])
			})
		},
	}
}

func lspCheckCommand(p *program, o *Options) *cobra.Command {
	return &cobra.Command{
		Use: "check", Short: "Start the servers of this folder and say how they are", Args: noArgs,
		Long: "Start the installed language servers for the files of this folder, wait until they have read it, and print " +
			"their states. The exit code is 1 if one does not start.",
		RunE: func(c *cobra.Command, _ []string) error {
			return p.withLanguage(c, o, func(inst *conversation.Instance, dir string) error {
				pool := inst.Code.Pool()
				list, err := projectFiles(c.Context(), dir)
				if err != nil {
					return err
				}
				_, _, failed := pool.Diagnose(c.Context(), pool.Sample(dir, list))
				for _, s := range pool.Status() {
					fmt.Fprintf(p.out, "%-28s %-10s %s %s\n", term.EscapeLine(s.Name), s.State, term.EscapeLine(s.Root),
						term.EscapeLine(s.Detail))
					if s.State == "failed" || s.State == "given up" {
						failed = errors.Join(failed, errors.New(s.Detail))
					}
				}
				if len(pool.Status()) == 0 {
					_, err := fmt.Fprintln(p.out, "no installed language server is for the files here; lathe lsp list names those "+
						"that lathe knows")
					return err
				}
				if failed != nil {
					return &Error{Code: exitFailed, Msg: "a language server does not work", Err: failed}
				}
				return nil
			})
		},
	}
}

// maxProjectFiles is how many files of a folder are looked at.
const maxProjectFiles = 20_000

// projectFiles lists the files below a folder that no ignore file excludes.
func projectFiles(ctx context.Context, dir string) (out []string, err error) {
	roots, err := files.NewRoots(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, roots.Close()) }()
	start, err := roots.Resolve(dir, dir)
	if err != nil {
		return nil, err
	}
	_, err = roots.Walk(ctx, start, files.WalkOptions{Ignore: true}, func(e files.Entry) error {
		if e.Type.IsRegular() {
			out = append(out, e.Path)
		}
		if len(out) >= maxProjectFiles {
			return files.SkipAll
		}
		return nil
	})
	return out, err
}

// diagnosticJSON is a diagnostic in the JSON output.
type diagnosticJSON struct {
	Path     string `json:"path"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Severity string `json:"severity"`
	Source   string `json:"source,omitempty"`
	Code     string `json:"code,omitempty"`
	Message  string `json:"message"`
}

func lspDiagnosticsCommand(p *program, o *Options) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "diagnostics [PATH]", Short: "Print the diagnostics of a file or a folder", Args: atMost("PATH"),
		Long: `Start the language servers of a file, or of the files below a folder (this one without a PATH), and print their diagnostics,
one a line: PATH:LINE:COLUMN SEVERITY: MESSAGE. The exit code is 1 when there are errors.`,
		RunE: func(c *cobra.Command, args []string) error {
			return p.withLanguage(c, o, func(inst *conversation.Instance, dir string) error {
				return p.printDiagnostics(c.Context(), inst, dir, strings.Join(args, ""), asJSON)
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return c
}

func (p *program) printDiagnostics(ctx context.Context, inst *conversation.Instance, dir, path string,
	asJSON bool,
) error {
	pool := inst.Code.Pool()
	list, more, err := diagnosed(ctx, pool, dir, path)
	if err != nil {
		return err
	}
	if more > 0 {
		fmt.Fprintf(p.err, "lathe: only %d files are looked at, %d more are not; name a folder or a file\n", len(list), more)
	}
	found, served, err := pool.Diagnose(ctx, list)
	if !served {
		return &Error{Code: exitFailed, Msg: "no diagnostics", Err: cmp.Or(err, lsp.ErrNoServer)}
	}
	out, bad := make([]diagnosticJSON, len(found)), 0
	for i, d := range found {
		rel, err := filepath.Rel(dir, d.Path)
		if err != nil {
			rel = d.Path
		}
		out[i] = diagnosticJSON{rel, d.Line, d.Column, d.Severity.String(), d.Source, d.Code, d.Message}
		if d.Severity == lsp.Error {
			bad++
		}
		if !asJSON {
			fmt.Fprintln(p.out, term.EscapeLine(rel+":"+d.String()))
		}
	}
	if asJSON {
		if err := json.NewEncoder(p.out).Encode(out); err != nil {
			return err
		}
	}
	if bad > 0 {
		return &Error{Code: exitFailed, Msg: plural(bad, "error")}
	}
	return nil
}

// maxDiagnosed is how many files lathe lsp diagnostics asks about: a server keeps at most 200 documents open.
const maxDiagnosed = 150

// diagnosed lists the files to ask about, and counts those that are too many.
func diagnosed(ctx context.Context, pool *lsp.Pool, dir, path string) (list []lsp.File, more int, err error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	path, err = filepath.EvalSymlinks(path)
	if err != nil {
		return nil, 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	root := dir
	if rel, rerr := filepath.Rel(dir, path); rerr != nil || !filepath.IsLocal(rel) {
		root = filepath.Dir(path)
	}
	if !info.IsDir() {
		return []lsp.File{{Path: path, Root: root}}, 0, nil
	}
	names, err := projectFiles(ctx, path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, err
	}
	for _, name := range names {
		switch {
		case !pool.Covers(name):
		case len(list) < maxDiagnosed:
			list = append(list, lsp.File{Path: name, Root: root})
		default:
			more++
		}
	}
	return list, more, nil
}
