package session

import (
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// StripContext is a message as its author wrote it, without the texts that lathe added to it. A message of
// such texts only stays as it is.
func StripContext(m llm.Message) llm.Message {
	if slices.ContainsFunc(m.Parts, injected) && !allInjected(m.Parts) {
		m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), injected)
	}
	return m
}

func injected(p llm.Part) bool {
	t, ok := p.(llm.Text)
	return ok && t.Origin != llm.OriginAuthor
}

func allInjected(parts []llm.Part) bool {
	return !slices.ContainsFunc(parts, func(p llm.Part) bool { return !injected(p) })
}

// Told lists the texts of a message that lathe, hooks and skills tell the model, for people: without those of the
// environment, memory and files, which other views show.
func Told(m llm.Message) (out []string) {
	for _, p := range m.Parts {
		t, ok := p.(llm.Text)
		if !ok || t.Origin != llm.OriginReminder && t.Origin != llm.OriginHook {
			continue
		}
		if text := untagged(t.Text); text != "" {
			out = append(out, text)
		}
	}
	return out
}

// forPeople are the parts of a message without the texts that lathe added for the model alone, and without its tags.
// Attached files are named.
func forPeople(m llm.Message) []llm.Part {
	parts := slices.Clone(StripContext(m).Parts)
	for i, p := range parts {
		if t, ok := p.(llm.Text); ok {
			t.Text = untagged(t.Text)
			parts[i] = t
		}
	}
	if files := Attached(m); len(files) > 0 {
		parts = append(parts, llm.Text{Text: "Attached: " + strings.Join(files, ", ")})
	}
	return parts
}

// untagged is a text without the tags of a reminder.
func untagged(text string) string {
	return strings.TrimSpace(strings.NewReplacer("<system-reminder>\n", "", "\n</system-reminder>", "",
		"<system-reminder>", "", "</system-reminder>", "").Replace(text))
}
