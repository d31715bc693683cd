package fleet

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// contest is what a job reads of lathe best --json.
type contest struct {
	ID       string  `json:"id"`
	Winner   int     `json:"winner"`
	CostUSD  float64 `json:"cost_usd"`
	Attempts []struct {
		N       int     `json:"n"`
		CostUSD float64 `json:"cost_usd"`
		Answer  string  `json:"answer"`
		Steps   int     `json:"steps"`
		Session string  `json:"session"`
	} `json:"attempts"`
}

// best has several agents attempt a job, and takes the work that judges chose.
func (s *Sessions) best(ctx context.Context, t *Task) (out Outcome, err error) {
	p, err := s.space(ctx, t)
	if err != nil {
		return out, err
	}
	args := []string{
		"best", "--json", "--apply", "--attempts=" + strconv.Itoa(t.Job.Attempts),
		"--permission-mode=" + cmp.Or(t.Job.Mode, "acceptEdits"), "--sandbox=" + cmp.Or(t.Job.Sandbox, "workspace"),
	}
	for flag, v := range map[string]string{"--model=": t.Job.Model, "--check=": t.Job.Check} {
		if v != "" {
			args = append(args, flag+v)
		}
	}
	if t.Job.Budget > 0 {
		args = append(args, fmt.Sprintf("--max-budget-usd=%g", t.Job.Budget))
	}
	c := command(ctx, s.Lathe, append(args, t.Job.Prompt)...)
	var stdout, stderr bytes.Buffer
	c.Dir, c.Stdout, c.Stderr = p.dir, &stdout, &stderr
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	runErr := c.Run()
	log := filepath.Join(t.Dir, "contest.json")
	if err := os.WriteFile(log, stdout.Bytes(), 0o600); err != nil {
		return out, err
	}
	var k contest
	if err := json.Unmarshal(stdout.Bytes(), &k); err != nil {
		return out, fmt.Errorf("lathe best: %w: %s", cmp.Or(runErr, err), strings.TrimSpace(stderr.String()))
	}
	out.Files.Log, out.Model = log, t.Job.Model
	for _, a := range k.Attempts {
		out.CostUSD += a.CostUSD
		out.Steps += a.Steps
		if a.N == k.Winner {
			out.Answer, out.Session = a.Answer, a.Session
		}
	}
	if err := t.Spent(ctx, out.CostUSD); err != nil {
		out.Failed = err.Error()
	}
	if k.Winner == 0 {
		out.Failed = "no attempt won"
	}
	return s.conclude(ctx, t, p, out)
}
