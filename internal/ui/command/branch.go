package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/conversation/checkpoint"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/store/snapshot"
)

// mostNames limits the files that the preview of a message lists.
const mostNames = 15

// turnChanges adds to the messages of a tree which files their turns changed.
func turnChanges(h *Host, items []event.PickItem) {
	history, err := h.history()
	if err != nil {
		return // nothing is kept here
	}
	turns, err := history.Turns()
	if err != nil {
		return // the tree is useful without
	}
	for i := range items {
		changes := turns[items[i].ID]
		if len(changes) == 0 {
			continue
		}
		items[i].Detail = plural(len(changes), "file")
		var b strings.Builder
		for n, c := range changes {
			if n == mostNames {
				fmt.Fprintf(&b, "- and %d more\n", len(changes)-n)
				break
			}
			fmt.Fprintf(&b, "- %s\n", code(history.Store.Name(c.Path)))
		}
		items[i].Preview += "\n\nChanged:\n\n" + b.String()
	}
}

// switchTo goes on after a message of any branch: both, conversation or files; "" asks where the files of the branches
// differ.
func switchTo(ctx context.Context, h *Host, s userMessage, what, choice string) (event.Output, error) {
	plan, err := switchFiles(h, s.id)
	if err != nil && what != "conversation" {
		return event.Output{}, err
	}
	var out event.Output
	switch {
	case what == "" && plan != nil:
		return event.Output{Pick: switchPick(h, s, plan)}, nil
	case what != "" && what != "both" && what != "conversation" && what != "files":
		return out, fmt.Errorf("/tree takes both, conversation or files after the message, not %q", what)
	case plan != nil && what != "conversation":
		o, err := readUndo(choice)
		if err != nil {
			return out, err
		}
		if out, err = restore(h, plan, o, "tree "+s.id+" "+what); err != nil || out.Pick != nil || what == "files" {
			return out, err
		}
	case what == "files":
		return text("The files of that branch are the present ones."), nil
	}
	return out, h.Checkout(ctx, s.end)
}

// bringFiles brings the files of the branch in front, after the conversation alone went back.
func bringFiles(h *Host, choice string) (event.Output, error) {
	history, err := h.history()
	if err != nil {
		return event.Output{}, err
	}
	plan, err := checkpoint.Astray(history, h.Session().Log())
	if errors.Is(err, snapshot.ErrNothing) {
		return text("The files are those of this branch."), nil
	}
	if err != nil {
		return event.Output{}, err
	}
	o, err := readUndo(choice)
	if err != nil {
		return event.Output{}, err
	}
	return restore(h, plan, o, "tree files")
}

// switchFiles plans to go over to the files of the branch of a message; nil when they do not differ.
func switchFiles(h *Host, message string) (*snapshot.Plan, error) {
	history, err := h.history()
	if errors.Is(err, checkpoint.ErrOff) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	away, back, err := checkpoint.Parted(h.Session().Log(), "", message)
	if err != nil {
		return nil, err
	}
	plan, err := history.Switch(away, back)
	if errors.Is(err, snapshot.ErrNothing) || err == nil && len(plan.Files) == 0 {
		return nil, nil
	}
	return plan, err
}

func switchPick(h *Host, s userMessage, plan *snapshot.Plan) *event.Pick {
	preview := running(h) + planned(plan)
	return &event.Pick{
		Title: "Go on after: " + short(s.text(), 60), Command: "tree " + s.id,
		Items: []event.PickItem{
			{ID: "both", Label: "Conversation and files", Detail: plural(len(plan.Files), "file"), Preview: preview},
			{ID: "conversation", Label: "Only the conversation", Detail: "files stay as they are"},
			{ID: "files", Label: "Only the files", Detail: "the conversation stays where it is", Preview: preview},
		},
	}
}

// The choices for files that somebody else changed, one letter each in the order of the plan: "choose:ktm".
const chooseWord = "choose"

var choiceLetters = map[byte]snapshot.Choice{'k': snapshot.Keep, 't': snapshot.Take, 'm': snapshot.Merge}

// nextChoice asks about the next file that somebody else changed.
func nextChoice(plan *snapshot.Plan, letters, again string) *event.Pick {
	conflicts := plan.Conflicts()
	f := conflicts[len(letters)]
	done := chooseWord + ":" + letters
	preview := fenced("diff", plan.Diff(f).Text)
	return &event.Pick{
		Title:   fmt.Sprintf("%s (%d of %d): somebody else changed it since", plan.Rel(f), len(letters)+1, len(conflicts)),
		Command: again,
		Items: []event.PickItem{
			{ID: done + "k", Label: "Keep theirs"},
			{ID: done + "m", Label: "Merge", Detail: "their changes stay, those of the steps go; with conflicts it stays as " +
				"it is", Preview: preview},
			{ID: done + "t", Label: "Take the other state", Detail: "theirs is kept: /redo brings it back", Preview: preview},
		},
	}
}

// byLetters are the choices of file by file.
func byLetters(plan *snapshot.Plan, letters string) func(snapshot.PlannedFile) snapshot.Choice {
	of := map[string]snapshot.Choice{}
	for i, f := range plan.Conflicts() {
		of[f.Path] = choiceLetters[letters[i]]
	}
	return func(f snapshot.PlannedFile) snapshot.Choice { return of[f.Path] }
}
