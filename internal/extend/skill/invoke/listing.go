package invoke

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/glob"
	"github.com/lathe-dev/lathe/internal/extend/skill"
	"github.com/lathe-dev/lathe/internal/llm"
)

// The texts around the lists that the model is given. They are parsed again after a resume, so old ones stay known.
const (
	listHead = "Skills: instructions written down for certain tasks. When one fits the task, load it with the Skill " +
		"tool before you begin, and follow it. The user can invoke each as /name.\n"
	changeHead = "The skills that the Skill tool loads have changed. New or changed:\n"
	goneHead   = "No longer there:\n"
)

// ForModel lists the skills that the model may load now.
func (l *Loader) ForModel() []*skill.Skill { return l.forModel(l.Library.Catalog()) }

func (l *Loader) forModel(c *skill.Catalog) []*skill.Skill {
	waiting := slices.ContainsFunc(c.All(), func(s *skill.Skill) bool { return len(s.Paths) > 0 && !s.HiddenFromModel })
	l.mu.Lock()
	l.paths = waiting
	l.mu.Unlock()
	var matches func([]string) bool
	if waiting {
		matches = l.matches()
	}
	list := c.ForModel(matches)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.offered, l.counted = l.offered || len(list) > 0, true
	return list
}

// MaxListing is the most that a listing may take, in characters.
const MaxListing = 16_000

// Budget is the room for the listing with a context window of so many tokens: one percent, four characters a token.
func Budget(window int) int {
	if window <= 0 {
		return MaxListing / 2
	}
	return min(max(window/100*4, 1_000), MaxListing-len(listHead))
}

// Offered reports whether the model was offered a skill, or would be if the conversation began now. It is cheap, and
// never goes back to false.
func (l *Loader) Offered() bool {
	l.mu.Lock()
	offered, known := l.offered, l.counted
	l.mu.Unlock()
	return offered || !known && len(l.ForModel()) > 0
}

// Listing lists the skills for the model, for when a conversation begins, or begins again after a compaction;
// empty when there are none.
func (l *Loader) Listing() string {
	list := l.ForModel()
	text := skill.Listing(list, l.Budget(), nil)
	if text == "" {
		return ""
	}
	return l.Clean(listHead + text)
}

// changes is a part with the changes since the last listing, or none.
func (l *Loader) changes(c *skill.Catalog) []llm.Part {
	now := l.forModel(c)
	told, listed := l.known()
	if !listed {
		return nil // the listing is still to come
	}
	var fresh []*skill.Skill
	next := map[string]string{}
	for _, s := range now {
		text, ok := told[s.Name]
		if !ok || !same(text, l.Clean(s.Summary())) {
			fresh = append(fresh, s)
		}
		next[s.Name] = text
	}
	var gone []string
	for _, name := range slices.Sorted(maps.Keys(told)) {
		if _, ok := next[name]; !ok {
			gone = append(gone, name)
		}
	}
	if len(fresh) == 0 && len(gone) == 0 {
		return nil
	}
	text := ""
	if len(fresh) > 0 {
		text = changeHead + skill.Listing(fresh, l.Budget(), nil)
	}
	if len(gone) > 0 {
		text += goneHead + "- " + strings.Join(gone, "\n- ") + "\n"
	}
	text = l.Clean(text)
	apply(next, text)
	l.mu.Lock()
	l.told = next
	l.mu.Unlock()
	return []llm.Part{llm.Text{Text: reminder(text), Origin: llm.OriginReminder}}
}

func reminder(text string) string {
	return beginning(strings.TrimSpace(text)) + "\n</system-reminder>"
}

// beginning is the start of a reminder whose text begins so.
func beginning(text string) string { return "<system-reminder>\n" + text }

// same reports whether a description as it was listed, perhaps shortened or left out, is of this text.
func same(listed, text string) bool {
	head, short := strings.CutSuffix(listed, "…")
	return listed == text || listed == "" || short && strings.HasPrefix(text, head)
}

// known is the listing as the model has it, by name. listed is false for a conversation that has not begun.
func (l *Loader) known() (told map[string]string, listed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	msgs := l.Messages()
	if len(msgs) == 0 {
		return nil, false
	}
	if r := l.Revision(); l.told != nil && l.revision == r {
		return l.told, true
	} else if l.revision != r {
		l.revision, l.files = r, nil
	}
	l.told = map[string]string{}
	for _, m := range msgs {
		for _, p := range m.Parts {
			if t, ok := p.(llm.Text); ok && (t.Origin == llm.OriginContext || t.Origin == llm.OriginReminder) {
				apply(l.told, t.Text)
			}
		}
	}
	return l.told, true
}

