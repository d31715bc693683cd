package conversation_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent/replay"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/tool/memory"
)

// embeddings is a server of OpenAI's API for vectors.
type embeddings struct {
	*httptest.Server
	mu    sync.Mutex
	texts [][]string
	fail  bool
}

func newEmbeddings(t *testing.T) *embeddings {
	t.Helper()
	e := &embeddings{}
	e.Server = httptest.NewServer(http.HandlerFunc(e.serve))
	t.Cleanup(e.Close)
	return e
}

func (e *embeddings) serve(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Model string
		Input []string
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || e.fail || r.URL.Path != "/v1/embeddings" ||
		in.Model != "embed-small" || r.Header.Get("Authorization") != "Bearer sk-embed" {
		http.Error(w, `{"error":{"message":"no"}}`, http.StatusBadRequest)
		return
	}
	e.texts = append(e.texts, in.Input)
	var data []string
	for i, text := range in.Input {
		v := "[1,0]"
		if strings.Contains(text, "database") || strings.Contains(text, "Postgres") {
			v = "[0.1,1]"
		}
		// in any order
		data = append([]string{fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":%s}`, i, v)}, data...)
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"object":"list","data":[%s],"model":"embed-small","usage":{"prompt_tokens":7,"total_tokens":7}}`,
		strings.Join(data, ","))
}

func (e *embeddings) counts() (out []int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, texts := range e.texts {
		out = append(out, len(texts))
	}
	return out
}

// With an embedding model in the settings a prompt brings a note that shares no word with it; a note's vector is asked
// for once. When the model fails, words find the notes, and the user hears of it once.
func TestNotesAreRecalledByMeaning(t *testing.T) {
	yes := llmtest.Say(llmtest.Text("Yes."))
	p := newPlace(t, llmtest.Replies(yes, yes, yes, yes))
	e := newEmbeddings(t)
	p.write(t, "../.config/lathe/settings.json",
		`{"memory": {"embeddingModel": "vectors/embed-small", "minSimilarity": 0.9},
		"providers": {"vectors": {"type": "openai", "apiBase": "`+e.URL+`", "apiKey": "sk-embed"}}}`)
	inst := p.open(t, nil)
	for _, n := range []memory.Note{
		{Name: "db", Description: "starting the database", Text: "Run make db first."},
		{Name: "answers", Description: "how the user likes answers", Text: "Short ones."},
	} {
		if _, _, err := inst.Notes().Save(n); err != nil {
			t.Fatal(err)
		}
	}
	s := newSession(t, inst, conversation.SessionOptions{})
	sub := s.Subscribe(t.Context())
	p.promptIn(t, s, "Postgres is gone")
	p.promptIn(t, s, "Postgres again")
	sent := p.sent()
	if strings.Count(sent[0], "Run make db first.") != 1 || strings.Contains(sent[0], "Short ones.") ||
		strings.Count(sent[1], "Run make db first.") != 1 {
		t.Errorf("%s\n%s", sent[0], sent[1])
	}
	if got := fmt.Sprint(e.counts()); got != "[3 1]" {
		t.Errorf("asked for %s texts", got)
	}
	e.mu.Lock()
	e.fail = true
	e.mu.Unlock()
	p.promptIn(t, s, "how does the user like the answers?")
	p.promptIn(t, s, "and now?")
	if sent = p.sent(); !strings.Contains(sent[2], "Short ones.") {
		t.Errorf("words did not find the note:\n%s", sent[2])
	}
	notices, requests := 0, 0
	sub.Close()
	for ev := range sub.All(t.Context()) {
		switch b := ev.Body.(type) {
		case event.Notice:
			if strings.Contains(b.Text, "by their words alone") {
				notices++
			}
		case event.SideRequest:
			if b.Purpose == "embeddings" && b.Usage == (llm.Usage{Input: 7}) {
				requests++
			}
		}
	}
	if notices != 1 || requests != 2 {
		t.Errorf("%d notices, %d requests", notices, requests)
	}
}

// A replay finds notes by their recorded vectors, without a server, and with vectors on disk that the recorded run had
// not.
func TestAReplayHasTheVectorsOfTheRecordedRun(t *testing.T) {
	p := newPlace(t, llmtest.Replies(llmtest.Say(llmtest.Text("Yes."))))
	e := newEmbeddings(t)
	p.write(t, "../.config/lathe/settings.json",
		`{"debug": true, "memory": {"embeddingModel": "vectors/embed-small", "minSimilarity": 0.9},
		"providers": {"vectors": {"type": "openai", "apiBase": "`+e.URL+`", "apiKey": "sk-embed"}}}`)
	inst := p.open(t, nil)
	if _, _, err := inst.Notes().Save(memory.Note{
		Name: "db", Description: "starting the database",
		Text: "Run make db first.",
	}); err != nil {
		t.Fatal(err)
	}
	s := newSession(t, inst, conversation.SessionOptions{})
	p.promptIn(t, s, "Postgres is gone")
	asked, id := len(e.counts()), s.ID()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(p.dir, "../*/*/lathe/debug", id))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	rec, err := replay.Open(found[0], p.dir)
	if err != nil {
		t.Fatal(err)
	}
	again := p.open(t, nil)
	again.Replay(rec)
	s = newSession(t, again, conversation.SessionOptions{})
	p.promptIn(t, s, "Postgres is gone")
	if text := s.Messages()[0].PlainText(); !strings.Contains(text, "Run make db first.") || len(e.counts()) != asked {
		t.Errorf("%v requests\n%s", e.counts(), text)
	}
}

// A project cannot have notes and prompts sent anywhere before it is trusted, and a provider without embeddings is
// named.
func TestEmbeddingsAreTheUsersChoice(t *testing.T) {
	yes := llmtest.Say(llmtest.Text("Yes."))
	p := newPlace(t, llmtest.Replies(yes, yes))
	e := newEmbeddings(t)
	p.write(t, "../.config/lathe/settings.json", `{"providers": {"vectors": {"type": "openai", "apiBase": "`+e.URL+
		`", "apiKey": "sk-embed"}}}`)
	p.write(t, ".lathe/settings.json", `{"memory": {"embeddingModel": "vectors/embed-small"}}`)
	inst := p.open(t, nil)
	if _, _, err := inst.Notes().Save(memory.Note{
		Name: "db", Description: "starting the database",
		Text: "Run make db first.",
	}); err != nil {
		t.Fatal(err)
	}
	p.promptIn(t, newSession(t, inst, conversation.SessionOptions{}), "Postgres is gone")
	if n := e.counts(); len(n) > 0 {
		t.Errorf("asked for %v", n)
	}
	p.write(t, "../.config/lathe/settings.json", `{"memory": {"embeddingModel": "anthropic/claude-sonnet-4-5"}}`)
	s := newSession(t, p.open(t, nil), conversation.SessionOptions{})
	sub := s.Subscribe(t.Context())
	p.promptIn(t, s, "Postgres is gone")
	sub.Close()
	named := false
	for ev := range sub.All(t.Context()) {
		if n, ok := ev.Body.(event.Notice); ok {
			named = named || strings.Contains(n.Text, "has no embeddings that lathe can use")
		}
	}
	if !named {
		t.Error("the user does not learn why")
	}
}
