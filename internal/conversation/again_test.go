package conversation_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// againPlace has a model that reads and edits files, and then takes the steps that a test adds.
func againPlace(t *testing.T, then ...llmtest.Reply) *place {
	t.Helper()
	script := &llmtest.Script{Order: "arrival", NoTools: &llmtest.Reply{Parts: []llmtest.Part{llmtest.Text(summaryText)}}}
	script.Replies = append([]llmtest.Reply{
		llmtest.Say(readCall("edited.txt"), readCall("read.txt"), readCall("rules/ruled.txt"), readCall("long.txt"),
			readCall("gone.txt")),
		llmtest.Say(llmtest.Tool("Edit", map[string]any{
			"file_path": "${WORKDIR}/edited.txt", "old_string": "one",
			"new_string": "two",
		})),
		llmtest.Say(llmtest.Text("Read.")), llmtest.Say(llmtest.Text("Yes.")), llmtest.Say(llmtest.Text("Yes.")),
		llmtest.Say(llmtest.Text("Yes.")),
	}, then...)
	p := newPlace(t, script)
	for _, name := range []string{"edited.txt", "read.txt", "rules/ruled.txt", "gone.txt"} {
		p.write(t, name, "one line of "+name+"\n")
	}
	p.write(t, "long.txt", strings.Repeat("a long line of long.txt\n", 1000))
	p.write(t, "rules/CLAUDE.md", "Rule of the folder.")
	return p
}

// work reads and edits, and fills the conversation with messages that will be kept whole.
func (p *place) work(t *testing.T) *conversation.Session {
	t.Helper()
	s := newSession(t, p.open(t, func(o *conversation.Options) { o.Allowed = []string{"Edit", "Write"} }),
		conversation.SessionOptions{})
	for i := range 4 {
		say(t, s, fmt.Sprintf("message %d", i))
	}
	return s
}

func TestAfterASummaryTheFilesThatMatterAreThereAsTheyAreNow(t *testing.T) {
	edit := func(name, old string) llmtest.Reply {
		return llmtest.Say(llmtest.Tool("Edit", map[string]any{
			"file_path": "${WORKDIR}/" + name, "old_string": old,
			"new_string": "three",
		}))
	}
	p := againPlace(t, edit("read.txt", "changed"), edit("long.txt", "a long line of long.txt\na"),
		llmtest.Say(llmtest.Text("Done.")))
	s := p.work(t)
	p.write(t, "read.txt", "changed by the user\n") // meanwhile
	if err := os.Remove(p.dir + "/gone.txt"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Compact(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	m := s.Messages()[0]
	names := session.Attached(m)
	slices.Sort(names[min(1, len(names)):]) // those that were read side by side, in any order
	if want := []string{"edited.txt (1 line)", "read.txt (1 line)", "rules/ruled.txt (1 line)"}; !slices.Equal(names,
		want) {
		t.Errorf("read again: %v, want %v", names, want)
	}
	text := m.PlainText()
	for _, want := range []string{
		"two line of edited.txt", "changed by the user", "one line of rules/ruled.txt",
		"Rule of the folder.",
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%q is there %d times in\n%s", want, strings.Count(text, want), text)
		}
	}
	_, rest, _ := strings.Cut(text, "# Files read before, whose text is gone from here\n\n")
	list, _, _ := strings.Cut(rest, "\n\n")
	if !strings.Contains(list, "/long.txt") || strings.Contains(list, "edited.txt") {
		t.Errorf("named: %q", list)
	}
	say(t, s, "change them")
	if got := p.read(t, "read.txt"); got != "three by the user\n" {
		t.Errorf("a file that was read again could not be changed: %q", got)
	}
	if got := p.read(t, "long.txt"); strings.Contains(got, "three") {
		t.Error("a file whose text is gone was changed unread")
	}
}

func TestAFileThatWasReadAgainIsUnknownAfterItsMessageIsGone(t *testing.T) {
	p := againPlace(t)
	s := p.work(t)
	if _, err := s.Compact(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	path := p.dir + "/edited.txt"
	if seen, ok := s.Env().Reads.Get(path); !ok || !seen.Whole() {
		t.Fatalf("%+v %v", seen, ok)
	}
	first := s.Messages()[0]
	if !s.Log().InContext(session.AttachedID("edited.txt")) {
		t.Error("the text that was read again does not count as there")
	}
	id := s.ID()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = newSession(t, p.open(t, nil), conversation.SessionOptions{Resume: id})
	if seen, ok := s.Env().Reads.Get(path); !ok || !seen.Whole() {
		t.Errorf("after a resume: %+v %v", seen, ok)
	}
	// A conversation without the message does not know the file.
	if err := s.Log().Compact(t.Context(), session.Compaction{
		Level: 4, Trigger: "manual", Until: s.Log().Until(1),
		Messages: []llm.Message{{Role: llm.User, Parts: first.Parts[:1]}},
	}); err != nil {
		t.Fatal(err)
	}
	s.Env().Reads.Prune(s.Log().InContext)
	if _, ok := s.Env().Reads.Get(path); ok {
		t.Error("the file still counts as read")
	}
}

// A file that the prompt named is known until its text is compacted away.
func TestAnAttachedFileIsUnknownAfterASummary(t *testing.T) {
	yes := llmtest.Say(llmtest.Text("Yes."))
	p := newPlace(t, &llmtest.Script{
		Order: "arrival", NoTools: &llmtest.Reply{Parts: []llmtest.Part{llmtest.Text(summaryText)}},
		Replies: []llmtest.Reply{yes, yes, yes, yes, yes},
	})
	p.write(t, "big.txt", strings.Repeat("a line\n", 4000)) // too large to be read again
	s := newSession(t, p.open(t, nil), conversation.SessionOptions{})
	say(t, s, "look at @big.txt#L1-1500")
	path := p.dir + "/big.txt"
	if _, ok := s.Env().Reads.Get(path); !ok {
		t.Fatal("an attached file is not known")
	}
	for range 4 {
		say(t, s, "well?")
	}
	if _, err := s.Compact(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Env().Reads.Get(path); ok {
		t.Error("its text is gone, and it still counts as read")
	}
}
