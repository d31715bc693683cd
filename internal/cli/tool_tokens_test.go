package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

func TestTheCostsOfToolsAreThoseOfARequest(t *testing.T) {
	home := t.TempDir()
	srv := llmtest.New(llmtest.Replies(llmtest.Say(llmtest.Text("Hi."))), llmtest.Options{})
	if err := srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	run := func(args ...string) []byte {
		t.Helper()
		c := exec.Command(buildLathe(t), args...)
		c.Dir = home
		c.Env = []string{
			"HOME=" + home, "PATH=" + os.Getenv("PATH"), "ANTHROPIC_BASE_URL=" + srv.URL(),
			"ANTHROPIC_API_KEY=sk-test",
		}
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return out
	}
	run("-p", "hello")
	body := srv.Requests()[0].Body
	if len(body) > 20_000 {
		t.Errorf("the first request has %d bytes, 20,000 are the most", len(body))
	}
	var request struct {
		Tools []struct {
			Name, Description string
			Schema            json.RawMessage `json:"input_schema"`
		}
	}
	if err := json.Unmarshal(body, &request); err != nil {
		t.Fatal(err)
	}
	type cost struct {
		Name          string
		Bytes, Tokens int
	}
	var list []cost
	if err := json.Unmarshal(run("tool", "list", "--tokens", "--json"), &list); err != nil {
		t.Fatal(err)
	}
	listed, sum := map[string]cost{}, cost{}
	for i, c := range list[:len(list)-1] {
		listed[c.Name] = c
		sum.Bytes, sum.Tokens = sum.Bytes+c.Bytes, sum.Tokens+c.Tokens
		if i > 0 && c.Tokens > list[i-1].Tokens {
			t.Errorf("%s is larger than the one before it", c.Name)
		}
	}
	if total := list[len(list)-1]; total.Name != "total" || total.Bytes != sum.Bytes || total.Tokens != sum.Tokens {
		t.Errorf("%+v, want the sum %+v", total, sum)
	}
	if len(request.Tools) == 0 || len(listed) != len(request.Tools) {
		t.Errorf("%d tools are listed, %d are sent", len(listed), len(request.Tools))
	}
	for _, sent := range request.Tools {
		got, want := listed[sent.Name], len(sent.Name)+len(sent.Description)+len(sent.Schema)
		if got.Bytes != want || got.Tokens < want/6 || got.Tokens > want/2 {
			t.Errorf("%s: %+v, sent with %d bytes", sent.Name, got, want)
		}
	}
}
