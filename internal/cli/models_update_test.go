package cli_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestModelsUpdateReplacesTheCopyOnlyByAValidOne(t *testing.T) {
	bin, home := buildLathe(t), t.TempDir()
	var mu sync.Mutex
	answer, status := "", http.StatusOK
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.WriteHeader(status)
		_, _ = w.Write([]byte(answer))
	}))
	serve := func(code int, text string) {
		mu.Lock()
		defer mu.Unlock()
		status, answer = code, text
	}
	defer srv.Close()
	lathe := func(args ...string) (string, error) {
		c := exec.Command(bin, append([]string{"--settings", `{"modelsUrl":"` + srv.URL + `/api.json"}`}, args...)...)
		c.Dir, c.Env = home, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "ANTHROPIC_API_KEY=sk-test"}
		out, err := c.CombinedOutput()
		return string(out), err
	}
	price := func(model string) string {
		t.Helper()
		out, err := lathe("models")
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, model+" ") {
				return line
			}
		}
		return ""
	}
	file := filepath.Join(home, ".local", "share", "lathe", "models.tsv")
	serve(http.StatusOK,
		`{"anthropic":{"models":{"claude-new":{"id":"claude-new","tool_call":true,"modalities":{"input":["text"],"output":["text"]},"limit":{"context":500000,"output":9000},"cost":{"input":7,"output":8}}}}}`)
	if out, err := lathe("models", "update"); err != nil || !strings.Contains(out, "1 models are in") {
		t.Fatalf("%v: %s", err, out)
	}
	if got := price("claude-new"); !strings.Contains(got, "500000") || !strings.Contains(got, "$7 in, $8 out") {
		t.Errorf("the new model is listed as %q", got)
	}
	if price("claude-haiku-4-5") == "" {
		t.Error("the built-in models are gone")
	}
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []struct {
		status       int
		answer, want string
	}{
		{http.StatusNotFound, "", "404"},
		{http.StatusOK, "<html>no</html>", "modelsUrl"},
		{http.StatusOK, `{"error":"x"}`, "modelsUrl"},
		{http.StatusOK, "// x\n# anthropic api.anthropic.com\nm\tM\t-1\n", "line 3"},
	} {
		serve(bad.status, bad.answer)
		out, err := lathe("models", "update")
		if err == nil || !strings.Contains(out, "was not updated") || !strings.Contains(out, bad.want) {
			t.Errorf("%q: %v: %s", bad.answer, err, out)
		}
		if now, err := os.ReadFile(file); err != nil || string(now) != string(kept) {
			t.Errorf("%q replaced the copy: %v", bad.answer, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".models-*")); len(left) > 0 {
		t.Errorf("files are left: %v", left)
	}
	serve(http.StatusOK, "// of the company\n# anthropic api.anthropic.com\nclaude-new\tNewest\t600000\t9000\t1\t2\n")
	if out, err := lathe("models", "update"); err != nil || !strings.Contains(price("claude-new"), "600000") {
		t.Errorf("%v: %s", err, out)
	}
	c := exec.Command(bin, "--settings", `{"modelsUrl":"http://example.com/x"}`, "models", "update")
	c.Dir, c.Env = home, []string{"HOME=" + home}
	if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "https://") {
		t.Errorf("fetched over http: %v: %s", err, out)
	}
}
