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

// originsFromTags gives the texts of a message the origins that older logs do not have: there, text that
// lathe put before the author's text was one element each, <name ...> ... </name>. The last part is always
// the author's.
func originsFromTags(m llm.Message) llm.Message {
	if slices.ContainsFunc(m.Parts, injected) {
		return m // written since
	}
	parts := slices.Clone(m.Parts)
	for i := 0; i < len(parts)-1; i++ {
		t, ok := parts[i].(llm.Text)
		if !ok || !wrapped(t.Text) {
			break
		}
		t.Origin = llm.OriginContext
		parts[i] = t
	}
	m.Parts = parts
	return m
}

// wrapped reports whether text is one element: <name ...> ... </name>.
func wrapped(text string) bool {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "<") {
		return false
	}
	end := strings.IndexAny(text, " >\n")
	return end > 1 && strings.HasSuffix(text, "</"+text[1:end]+">")
}
