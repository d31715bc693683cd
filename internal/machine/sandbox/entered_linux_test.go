package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
)

// hung is a tier whose carrier starts, and never begins the command.
func hung(t *testing.T) (s confine.Support, begun string) {
	t.Helper()
	dir := realDir(t)
	begun = filepath.Join(dir, "begun")
	carrier := filepath.Join(dir, "carrier")
	if err := os.WriteFile(carrier, []byte("#!/bin/sh\n: >'"+begun+"'\nexec sleep 1000\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return confine.Support{Tier: confine.Full, ABI: 6, Carrier: carrier}, begun
}

// A sandbox that never becomes ready, as one whose folders do not answer, ends with the context and with the Runner.
func TestASandboxThatIsNeverReadyEnds(t *testing.T) {
	for _, name := range []string{"context", "runner"} {
		s, begun := hung(t)
		r := New()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := r.Start(ctx, Spec{
				Argv: []string{"true"},
				Confine: &Confinement{
					Policy:  confine.Policy{Mode: confine.Workspace, Write: []string{filepath.Dir(begun)}},
					Support: s,
				},
			})
			ended <- err
		}()
		if !await.Until(func() bool { _, err := os.Stat(begun); return err == nil }) {
			t.Fatal("the carrier was never started")
		}
		if name == "context" {
			cancel()
		} else {
			go r.Close()
		}
		if err := <-ended; err == nil || name == "context" && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
		r.Close()
	}
}
