package endurance

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
)

const victimID = "01a20000-0000-7000-8000-000000000001"

// victim goes on with the session, or begins it, and prints a line for each event.
func victim(dir string) error {
	ctx := context.Background()
	inst, err := open(dir, os.Environ(), nil)
	if err != nil {
		return err
	}
	s, err := inst.NewSession(ctx, conversation.SessionOptions{Resume: victimID})
	if errors.Is(err, fs.ErrNotExist) {
		s, err = inst.NewSession(ctx, conversation.SessionOptions{ID: victimID})
	}
	if err != nil {
		return err
	}
	sub := s.Subscribe(ctx)
	go func() {
		for e := range sub.All(ctx) {
			fmt.Println(e.Body.Kind())
		}
	}()
	text := "Go on."
	if len(s.Messages()) == 0 {
		text = "Read all files. " + wish
	}
	end, err := s.Prompt(ctx, llm.UserText(text))
	if err != nil {
		return err
	}
	if end.Reason != event.EndCompleted {
		return fmt.Errorf("the turn ended with %s: %s", end.Reason, end.Err)
	}
	return errors.Join(s.Close(), inst.Close())
}

func TestASessionThatIsKilledAgainAndAgainLosesNothing(t *testing.T) {
	kills, seed := long(8, 100), rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			p := newPlace(t, w, 150+kills*15, 14_000)
			inside := 0
			for k := 0; k < kills; {
				// Every other kill strikes in or around a compaction.
				kind, nth := "", 1+random.IntN(60)
				if k%2 == 0 {
					kind, nth = []string{"compacting", "compacted"}[random.IntN(2)], 1
				}
				done, struck := p.live(t, kind, nth, time.Duration(random.IntN(3000))*time.Microsecond)
				if done {
					t.Fatalf("the work was done after %d kills", k)
				}
				if k++; struck == "compacting" {
					inside++
				}
			}
			if done, _ := p.live(t, "none", 1, 0); !done {
				t.Fatal("the last life was not to be killed")
			}
			t.Logf("%d of %d kills were inside a compaction", inside, kills)
			p.intact(t)
		})
	}
}

// live runs a victim and kills it a while after the nth event of a kind ("": of any). It reports whether the victim
// finished its turn, and the kind of its last event.
func (p *place) live(t *testing.T, kind string, nth int, after time.Duration) (done bool, last string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self)
	c.Env = append(p.environ[:len(p.environ):len(p.environ)], victimVar+"="+p.dir)
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	killed := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		last = lines.Text()
		if kind != "" && last != kind || killed {
			continue
		}
		if nth--; nth == 0 {
			killed = true
			time.AfterFunc(after, func() { _ = c.Process.Kill() })
		}
	}
	err = c.Wait()
	if err != nil && !killed {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	return err == nil, last
}

// intact checks the session after its last life.
func (p *place) intact(t *testing.T) {
	t.Helper()
	for _, r := range p.srv.Requests() {
		if r.Status >= 400 { // 0: the client was killed while it sent
			t.Errorf("request %d was refused: %d %s", r.N, r.Status, r.Refused)
		}
	}
	s := p.session(t, nil, conversation.SessionOptions{Resume: victimID})
	kept(t, s.Messages())
	callsOnce(t, s.Log())
	started, finished := 0, 0
	bash := map[string]bool{}
	for e := range s.Log().Entries() {
		switch b := e.Body.(type) {
		case session.Part:
			if c, ok := b.Part.(llm.ToolCall); ok && c.Name == "Bash" {
				bash[c.ID] = true
			}
		case session.CallStart:
			if bash[b.CallID] {
				started++
			}
		case session.CallEnd:
			if bash[b.Result.CallID] && !b.Result.IsError {
				finished++
			}
		}
	}
	if n := p.ran(t); n < finished || n > started || finished == 0 {
		t.Errorf("the command ran %d times; by the log it was started %d times and %d ended", n, started, finished)
	}
}
