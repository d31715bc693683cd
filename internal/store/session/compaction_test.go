package session

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm"
)

// worked plays steps of one call each, with reasoning, and returns the id of the last entry of each step.
func worked(t testing.TB, s *Session, steps int) []string {
	t.Helper()
	user(t, s, "go")
	var ids []string
	for i := range steps {
		id := fmt.Sprintf("c%d", i)
		must(t, s.AddReply(ctx, reply(llm.Reasoning{Text: "hm", Signature: "s"}, llm.Text{Text: fmt.Sprintf("step %d", i)},
			toolCall(id))))
		must(t, s.StartCall(ctx, CallStart{CallID: id}, false))
		must(t, s.EndCall(ctx, result(id, "result "+id)))
		ids = append(ids, s.Head())
	}
	return ids
}

func summarised(until string) Compaction {
	return Compaction{
		Level: 4, Trigger: "manual", Until: until, TokensBefore: 900, TokensAfter: 100,
		Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{llm.Text{
			Text:   "What was done: <much> & more.",
			Origin: llm.OriginSummary,
		}}}},
	}
}

func firstPart(m llm.Message) *llm.Part { return &m.Parts[0] }

func TestACompactionStandsInForWhatIsBeforeItAndKeepsTheTail(t *testing.T) {
	st := newStore(t)
	s := create(t, st)
	ids := worked(t, s, 5)
	before := s.Messages()
	revision := s.Revision()
	must(t, s.Compact(ctx, summarised(ids[2])))
	after := s.Messages()
	same(t, len(after), 1+4)
	same(t, after[0].PlainText(), "What was done: <much> & more.")
	for i, m := range after[1:] {
		if was := before[len(before)-4+i]; firstPart(m) != firstPart(was) {
			t.Errorf("message %d of the tail is not the same", i)
		}
		if m.Usage != nil {
			t.Error("a reply that was kept tells the size of another prompt")
		}
	}
	if s.Revision() == revision {
		t.Error("the revision is the same")
	}
	must(t, s.AddReply(ctx, reply(llm.Text{Text: "done"})))
	live := s.Messages()
	same(t, live[5].Usage.Prompt(), 10)
	same(t, reopen(t, st, s).Messages(), live)
}

func TestResultsAreStubbedAndReasoningDroppedInPlace(t *testing.T) {
	st := newStore(t)
	s := create(t, st)
	ids := worked(t, s, 4)
	before := s.Messages()
	must(t, s.Compact(ctx, Compaction{Level: 2, Until: ids[2], Stubs: []Stub{{"c0", "(in /blob/1)"}, {"c3", "(beyond)"}}}))
	must(t, s.Compact(ctx, Compaction{Level: 3, Until: ids[1], DropReasoning: true}))
	after := s.Messages()
	same(t, len(after), len(before))
	same(t, after[2].Parts[0].(llm.ToolResult).PlainText(), "(in /blob/1)")
	same(t, after[8].Parts[0].(llm.ToolResult).PlainText(), "(beyond)")
	same(t, len(after[1].Parts), 2)
	same(t, len(after[5].Parts), 3)
	same(t, before[2].Parts[0].(llm.ToolResult).PlainText(), "result c0")
	must(t, wellFormed(after))
	same(t, reopen(t, st, s).Messages(), after)
}

func TestCompactionsFollowEachOther(t *testing.T) {
	st := newStore(t)
	s := create(t, st)
	ids := worked(t, s, 6)
	must(t, s.Compact(ctx, summarised(ids[1])))
	second := summarised(ids[3])
	second.Messages[0].Parts = []llm.Part{llm.Text{Text: "more"}}
	must(t, s.Compact(ctx, second))
	same(t, texts(s), "more step 4  step 5 ")
	live := s.Messages()
	same(t, reopen(t, st, s).Messages(), live)
}

