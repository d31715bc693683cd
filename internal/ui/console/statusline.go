package console

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/machine/git"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

const (
	lineQuiet = 300 * time.Millisecond // between the last change and the run
	lineWait  = 10 * time.Second
	lineBytes = 8 << 10
	longUse   = 200_000 // tokens
)

// statusLine is the setting of that name, in Claude Code's form.
type statusLine struct {
	Type            string `json:"type"`
	Command         string `json:"command"`
	RefreshInterval int    `json:"refreshInterval"` // seconds
}

// lineSetting returns the status line to run; ok is false when there is none. A project's setting counts once
// the folder is trusted: before that it is not in the settings.
func (c *Console) lineSetting() (s statusLine, ok bool) {
	set := c.inst.Config().Settings
	if set.DisableAllHooks || len(set.StatusLine) == 0 || json.Unmarshal(set.StatusLine, &s) != nil {
		return s, false
	}
	return s, s.Type == "command" && strings.TrimSpace(s.Command) != ""
}

// refreshLine requests a run of the statusLine command.
func (c *Console) refreshLine() {
	select {
	case c.redraw <- struct{}{}:
	default:
	}
}

// drawLines runs the statusLine command after changes have settled; a run that is still going is cancelled by
// the next one.
func (c *Console) drawLines() {
	quiet := time.NewTimer(time.Hour)
	quiet.Stop()
	defer quiet.Stop()
	end := func() {}
	done := make(chan struct{})
	close(done)
	for {
		select {
		case <-c.ctx.Done():
			end()
			<-done
			return
		case <-c.redraw:
			if _, ok := c.lineSetting(); ok {
				quiet.Reset(lineQuiet)
			} else {
				c.setLine(nil, "")
			}
		case <-quiet.C:
			end()
			<-done
			set, ok := c.lineSetting()
			if !ok {
				continue
			}
			var ctx context.Context
			ctx, end = context.WithTimeout(c.ctx, lineWait)
			finished := make(chan struct{})
			done = finished
			go func() {
				defer close(finished)
				c.drawLine(ctx, set)
			}()
			if set.RefreshInterval > 0 {
				quiet.Reset(time.Duration(set.RefreshInterval) * time.Second)
			}
		}
	}
}

// drawLine runs the command once. If it fails, the line stays unchanged.
func (c *Console) drawLine(ctx context.Context, set statusLine) {
	s := c.session()
	input, err := json.Marshal(c.lineInput(s))
	if err != nil {
		return
	}
	var out capped
	env := c.inst.ChildEnv()
	exit, err := c.inst.Runner().Run(ctx, sandbox.Spec{
		Argv: shellArgv(env, set.Command), Dir: s.Dir(), Env: env, Stdin: strings.NewReader(string(input)), Stdout: &out,
	})
	if err != nil || exit.Code != 0 || ctx.Err() != nil {
		return
	}
	c.setLine(s, strings.TrimRight(strings.ToValidUTF8(string(out.kept), "\uFFFD"), "\r\n"))
}

func (c *Console) setLine(of *conversation.Session, line string) {
	c.mu.Lock()
	changed := (of == nil || of == c.front) && c.line != line
	if changed {
		c.line = line
	}
	c.mu.Unlock()
	if changed {
		c.touch()
	}
}

// capped keeps the first bytes of an output.
type capped struct{ kept []byte }

func (w *capped) Write(p []byte) (int, error) {
	if room := lineBytes - len(w.kept); room > 0 {
		w.kept = append(w.kept, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

// lineInput is the command's input, in Claude Code's form (its documentation of the status line).
func (c *Console) lineInput(s *conversation.Session) map[string]any {
	now := c.Status()
	c.mu.Lock()
	last, api, version := c.seen.last, c.seen.api, c.opts.Version
	c.mu.Unlock()
	added, removed := 0, 0
	for _, f := range now.Changed {
		added, removed = added+f.Added, removed+f.Removed
	}
	dirs := s.Dirs()
	in := map[string]any{
		"hook_event_name": "Status", "cwd": now.Dir, "session_id": now.Session, "transcript_path": s.Hooks().Transcript(),
		"version": version,
		"model":   map[string]any{"id": now.Model, "display_name": s.Model().Name},
		"workspace": map[string]any{
			"current_dir": now.Dir, "project_dir": c.inst.Config().Paths().Root,
			"added_dirs": dirs[min(1, len(dirs)):],
		},
		"output_style": map[string]any{"name": "default"},
		"cost": map[string]any{
			"total_cost_usd": now.CostUSD, "total_api_duration_ms": api.Milliseconds(), "total_lines_added": added,
			"total_lines_removed": removed,
			"total_duration_ms":   time.Since(s.Log().Info().Created).Milliseconds(),
		},
		"context_window":      windowOf(now, last.Prompt(), last.Output, last.Input, last.CacheWrite, last.CacheRead),
		"exceeds_200k_tokens": now.ContextUsed > longUse,
		"fast_mode":           false,
		"thinking":            map[string]any{"enabled": now.Effort != "off"},
		"permission_mode":     now.Mode,
	}
	if now.Title != "" {
		in["session_name"] = now.Title
	}
	if now.Effort != "" {
		in["effort"] = map[string]any{"level": now.Effort}
	}
	if repo, ok := git.Find(now.Dir); ok && repo.Worktree {
		in["worktree"] = map[string]any{"path": repo.Root, "branch": repo.Branch}
	}
	return in
}

func windowOf(now event.Status, prompt, output, input, write, read int) map[string]any {
	w := map[string]any{
		"total_input_tokens": now.Usage.Prompt(), "total_output_tokens": now.Usage.Output,
		"context_window_size": now.ContextWindow,
		"used_percentage":     nil, "remaining_percentage": nil, "current_usage": nil,
	}
	if prompt > 0 && now.ContextWindow > 0 {
		used := float64(prompt) * 100 / float64(now.ContextWindow)
		w["used_percentage"], w["remaining_percentage"] = used, max(100-used, 0)
		w["current_usage"] = map[string]any{
			"input_tokens": input, "output_tokens": output, "cache_creation_input_tokens": write,
			"cache_read_input_tokens": read,
		}
	}
	return w
}
