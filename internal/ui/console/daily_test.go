package console

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/store/session"
)

func TestANewConversationKeepsTheModelAndTheEffort(t *testing.T) {
	p := newPlace(t, talk3())
	s := p.open(t, nil)
	s.command("model", "opus")
	s.command("effort", "high")
	want := s.Status().Model
	s.command("new", "")
	if now := s.Status(); now.Model != want || now.Effort != "high" {
		t.Errorf("the model is %s, effort %q; it was %s", now.Model, now.Effort, want)
	}
	s.prompt("hello")
	if got := s.session().Log().Model(); got != "opus" {
		t.Errorf("the session keeps %q", got)
	}
}

func TestUnknownModelIsRefusedWithNearNames(t *testing.T) {
	p := newPlace(t, talk3())
	p.user(t, `{"modelAliases": {"best": "claude-opus-4-1"}}`)
	s := p.open(t, nil)
	before := s.Status().Model
	s.refuses("model", "nope", "no model")
	s.refuses("model", "claude-sonet-4-5", "claude-sonnet-4-5")
	if got := s.Status().Model; got != before {
		t.Errorf("the model is %s", got)
	}
	for _, name := range []string{"opus", "best", "claude-sonnet-4-5-20250929", "anthropic/some-model-of-tomorrow"} {
		s.command("model", name)
	}
}

func TestRuleForUnknownToolIsRefused(t *testing.T) {
	p := newPlace(t, talk3())
	s := p.open(t, nil)
	s.refuses("permissions", "allow Nope(x)", `no tool "Nope"; a rule begins with one, such as`)
	s.refuses("permissions", "deny Bsh(rm *)", "Bash")
	s.shows("permissions", "deny bash(rm *) in session", "Added")
	s.shows("permissions", "allow mcp__github__search in session", "Added")
}

func TestRewindOffersFilesAndConversation(t *testing.T) {
	edit := func(from, to string) llmtest.Reply {
		return llmtest.Say(llmtest.Tool("Edit", map[string]any{
			"file_path": "${WORKDIR}/a.txt", "old_string": from,
			"new_string": to,
		}))
	}
	p := newPlace(t, llmtest.Replies(
		llmtest.Say(llmtest.Tool("Read", map[string]any{"file_path": "${WORKDIR}/a.txt"})), edit("one", "two"),
		llmtest.Say(llmtest.Text("Done.")),
		llmtest.Say(llmtest.Tool("Write", map[string]any{"file_path": "${WORKDIR}/b.txt", "content": "new\n"})),
		edit("two", "three"), llmtest.Say(llmtest.Text("Done."))))
	p.write(t, "a.txt", "one\n")
	s := p.open(t, nil)
	s.command("mode", "acceptEdits")
	s.prompt("first")
	s.prompt("second")
	pick := s.command("rewind", "").Pick
	i := slices.IndexFunc(pick.Items, func(i event.PickItem) bool { return i.Label == "second" })
	if !strings.Contains(pick.Items[i].Detail, "2 files changed since") {
		t.Errorf("the list says %q", pick.Items[i].Detail)
	}
	id := pick.Items[i].ID
	pick = s.command("rewind", id).Pick
	if pick == nil || !strings.Contains(pick.Items[0].Preview, "-three") || !strings.Contains(pick.Items[0].Preview,
		"b.txt") {
		t.Fatalf("%+v", pick)
	}
	if out := s.command(pick.Command, "files"); out.Insert != "" || p.read(t, "a.txt") != "two\n" {
		t.Errorf("only the files: insert %q, the file is %q", out.Insert, p.read(t, "a.txt"))
	}
	s.shows("redo", "", "2 files changed")
	if out := s.command(pick.Command, "conversation"); out.Insert != "second" || p.read(t, "a.txt") != "three\n" {
		t.Errorf("only the conversation: insert %q, the file is %q", out.Insert, p.read(t, "a.txt"))
	}
	s.shows("diff", "", "`a.txt` +", "+three", "`b.txt` +1", "+new") // changes on disk, from any branch
	now := s.waits(func(st event.Status) bool { return len(st.Changed) == 2 })
	if now.Changed[0].Path == "" {
		t.Errorf("%+v", now.Changed)
	}
}

