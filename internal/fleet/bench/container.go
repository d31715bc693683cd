package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/fleet"
)

// contained runs a trial in a container of docker or podman: image, agent, tests, as Harbor does.
func (r *run) contained(ctx context.Context, s *Score) (out fleet.Outcome, err error) {
	image := r.Task.Image
	if image == "" {
		image = "lathe-bench-" + strings.ToLower(r.Task.Name)
		context := filepath.Join(r.Task.Dir, "environment")
		if r.Task.Format == TerminalBench1 {
			context = r.Task.Dir
		}
		if _, err := r.engine(ctx, nil, "build", "--quiet", "--tag", image, context); err != nil {
			return out, err
		}
	}
	id, err := r.engine(ctx, nil, "run", "--detach", "--rm", "--entrypoint", "sleep",
		"--env", "ANTHROPIC_API_KEY", "--env", "OPENAI_API_KEY", image, "infinity")
	if err != nil {
		return out, err
	}
	end := context.WithoutCancel(ctx)
	defer func() {
		_, stopErr := r.engine(end, nil, "rm", "--force", id)
		err = errors.Join(err, stopErr)
	}()
	begun := time.Now()
	limit, cancel := context.WithTimeout(ctx, r.Task.AgentTime)
	err = r.agentIn(limit, id)
	late := limit.Err() != nil && ctx.Err() == nil
	cancel()
	s.Seconds = time.Since(begun).Seconds()
	if err != nil && !late {
		return out, fmt.Errorf("the agent: %w", err)
	}
	return out, r.verifyIn(ctx, id, s)
}

// engine runs docker or podman.
func (r *run) engine(ctx context.Context, stdin []byte, args ...string) (string, error) {
	c := exec.CommandContext(ctx, r.Trial.Runner, args...)
	var out, errs bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(stdin), &out, &errs
	if err := c.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w: %s", r.Trial.Runner, args[0], err, strings.TrimSpace(errs.String()))
	}
	return strings.TrimSpace(out.String()), nil
}

// agentIn runs the agent in the container. lathe is copied there.
func (r *run) agentIn(ctx context.Context, id string) error {
	switch r.Agent {
	case "nop":
		return nil
	case "oracle":
		if r.Task.Row != nil {
			_, err := r.engine(ctx, []byte(r.Task.Row.Patch), "exec", "--interactive", "--workdir", r.Task.Workdir, id, "git", "apply")
			return err
		}
		if _, err := r.engine(ctx, nil, "cp", filepath.Join(r.Task.Dir, "solution"), id+":/solution"); err != nil {
			return err
		}
		_, err := r.engine(ctx, nil, "exec", id, "bash", "/solution/solve.sh")
		return err
	}
	command := r.Agent
	if r.Agent == "lathe" {
		if _, err := r.engine(ctx, nil, "cp", r.Sessions.Lathe, id+":/usr/local/bin/lathe"); err != nil {
			return err
		}
		command = `lathe -p --output-format stream-json --dangerously-skip-permissions --sandbox off ${LATHE_BENCH_MODEL:+--model "$LATHE_BENCH_MODEL"}`
	}
	text, err := r.engine(ctx, []byte(r.Task.Instruction), "exec", "--interactive", "--env",
		"LATHE_BENCH_INSTRUCTION="+r.Task.Instruction, "--env", "LATHE_BENCH_MODEL="+r.Model, id, "sh", "-c", command)
	return errors.Join(err, os.WriteFile(r.sub("logs/agent/output.txt"), []byte(text), 0o644))
}

// verifyIn runs the tests in the container.
func (r *run) verifyIn(ctx context.Context, id string, s *Score) error {
	ctx, cancel := context.WithTimeout(ctx, r.Task.TestTime)
	defer cancel()
	if r.Task.Row != nil {
		return r.verifyRow(ctx, id, s)
	}
	if _, err := r.engine(ctx, nil, "cp", filepath.Join(r.Task.Dir, "tests"), id+":/tests"); err != nil {
		return err
	}
	text, err := r.engine(ctx, nil, "exec", id, "sh", "-c", "mkdir -p /logs/verifier && bash /tests/test.sh")
	if writeErr := os.WriteFile(r.sub("logs/verifier/output.txt"), []byte(text), 0o644); writeErr != nil {
		return writeErr
	}
	if _, isExit := errors.AsType[*exec.ExitError](err); err != nil && !isExit {
		return err
	}
	if _, err := r.engine(ctx, nil, "cp", id+":/logs/verifier/.", r.sub("logs/verifier")); err != nil {
		return err
	}
	return readReward(r.sub("logs/verifier"), s)
}

// verifyRow applies the tests of a row and runs those that have to pass.
func (r *run) verifyRow(ctx context.Context, id string, s *Score) error {
	row := r.Task.Row
	if _, err := r.engine(ctx, []byte(row.TestPatch), "exec", "--interactive", "--workdir", r.Task.Workdir, id,
		"git", "apply", "-"); err != nil {
		return err
	}
	command := row.TestCmd
	if command == "" {
		command = "source /opt/miniconda3/bin/activate testbed && python -m pytest -q"
	}
	for _, name := range append(append([]string{}, row.FailToPass...), row.PassToPass...) {
		command += " '" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	}
	_, err := r.engine(ctx, nil, "exec", "--workdir", r.Task.Workdir, id, "bash", "-c", command)
	if err == nil {
		s.Reward = 1
		return nil
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		return nil // tests failed
	}
	return err
}
