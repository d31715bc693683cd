package cli_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// servedModel serves replies and returns the variables that name it.
func servedModel(t *testing.T, replies string) []string {
	t.Helper()
	script, err := llmtest.Parse([]byte(replies))
	if err != nil {
		t.Fatal(err)
	}
	srv := llmtest.New(script, llmtest.Options{})
	if err := srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	return []string{"ANTHROPIC_BASE_URL=" + srv.URL(), "ANTHROPIC_API_KEY=sk-ant-very-secret-0123456789"}
}

// mcpClient is the official SDK's client, whose user gives the answers.
func mcpClient(progress chan string, answers ...string) *sdk.Client {
	o := &sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context,
		r *sdk.ProgressNotificationClientRequest,
	) {
		select {
		case progress <- r.Params.Message:
		default:
		}
	}}
	if len(answers) > 0 {
		o.ElicitationHandler = func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			answer := answers[0]
			if len(answers) > 1 {
				answers = answers[1:]
			}
			progress <- "asked: " + r.Params.Message
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"choice": answer}}, nil
		}
	}
	return sdk.NewClient(&sdk.Implementation{Name: "official", Version: "1"}, o)
}

type served struct {
	*sdk.ClientSession
	dir string
	env []string
}

// serveLathe starts lathe mcp serve as a client's configuration does.
func serveLathe(t *testing.T, c *sdk.Client, model []string, flags ...string) *served {
	t.Helper()
	dir, env := mcpHome(t)
	cmd := exec.CommandContext(t.Context(), buildLathe(t), append([]string{"mcp", "serve"}, flags...)...)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, append(env, model...), os.Stderr
	s, err := c.Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &served{s, dir, env}
}

