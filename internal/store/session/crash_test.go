package session

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/lathe-dev/lathe/internal/llm"
)

// moment is the state that had been acknowledged when the log had a size.
type moment struct {
	size int64
	msgs []llm.Message
	said map[string]bool // texts that must be found after a crash at this size or later
}

// player plays a random history as the agent would, with everything that can go wrong on the way.
type player struct {
	t       *rapid.T
	s       *Session
	n       int
	open    []llm.Part
	calls   []string // journalled and without a result
	answers bool     // the reply is closed and its calls are still running
	said    map[string]bool
	moments []moment
}

func (p *player) text() llm.Text {
	p.n++
	t := fmt.Sprintf("t%d \"\\\n\u00e9<\u2028>", p.n)
	p.said[t] = true
	return llm.Text{Text: t}
}

func (p *player) mark() {
	st, err := os.Stat(p.s.Path())
	p.ok(err)
	p.moments = append(p.moments, moment{st.Size(), p.s.Messages(), maps.Clone(p.said)})
}

func (p *player) ok(err error) {
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *player) user() {
	t := p.text()
	p.ok(p.s.AddUser(ctx, llm.Message{Role: llm.User, Parts: []llm.Part{t}}, false, false))
	p.open, p.calls, p.answers = nil, nil, false
}

func (p *player) part() {
	if p.answers {
		return
	}
	var part llm.Part = p.text()
	switch rapid.IntRange(0, 3).Draw(p.t, "part") {
	case 0:
		id := fmt.Sprintf("c%d", p.n)
		p.calls = append(p.calls, id)
		part = toolCall(id)
		delete(p.said, fmt.Sprintf("t%d \"\\\n\u00e9<\u2028>", p.n))
	case 1:
		part = llm.Reasoning{Text: part.(llm.Text).Text, Signature: "s"}
	}
	p.open = append(p.open, part)
	p.ok(p.s.AddPart(ctx, len(p.open)-1, part))
}

// again is a request that is sent again before any call was complete.
func (p *player) again() {
	if len(p.open) == 0 || len(p.calls) > 0 || slices.ContainsFunc(p.open, isCall) {
		return
	}
	for _, o := range p.open {
		delete(p.said, textOf(o))
	}
	t := p.text()
	p.open = []llm.Part{t}
	p.ok(p.s.AddPart(ctx, 0, t))
}

func isCall(p llm.Part) bool { _, ok := p.(llm.ToolCall); return ok }

func (p *player) start() {
	if len(p.calls) > 0 {
		p.ok(p.s.StartCall(ctx, CallStart{CallID: rapid.SampledFrom(p.calls).Draw(p.t, "start")}, false))
	}
}

func (p *player) end() {
	if len(p.calls) == 0 {
		return
	}
	i := rapid.IntRange(0, len(p.calls)-1).Draw(p.t, "end")
	r := result(p.calls[i], p.text().Text)
	p.ok(p.s.EndCall(ctx, r))
	if p.calls = slices.Delete(p.calls, i, i+1); p.answers && len(p.calls) == 0 {
		p.open, p.answers = nil, false
	}
}

func (p *player) reply() {
	if p.answers {
		return
	}
	if rapid.Bool().Draw(p.t, "extra part") {
		p.open = append(p.open, p.text())
	}
	p.ok(p.s.AddReply(ctx, reply(p.open...)))
	if p.answers = len(p.calls) > 0; !p.answers {
		p.open = nil
	}
}

func (p *player) other() {
	for _, b := range []Body{
		Title{"x"},
		Note{Text: "y"},
		Unknown{Name: "later", JSON: []byte(`{"a":1}`)},
		TurnEnd{Reason: "completed"},
	} {
		_, err := p.s.Add(ctx, b)
		p.ok(err)
	}
}

