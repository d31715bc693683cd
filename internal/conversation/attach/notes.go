package attach

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/prompt"
	"github.com/lathe-dev/lathe/internal/tool/memory"
)

// Recall finds the notes of earlier sessions that belong to messages of the user. It is safe for concurrent use.
type Recall struct {
	Store *memory.Store // nil: there are none
	// Settings returns the embedding model, "" for none, and the least similarity of a note.
	Settings func() (model string, least float64)
	// Embedder connects to the model.
	Embedder func(model string) (llm.Embedder, llm.ModelInfo, error)
	Count    func(purpose string, m llm.ModelInfo, u llm.Usage) // counts the price of its requests
	Notice   func(event.Body)

	failed atomic.Bool // the model did not answer: no message of this session waits for it again
}

// recallWait is how long a message waits for the vectors of the notes.
const recallWait = 2 * time.Second

// find returns the notes that belong to a text: by meaning where an embedding model is chosen and answers, else by
// words.
func (r *Recall) find(ctx context.Context, text string, has func(memory.Note) bool) []memory.Note {
	id, least := r.Settings()
	if id == "" || r.failed.Load() {
		return r.Store.Recall(text, has)
	}
	notes, err := r.near(ctx, id, text, least, has)
	if err == nil {
		return notes
	}
	if ctx.Err() == nil && !r.failed.Swap(true) {
		r.Notice(event.Notice{Level: "warning", Text: fmt.Sprintf(
			"notes are found by their words alone for the rest of this session, since %s gives no vectors: %v", id, err)})
	}
	return r.Store.Recall(text, has)
}

func (r *Recall) near(ctx context.Context, id, text string, least float64, has func(memory.Note) bool) ([]memory.Note,
	error,
) {
	e, info, err := r.Embedder(id)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, recallWait, fmt.Errorf("no answer in %v", recallWait))
	defer cancel()
	notes, err := r.Store.RecallNear(ctx, text, memory.Meaning{Model: id, Least: least, Embed: func(ctx context.Context,
		texts []string,
	) ([][]float32, error) {
		vectors, usage, err := e.Embed(ctx, info.ID, texts)
		if usage != (llm.Usage{}) {
			r.Count("embeddings", info, usage)
		}
		return vectors, err
	}}, has)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return notes, err
}

// Notes adds the notes that belong to a message of the user, unless the conversation has them already.
func (r *Recall) Notes(ctx context.Context, had []llm.Message, m llm.Message) llm.Message {
	if r.Store == nil {
		return m
	}
	found := r.find(ctx, authored(m), func(n memory.Note) bool { return hasNote(had, noteHead(n)) })
	if len(found) == 0 {
		return m
	}
	var b strings.Builder
	b.WriteString("<system-reminder>\nNotes of earlier sessions that may matter here. They may be out of date: check " +
		"before you rely on them.\n")
	for _, n := range found {
		fmt.Fprintf(&b, "\n%s\n%s\n", noteHead(n), prompt.Sanitize(n.Text))
	}
	b.WriteString("</system-reminder>")
	m.Parts = append(m.Parts[:len(m.Parts):len(m.Parts)], llm.Text{Text: b.String(), Origin: llm.OriginMemory})
	return m
}

// noteHead names a note in the state it is in, so that one that was changed is given again.
func noteHead(n memory.Note) string {
	return fmt.Sprintf("Note %s (%s): %s", n.Name, n.Modified.UTC().Format(time.RFC3339), prompt.Sanitize(n.Description))
}

func hasNote(messages []llm.Message, head string) bool {
	for _, m := range messages {
		for _, p := range m.Parts {
			if t, ok := p.(llm.Text); ok && t.Origin == llm.OriginMemory && strings.Contains(t.Text, head) {
				return true
			}
		}
	}
	return false
}