func TestDiffOfOneFileNamesIt(t *testing.T) {
	p := newPlace(t, llmtest.Replies(
		llmtest.Say(llmtest.Tool("Write", map[string]any{"file_path": "${WORKDIR}/sub/b.txt", "content": "new\n"})),
		llmtest.Say(llmtest.Text("Done."))))
	s := p.open(t, nil)
	s.command("mode", "acceptEdits")
	s.prompt("first")
	s.shows("diff", "", "`sub/b.txt` +1 -0", "+new")
}

func TestRewindTakesCommandsBackWithTheConversation(t *testing.T) {
	p := newPlace(t, llmtest.Replies(
		llmtest.Say(llmtest.Text("Hello.")),
		llmtest.Say(llmtest.Tool("Bash", map[string]any{"command": "mkdir out && echo new > out/b.txt && rm a.txt"})),
		llmtest.Say(llmtest.Text("Done."))))
	p.write(t, "a.txt", "one\n")
	s := p.open(t, nil)
	s.command("permissions", "allow Bash in session")
	s.prompt("first")
	s.prompt("second")
	if p.read(t, "out/b.txt") != "new\n" {
		t.Fatal("the command did not run")
	}
	s.waits(func(st event.Status) bool { // files that a command changed are in the status too
		return slices.ContainsFunc(st.Changed, func(
			f event.ChangedFile,
		) bool {
			return strings.HasSuffix(f.Path, "b.txt") && f.Added == 1
		}) &&
			slices.ContainsFunc(st.Changed, func(f event.ChangedFile) bool {
				return strings.HasSuffix(f.Path, "a.txt") && f.Removed == 1
			})
	})
	pick := s.command("rewind", "").Pick
	i := slices.IndexFunc(pick.Items, func(i event.PickItem) bool { return i.Label == "second" })
	pick = s.command("rewind", pick.Items[i].ID).Pick
	if out := s.command(pick.Command, "both"); out.Insert != "second" || !strings.Contains(out.Text, "a.txt") {
		t.Errorf("%+v", out)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "out")); err == nil || p.read(t, "a.txt") != "one\n" {
		t.Error("the files are not as they were")
	}
}

func TestATreeOffersTheFilesOfTheOtherBranch(t *testing.T) {
	p := newPlace(t, llmtest.Replies( // the replies of both branches are the same
		llmtest.Say(llmtest.Text("Hello.")), llmtest.Say(llmtest.Tool("Bash",
			map[string]any{"command": "if test -e mark; then echo two > c.txt; else echo one > b.txt; fi"})),
		llmtest.Say(llmtest.Text("Done."))))
	s := p.open(t, nil)
	s.command("permissions", "allow Bash in session")
	s.prompt("first")
	s.prompt("second")
	id := s.command("rewind", "").Pick.Items[0].ID
	s.command("rewind", id+" both")
	p.write(t, "mark", "")
	s.prompt("third")
	if p.read(t, "c.txt") != "two\n" {
		t.Fatal("the file is not written")
	}
	pick := s.command("tree", "").Pick
	i := slices.IndexFunc(pick.Items, func(i event.PickItem) bool { return i.ID == id })
	if pick.Items[i].Detail != "1 file" || !strings.Contains(pick.Items[i].Preview, "b.txt") {
		t.Errorf("%+v", pick.Items[i])
	}
	pick = s.command("tree", id).Pick
	if pick == nil || !strings.Contains(pick.Items[0].Preview, "+one") {
		t.Fatalf("%+v", pick)
	}
	s.command(pick.Command, "both")
	if _, err := os.Stat(filepath.Join(p.dir, "c.txt")); err == nil || p.read(t, "b.txt") != "one\n" {
		t.Errorf("the files are not those of the branch")
	}
	if items := s.command("rewind", "").Pick.Items; items[0].Label != "second" {
		t.Errorf("in front is %+v", items[0])
	}
	s.refuses("tree", id+" nothing", "takes both, conversation or files")
}

