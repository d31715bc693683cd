//go:build linux || darwin

package cli_test

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/face/gateway/telegram/fake"
)

// A server that others wrote, without rich messages, drafts and reactions: the npm package telegram-test-api.
// LATHE_TELEGRAM_TEST_API is the folder node_modules that npm install telegram-test-api@4.2.1 made.
func TestAnotherServerOfTheBotAPI(t *testing.T) {
	modules := os.Getenv("LATHE_TELEGRAM_TEST_API")
	if modules == "" {
		t.Skip("LATHE_TELEGRAM_TEST_API is not set")
	}
	p := newGatePlace(t)
	addr := free(t)
	_, port, _ := net.SplitHostPort(addr)
	node := exec.Command("node", "-e", "const S = require(process.argv[1]);"+
		"new S({port: +process.argv[2], host: '127.0.0.1'}).start()", filepath.Join(modules, "telegram-test-api"), port)
	node.Stderr = p
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = node.Process.Kill(); _ = node.Wait() })
	client := func(method string, v any) (out string) {
		b, _ := json.Marshal(v)
		res, err := http.Post("http://"+addr+"/"+method, "application/json", bytes.NewReader(b))
		if err != nil {
			return ""
		}
		defer res.Body.Close()
		var all bytes.Buffer
		_, _ = all.ReadFrom(res.Body)
		return all.String()
	}
	message := map[string]any{
		"botToken": fake.Token, "date": 1, "text": "hello", "from": map[string]any{"id": 7, "first_name": "user"},
		"chat": map[string]any{"id": 7, "type": "private"},
	}
	p.until("the server runs", func() bool { return client("sendMessage", message) != "" })
	p.host = exec.Command(p.lathe, "telegram", "--cwd", p.dir, "--allow", "7")
	p.host.Dir, p.host.Stdout, p.host.Stderr = p.dir, p, p
	p.host.Env = append(p.environ(), "TELEGRAM_BOT_TOKEN="+fake.Token, "TELEGRAM_API_BASE=http://"+addr)
	if err := p.host.Start(); err != nil {
		t.Fatal(err)
	}
	got := ""
	p.until("the answer comes", func() bool {
		got += client("getUpdates", map[string]any{"token": fake.Token, "chatId": 7})
		return strings.Contains(got, "an answer of some words")
	})
	message["text"] = "ask me"
	client("sendMessage", message)
	p.until("the question comes", func() bool {
		got += client("getUpdates", map[string]any{"token": fake.Token, "chatId": 7})
		return strings.Contains(got, "inline_keyboard") && strings.Contains(got, "touch made.txt")
	})
}
