package tui

import (
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/windows"
)

// prepareOutput makes the console understand sequences.
func prepareOutput(out *os.File) (restore func(), err error) {
	handle := windows.Handle(out.Fd())
	var mode uint32
	if err := windows.GetConsoleMode(handle, &mode); err != nil {
		return nil, err
	}
	wanted := mode | windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING | windows.DISABLE_NEWLINE_AUTO_RETURN
	if err := windows.SetConsoleMode(handle, wanted); err != nil {
		return nil, err
	}
	return func() { _ = windows.SetConsoleMode(handle, mode) }, nil
}

// sizeInterval is how often the size is polled: Windows has no signal for it.
const sizeInterval = 250 * time.Millisecond

// watchSize calls resized whenever the terminal's size has changed, until stop is called.
func (t *terminal) watchSize(resized func()) (stop func()) {
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(sizeInterval)
		defer tick.Stop()
		w, h := t.size()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			if nw, nh := t.size(); nw != w || nh != h {
				w, h = nw, nh
				resized()
			}
		}
	}()
	return func() { close(done) }
}

// watchEnd calls end when the process is asked to end.
func watchEnd(end func(os.Signal), _ func()) (stop func()) {
	c := make(chan os.Signal, 4)
	signal.Notify(c, os.Interrupt)
	go func() {
		for s := range c {
			end(s)
		}
	}()
	return func() { signal.Stop(c); close(c) }
}

// stopSelf does nothing: Windows cannot stop a process that way.
func stopSelf() {}

const canSuspend = false

func hangup(os.Signal) bool { return false }

// defaultEditor is used when the environment names none.
const defaultEditor = "notepad"

// fromKeys reports a signal that a key press sends to all programs of the terminal.
func fromKeys(s os.Signal) bool { return s == os.Interrupt }
