package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
	"github.com/lathe-dev/lathe/internal/face/port"
)

func attachCommand(p *program, o *Options) *cobra.Command {
	var stdio bool
	c := &cobra.Command{
		Use: "attach ID", Short: "Open a session in the background in this terminal", Args: oneJob,
		ValidArgsFunction: completeJobs,
		Long: "Open a session in the background in this terminal: by its id, by a part of its name, or on another " +
			"machine as ssh://host/id, where lathe is installed. Leaving the terminal leaves the session as it is.",
		RunE: func(c *cobra.Command, args []string) error {
			if stdio {
				return p.joinStreams(c.Context(), args[0])
			}
			return p.attach(c.Context(), o, args[0])
		},
	}
	c.Flags().BoolVar(&stdio, "stdio", false, "speak the port on stdin and stdout")
	c.Flags().BoolVar(&o.Plain, "plain", false, "converse in plain lines, without a screen")
	c.Flags().BoolVar(&o.Inline, "inline", false, "keep the terminal's own scrollback")
	hide(c.Flags(), "stdio")
	return c
}

// attach opens a session in this terminal.
func (p *program) attach(ctx context.Context, o *Options, name string) error {
	dial, id := func(ctx context.Context) (*port.Client, error) { return dialSSH(ctx, name) }, ""
	if !strings.HasPrefix(name, "ssh://") {
		j, err := jobPlace().Find(name)
		if err != nil {
			return usage("lathe ps lists them", "%s", err)
		}
		o.Dir, id = j.CWD, j.ID
		dial = func(ctx context.Context) (*port.Client, error) { return door().Dial(ctx, j.ID) }
	}
	first, err := dial(ctx)
	if err != nil {
		return err
	}
	session := port.NewStay(first, dial)
	defer func() { _ = session.Close() }()
	cfg, _, err := loadConfig(o)
	if err != nil {
		return err
	}
	return p.face(ctx, o, session, faceOf{job: id, config: cfg})
}

// dialSSH connects to a session on another machine, by the lathe that is there.
func dialSSH(ctx context.Context, name string) (*port.Client, error) {
	u, err := url.Parse(name)
	if err != nil || u.Host == "" || strings.Trim(u.Path, "/") == "" {
		return nil, usage("as in ssh://host/1a2b3c4d", "%q names no session on another machine", name)
	}
	host := u.Hostname()
	if u.User != nil {
		host = u.User.Username() + "@" + host
	}
	args := []string{"-T"}
	if u.Port() != "" {
		args = append(args, "-p", u.Port())
	}
	cmd := exec.CommandContext(ctx, "ssh", append(args, "--", host, "lathe", "attach", "--stdio",
		"'"+strings.ReplaceAll(strings.Trim(u.Path, "/"), "'", "")+"'")...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("ssh cannot be started: %w", err)
	}
	end := func() error {
		err := in.Close()
		_ = cmd.Wait() // how ssh ended is in its own words
		return err
	}
	return port.Connect(ctx, jsonrpc.NewLines(out, in, end), attachFace())
}

// joinStreams joins stdin and stdout with the socket of a session: the other end of ssh.
func (p *program) joinStreams(ctx context.Context, name string) error {
	j, err := jobPlace().Find(name)
	if err != nil {
		return usage("lathe ps lists them", "%s", err)
	}
	c, err := door().Dial(ctx, j.ID) // it has a process then
	if err != nil {
		return err
	}
	_ = c.Close()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", jobPlace().Socket(j.ID))
	if err != nil {
		return err
	}
	defer conn.Close()
	done := make(chan error, 2)
	go func() { _, err := io.Copy(conn, p.in); done <- err }()
	go func() { _, err := io.Copy(p.out, conn); done <- err }()
	select {
	case err = <-done:
	case <-ctx.Done():
	}
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