// invoke runs a call that the model did not make; a crash may hit it while it runs.
func (p *player) invoke() {
	before := len(p.s.Messages())
	p.n++
	c := toolCall(fmt.Sprintf("made%d", p.n))
	p.ok(p.s.StartCall(ctx, CallStart{CallID: c.ID, Parent: "c", Invoked: true, Call: &c}, false))
	if rapid.Bool().Draw(p.t, "ends") {
		end := result(c.ID, "made")
		end.Invoked, end.Parent, end.Call = true, "c", &c
		p.ok(p.s.EndCall(ctx, end))
	}
	if len(p.s.Messages()) != before {
		p.t.Fatal("a call that the model did not make is in the messages")
	}
}

// compact replaces or edits a random part of the history, where that can be done.
func (p *player) compact() {
	var ids []string
	for e := range p.s.Entries() {
		ids = append(ids, e.ID)
	}
	before := p.s.Messages()
	c := Compaction{
		Level: 2, Trigger: "auto", Until: rapid.SampledFrom(ids).Draw(p.t, "until"), DropReasoning: true,
		Stubs: []Stub{{"c1", "(left out)"}},
	}
	p.n++
	text := fmt.Sprintf("t%d summary", p.n)
	if rapid.Bool().Draw(p.t, "summary") {
		c.Messages = []llm.Message{{Role: llm.User, Parts: []llm.Part{llm.Text{Text: text, Origin: llm.OriginSummary}}}}
	}
	if p.s.Compact(ctx, c) != nil {
		if !reflect.DeepEqual(before, p.s.Messages()) {
			p.t.Fatal("a compaction that was refused changed the messages")
		}
		return
	}
	p.said = map[string]bool{}
	if c.Messages != nil {
		p.said[text] = true
	}
	if err := wellFormed(p.s.Messages()); err != nil {
		p.t.Fatal(err)
	}
}

func textOf(p llm.Part) string {
	switch p := p.(type) {
	case llm.Text:
		return p.Text
	case llm.Reasoning:
		return p.Text
	case llm.ToolResult:
		return p.PlainText()
	}
	return ""
}

func isPrefix(short, long []llm.Message) bool {
	return len(short) == 0 || len(short) <= len(long) && reflect.DeepEqual(short, long[:len(short)])
}

// wellFormed returns the first defect of messages that are to be sent.
func wellFormed(msgs []llm.Message) error {
	for i, m := range msgs {
		calls := m.Calls()
		if len(calls) == 0 {
			continue
		}
		if i+1 == len(msgs) {
			return fmt.Errorf("message %d has calls and no results", i)
		}
		answers := msgs[i+1].Parts
		if len(answers) != len(calls) {
			return fmt.Errorf("message %d has %d calls and %d results", i, len(calls), len(answers))
		}
		for k, c := range calls {
			if r, ok := answers[k].(llm.ToolResult); !ok || r.CallID != c.ID {
				return fmt.Errorf("message %d: call %d has answer %#v", i, k, answers[k])
			}
		}
	}
	return nil
}

// checkCut opens the first cut bytes of a log and compares them with the acknowledged state.
func checkCut(t interface{ Fatalf(string, ...any) }, home string, log []byte, cut int, moments []moment) {
	st := NewStore(home)
	id := "01900000-0000-7000-8000-000000000001"
	folder := filepath.Join(home, "projects", "p", id)
	fail := func(err error) {
		if err != nil {
			t.Fatalf("cut at byte %d: %v", cut, err)
		}
	}
	fail(os.RemoveAll(folder))
	fail(os.MkdirAll(folder, 0o700))
	fail(os.WriteFile(filepath.Join(folder, logName), log[:cut], 0o600))
	s, err := st.Open(ctx, id)
	fail(err)
	msgs := s.Messages()
	fail(wellFormed(msgs))
	var last moment
	for _, m := range moments {
		if m.size <= int64(cut)+1 { // a last line that lacks only its newline is good
			last = m
		}
	}
	if !isPrefix(last.msgs, msgs) {
		t.Fatalf("cut at byte %d: acknowledged %v, got %v", cut, last.msgs, msgs)
	}
	checkSaid(t, cut, last.said, msgs)
	fail(s.Close())
	checkAgain(t, st, id, cut, msgs)
}

