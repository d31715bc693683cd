package lsp

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

func TestAServerThatFailsIsStartedAgainAfterGrowingPausesUntilItIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var starts []time.Duration
		notices := 0
		p := New(Options{
			Settings: func() Settings { return Settings{Enabled: true, StartMs: 1000} },
			Launch: func(context.Context, []string, string, map[string]string, *Log) (*sandbox.Piped, func(), error) {
				starts = append(starts, time.Since(began))
				return nil, nil, errors.New("no license")
			},
			Notice: func(string) { notices++ },
		})
		defer p.Close()
		s := p.server(&Definition{Name: "fake"}, t.TempDir(), []string{"fake"})
		use := func() {
			s.start()
			if r := s.current(); r != nil {
				r.waitEnd()
			}
			synctest.Wait()
		}
		for range maxFailures + 3 {
			use()
		}
		want := []time.Duration{0, firstBackoff, 3 * firstBackoff, 7 * firstBackoff} // pauses of 1, 2 and 4
		if !slices.Equal(starts, want) || notices != 1 {
			t.Errorf("started at %v with %d notices, want %v with one", starts, notices, want)
		}
		if s.restart(); s.current() != nil {
			s.current().waitEnd()
		}
		synctest.Wait()
		if len(starts) != len(want)+1 || starts[len(want)] != want[len(want)-1] {
			t.Errorf("asked for by hand after it was given up: started at %v, want at once", starts)
		}
	})
}
