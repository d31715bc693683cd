package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/store/session"
)

func sessionShowCommand(p *program, o *Options) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "show ID", Short: "Print a conversation", Args: oneID, ValidArgsFunction: completeIDs(o),
		Long: "Print the conversation of a session as text, tool calls and results included, then the sessions of its " +
			"agents with their cost; control characters are made visible.",
		RunE: func(_ *cobra.Command, args []string) error {
			return p.withSession(o, args[0], func(s *session.Session) error {
				all, err := openSessions(o)
				if err != nil {
					return err
				}
				agents, err := agentsBelow(all.store, s.ID(), mostNested)
				if err != nil {
					return err
				}
				if asJSON {
					return showJSON(p.out, s, agents)
				}
				if err := showText(p.out, s); err != nil || len(agents) == 0 {
					return err
				}
				fmt.Fprint(p.out, "\n## Agents\n\n")
				return printAgents(p.out, agents, "")
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object: the session and its messages")
	return c
}

// withSession opens a session for reading, which also works while it is used. Damage is reported
// beside the readable part.
func (p *program) withSession(o *Options, name string, f func(*session.Session) error) error {
	store, err := openSessions(o)
	if err != nil {
		return err
	}
	info, err := store.find(name)
	if err != nil {
		return err
	}
	s, err := store.store.OpenReadOnly(info.ID)
	if err != nil {
		return err
	}
	p.notes(s)
	return errors.Join(f(s), s.Close())
}

// maxNotes is the number of problems that are reported in passing.
const maxNotes = 3

func (p *program) notes(s *session.Session) {
	notes := s.Notes()
	for _, note := range notes[:min(len(notes), maxNotes)] {
		fmt.Fprintf(p.err, "%s: warning: %s\n", messagesName, term.EscapeLine(note))
	}
	if len(notes) > 0 {
		fmt.Fprintf(p.err, "%s: warning: lathe session verify %s tells all that is wrong\n", messagesName, s.ID())
	}
}

func showText(out io.Writer, s *session.Session) error {
	w := bufio.NewWriterSize(out, 64<<10)
	safe := term.NewWriter(w)
	err := session.Export(safe, s, session.Markdown)
	return firstOf(errors.Join(safe.Flush(), w.Flush(), err))
}

func showJSON(out io.Writer, s *session.Session, agents []sessionAgent) error {
	msgs := s.Messages()
	if msgs == nil {
		msgs = []llm.Message{}
	}
	return writeJSON(out, struct {
		Session  sessionJSON    `json:"session"`
		Messages []llm.Message  `json:"messages"`
		Agents   []sessionAgent `json:"agents,omitempty"`
		Notes    []string       `json:"notes,omitempty"`
	}{jsonOf(s.Info(), nil), msgs, agents, s.Notes()})
}

func sessionExportCommand(p *program, o *Options) *cobra.Command {
	var format, file string
	var force bool
	c := &cobra.Command{
		Use: "export ID", Short: "Write a session as JSON lines, Markdown or HTML", Args: oneID,
		ValidArgsFunction: completeIDs(o),
		Long: `Write a session to stdout or a file: jsonl is every good line of its log as it is, markdown and html are the
conversation to read. An existing file is not overwritten unless --force is given.`,
		Example: "  lathe session export 0190abcd -o talk.html\n  lathe session export 0190abcd --format jsonl > talk.jsonl",
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := exportFormat(format, file)
			if err != nil {
				return err
			}
			return p.withSession(o, args[0], func(s *session.Session) error { return p.export(s, f, file, force) })
		},
	}
	f := c.Flags()
	f.StringVar(&format, "format", "", "`format` jsonl, markdown or html; the default goes by the file's name, else "+
		"markdown")
	f.StringVarP(&file, "output", "o", "", "write to this `file` instead of stdout")
	f.BoolVar(&force, "force", false, "overwrite the file")
	return c
}

func exportFormat(format, file string) (session.ExportFormat, error) {
	switch strings.ToLower(format) {
	case "jsonl":
		return session.JSONL, nil
	case "markdown", "md":
		return session.Markdown, nil
	case "html":
		return session.HTML, nil
	case "":
	default:
		return "", usage("use jsonl, markdown or html", "--format: %q is not a format", format)
	}
	switch strings.ToLower(filepath.Ext(file)) {
	case ".jsonl":
		return session.JSONL, nil
	case ".html", ".htm":
		return session.HTML, nil
	}
	return session.Markdown, nil
}

// export writes to stdout or a file. A person's terminal gets escaped text; anything else the bytes.
func (p *program) export(s *session.Session, f session.ExportFormat, file string, force bool) error {
	if file == "" || file == "-" {
		if p.outTTY {
			safe := term.NewWriter(p.out)
			return firstOf(errors.Join(session.Export(safe, s, f), safe.Flush()))
		}
		return session.Export(p.out, s, f)
	}
	st, err := os.Stat(file)
	switch {
	case err == nil && st.IsDir():
		return usage("give the name of a file", "--output: %s is a folder", file)
	case err == nil && !force:
		return usage("choose another name, or add --force", "%s exists already", file)
	case err == nil && !st.Mode().IsRegular(): // a device or a pipe is written directly
		return exportTo(file, s, f)
	}
	return replaceByExport(file, s, f, force)
}

func exportTo(file string, s *session.Session, f session.ExportFormat) error {
	w, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(session.Export(w, s, f), w.Close())
}

// replaceByExport writes beside the file and renames the whole into place, so that a full disk leaves
// the old file. A damaged session is written without its unreadable part; the error reports that.
func replaceByExport(file string, s *session.Session, f session.ExportFormat, force bool) error {
	if to, err := filepath.EvalSymlinks(file); err == nil {
		file = to
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".lathe-export-*.tmp")
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", file, err)
	}
	defer os.Remove(tmp.Name())
	w := &keepError{w: tmp}
	left := session.Export(w, s, f)
	if err := errors.Join(w.err, tmp.Close()); err != nil {
		return fmt.Errorf("cannot write %s: %w", file, err)
	}
	if err := place(tmp.Name(), file, force); err != nil {
		return err
	}
	return left
}

// place gives the finished file its name. Without force a file that came meanwhile stays.
func place(tmp, file string, force bool) error {
	if force {
		return os.Rename(tmp, file)
	}
	switch err := os.Link(tmp, file); {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist):
		return usage("choose another name, or add --force", "%s exists already", file)
	}
	return os.Rename(tmp, file) // a file system without links
}

// keepError distinguishes a failure to write from one to read.
type keepError struct {
	w   io.Writer
	err error
}

func (k *keepError) Write(b []byte) (int, error) {
	n, err := k.w.Write(b)
	if k.err == nil {
		k.err = err
	}
	return n, err
}
