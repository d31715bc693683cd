//go:build linux || darwin

package cli_test

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/face/gateway/telegram/fake"
)

// Ids of people in these tests.
const (
	ann = 7
	ben = 8
	eve = 66
)

// gatePlace is a machine with a gateway, and a fake of Telegram's server.
type gatePlace struct {
	*jobsPlace
	fake *fake.Server
	host *exec.Cmd
	args []string
	mu   sync.Mutex
	out  bytes.Buffer
}

func (p *gatePlace) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

func (p *gatePlace) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// newGatePlace starts lathe telegram.
func newGatePlace(t *testing.T, args ...string) *gatePlace {
	t.Helper()
	p := &gatePlace{jobsPlace: newJobsPlace(t), fake: fake.New(), args: args}
	t.Cleanup(p.fake.Close)
	t.Cleanup(func() {
		p.kill(syscall.SIGTERM)
		if t.Failed() {
			t.Logf("the gateway:\n%s", p.said())
		}
	})
	return p
}

// start starts the host.
func (p *gatePlace) start() {
	p.t.Helper()
	p.host = exec.Command(p.lathe, append([]string{"telegram", "--cwd", p.dir}, p.args...)...)
	p.host.Dir, p.host.Stdout, p.host.Stderr = p.dir, p, p
	p.host.Env = append(p.environ(), "TELEGRAM_BOT_TOKEN="+fake.Token, "TELEGRAM_API_BASE="+p.fake.URL())
	if err := p.host.Start(); err != nil {
		p.t.Fatal(err)
	}
}

// kill ends the host by a signal.
func (p *gatePlace) kill(s syscall.Signal) {
	if p.host == nil {
		return
	}
	_ = p.host.Process.Signal(s)
	_ = p.host.Wait()
	p.host = nil
}

// await waits for a message of the bot.
func (p *gatePlace) await(chat int64, contains string) (found fake.Message) {
	p.t.Helper()
	if !await.Until(func() bool {
		all := p.fake.Sent(chat)
		i := slices.IndexFunc(all, func(m fake.Message) bool { return strings.Contains(m.Body(), contains) })
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	}) {
		p.t.Fatalf("no message with %q: %s", contains, bodies(p.fake.Sent(chat)))
	}
	return found
}

func bodies(all []fake.Message) string {
	var b strings.Builder
	for _, m := range all {
		b.WriteString("\n- " + m.Body())
	}
	return b.String()
}

func TestAMessageIsAnsweredByASessionProcess(t *testing.T) {
	p := newGatePlace(t, "--allow", "7")
	p.start()
	asked := p.fake.Say(fake.Private(ann), ann, "hello")
	answer := p.await(ann, "an answer of some words")
	if answer.ReplyTo != asked.ID || answer.Rich == "" {
		t.Errorf("%+v", answer)
	}
	if len(p.fake.Message(asked.ID).Reactions) == 0 {
		t.Error("no receipt")
	}
	p.fake.Say(fake.Private(eve), eve, "hello")
	if m := p.await(eve, "not on the list"); !strings.Contains(m.Body(), "66") {
		t.Errorf("%+v", m)
	}
	if out := p.must("ps"); strings.Count(out, "done") != 1 {
		t.Errorf("%s", out)
	}
}