// apply adds a listing or a change to the known listing.
func apply(told map[string]string, text string) {
	if at := strings.Index(text, listHead); at >= 0 {
		clear(told)
		text = text[at:]
	} else if text = strings.TrimPrefix(text, "<system-reminder>\n"); !strings.HasPrefix(text, changeHead) &&
		!strings.HasPrefix(text, goneHead) {
		return
	}
	gone := false
	for line := range strings.Lines(text) {
		if line = strings.TrimSuffix(line, "\n"); strings.HasPrefix(line, "</") {
			return // the section ends
		}
		entry, isEntry := strings.CutPrefix(line, "- ")
		switch name, description, _ := strings.Cut(entry, ": "); {
		case line+"\n" == goneHead:
			gone = true
		case isEntry && gone:
			delete(told, name)
		case isEntry:
			told[name] = description
		}
	}
}

// BeforeStep runs the typed skills that have their own agent, and announces skills whose files were just touched
// and those of nested folders that were just entered. It reads only the newest messages.
func (l *Loader) BeforeStep(ctx context.Context) ([]llm.Message, error) {
	return append(l.runForks(ctx), l.news()...), nil
}

// news announces skills that the newest messages bring.
func (l *Loader) news() []llm.Message {
	l.walk()
	l.mu.Lock()
	fresh, waiting := l.fresh, l.paths
	l.fresh = nil
	l.mu.Unlock()
	found := false
	for _, file := range fresh {
		if l.Nested && !strings.HasPrefix(file, "../") && !filepath.IsAbs(file) {
			found = l.Library.Enter(l.Dir, file) || found
		}
	}
	if !waiting && !found {
		return nil
	}
	if parts := l.changes(l.Library.Catalog()); len(parts) > 0 {
		return []llm.Message{{Role: llm.User, Parts: parts}}
	}
	return nil
}

// walk searches the newest messages for files that calls named.
func (l *Loader) walk() {
	l.mu.Lock()
	defer l.mu.Unlock()
	msgs := l.Messages()
	if l.walked > len(msgs) || l.files == nil {
		l.walked, l.files = 0, map[string]bool{}
	}
	for _, m := range msgs[l.walked:] {
		for _, c := range m.Calls() {
			var in struct {
				Path string `json:"file_path"`
			}
			if json.Unmarshal(c.Input, &in) != nil || in.Path == "" {
				continue
			}
			if file := l.relative(in.Path); !l.files[file] {
				l.files[file] = true
				l.fresh = append(l.fresh, file)
			}
		}
	}
	l.walked = len(msgs)
}

// matches reports whether a call named a file that one of the patterns matches.
func (l *Loader) matches() func(patterns []string) bool {
	l.walk()
	l.mu.Lock()
	files := maps.Clone(l.files)
	l.mu.Unlock()
	return func(patterns []string) bool {
		for file := range files {
			for _, p := range patterns {
				if glob.Match(strings.TrimPrefix(p, "./"), file) {
					return true
				}
			}
		}
		return false
	}
}

func (l *Loader) relative(path string) string {
	if rel, err := filepath.Rel(l.Dir, path); err == nil && filepath.IsAbs(path) {
		path = rel
	}
	return filepath.ToSlash(filepath.Clean(path))
}

// loaded are the texts of skills among parts, those in results of calls too.
func loaded(parts []llm.Part) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, p := range parts {
			switch p := p.(type) {
			case llm.Text:
				if p.Origin == llm.OriginSkill && !yield(p.Text) {
					return
				}
			case llm.ToolResult:
				for t := range loaded(p.Parts) {
					if !yield(t) {
						return
					}
				}
			}
		}
	}
}

// Loaded returns the parts that hold skill texts, for Kept.
func Loaded(all iter.Seq[llm.Part]) (out []llm.Part) {
	for p := range all {
		for range loaded([]llm.Part{p}) {
			out = append(out, p)
			break
		}
	}
	return out
}

// Kept lists the loaded texts that a compaction keeps word for word: of each skill the newest, newest first, without
// those that stay in the conversation anyway. all is everything that was ever added to it, oldest first.
func Kept(all iter.Seq[llm.Part], tail []llm.Message) []string {
	stays := map[string]bool{}
	for _, m := range tail {
		for t := range loaded(m.Parts) {
			stays[t] = true
		}
	}
	newest := map[string]string{}
	var order []string
	for p := range all {
		for t := range loaded([]llm.Part{p}) {
			name, ok := nameOf(t)
			if !ok || strings.Contains(t, alreadyThere) {
				continue
			}
			newest[name] = t
			order = append(slices.DeleteFunc(order, func(n string) bool { return n == name }), name)
		}
	}
	var out []string
	for _, name := range slices.Backward(order) {
		if !stays[newest[name]] {
			out = append(out, newest[name])
		}
	}
	return out
}

// Restore lets the files of skills be read that an earlier process loaded.
func (l *Loader) Restore(all iter.Seq[llm.Part]) {
	seen := map[string]bool{}
	for p := range all {
		for t := range loaded([]llm.Part{p}) {
			name, ok := nameOf(t)
			if !ok || seen[name] {
				continue
			}
			seen[name] = true
			if s, ok := l.Library.Catalog().Get(name); ok && s.Kind == skill.KindSkill {
				l.AddRoot(s.Dir)
			}
		}
	}
}
