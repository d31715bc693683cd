package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/tool/memory"
)

// Memory is the text that people and the agent wrote down for later sessions.
type Memory interface {
	Given() []string      // the memory files that the conversation has, in words
	Notes() *memory.Store // the agent's notes about the project; nil where none are kept
}

func memoryCommand() Command {
	return Command{
		Name: "memory", Group: groupLathe, Args: "[name | edit name | save name text | forget name]",
		Help: "Show, change and forget what is remembered",
		Doc: "Lists the memory files that this conversation has, and the notes that the agent keeps about the project. " +
			"With a name it shows that note; " +
			"edit puts the note into the prompt, where Enter saves it.",
		Complete: func(_ context.Context, h Host, typed string) []event.Candidate {
			var all []event.Candidate
			if store := h.Memory().Notes(); store != nil {
				notes, _ := store.List()
				for _, n := range notes {
					all = append(all, event.Candidate{Text: n.Name, Help: n.Description})
				}
			}
			return choices(typed, all)
		},
		Run: remember,
	}
}

func remember(_ context.Context, h Host, args string) (event.Output, error) {
	store := h.Memory().Notes()
	verb, rest := cutWord(args)
	if verb == "" {
		return listMemory(h.Memory().Given(), store), nil
	}
	if store == nil {
		return event.Output{}, errors.New("no notes are kept: autoMemoryEnabled is off, or lathe runs without a place for " +
			"them")
	}
	switch verb {
	case "forget":
		n, err := store.Forget(rest)
		if err != nil {
			return event.Output{}, err
		}
		return event.Output{Text: "Forgot " + code(n.Name) + "."}, nil
	case "edit":
		n, err := store.Get(rest)
		if err != nil {
			return event.Output{}, err
		}
		return event.Output{Insert: "/memory save " + n.Name + " " + n.Text}, nil
	case "save":
		return saveNote(store, rest)
	}
	n, err := store.Get(args)
	if err != nil {
		return event.Output{}, err
	}
	return event.Output{Text: fmt.Sprintf("%s (%s): %s\n\n%s", code(n.Name), n.Modified.Format(time.DateOnly),
		n.Description, n.Text)}, nil
}

// saveNote changes the text of a note, or makes one whose first line is its description.
func saveNote(store *memory.Store, args string) (event.Output, error) {
	name, text := cutWord(args)
	n, err := store.Get(name)
	if err != nil {
		first, _, _ := strings.Cut(text, "\n")
		n = memory.Note{Name: name, Description: first}
	}
	n.Text = text
	kept, _, err := store.Save(n)
	if err != nil {
		return event.Output{}, err
	}
	return event.Output{Text: "Saved " + code(kept.Name) + "."}, nil
}

// cutWord splits off the first word.
func cutWord(s string) (word, rest string) {
	s = strings.TrimSpace(s)
	i := strings.IndexAny(s, " \t\n")
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimSpace(s[i:])
}

func listMemory(given []string, store *memory.Store) event.Output {
	var b strings.Builder
	if len(given) == 0 {
		b.WriteString("No memory file has been sent in this conversation; they are read with its first message.\n")
	} else {
		b.WriteString("Memory files of this conversation:\n\n")
	}
	for _, g := range given {
		b.WriteString("- " + g + "\n")
	}
	if store == nil {
		return event.Output{Text: b.String()}
	}
	notes, problems := store.List()
	fmt.Fprintf(&b, "\nNotes of the agent, in %s:\n\n", code(store.Dir()))
	for _, n := range notes {
		fmt.Fprintf(&b, "- %s (%s): %s\n", code(n.Name), n.Modified.Format(time.DateOnly), n.Description)
	}
	if len(notes) == 0 {
		b.WriteString("- none yet\n")
	}
	for _, p := range problems {
		b.WriteString("- left out: " + p + "\n")
	}
	return event.Output{Text: b.String()}
}
