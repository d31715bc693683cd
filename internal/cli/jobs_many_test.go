//go:build linux

package cli_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// Sessions stream side by side, 50 pieces a second each, and every face gets the whole of its reply.
// LATHE_TEST_SESSIONS says how many; the log has the delay of events and the memory of the processes.
func TestManySessionsStreamSideBySide(t *testing.T) {
	n := 3
	if more, err := strconv.Atoi(os.Getenv("LATHE_TEST_SESSIONS")); err == nil {
		n = more
	}
	p := newJobsPlace(t)
	words := strings.Repeat("streaming words ", 40)
	script := llmtest.Replies()
	script.Final = &llmtest.Reply{
		Parts: []llmtest.Part{{Text: words}}, Chunk: 4, Gap: llmtest.Duration(20 * time.Millisecond),
	}
	p.serve(script)
	var mu sync.Mutex
	var delays []time.Duration
	var wg sync.WaitGroup
	for i := range n {
		id := p.empty(t.Context()).ID
		f := p.face(t, id, port.Face{})
		events, err := f.Attach(t.Context(), port.From{})
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			if _, err := f.Prompt(t.Context(), port.Prompt{ID: fmt.Sprint("p", i), Message: llm.UserText("stream")}); err != nil {
				t.Error(err)
				return
			}
			var text strings.Builder
			var own []time.Duration
			for {
				e, err := events.Next(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if d, ok := e.Body.(event.Delta); ok {
					own = append(own, time.Since(e.Time))
					if piece, ok := d.Delta.(llm.TextDelta); ok {
						text.WriteString(piece.Text)
					}
				}
				if _, ok := e.Body.(event.TurnEnd); ok {
					break
				}
			}
			if text.String() != words {
				t.Errorf("session %d: %d of %d bytes came", i, text.Len(), len(words))
			}
			mu.Lock()
			delays = append(delays, own...)
			mu.Unlock()
		})
	}
	wg.Wait()
	slices.Sort(delays)
	if len(delays) > 0 {
		t.Logf("%d sessions, %d pieces: p50 %v, p99 %v, most %v; private memory of a process %v", n, len(delays),
			delays[len(delays)/2], delays[len(delays)*99/100], delays[len(delays)-1], p.memory(t))
	}
}

// memory is the private memory of the session processes, the largest, in kB.
func (p *jobsPlace) memory(t *testing.T) (most int) {
	t.Helper()
	jobs, err := p.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", j.PID))
		if err != nil {
			continue // it has ended
		}
		own := 0
		for line := range strings.Lines(string(b)) {
			if f := strings.Fields(line); len(f) == 3 && strings.HasPrefix(f[0], "Private_") {
				kb, _ := strconv.Atoi(f[1])
				own += kb
			}
		}
		most = max(most, own)
	}
	return most
}
