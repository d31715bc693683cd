//go:build !windows

package tui

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
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

// stopSelf stops the process and its group, and returns when a shell continues it; at once when there is no
// shell that could. It sends SIGSTOP, because once SIGTSTP was asked for in a Go program it does not stop it
// any more.
func stopSelf() {
	session, err := unix.Getsid(0)
	if err != nil || session == unix.Getpgrp() {
		return
	}
	_ = unix.Kill(0, unix.SIGSTOP)
}

const canSuspend = true

func hangup(s os.Signal) bool { return s == syscall.SIGHUP }

// defaultEditor is used when the environment names none.
const defaultEditor = "vi"

// fromKeys reports a signal that a key press sends to all programs of the terminal.
func fromKeys(s os.Signal) bool { return s == syscall.SIGINT || s == syscall.SIGQUIT }
