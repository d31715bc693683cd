package endurance

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/store/cost"
	"github.com/lathe-dev/lathe/internal/store/session"
)

const stepsPerTurn = 8

// TestEveryBreakOfThePrefixHasItsCauseInTheLog: a session in which everything happens that could change what was sent
// before. Each request starts with the one before it byte for byte; where one does not, the log names the cause.
func TestEveryBreakOfThePrefixHasItsCauseInTheLog(t *testing.T) {
	steps := long(160, 1000)
	p := newPlace(t, wires[0], 0, 16_000)
	p.serve(t, prefixScript(t, p, steps), wires[0])
	s := p.session(t, nil, conversation.SessionOptions{})
	for turn := 0; turn*stepsPerTurn < steps; turn++ {
		s = p.disturb(t, s, turn)
		end, err := s.Prompt(t.Context(), llm.UserText(fmt.Sprintf("Turn %d.", turn)))
		if err != nil || end.Reason != event.EndCompleted {
			t.Fatalf("turn %d: %+v %v", turn, end, err)
		}
	}
	breaks, kinds := namedBreaks(t, p.srv.Requests(), s.Log())
	t.Logf("%d requests, %d breaks: %v", len(p.srv.Requests()), breaks, kinds)
	for _, kind := range []string{"compaction (auto)", "compaction (manual)", "model", "effort", "tools"} {
		if kinds[kind] == 0 {
			t.Errorf("no break by %s: %v", kind, kinds)
		}
	}
}

