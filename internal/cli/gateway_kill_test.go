//go:build linux || darwin

package cli_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/face/gateway/telegram/fake"
)

// Host, session processes, supervisor and network are ended at random moments, while two people converse and questions
// are open: no message is lost, none is answered twice, and nobody who is not listed approves anything.
// LATHE_TEST_KILLS says how often.
func TestKillsOfAGatewayLoseNothing(t *testing.T) {
	kills := 6
	if n, err := strconv.Atoi(os.Getenv("LATHE_TEST_KILLS")); err == nil {
		kills = n
	}
	p := newGatePlace(t, "--allow", "7,8")
	p.start()
	deadline := time.Now().Add(time.Duration(kills)*8*time.Second + 2*time.Minute)
	killed := make(chan struct{})
	var people sync.WaitGroup
	sent := map[int64][]int64{}
	var mu sync.Mutex
	for _, who := range []int64{ann, ben} {
		people.Go(func() {
			for n := 0; time.Now().Before(deadline); n++ {
				text := fmt.Sprintf("hello %d", n)
				if n%2 == 0 {
					text = fmt.Sprintf("ask me %d", n)
				}
				m := p.fake.Say(fake.Private(who), who, text)
				mu.Lock()
				sent[who] = append(sent[who], m.ID)
				mu.Unlock()
				p.converse(who, m.ID, deadline)
				select {
				case <-killed:
					return
				default:
				}
			}
		})
	}
	rnd := rand.New(rand.NewPCG(11, uint64(kills)))
	for range kills {
		time.Sleep(time.Duration(rnd.IntN(500)) * time.Millisecond)
		p.strikeGate(rnd)
	}
	close(killed)
	people.Wait()
	for who, ids := range sent {
		for _, id := range ids {
			if got := p.answersTo(who, id); len(got) != 1 {
				t.Errorf("message %d of %d has %d answers: %s", id, who, len(got), bodies(got))
			}
		}
		if all := p.fake.Sent(who); strings.Contains(bodies(all), "by telegram:66") {
			t.Errorf("somebody else approved: %s", bodies(all))
		}
	}
	t.Logf("%d and %d messages, %v", len(sent[ann]), len(sent[ben]), p.fake.Calls())
}

// strikeGate ends something.
func (p *gatePlace) strikeGate(rnd *rand.Rand) {
	switch rnd.IntN(6) {
	case 0, 1:
		p.kill(syscall.SIGKILL)
		p.start()
	case 2:
		p.fake.Down(true)
		time.Sleep(time.Duration(rnd.IntN(300)) * time.Millisecond)
		p.fake.Down(false)
	case 3:
		p.fake.Lose(1 + rnd.IntN(2))
		if rnd.IntN(2) == 0 {
			p.fake.Again()
		}
	case 4:
		p.strike(p.t.Context(), "", 0) // the supervisor
	default:
		if jobs, err := p.List(); err == nil && len(jobs) > 0 {
			p.strike(p.t.Context(), jobs[rnd.IntN(len(jobs))].ID, 1)
		}
	}
}

// converse presses the buttons of questions until a message is answered. Somebody else presses first.
func (p *gatePlace) converse(who, id int64, deadline time.Time) {
	for time.Now().Before(deadline) && len(p.answersTo(who, id)) == 0 {
		for _, m := range p.fake.Sent(who) {
			if len(m.Buttons) > 0 && m.ID > id {
				p.fake.Press(m, eve, m.Buttons[0][0].Data)
				p.fake.Press(m, who, m.Buttons[0][0].Data)
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// answersTo are the answers to a message.
func (p *gatePlace) answersTo(chat, id int64) (out []fake.Message) {
	for _, m := range p.fake.Sent(chat) {
		if m.ReplyTo == id {
			out = append(out, m)
		}
	}
	return out
}