func TestTheFilesFollowAConversationThatWentBackAlone(t *testing.T) {
	p := newPlace(t, llmtest.Replies(
		llmtest.Say(llmtest.Text("Hello.")), llmtest.Say(llmtest.Tool("Bash",
			map[string]any{"command": "echo one > b.txt"})), llmtest.Say(llmtest.Text("Done."))))
	s := p.open(t, nil)
	s.command("permissions", "allow Bash in session")
	s.prompt("first")
	s.prompt("second")
	s.shows("diff", "agents", "The main agent", "`b.txt` +1 -0")
	s.shows("tree", "files", "are those of this branch")
	id := s.command("rewind", "").Pick.Items[0].ID
	s.command("rewind", id+" conversation")
	s.shows("diff", "2", "`b.txt` +1 -0", "+one")
	s.shows("diff", "2 1", "`b.txt` +0 -1", "-one")
	s.refuses("diff", "9", "no message")
	s.shows("tree", "files", "1 file changed", "`b.txt`")
	if _, err := os.Stat(filepath.Join(p.dir, "b.txt")); err == nil {
		t.Error("the file is still there")
	}
	s.shows("redo", "", "`b.txt`")
	if p.read(t, "b.txt") != "one\n" {
		t.Error("redo did not bring the file back")
	}
}

func TestConflictsOfAnUndoAreChosenFileByFile(t *testing.T) {
	p := newPlace(t, llmtest.Replies(
		llmtest.Say(llmtest.Tool("Write", map[string]any{"file_path": "${WORKDIR}/a", "content": "new\n"}),
			llmtest.Tool("Write", map[string]any{"file_path": "${WORKDIR}/b", "content": "new\n"})),
		llmtest.Say(llmtest.Text("Done."))))
	s := p.open(t, nil)
	s.command("mode", "acceptEdits")
	s.prompt("go")
	p.write(t, "a", "mine a\n")
	p.write(t, "b", "mine b\n")
	pick := s.command("undo", "").Pick
	if pick == nil || pick.Items[len(pick.Items)-1].ID != "choose" {
		t.Fatalf("%+v", pick)
	}
	pick = s.command(pick.Command, "choose").Pick
	pick = s.command(pick.Command, pick.Items[0].ID).Pick // keep a
	if !strings.Contains(pick.Title, "b (2 of 2)") || !strings.Contains(pick.Items[2].Preview, "-mine b") {
		t.Fatalf("%+v", pick)
	}
	s.command(pick.Command, pick.Items[2].ID) // take b back
	if _, err := os.Stat(filepath.Join(p.dir, "b")); err == nil || p.read(t, "a") != "mine a\n" {
		t.Error("the files are not as chosen")
	}
	s.refuses("undo", "choose:xy", "one letter per file: k")
}

