package compact

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Kept goes through every compaction word for word, beside the tail.
type Kept struct {
	Context   []llm.Part // the environment and the instructions from files, as they are now
	Mode      string     // the permission mode, when it is not the default
	Todos     string     // the task list
	Plan      string     // the approved plan
	Skills    []string   // the bodies of skills that were loaded, newest first
	UserTexts []string   // of the whole conversation, oldest first
	Files     []string   // files that were read and are not in the conversation any more
	Again     []Again    // those of them that were reread
	Log       string     // the file with the whole conversation
	Running   bool       // the work continues in the same turn
}

// Again is the current text of a file whose earlier text left the conversation.
type Again struct {
	Name  string
	Parts []llm.Part
}

// Bounds of Kept, in bytes.
const (
	saidTotal   = 24_000
	saidOne     = 6_000
	skillsTotal = 100_000 // about 25,000 tokens
	skillOne    = 20_000
	filesListed = 40
)

// Message replaces the messages that were cut: the summary, and Kept.
func Message(summary string, k Kept) llm.Message {
	var b strings.Builder
	b.WriteString("This conversation was compacted: the messages before this one were replaced by the summary below. " +
		"What it says was done is done; do not do it again. The newest messages follow as they were.\n")
	section := func(title, text string) {
		if text = strings.TrimSpace(text); text != "" {
			fmt.Fprintf(&b, "\n# %s\n\n%s\n", title, text)
		}
	}
	section("Summary", summary)
	section("What the user said, word for word", quoteUser(k.UserTexts))
	section("The approved plan", k.Plan)
	section("The task list", k.Todos)
	section("Permission mode", k.Mode)
	section("Loaded skills", skills(k.Skills))
	section(filesTitle, listed(k.Files))
	var again []string
	var texts []llm.Part
	for _, a := range k.Again {
		again, texts = append(again, a.Name), append(texts, a.Parts...)
	}
	section(againTitle, strings.Join(again, "\n"))
	if k.Log != "" {
		section("Looking things up", "The whole conversation is in "+k.Log+"; search it there when a detail is missing.")
	}
	if k.Running {
		section("Now", "Go on with the next step. Do not greet, and do not repeat the summary.")
	}
	parts := []llm.Part{llm.Text{Text: strings.TrimSpace(b.String()), Origin: llm.OriginSummary}}
	return llm.Message{Role: llm.User, Parts: slices.Concat(parts, k.Context, texts)}
}

// The headings of the file lists in a summary; Touched reads the lists back.
const (
	filesTitle = "Files read before, whose text is gone from here"
	againTitle = "Files that were read again, as they are now; their texts follow"
	moreFiles  = "and "
)

// quoteUser quotes the user: the first message and the newest ones, as far as there is room.
func quoteUser(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	short := func(text string) string { return middle(strings.TrimSpace(text), saidOne) }
	room := saidTotal - len(short(texts[0]))
	from := len(texts)
	for from > 1 && room >= len(short(texts[from-1])) {
		from--
		room -= len(short(texts[from]))
	}
	var b strings.Builder
	number := func(i int) {
		fmt.Fprintf(&b, "%d. %s\n", i+1, strings.ReplaceAll(short(texts[i]), "\n", "\n   "))
	}
	number(0)
	if from > 1 {
		fmt.Fprintf(&b, "[%d messages left out]\n", from-1)
	}
	for i := from; i < len(texts); i++ {
		number(i)
	}
	return b.String()
}

func skills(bodies []string) string {
	var out []string
	room := skillsTotal
	for _, body := range bodies {
		body = middle(body, skillOne)
		if len(body) > room {
			break
		}
		room -= len(body)
		out = append(out, body)
	}
	return strings.Join(out, "\n\n")
}

func listed(paths []string) string {
	if n := len(paths); n > filesListed {
		paths = append(paths[:filesListed:filesListed], fmt.Sprintf(moreFiles+"%d more", n-filesListed))
	}
	return strings.Join(paths, "\n")
}

// Touched lists the files that calls named, latest first, then those of an earlier summary.
func Touched(msgs []llm.Message) []string {
	var out []string
	add := func(path string) {
		if path != "" && len(out) < filesListed && !slices.Contains(out, path) {
			out = append(out, path)
		}
	}
	for _, m := range slices.Backward(msgs) {
		for _, c := range m.Calls() {
			var in struct {
				Path string `json:"file_path"`
			}
			if json.Unmarshal(c.Input, &in) == nil {
				add(in.Path)
			}
		}
		for _, path := range listedIn(m) {
			add(path)
		}
	}
	return out
}

// listedIn returns the files that a summary lists.
func listedIn(m llm.Message) []string {
	for _, p := range m.Parts {
		t, ok := p.(llm.Text)
		if !ok || t.Origin != llm.OriginSummary {
			continue
		}
		_, rest, _ := strings.Cut(t.Text, "\n# "+filesTitle+"\n\n")
		list, _, _ := strings.Cut(rest, "\n\n")
		_, rest, _ = strings.Cut(t.Text, "\n# "+againTitle+"\n\n")
		again, _, _ := strings.Cut(rest, "\n\n")
		return slices.DeleteFunc(strings.Split(list+"\n"+again, "\n"),
			func(l string) bool { return strings.HasPrefix(l, moreFiles) })
	}
	return nil
}

func lastCalls(msgs []llm.Message, n int) []llm.ToolCall {
	var out []llm.ToolCall
	for _, m := range msgs {
		out = append(out, m.Calls()...)
	}
	return out[max(0, len(out)-n):]
}
