package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/face/supervisor"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/git"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/store/session"
	"github.com/lathe-dev/lathe/internal/ui/dash"
)

func dashCommand(p *program, o *Options) *cobra.Command {
	return &cobra.Command{
		Use: "dash", Short: "Show all sessions of this machine on one screen", Args: noArgs,
		Long: "Show all sessions of this machine on one screen: those that need you, that work, and that are done. Look " +
			"into one, answer it, open it, or start another.",
		RunE: func(c *cobra.Command, _ []string) error {
			if !p.inTTY || !p.outTTY {
				return usage("lathe ps --json lists the sessions", "lathe dash needs a terminal")
			}
			return p.dash(c.Context(), o)
		},
	}
}

func (p *program) dash(ctx context.Context, o *Options) error {
	cfg, _, err := loadConfig(o)
	if err != nil {
		return err
	}
	dir, err := workingFolder(o)
	if err != nil {
		return err
	}
	runner := sandbox.New()
	defer runner.Close()
	p.kids.add(func() error { runner.Close(); return nil })
	err = dash.Run(ctx, dash.Options{
		Terminal: p.tuiOptions(cfg, &looks{config: func() *config.Config { return cfg }}), Place: jobPlace(), Dir: dir,
		Home: os.Getenv("HOME"), Pins: filepath.Join(cfg.Paths().StateHome, "pins.json"), Supervisor: door().Supervisor,
		Dial: door().Dial,
		Attach: func(ctx context.Context, id string) error {
			there := *o
			return p.attach(ctx, &there, id)
		},
		Start: func(ctx context.Context, dir, prompt string) (supervisor.Job, error) {
			return door().Start(ctx, supervisor.Start{Kind: "background", CWD: dir, Prompt: prompt})
		},
		Last: func(j supervisor.Job) (text string, err error) {
			if j.SessionID == "" {
				return j.Activity, nil
			}
			there := *o
			there.Dir = j.CWD
			err = p.withSession(&there, j.SessionID, func(s *session.Session) error {
				text = lastReply(s.Messages())
				return nil
			})
			return text, err
		},
		PullRequest: func(ctx context.Context, dir string) string { return pullRequest(ctx, runner, dir) },
	})
	return err
}

// lastReply is the newest text of the model.
func lastReply(all []llm.Message) string {
	for _, m := range slices.Backward(all) {
		if text := strings.TrimSpace(m.PlainText()); m.Role == llm.Assistant && text != "" {
			return text
		}
	}
	return ""
}

// pullWait is how long git and gh may take.
const pullWait = 20 * time.Second

// pullRequest is the pull request of the branch in a folder, with its checks, where gh knows it. gh runs outside of the
// folder, whose settings might start programs, and only asks hosts of GitHub: it would send its token to any other.
func pullRequest(ctx context.Context, r *sandbox.Runner, dir string) string {
	ctx, cancel := context.WithTimeout(ctx, pullWait)
	defer cancel()
	repo, ok := git.Find(dir)
	if !ok || repo.Branch == "" || repo.Branch == repo.Main {
		return ""
	}
	remote, err := git.New(r).Run(ctx, repo, "remote", "get-url", "origin")
	name := hubName(strings.TrimSpace(string(remote)), os.Getenv("GH_HOST"))
	if err != nil || name == "" {
		return ""
	}
	var out bytes.Buffer
	exit, err := r.Run(ctx, sandbox.Spec{
		Argv: []string{
			"gh", "pr", "view", "--repo", name, "--json", "number,state,isDraft,statusCheckRollup", "--", repo.Branch,
		},
		Dir: os.TempDir(), Env: append(os.Environ(), "GH_PROMPT_DISABLED=1", "NO_COLOR=1"), Stdout: &out,
	})
	if err != nil || exit.Code != 0 {
		return "" // no pull request, or gh is missing or not logged in
	}
	return pullText(out.Bytes())
}

var scpRemote = regexp.MustCompile(`^(?:[\w.-]+@)?([\w.-]+):([^/].*)$`)

// hubName is a remote as gh names a repository (HOST/OWNER/NAME); empty: it is on no host of GitHub.
func hubName(remote, own string) string {
	host, path := "", ""
	if u, err := url.Parse(remote); err == nil && u.Host != "" {
		host, path = u.Hostname(), u.Path
	} else if m := scpRemote.FindStringSubmatch(remote); m != nil {
		host, path = m[1], m[2]
	}
	path = strings.TrimSuffix(strings.Trim(path, "/"), ".git")
	if strings.Count(path, "/") != 1 || host != "github.com" && !strings.HasSuffix(host, ".ghe.com") &&
		(own == "" || host != own) {
		return ""
	}
	return host + "/" + path
}

// pullText is gh's answer in a few words: "#12 open, 3 of 4 checks, 1 failed".
func pullText(b []byte) string {
	var pr struct {
		Number  int
		State   string
		IsDraft bool
		Checks  []struct{ Status, Conclusion, State string } `json:"statusCheckRollup"`
	}
	if json.Unmarshal(b, &pr) != nil || pr.Number == 0 {
		return ""
	}
	state := strings.ToLower(pr.State)
	if pr.IsDraft && state == "open" {
		state = "draft"
	}
	text := fmt.Sprintf("#%d %s", pr.Number, state)
	good, bad := 0, 0
	for _, c := range pr.Checks {
		switch cmp.Or(c.Conclusion, c.State) {
		case "SUCCESS", "NEUTRAL", "SKIPPED":
			good++
		case "FAILURE", "ERROR", "TIMED_OUT", "CANCELLED", "ACTION_REQUIRED", "STARTUP_FAILURE":
			bad++
		}
	}
	if n := len(pr.Checks); n > 0 {
		text += fmt.Sprintf(", %d of %d checks", good, n)
	}
	if bad > 0 {
		text += fmt.Sprintf(", %d failed", bad)
	}
	return text
}