func TestACallLostToAKillShowsItsCommand(t *testing.T) {
	p := newPlace(t, talk3())
	s := p.open(t, nil)
	s.prompt("hello")
	log := s.session().Log()
	call := llm.ToolCall{ID: "c1", Name: "Bash", Input: []byte(`{"command":"make all"}`)}
	for _, err := range []error{
		log.AddUser(t.Context(), llm.UserText("build"), false, false), log.AddPart(t.Context(), 0, call),
		log.StartCall(t.Context(), session.CallStart{CallID: "c1"}, true),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = p.open(t, func(o *Options) { o.Session.Resume = log.ID() })
	opened := until[event.Opened](s, nil)
	end, ok := opened.History[len(opened.History)-1].(event.ToolEnd)
	v, isCommand := end.View.(event.Command)
	if !ok || !isCommand || end.Title != "make all" || v.Command != "make all" || !strings.Contains(v.Output,
		"lathe stopped") {
		t.Errorf("%+v", opened.History[len(opened.History)-1])
	}
}

func TestTheSessionPickerSearchesAllSessionsAndRanks(t *testing.T) {
	p := newPlace(t, talk3())
	s := p.open(t, nil)
	s.prompt("what is this")
	store := s.inst.Store()
	var ids []string
	for i := range 520 {
		log, err := store.Create(t.Context(), session.Meta{Dir: s.inst.Dir()})
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("prompt number %d", i)
		if i == 0 {
			text = "fix the login of the admin page"
		}
		if err := log.AddUser(t.Context(), llm.UserText(text), false, false); err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			if err := log.SetTitle(t.Context(), "Parser rewrite"); err != nil {
				t.Fatal(err)
			}
		}
		ids = append(ids, log.ID())
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	pick := s.command("resume", "").Pick
	if len(pick.Items) != 500 || pick.Search == "" || !strings.Contains(pick.Title, "newest 500") {
		t.Fatalf("%d items, searched with %q", len(pick.Items), pick.Search)
	}
	found := func(text string) []event.PickItem { return s.command(pick.Search, text).Pick.Items }
	if got := found("login"); len(got) != 1 || got[0].ID != ids[0] {
		t.Errorf("login: %d items", len(got))
	}
	got := found("parser")
	if len(got) == 0 || got[0].ID != ids[1] || !strings.Contains(got[0].Detail, "prompt number 1") {
		t.Errorf("parser: %+v", got)
	}
	if got := found("number 51"); len(got) < 2 || !strings.Contains(got[0].Label, "number 51") {
		t.Errorf("number 51: %+v", got)
	}
	if got := found(ids[2][:30]); len(got) == 0 || !slices.ContainsFunc(got,
		func(i event.PickItem) bool { return i.ID == ids[2] }) {
		t.Errorf("the beginning of an id finds %d items", len(got))
	}
	if got := found(ids[2][9:13]); len(got) > 20 { // the middle of an id is not searched
		t.Errorf("the middle of an id finds %d items", len(got))
	}
}

func TestTheStatusSaysWhatTheNextMessageCostsWithoutTheCache(t *testing.T) {
	big := llm.Usage{Input: 10, CacheRead: 100_000, CacheWrite: 100_000}
	p := newPlace(t, llmtest.Replies(llmtest.Reply{Parts: []llmtest.Part{llmtest.Text("done")}, Usage: &big}))
	check := func(s *seat) {
		t.Helper()
		c, price := s.Status().Cache, s.session().Model().Price
		if cold := 200_010 * price.CacheWrite / 1e6; c.ColdUSD < cold || c.ColdUSD > cold*1.01 ||
			c.WarmUSD != c.ColdUSD*price.CacheRead/price.CacheWrite {
			t.Errorf("cold $%f, want $%f; warm $%f", c.ColdUSD, cold, c.WarmUSD)
		}
		if left := time.Until(c.Expires); left <= 4*time.Minute || left > 5*time.Minute || c.Lifetime != 5*time.Minute {
			t.Errorf("expires in %s of %s", left, c.Lifetime)
		}
	}
	s := p.open(t, nil)
	if c := s.Status().Cache; c != (event.CacheCost{}) {
		t.Errorf("before the first message: %+v", c)
	}
	s.prompt("work")
	s.waits(func(st event.Status) bool { return !st.Cache.Expires.IsZero() })
	check(s)
	id := s.Status().Session
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = p.open(t, func(o *Options) { o.Session.Resume = id })
	check(s)
	s.command("model", "opus")
	if c := s.Status().Cache; c != (event.CacheCost{}) {
		t.Errorf("another model has no cache yet: %+v", c)
	}
}
