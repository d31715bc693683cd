//go:build !windows

package tui

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// prepareOutput makes the output understand sequences; Unix terminals do.
func prepareOutput(*os.File) (restore func(), err error) { return func() {}, nil }

// watchSize calls resized whenever the terminal says that its size has changed, until stop is called.
func (t *terminal) watchSize(resized func()) (stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGWINCH)
	go func() {
		for range c {
			resized()
		}
	}()
	return func() { signal.Stop(c); close(c) }
}

// watchEnd calls end when the process is asked to end, and suspend when it is asked to stop.
func watchEnd(end func(os.Signal), suspend func()) (stop func()) {
	c := make(chan os.Signal, 4)
	signal.Notify(c, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTSTP)
	go func() {
		for s := range c {
			if s == syscall.SIGTSTP {
				suspend()
			} else {
				end(s)
			}
		}
	}()
	return func() { signal.Stop(c); close(c) }
}

// stopWait is how long to wait for the kernel to stop the process: it does not, when there is no shell that could
// continue it.
const stopWait = 200 * time.Millisecond

// stopSelf stops the process and its group as a shell's ctrl+z does, and returns when it continues.
func stopSelf() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGCONT)
	defer signal.Stop(c)
	signal.Reset(syscall.SIGTSTP)
	_ = syscall.Kill(0, syscall.SIGTSTP)
	select {
	case <-c:
	case <-time.After(stopWait):
	}
}

const canSuspend = true

func hangup(s os.Signal) bool { return s == syscall.SIGHUP }

// defaultEditor is used when the environment names none.
const defaultEditor = "vi"

// fromKeys reports a signal that a key press sends to all programs of the terminal.
func fromKeys(s os.Signal) bool { return s == syscall.SIGINT || s == syscall.SIGQUIT }
