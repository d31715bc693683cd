package bench

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/lathe-dev/lathe/internal/fleet"
)

// Plan says what is measured.
type Plan struct {
	Suite  string
	Agents []string
	Models []string // of the agent lathe and of commands; empty: its own choice
	K      int      // attempts
	Runner string
	Only   []string // names of tasks; empty: all
	Out    string   // the folder of the results
}

// Jobs makes the jobs of a plan. Tasks whose programs are missing here are skipped, with the reason.
func (p *Plan) Jobs(tasks []Task) (jobs []fleet.Job, skipped []string, err error) {
	models := p.Models
	if len(models) == 0 {
		models = []string{""}
	}
	out, err := filepath.Abs(p.Out)
	if err != nil {
		return nil, nil, err
	}
	for _, t := range tasks {
		if missing := Missing(t); p.Runner == "folder" && len(missing) > 0 {
			skipped = append(skipped, fmt.Sprintf("%s: %s is not here", t.Name, strings.Join(missing, ", ")))
			continue
		}
		for _, agent := range p.Agents {
			for _, model := range models {
				for n := range p.K {
					trial := Trial{Task: t, Agent: agent, Model: model, N: n + 1, Runner: p.Runner}
					sum := sha256.Sum256([]byte(strings.Join([]string{out, t.Dir, t.Name, agent, model, fmt.Sprint(n), p.Runner}, "\x00")))
					id := "b-" + hex.EncodeToString(sum[:10])
					trial.Dir = filepath.Join(out, t.Name+"__"+id[2:9])
					data, err := json.Marshal(trial)
					if err != nil {
						return nil, nil, err
					}
					jobs = append(jobs, fleet.Job{
						ID: id, Name: t.Name, Kind: Kind, Data: data, Model: model,
						Timeout: fleet.Duration(t.AgentTime + t.TestTime + t.TestTime),
					})
				}
			}
		}
	}
	return jobs, skipped, nil
}

// Run submits the trials that have no reward yet, waits for all, and writes the report beside the results.
func (p *Plan) Run(ctx context.Context, f *fleet.Fleet, jobs []fleet.Job, skipped []string) (*Report, error) {
	ids, err := f.Submit(ctx, jobs)
	if err != nil {
		return nil, err
	}
	for _, id := range ids { // an error is tried again by the same command
		r, err := f.Record(ctx, id)
		if err != nil {
			return nil, err
		}
		if r.State.Over() && r.State != fleet.Done {
			if err := f.Retry(ctx, id); err != nil {
				return nil, err
			}
		}
	}
	if err := f.Await(ctx, ids); err != nil {
		return nil, err
	}
	var scores []Score
	for i, id := range ids {
		s, err := score(ctx, f, id, jobs[i])
		if err != nil {
			return nil, err
		}
		scores = append(scores, s)
	}
	ks := []int{1}
	if p.K > 1 {
		ks = append(ks, p.K)
	}
	rep := NewReport(filepath.Base(p.Suite), scores, ks)
	rep.Skipped = skipped
	return rep, p.write(rep)
}

// score reads what came of a trial. One that ended before its tests has the reason as its error.
func score(ctx context.Context, f *fleet.Fleet, id string, j fleet.Job) (s Score, err error) {
	r, err := f.Result(ctx, id)
	if err != nil && !errors.Is(err, fleet.ErrNot) {
		return s, err
	}
	if len(r.Data) > 0 {
		return s, json.Unmarshal(r.Data, &s)
	}
	var t Trial
	if err := json.Unmarshal(j.Data, &t); err != nil {
		return s, err
	}
	return Score{
		Task: t.Task.Name, Agent: t.Agent, Model: t.Model, N: t.N, Category: t.Task.Category, Error: string(r.State) + ": " + r.Reason,
	}, nil
}

func (p *Plan) write(rep *Report) error {
	if err := os.MkdirAll(p.Out, 0o755); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(p.Out, "report.html"))
	if err != nil {
		return err
	}
	return errors.Join(rep.HTML(f), f.Close(), writeJSON(filepath.Join(p.Out, "result.json"), rep),
		writeJSON(filepath.Join(p.Out, "config.json"), p))
}
