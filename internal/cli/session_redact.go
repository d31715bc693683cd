package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/store/session"
)

func sessionRedactCommand(p *program, o *Options) *cobra.Command {
	var values string
	c := &cobra.Command{
		Use: "redact ID...", Short: "Mask the secrets in sessions", Args: someIDs, ValidArgsFunction: completeIDs(o),
		Long: `Replace secrets by [masked] in the log and the blobs of sessions and of their subagents' sessions: all that has the shape of
a key, token or password, the keys of the settings, and the values of the variables of the environment that are named
like one. It cannot be undone. The sessions stay readable and can be resumed. Forks are separate sessions.`,
		Example: `  lathe session redact 0190a1b2
  lathe session redact 0190a1b2 --values .env`,
		RunE: func(c *cobra.Command, args []string) error {
			literals, err := p.secretValues(o, values)
			if err != nil {
				return err
			}
			s, err := openSessions(o)
			if err != nil {
				return err
			}
			mask := event.NewMasker(literals...)
			for _, name := range args {
				info, err := s.find(name)
				if err != nil {
					return err
				}
				if err := p.redact(c, s, info.ID, mask); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().StringVar(&values, "values", "", "also mask each line of this file, or the value of one that is "+
		"NAME=value; - is the standard input")
	return c
}

// redact masks a session and, depth first, those of its subagents.
func (p *program) redact(c *cobra.Command, s sessions, id string, mask session.Mask) error {
	for child, err := range s.store.Children(id) {
		if err != nil {
			continue // session verify reports it; it may belong to another session
		}
		if err := p.redact(c, s, child.ID, mask); err != nil {
			return err
		}
	}
	done, err := s.store.Redact(c.Context(), id, mask)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.out, "%s: secrets masked in %s of its log and %s\n", id, plural(done.Lines, "line"),
		plural(done.Blobs, "blob"))
	return err
}

// secretValues are the secrets of the environment, of the settings (if they can be read) and of a file.
func (p *program) secretValues(o *Options, file string) ([]string, error) {
	settings := &config.Settings{}
	if cfg, _, err := loadConfig(o); err == nil {
		settings = &cfg.Settings
	}
	out := settings.Secrets(os.Environ())
	if file == "" {
		return out, nil
	}
	in := p.in
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, &Error{Code: exitUsage, Msg: "--values", Err: err}
		}
		defer f.Close()
		in = f
	}
	lines := bufio.NewScanner(io.LimitReader(in, 1<<20))
	for lines.Scan() {
		value := strings.TrimSpace(lines.Text())
		if name, v, ok := strings.Cut(strings.TrimPrefix(value, "export "), "="); ok && strings.Trim(name,
			"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == "" {
			value = strings.TrimSpace(v)
		}
		out = append(out, strings.Trim(value, `"'`))
	}
	return out, lines.Err()
}