// disturb does before a turn what people do: one thing at a time, and at times nothing.
func (p *place) disturb(t *testing.T, s *conversation.Session, turn int) *conversation.Session {
	t.Helper()
	var err error
	switch turn % 10 {
	case 1:
		err = s.SetMode(t.Context(), permission.Plan)
	case 2:
		err = s.SetMode(t.Context(), permission.Default)
	case 3:
		p.write(t, "project/CLAUDE.md", fmt.Sprintf("%s\nEdited before turn %d.\n", rule, turn), 0o600)
	case 4:
		err = s.Close()
		more := []string{"Grep", "Glob"}[:1+turn/10%2] // a tool is deferred that was not, and comes back
		s = p.session(t, func(o *conversation.Options) { deferring(t, o, p, more...) },
			conversation.SessionOptions{Resume: s.ID()})
	case 5:
		if err = s.SetModel(t.Context(), "claude-opus-4-5"); err == nil {
			err = s.Log().SetModel(t.Context(), "claude-opus-4-5")
		}
	case 6:
		s.SetEffort([]llm.Effort{"high", "low"}[turn/10%2])
	case 7:
		p.write(t, "project/file1.txt", fmt.Sprintf("changed before turn %d\n", turn), 0o600)
	case 8:
		p.write(t, fmt.Sprintf("project/.claude/skills/late%d/SKILL.md", turn),
			"---\ndescription: Comes late.\n---\nDo it.\n", 0o600)
	case 9:
		if turn > 10 {
			_, err = s.Compact(t.Context(), "")
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func deferring(t *testing.T, o *conversation.Options, p *place, names ...string) {
	t.Helper()
	list, err := json.Marshal(map[string]any{"deferTools": names})
	if err != nil {
		t.Fatal(err)
	}
	p.write(t, ".config/lathe/settings.json", string(list), 0o600)
	o.Config = loaded(t, p.dir, p.environ)
}

// prefixScript makes the model read, plan, run a command, look for deferred tools, and end its turn.
func prefixScript(t *testing.T, p *place, steps int) *llmtest.Script {
	t.Helper()
	s := &llmtest.Script{Order: "arrival", NoTools: &llmtest.Reply{Parts: []llmtest.Part{llmtest.Text(summary)}}}
	for i := range steps {
		name := fmt.Sprintf("file%d.txt", i)
		p.write(t, "project/"+name, strings.Repeat(fmt.Sprintf("line of file %d\n", i), 40), 0o600)
		part := llmtest.Tool("Read", map[string]any{"file_path": "${WORKDIR}/" + name})
		switch i % stepsPerTurn {
		case 2:
			part = llmtest.Tool("TodoWrite", map[string]any{"todos": []map[string]string{{
				"content": fmt.Sprint("item ", i),
				"status":  "pending",
			}}})
		case 3:
			part = llmtest.Tool("Bash", map[string]any{"command": "./count"})
		case 4:
			part = llmtest.Tool("ToolSearch", map[string]any{"query": "select:Grep"})
		case 5:
			part = llmtest.Tool("Read", map[string]any{"file_path": "${WORKDIR}/file1.txt"})
		case stepsPerTurn - 1:
			part = llmtest.Text("Turn done.")
		}
		s.Replies = append(s.Replies, llmtest.Say(part))
	}
	return s
}

// namedBreaks checks that each request that does not start with the one before it has a cause in the log, and that the
// others have none. It returns how many there are, and how often each kind of cause occurs.
func namedBreaks(t *testing.T, requests []llmtest.Request, log *session.Session) (breaks int, kinds map[string]int) {
	t.Helper()
	var usages []llm.Usage
	var broken []bool
	var last []string
	for _, r := range requests {
		now := pieces(t, r.Body)
		if now == nil || r.Reply == noTools {
			continue // a summary
		}
		whole := len(last) <= len(now) && slices.Equal(last, now[:len(last)])
		u := llm.Usage{Input: 1, Output: 1, CacheWrite: length(now)}
		if whole { // as the provider counts it
			u.CacheRead = length(last)
			u.CacheWrite -= u.CacheRead
		}
		usages, broken, last = append(usages, u), append(broken, !whole), now
	}
	n := 0
	kinds = map[string]int{}
	for _, step := range cost.Read(withUsage(log, usages), func(string) llm.Price { return llm.Price{Input: 3} }).Steps {
		if step.Purpose != "" {
			continue
		}
		if got := step.Miss != nil; got != broken[n] {
			t.Errorf("request %d: broken %v, a miss in the log %v", n, broken[n], step.Miss)
		} else if got {
			breaks++
			for _, cause := range step.Miss.Causes {
				if strings.HasPrefix(cause, "the provider") || strings.HasPrefix(cause, "expired") {
					t.Errorf("request %d: the prefix broke without a cause: %v", n, step.Miss.Causes)
				}
				kind, _, _ := strings.Cut(cause, ":")
				kinds[kind]++
			}
		}
		n++
	}
	if n != len(usages) {
		t.Errorf("the log has %d replies for %d requests", n, len(usages))
	}
	return breaks, kinds
}

// withUsage are the entries of a log in which the replies have other usages, in their order.
func withUsage(log *session.Session, usages []llm.Usage) iter.Seq2[int, session.Entry] {
	return func(yield func(int, session.Entry) bool) {
		n := 0
		all := log.Everything().Only("user", "call_end", "reply", "compaction", "head", "prefix")
		for i, e := range all.Entries(0, all.Len()) {
			if r, ok := e.Body.(session.Reply); ok && n < len(usages) {
				r.Usage = &usages[n]
				e.Body = r
				n++
			}
			if !yield(i, e) {
				return
			}
		}
	}
}

// pieces are the parts of a request in the order in which a provider caches them, without the marks for the cache; nil
// for a request without tools.
func pieces(t *testing.T, body []byte) []string {
	t.Helper()
	var req struct {
		Model                   string
		Thinking                json.RawMessage
		Output                  json.RawMessage `json:"output_config"`
		Tools, System, Messages []json.RawMessage
	}
	if err := json.Unmarshal(body, &req); err != nil {
		t.Fatal(err)
	}
	if len(req.Tools) == 0 {
		return nil
	}
	out := []string{req.Model + string(req.Thinking) + string(req.Output)}
	for _, list := range [][]json.RawMessage{req.Tools, req.System, req.Messages} {
		for _, raw := range list {
			out = append(out, strings.ReplaceAll(string(raw), `,"cache_control":{"type":"ephemeral"}`, ""))
		}
		out = append(out, "end")
	}
	return out[:len(out)-1]
}

func length(pieces []string) (n int) {
	for _, p := range pieces {
		n += len(p)
	}
	return n
}