func checkSaid(t interface{ Fatalf(string, ...any) }, cut int, said map[string]bool, msgs []llm.Message) {
	found := map[string]bool{}
	for _, m := range msgs {
		for _, p := range m.Parts {
			found[textOf(p)] = true
		}
	}
	for text := range said {
		if !found[text] {
			t.Fatalf("cut at byte %d: %q was acknowledged and is lost", cut, text)
		}
	}
}

// checkAgain resumes once more and goes on.
func checkAgain(t interface{ Fatalf(string, ...any) }, st *Store, id string, cut int, msgs []llm.Message) {
	s, err := st.Open(ctx, id)
	if err != nil {
		t.Fatalf("cut at byte %d, second resume: %v", cut, err)
	}
	defer s.Close()
	if len(msgs) != len(s.Messages()) || !isPrefix(msgs, s.Messages()) {
		t.Fatalf("cut at byte %d: a second resume gives %v, the first %v", cut, s.Messages(), msgs)
	}
	if len(s.Notes()) > 0 {
		t.Fatalf("cut at byte %d: a second resume still notes %v", cut, s.Notes())
	}
	if err := s.AddUser(ctx, llm.UserText("go on"), false, false); err != nil {
		t.Fatalf("cut at byte %d: %v", cut, err)
	}
	if now := s.Messages(); !isPrefix(msgs, now) || len(now) != len(msgs)+1 {
		t.Fatalf("cut at byte %d: the prefix changed: %v, then %v", cut, msgs, now)
	}
}

// memoryDir is a temporary folder where fsync costs nothing, if the system has one.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "session-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// play runs a random history and returns its log.
func play(t *rapid.T, st *Store, steps int) ([]byte, []moment) {
	s, err := st.Create(ctx, Meta{Dir: os.TempDir()})
	p := &player{t: t, s: s, said: map[string]bool{}}
	p.ok(err)
	defer s.Close()
	p.user()
	p.mark()
	for range steps {
		ops := []func(){
			p.user, p.part, p.part, p.part, p.again, p.start, p.start, p.end, p.end, p.reply, p.reply, p.other,
			p.invoke, p.compact,
		}
		before, revision := s.Messages(), s.Revision()
		ops[rapid.IntRange(0, len(ops)-1).Draw(t, "op")]()
		if s.Revision() == revision && !isPrefix(before, s.Messages()) {
			t.Fatalf("the prefix changed: %v, then %v", before, s.Messages())
		}
		p.mark()
	}
	log, err := os.ReadFile(s.Path())
	p.ok(err)
	return log, p.moments
}

func TestNothingAcknowledgedIsLostInACrash(t *testing.T) {
	home := memoryDir(t)
	rapid.Check(t, func(t *rapid.T) {
		log, moments := play(t, NewStore(filepath.Join(home, "live")), rapid.IntRange(1, 30).Draw(t, "steps"))
		for range 12 {
			checkCut(t, filepath.Join(home, "cut"), log, rapid.IntRange(0, len(log)).Draw(t, "cut"), moments)
		}
		for _, m := range moments {
			checkCut(t, filepath.Join(home, "cut"), log, int(m.size), moments)
			checkCut(t, filepath.Join(home, "cut"), log, int(m.size)-1, moments)
		}
	})
}

func TestACrashAtEveryByteIsSurvived(t *testing.T) {
	home := memoryDir(t)
	type history struct {
		log     []byte
		moments []moment
	}
	h := rapid.Custom(func(t *rapid.T) history {
		log, moments := play(t, NewStore(filepath.Join(home, "live")), 18)
		return history{log, moments}
	}).Example(3)
	for cut := range len(h.log) + 1 {
		checkCut(t, filepath.Join(home, "cut"), h.log, cut, h.moments)
	}
}
