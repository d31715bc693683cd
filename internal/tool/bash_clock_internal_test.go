package tool

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/netproxy"
)

func TestTheTimeoutStandsWhileAHostIsAskedAbout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		ended := make(chan time.Duration, 1)
		c := newClock(10*time.Second, func() { ended <- time.Since(begun) })
		n := c.patient(boundary.Network{Ask: func(context.Context, netproxy.Request) netproxy.Verdict {
			time.Sleep(time.Hour) // a person at lunch
			return netproxy.Verdict{Allowed: true}
		}})
		time.Sleep(4 * time.Second)
		go func() { time.Sleep(time.Minute); n.Ask(t.Context(), netproxy.Request{}) }() // a second host meanwhile
		if v := n.Ask(t.Context(), netproxy.Request{}); !v.Allowed {
			t.Error("the answer was lost")
		}
		if got, want := <-ended, 10*time.Second+time.Hour+time.Minute; got != want {
			t.Errorf("it ended after %s, want %s", got, want)
		}
		if c.stop() {
			t.Error("a clock that is over was stopped")
		}
	})
}

func TestAStoppedClockStaysStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(time.Second, func() { t.Error("it ended") })
		resume := c.pause()
		if !c.stop() {
			t.Error("a clock that stood could not be stopped")
		}
		resume()
		resume()
		c.pause()()
		time.Sleep(time.Hour)
		if c.stop() {
			t.Error("it was stopped twice")
		}
	})
}
