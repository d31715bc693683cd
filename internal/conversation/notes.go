package conversation

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/prompt"
	"github.com/lathe-dev/lathe/internal/tool/memory"
)

// recallWait is how long a message waits for the vectors of the notes.
const recallWait = 2 * time.Second

// findNotes returns the notes of earlier sessions that belong to a text: by meaning where an embedding model is chosen
// and answers, else by words.
func (s *Session) findNotes(ctx context.Context, text string, has func(memory.Note) bool) []memory.Note {
	set := s.inst.settings().Memory
	if set.EmbeddingModel == "" || s.unembedded.Load() {
		return s.env.Notes.Recall(text, has)
	}
	notes, err := s.nearNotes(ctx, set.EmbeddingModel, text, set.MinSimilarity, has)
	if err == nil {
		return notes
	}
	if ctx.Err() == nil && !s.unembedded.Swap(true) {
		s.warn(fmt.Sprintf("notes are found by their words alone for the rest of this session, since %s gives no vectors: %v",
			set.EmbeddingModel, err))
	}
	return s.env.Notes.Recall(text, has)
}

func (s *Session) nearNotes(ctx context.Context, id, text string, least float64, has func(memory.Note) bool) (
	[]memory.Note, error,
) {
	e, info, err := s.BesideEmbedder(s.inst.Embedder)(id)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, recallWait, fmt.Errorf("no answer in %v", recallWait))
	defer cancel()
	notes, err := s.env.Notes.RecallNear(ctx, text, memory.Meaning{
		Model: id, Least: least,
		Embed: func(ctx context.Context, texts []string) ([][]float32, error) {
			vectors, usage, err := e.Embed(ctx, info.ID, texts)
			if usage != (llm.Usage{}) {
				s.CountRequest("embeddings", info, usage)
			}
			return vectors, err
		},
	}, has)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return notes, err
}

// addNotes adds the notes that belong to a message of the user, unless the conversation has them already.
func (s *Session) addNotes(ctx context.Context, m llm.Message) llm.Message {
	if s.env.Notes == nil {
		return m
	}
	had := s.Messages()
	found := s.findNotes(ctx, authored(m), func(n memory.Note) bool { return hasNote(had, noteHead(n)) })
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
