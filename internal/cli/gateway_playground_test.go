//go:build linux || darwin

package cli_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/face/gateway"
	"github.com/lathe-dev/lathe/internal/face/gateway/teams"
)

// free is an address of this machine that nothing listens at.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// playground starts Microsoft's Agents Playground for a bot, and returns its page.
func playground(t *testing.T, modules, bot string) string {
	t.Helper()
	stub := t.TempDir() // it opens a browser, and ends where it cannot
	if err := os.WriteFile(filepath.Join(stub, "xdg-open"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	addr := free(t)
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command("node", filepath.Join(modules, "@microsoft", "m365agentsplayground", "cli.js"), "start", "--dt", "-e",
		"http://"+bot+"/api/messages", "-p", port, "-c", "msteams")
	cmd.Dir = stub // its log goes there
	cmd.Env = append(os.Environ(), "PATH="+stub+":"+os.Getenv("PATH"), "HOME="+stub)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	page := "http://127.0.0.1:" + port
	if !await.Until(func() bool {
		res, err := http.Get(page)
		if err == nil {
			_ = res.Body.Close()
		}
		return err == nil
	}) {
		t.Fatal("the playground does not start")
	}
	return page
}

// A person converses and approves in Microsoft's Agents Playground, which shows the cards as Teams does.
// LATHE_PLAYGROUND is the folder node_modules that npm install @microsoft/m365agentsplayground@0.2.28 made;
// LATHE_PICTURES a folder for pictures.
func TestTeamsInThePlayground(t *testing.T) {
	modules := os.Getenv("LATHE_PLAYGROUND")
	if modules == "" {
		t.Skip("LATHE_PLAYGROUND is not set")
	}
	p := newJobsPlace(t)
	for _, v := range p.environ() {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	p.client(t.Context()).Close() // it runs lathe, not the test
	addr := free(t)
	h := gateway.New(teams.New(teams.Options{
		Listen: addr, HTTP: http.DefaultClient, Log: slog.Default(), Unverified: true,
	}), gateway.Options{
		Dir: filepath.Join(p.home, "gateway"), Place: p.Place, CWD: p.dir, Mode: "default", Sandbox: "workspace",
		Patience: time.Hour, Log: slog.Default(), Access: gateway.Access{Users: []string{playgroundUser}},
	})
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	defer func() {
		end()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	page := playground(t, modules, addr)

	browser, stop := chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, chromedp.WindowSize(1100, 900))...)
	defer stop()
	tab, closed := chromedp.NewContext(browser)
	defer closed()
	if _, err := chromedp.Run(tab, chromedp.Navigate(page)); err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, tab: tab}
	d.do(chromedp.WaitVisible(`[role=textbox]`))
	d.say("hello")
	d.see("an answer of some words")
	d.say("ask me")
	d.see("touch made.txt")
	d.see("Yes, once")
	d.picture("teams-approval.png")
	d.do(chromedp.Click(`//button[contains(., "Yes, once")]`))
	d.see("It is made.")
	d.see("Allowed once by teams:" + playgroundUser)
	d.picture("teams-answer.png")
}

// playgroundUser is the object id of the playground's person.
const playgroundUser = "00000000-0000-0000-0000-0000000000020"

// desk is a person at the playground.
type desk struct {
	t   *testing.T
	tab context.Context
}

func (d *desk) do(a chromedp.Action[chromedp.Void]) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.tab, 20*time.Second)
	defer cancel()
	if _, err := chromedp.Run(ctx, a); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) say(text string) {
	d.t.Helper()
	d.do(chromedp.Click(`[role=textbox]`))
	d.do(chromedp.KeyEvent(text + "\r"))
}

// see waits for a text on the page.
func (d *desk) see(text string) {
	d.t.Helper()
	last := ""
	if !await.Until(func() bool {
		last, _ = chromedp.Run(d.tab, chromedp.Text("body"))
		return strings.Contains(last, text)
	}) {
		d.picture("failed.png")
		d.t.Fatalf("no %q on the page:\n%s", text, last)
	}
}

// picture keeps what the person sees.
func (d *desk) picture(name string) {
	dir := os.Getenv("LATHE_PICTURES")
	if dir == "" {
		return
	}
	shot, err := chromedp.Run(d.tab, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name), shot, 0o600)
	}
	if err != nil {
		d.t.Error(err)
	}
}