func TestACompactionNeverPartsACallFromItsResult(t *testing.T) {
	st := newStore(t)
	s := create(t, st)
	worked(t, s, 2)
	var replies []string
	for e := range s.Entries() {
		if _, ok := e.Body.(Reply); ok {
			replies = append(replies, e.ID)
		}
	}
	before := s.Messages()
	bad := map[string]Compaction{
		"between a call and its result": summarised(replies[1]),
		"an entry that does not exist":  summarised("zz"),
		"nothing to do":                 {Level: 2, Until: s.Head()},
		"a call in the summary": {Level: 4, Until: s.Head(), Messages: []llm.Message{
			{Role: llm.Assistant, Parts: []llm.Part{toolCall("x")}},
		}},
	}
	for name, c := range bad {
		if err := s.Compact(ctx, c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	must(t, s.AddPart(ctx, 0, toolCall("open")))
	if err := s.Compact(ctx, summarised(replies[0])); err == nil || !strings.Contains(err.Error(), "reply is open") {
		t.Errorf("%v", err)
	}
	same(t, s.Messages(), before)
}

// A log of another program, or one that lost lines, may name any entry.
func TestACompactionReadFromALogKeepsCallsWithTheirResults(t *testing.T) {
	st := newStore(t)
	s := create(t, st)
	worked(t, s, 2)
	until := ""
	for e := range s.Entries() {
		if _, ok := e.Body.(Reply); ok {
			until = e.ID
		}
	}
	line := `{"level":4,"until":"` + until + `","messages":[{"role":"user","parts":[{"type":"text","text":"short"}]}]}`
	_, err := s.Add(ctx, Unknown{Name: "compaction", JSON: []byte(line)})
	must(t, err)
	s = reopen(t, st, s)
	must(t, wellFormed(s.Messages()))
	same(t, texts(s), "short step 1 ")
}

func TestCheckoutBeforeACompactionAndForksHaveTheMessagesOfThatPlace(t *testing.T) {
	st := newStore(t)
	s := create(t, st)
	ids := worked(t, s, 4)
	before := s.Messages()
	must(t, s.Compact(ctx, summarised(ids[2])))
	compacted := s.Head()
	after := s.Messages()
	must(t, s.Checkout(ids[3]))
	same(t, s.Messages(), before)
	must(t, s.Checkout(compacted))
	same(t, s.Messages(), after)
	for at, want := range map[string][]llm.Message{compacted: after, ids[3]: before} {
		f, err := st.Fork(ctx, s.ID(), at)
		must(t, err)
		same(t, f.Messages(), want)
		must(t, f.Close())
	}
	all := 0
	for e := range s.All() {
		if _, ok := e.Body.(CallEnd); ok {
			all++
		}
	}
	same(t, all, 4)
}

func TestAnExportShowsTheWholeConversationAndWhereItWasCompacted(t *testing.T) {
	st := newStore(t)
	s := create(t, st)
	ids := worked(t, s, 3)
	inner := toolCall("c2.1")
	must(t, s.Compact(ctx, summarised(ids[1])))
	must(t, s.AddReply(ctx, reply(toolCall("b"))))
	must(t, s.StartCall(ctx, CallStart{CallID: inner.ID, Parent: "b", Invoked: true, Call: &inner}, false))
	end := result(inner.ID, "the inner result")
	end.Invoked, end.Parent = true, "b"
	must(t, s.EndCall(ctx, end))
	must(t, s.EndCall(ctx, result("b", "the outer result")))
	must(t, s.Close())
	for _, format := range []ExportFormat{Markdown, HTML} {
		var out strings.Builder
		ro, err := st.OpenReadOnly(s.ID())
		must(t, err)
		must(t, Export(&out, ro, format))
		must(t, ro.Close())
		at := 0
		for _, want := range []string{
			"result c0", "result c2", "compacted here, from about 900 tokens to 100",
			"What was done", "the outer result", "the inner result",
		} {
			i := strings.Index(out.String()[at:], want)
			if i < 0 {
				t.Fatalf("%s: %q is not behind the one before it in:\n%s", format, want, out.String())
			}
			at += i
		}
	}
}

func TestACallMadeByACallIsInTheLogAndNotInTheMessages(t *testing.T) {
	st := newStore(t)
	s := create(t, st)
	user(t, s, "go")
	must(t, s.AddReply(ctx, reply(toolCall("b"))))
	must(t, s.StartCall(ctx, CallStart{CallID: "b"}, true))
	done, lost, refused := toolCall("b.1"), toolCall("b.2"), toolCall("b.3")
	must(t, s.StartCall(ctx, CallStart{CallID: "b.1", Parent: "b", Invoked: true, Call: &done}, true))
	must(t, s.StartCall(ctx, CallStart{CallID: "b.2", Parent: "b", Invoked: true, Call: &lost}, true))
	end := result("b.1", "one")
	end.Invoked, end.Parent = true, "b"
	must(t, s.EndCall(ctx, end))
	if err := s.EndCall(ctx, end); err == nil {
		t.Error("a second result was taken")
	}
	denied := CallEnd{
		Result: llm.TextResult(refused, "no", true), Denied: true, Invoked: true, Parent: "b",
		Call: &refused,
	}
	must(t, s.EndCall(ctx, denied))
	same(t, len(s.Messages()), 2)
	s = reopen(t, st, s) // as after kill -9: b and b.2 have no result
	must(t, wellFormed(s.Messages()))
	same(t, len(s.Messages()), 3)
	got := map[string]string{}
	for e := range s.Entries() {
		switch b := e.Body.(type) {
		case CallStart:
			if b.Invoked {
				got[b.CallID] += "start " + string(b.Call.Input) + b.Parent + " "
			}
		case CallEnd:
			if b.Invoked {
				got[b.Result.CallID] += fmt.Sprintf("end %v %v %s", b.Denied, b.Synthetic, b.Parent)
			}
		}
	}
	in := string(done.Input)
	same(t, got, map[string]string{"b.1": "start " + in + "b end false false b", "b.2": "start " + in +
		"b end false true b", "b.3": "end true false b"})
}

func TestACrashWhileACompactionIsWrittenLeavesTheSessionAsItWas(t *testing.T) {
	home := memoryDir(t)
	st := NewStore(filepath.Join(home, "live"))
	s, err := st.Create(ctx, Meta{Dir: os.TempDir()})
	must(t, err)
	defer s.Close()
	ids := worked(t, s, 3)
	size := func() int64 {
		st, err := os.Stat(s.Path())
		must(t, err)
		return st.Size()
	}
	moments := []moment{{size(), s.Messages(), nil}}
	must(t, s.Compact(ctx, summarised(ids[1])))
	moments = append(moments, moment{size(), s.Messages(), nil})
	log, err := os.ReadFile(s.Path())
	must(t, err)
	for cut := int(moments[0].size); cut <= len(log); cut++ {
		checkCut(t, filepath.Join(home, "cut"), log, cut, moments)
	}
}
