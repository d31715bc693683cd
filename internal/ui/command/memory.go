package command

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/tool/memory"
)

func memoryCommand() Command {
	return Command{
		Name: "memory", Group: groupLathe, Args: "[name | edit name | save name text | forget name]",
		Help: "Show, change and forget what is remembered",
		Doc: "Lists the memory files that this conversation has, and the notes that the agent keeps about the project. " +
			"With a name it shows that note; " +
			"edit puts the note into the prompt, where Enter saves it.",
		Complete: func(_ context.Context, h *Host, typed string) []event.Candidate {
			var all []event.Candidate
			if store := h.Instance.Notes(); store != nil {
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

func remember(_ context.Context, h *Host, args string) (event.Output, error) {
	store := h.Instance.Notes()
	verb, rest := cutWord(args)
	if verb == "" {
		return listMemory(givenFiles(h.Session().Messages()), store), nil
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

// givenFile finds the heads that package prompt puts before each memory file.
var givenFile = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(?:Contents of|Instructions for files like this one, from) (.+ \(.+\)):$`)
})

// MemoryFile is a memory file that messages carry. Tokens are estimated.
type MemoryFile struct {
	Path, Source string
	Tokens       int
}

// MemoryFiles lists the memory files that messages carry.
func MemoryFiles(messages []llm.Message) (out []MemoryFile) {
	for _, msg := range messages {
		for _, p := range msg.Parts {
			t, ok := p.(llm.Text)
			if !ok || t.Origin != llm.OriginMemory {
				continue
			}
			heads := givenFile().FindAllStringSubmatchIndex(t.Text, -1)
			for i, h := range heads {
				end := len(t.Text)
				if i+1 < len(heads) {
					end = heads[i+1][0]
				}
				path, source, _ := strings.Cut(strings.TrimSuffix(t.Text[h[2]:h[3]], ")"), " (")
				tokens := llm.EstimateTokens(llm.UserText(t.Text[h[0]:end]))
				out = append(out, MemoryFile{path, source, tokens})
			}
		}
	}
	return out
}

// givenFiles lists the memory files that messages carry, in words.
func givenFiles(messages []llm.Message) (out []string) {
	seen := map[string]bool{}
	add := func(parts []llm.Part) {
		for _, p := range parts {
			t, ok := p.(llm.Text)
			if !ok || t.Origin != llm.OriginMemory {
				continue
			}
			for _, found := range givenFile().FindAllStringSubmatch(t.Text, -1) {
				if !seen[found[1]] {
					seen[found[1]] = true
					out = append(out, found[1])
				}
			}
		}
	}
	for _, msg := range messages {
		add(msg.Parts)
		for _, p := range msg.Parts {
			if r, ok := p.(llm.ToolResult); ok {
				add(r.Parts)
			}
		}
	}
	return out
}
