package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
)

var errImage = &llm.Error{Kind: llm.KindImage, Status: 400, Message: "Could not process image"}

// images lists the images that a request brings.
func images(req *llm.Request) string {
	var out []string
	for _, m := range req.Messages {
		for _, p := range agent.ImagesOf(m.Parts) {
			out = append(out, p.Name)
		}
	}
	return strings.Join(out, " ")
}

func picture(name string) llm.Media {
	return llm.Media{MIME: "image/png", Data: []byte("bytes of " + name), Name: name}
}

func shot(parallel bool) agent.Tool {
	return tool("Shot", parallel, func(_ context.Context, x string) (*agent.Result, error) {
		return &agent.Result{Parts: []llm.Part{llm.Text{Text: "the screen"}, picture(x)}}, nil
	})
}

func TestARefusedImageIsReplacedByANoteAndTheTurnGoesOn(t *testing.T) {
	log := newLog(t)
	f := newFixture(t, []agent.Tool{shot(true)}, func(c *agent.Config) { c.Transcript = log },
		reply(llm.StopToolUse, call("1", "Shot", `{"x":"good.png"}`)),
		reply(llm.StopToolUse, call("2", "Shot", `{"x":"bad.png"}`)),
		broken(errImage),
		reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	if end := f.run(t); end.Reason != event.EndCompleted || end.Steps != 3 {
		t.Errorf("%+v", end)
	}
	if got := images(f.model.reqs[3]); got != "good.png" {
		t.Errorf("images %q", got)
	}
	said := fmt.Sprint(f.model.reqs[3].Messages)
	if !strings.Contains(said, "the screen") || !strings.Contains(said, "the image bad.png was here") ||
		!strings.Contains(said, "Could not process image") {
		t.Errorf("%s", said)
	}
	if n := ofKind[event.Notice](f); len(n) != 1 || n[0].Level != "warning" || !strings.Contains(n[0].Text, "bad.png") {
		t.Errorf("%+v", n)
	}
}

func TestARefusedImageOfTheUserIsReplacedAlsoAfterARestart(t *testing.T) {
	store := session.NewStore(t.TempDir())
	log, err := store.Create(t.Context(), session.Meta{Dir: t.TempDir(), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, nil, func(c *agent.Config) { c.Transcript = log }, broken(errImage),
		reply(llm.StopEndTurn, llm.Text{Text: "done"}))
	prompt := llm.Message{Role: llm.User, Parts: []llm.Part{llm.Text{Text: "see"}, picture("a.png"), picture("b.png")}}
	if _, err := f.Run(t.Context(), prompt); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprint(f.model.reqs[1].Messages)
	if images(f.model.reqs[1]) != "" || !strings.Contains(want, "a.png") || !strings.Contains(want, "see") {
		t.Errorf("%s", want)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := store.Open(t.Context(), log.ID())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got := fmt.Sprint(again.Messages()[:1]); got != want {
		t.Errorf("after a restart: %s\nbefore: %s", got, want)
	}
}

func TestImagesThatAreRefusedOneAfterTheOtherEndWithTheProvidersError(t *testing.T) {
	log := newLog(t)
	f := newFixture(t, []agent.Tool{shot(true)}, func(c *agent.Config) { c.Transcript = log },
		reply(llm.StopToolUse, call("1", "Shot", `{"x":"old.png"}`)),
		reply(llm.StopToolUse, call("2", "Shot", `{"x":"new.png"}`)),
		broken(errImage), broken(errImage), broken(errImage))
	_, err := f.Run(t.Context(), llm.UserText("go"))
	if e := llm.AsError(err); e == nil || e.Kind != llm.KindImage {
		t.Errorf("%v", err)
	}
	for i, want := range []string{"", "old.png", "old.png new.png", "old.png", ""} {
		if got := images(f.model.reqs[i]); got != want {
			t.Errorf("request %d has the images %q, not %q", i+1, got, want)
		}
	}
}
