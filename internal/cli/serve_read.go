package cli

import (
	"context"
	"errors"

	"github.com/lathe-dev/lathe/internal/conversation/checkpoint"
	"github.com/lathe-dev/lathe/internal/face/server"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
	"github.com/lathe-dev/lathe/internal/store/snapshot"
)

// servedDiff is what a session changed, for the server.
func (p *program) servedDiff(
	_ context.Context, dir, id, turn string, theirs bool,
) (out []server.FileDiff, _ error) {
	o := &Options{Dir: dir}
	return out, p.withHistory(o, id, func(h snapshot.History, log *session.Session) error {
		changes, err := changesFor(h, log, turn, theirs)
		for _, c := range changes {
			d := h.Store.Diff(c)
			out = append(out, server.FileDiff{Path: d.Path, Unified: d.Text, Added: d.Added, Removed: d.Removed})
		}
		return err
	})
}

func changesFor(h snapshot.History, log *session.Session, turn string, theirs bool) ([]snapshot.Change, error) {
	if turn != "" {
		id, _, err := checkpoint.MessageAnywhere(log, turn)
		if err != nil {
			return nil, err
		}
		all, err := h.Turns()
		return all[id], err
	}
	list, err := h.Steps()
	if theirs {
		list, err = h.Theirs()
	}
	return snapshot.Joined(list), err
}

// servedModels are the models that can be chosen in a folder, for the server.
func (p *program) servedModels(ctx context.Context, dir string) (out []server.Model, _ error) {
	inst, err := p.instance(&Options{Dir: dir, set: func(string) bool { return false }})
	if err != nil {
		return nil, err
	}
	models, err := inst.ModelsOf(ctx, "")
	for _, m := range models {
		out = append(out, servedModel(m))
	}
	return out, errors.Join(err, inst.Close())
}

func servedModel(m llm.ModelInfo) server.Model {
	j := modelForJSON(m)
	return server.Model{
		ID: j.ID, Name: j.Name, ContextWindow: j.ContextWindow, MaxOutput: j.MaxOutput, Images: j.Images,
		Thinking: j.Thinking, Price: j.Price,
	}
}
