//go:build linux

package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/face/gateway/telegram/fake"
)

// 500 chats that rest take no process, no connection, and less than 40 MB of the host. LATHE_IDLE says how many chats.
func TestChatsThatRestTakeLittle(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("LATHE_IDLE"))
	if err != nil {
		t.Skip("LATHE_IDLE is not set")
	}
	var ids []string
	for i := range n {
		ids = append(ids, strconv.Itoa(1000+i))
	}
	p := newGatePlace(t, "--allow", strings.Join(ids, ","))
	chats, talks := map[string]any{}, map[string]any{}
	for i, id := range ids { // as the host left them
		session := fmt.Sprintf("00000000-0000-7000-8000-%012d", i)
		job := fmt.Sprintf("%08x", i)
		chats[id] = map[string]any{"place": map[string]any{"chat": id}, "person": id, "session": session, "high": "100"}
		talks[session] = map[string]any{
			"id": session, "job": job, "chat": id, "cwd": p.dir, "at": time.Now(), "cursor": session + ":1",
		}
		dir := filepath.Join(p.Jobs, job)
		b, _ := json.Marshal(map[string]any{"id": job, "kind": "background", "state": "done", "cwd": p.dir, "sessionId": session})
		if os.MkdirAll(dir, 0o700) != nil || os.WriteFile(filepath.Join(dir, "state.json"), b, 0o600) != nil {
			t.Fatal("the job cannot be written")
		}
	}
	b, _ := json.Marshal(map[string]any{"seq": 1, "chats": chats, "talks": talks})
	dir := filepath.Join(p.home, ".local", "state", "lathe", "gateway", "telegram")
	if os.MkdirAll(dir, 0o700) != nil || os.WriteFile(filepath.Join(dir, "state.json"), b, 0o600) != nil {
		t.Fatal("the state cannot be written")
	}
	p.start()
	p.fake.Say(fake.Private(1000), 1000, "/help")
	p.await(1000, "/project")
	time.Sleep(12 * time.Second) // two looks at the sessions
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.host.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	var rss int
	for line := range strings.Lines(string(status)) {
		if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &rss); err == nil {
			break
		}
	}
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.host.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d chats: %d kB resident, %d files open", n, rss, len(fds))
	if rss > 40<<10 || len(fds) > 20 {
		t.Errorf("%d kB, %d files", rss, len(fds))
	}
	if out := p.must("ps", "--json"); strings.Contains(out, `"pid"`) {
		t.Error("a session has a process")
	}
}