func (s *served) call(t *testing.T, name string, input map[string]any) (text string, structured map[string]any,
	failed bool,
) {
	t.Helper()
	p := &sdk.CallToolParams{Name: name, Arguments: input}
	p.SetProgressToken(name)
	r, err := s.CallTool(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Content {
		if x, ok := c.(*sdk.TextContent); ok {
			text += x.Text
		}
	}
	structured, _ = r.StructuredContent.(map[string]any)
	return text, structured, r.IsError
}

func TestToolsAreServedWithTheirPermissions(t *testing.T) {
	s := serveLathe(t, mcpClient(nil), nil, "--no-agent", "--allowedTools", "Edit(ok.txt)")
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	names := ""
	for _, tool := range list.Tools {
		names += " " + tool.Name
	}
	if !strings.Contains(names, " Read") || !strings.Contains(names, " Bash") || strings.Contains(names, "lathe") ||
		strings.Contains(names, "Task") {
		t.Errorf("%s", names)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "a.txt"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, _, failed := s.call(t, "Read", map[string]any{"file_path": filepath.Join(s.dir, "a.txt")}); failed ||
		!strings.Contains(text, "one") {
		t.Errorf("%s", text)
	}
	text, _, failed := s.call(t, "Write", map[string]any{"file_path": filepath.Join(s.dir, "b.txt"), "content": "x"})
	if _, err := os.Stat(filepath.Join(s.dir, "b.txt")); !failed || err == nil || !strings.Contains(text, "cannot ask") {
		t.Errorf("a file was written unasked: %s, %v", text, err)
	}
	if text, _, failed := s.call(t, "Write", map[string]any{
		"file_path": filepath.Join(s.dir, "ok.txt"),
		"content":   "x",
	}); failed {
		t.Errorf("%s", text)
	}
}

func TestTheClientsUserIsAsked(t *testing.T) {
	asked := make(chan string, 20)
	s := serveLathe(t, mcpClient(asked, "no", "once"), nil, "--no-agent")
	input := map[string]any{"file_path": filepath.Join(s.dir, "b.txt"), "content": "x"}
	if text, _, failed := s.call(t, "Write", input); !failed {
		t.Errorf("%s", text)
	}
	if text, _, failed := s.call(t, "Write", input); failed {
		t.Errorf("%s", text)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "b.txt")); err != nil {
		t.Error(err)
	}
	found := false
	for len(asked) > 0 {
		found = strings.Contains(<-asked, "b.txt") || found
	}
	if !found {
		t.Error("the question does not name the file")
	}
}

const servedReplies = `reply
  say I write.
  call Write {"file_path":"c.txt","content":"from the agent"}
reply
  say It is written.
reply
  say And again.
`

func TestTheAgentIsServedAndAnswersAgain(t *testing.T) {
	progress := make(chan string, 50)
	model := servedModel(t, servedReplies)
	s := serveLathe(t, mcpClient(progress, "once"), model, "--no-tools")
	text, out, failed := s.call(t, "lathe", map[string]any{"prompt": "write c.txt"})
	if failed || text != "It is written." || out["content"] != text || out["session_id"] == "" {
		t.Fatalf("%q %v", text, out)
	}
	if data, err := os.ReadFile(filepath.Join(s.dir, "c.txt")); err != nil || string(data) != "from the agent" {
		t.Errorf("%q, %v", data, err)
	}
	all := ""
	for len(progress) > 0 {
		all += <-progress + "\n"
	}
	if !strings.Contains(all, "I write.") || !strings.Contains(all, "Write") || !strings.Contains(all, "asked: ") {
		t.Errorf("%s", all)
	}
	if text, again, failed := s.call(t, "lathe-reply", map[string]any{
		"session_id": out["session_id"],
		"prompt":     "again",
	}); failed || text != "And again." || again["session_id"] != out["session_id"] {
		t.Errorf("%q %v", text, again)
	}
	for name, input := range map[string]map[string]any{
		"looser than the server": {"prompt": "x", "permission_mode": "bypassPermissions"},
		"outside of the folder":  {"prompt": "x", "cwd": "/"}, "empty": {"prompt": " "},
	} {
		if text, _, failed := s.call(t, "lathe", input); !failed {
			t.Errorf("%s: %s", name, text)
		}
	}
	home := filepath.Dir(s.dir)
	other := filepath.Join(home, "other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	elsewhere := exec.CommandContext(t.Context(), buildLathe(t), "-p", "hi", "--session-id",
		"11111111-0000-4000-8000-000000000001")
	elsewhere.Dir, elsewhere.Env = other, slices.Concat(s.env, servedModel(t, "script\nreply\n  say hello\n"))
	if out, err := elsewhere.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if text, _, failed := s.call(t, "lathe-reply", map[string]any{
		"session_id": "11111111-0000-4000-8000-000000000001",
		"prompt":     "x",
	}); !failed || !strings.Contains(text, "another folder") {
		t.Errorf("a session of another project: %s", text)
	}
	if text, _, failed := s.call(t, "lathe-reply", map[string]any{
		"session_id": "00000000-0000-7000-8000-000000000000",
		"prompt":     "x",
	}); !failed {
		t.Errorf("%s", text)
	}
}

// The example of docs/mcp.md for clients over HTTP, with its flags and its header.
func TestTheServerOfTheMCPPageRunsOverHTTP(t *testing.T) {
	var args []string
	for _, line := range docExample(t, "mcp.md", "lathe as a server") {
		if command, ok := strings.CutPrefix(line, "$ lathe "); ok && strings.Contains(command, "--http") {
			args = strings.Fields(command)
		}
	}
	if len(args) == 0 {
		t.Fatal("docs/mcp.md has no example with --http")
	}
	args[len(args)-1] = "127.0.0.1:0" // the example's port may be taken
	dir, env := mcpHome(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := exec.CommandContext(ctx, buildLathe(t), args...)
	cmd.Dir, cmd.Env = dir, env
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); _ = cmd.Wait() }()
	url, token := "", ""
	for lines := bufio.NewScanner(errs); token == "" && lines.Scan(); {
		if _, at, ok := strings.Cut(lines.Text(), "serving "); ok {
			url = at
		}
		if _, at, ok := strings.Cut(lines.Text(), "Bearer "); ok {
			token = at
		}
	}
	s, err := mcpClient(nil).Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint:   url,
		HTTPClient: &http.Client{Transport: withToken(token)}, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	names, _ := json.Marshal(list)
	if !strings.Contains(string(names), `"lathe-reply"`) || !strings.Contains(string(names), `"Grep"`) {
		t.Errorf("%.500s", names)
	}
}

type withToken string

func (b withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}
