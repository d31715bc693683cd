//go:build linux || darwin

package cli_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/lathe-dev/lathe/client"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// browser is a headless Chromium; tests are skipped where there is none.
type browser struct {
	t   *testing.T
	ctx context.Context
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("there is no chromium: apt-get install chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.UserDataDir(t.TempDir()))
	all, end := chromedp.NewExecAllocator(t.Context(), options...)
	ctx, cancel := chromedp.NewContext(all)
	t.Cleanup(func() { _ = chromedp.Cancel(ctx); cancel(); end() })
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("%s does not start: %v", path, err)
	}
	return &browser{t, ctx}
}

// page is one tab, which fails the test on an exception and on a breach of its policy.
type page struct {
	t   *testing.T
	ctx context.Context
}

func (b *browser) page() *page {
	b.t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx)
	b.t.Cleanup(cancel)
	p := &page{b.t, ctx}
	if err := chromedp.Do(ctx); err != nil {
		b.t.Fatal(err)
	}
	err := chromedp.Listen(ctx, func(ev any) {
		switch ev := ev.(type) {
		case *runtime.EventExceptionThrown:
			b.t.Errorf("an exception in the page: %+v", *ev.ExceptionDetails)
		case *log.EventEntryAdded:
			if strings.Contains(ev.Entry.Text, "Content Security Policy") || strings.Contains(ev.Entry.Text, "Trusted") {
				b.t.Errorf("the page's policy was breached: %s", ev.Entry.Text)
			}
		}
	})
	if err != nil {
		b.t.Fatal(err)
	}
	call(p, runtime.Enable, cdp.Empty{})
	call(p, log.Enable, cdp.Empty{})
	return p
}

// call sends a command of the protocol.
func call[P, R any](p *page, c cdp.Command[P, R], params P) R {
	p.t.Helper()
	return value(p, func(ctx context.Context, t *chromedp.Target) (R, error) { return cdp.Call(ctx, t, c, params) })
}

// value runs an action within a limit that no working page needs.
func value[T any](p *page, a chromedp.Action[T]) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, 30*time.Second)
	defer cancel()
	out, err := chromedp.Run(ctx, a)
	if err != nil {
		p.save("failed")
		p.t.Fatalf("%v\n%s", err, p.text("body"))
	}
	return out
}

func (p *page) run(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	value(p, chromedp.Steps(actions...))
}

// eval is the value of an expression of the page.
func eval[T any](p *page, expression string) T {
	p.t.Helper()
	return value(p, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

func (p *page) do(expression string) {
	p.t.Helper()
	eval[chromedp.Void](p, expression)
}

// wait waits until an expression of the page is true.
func (p *page) wait(expression string, args ...any) {
	p.t.Helper()
	expression = fmt.Sprintf(expression, args...)
	ctx, cancel := context.WithTimeout(p.ctx, 30*time.Second)
	defer cancel()
	poll := chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingInterval(30*time.Millisecond))
	if err := chromedp.Do(ctx, poll); err != nil {
		p.save("failed")
		p.t.Fatalf("never true: %s: %v\n%s", expression, err, p.text("body"))
	}
}

// has waits until an element has a text.
func (p *page) has(selector, text string) {
	p.t.Helper()
	p.wait(`[...document.querySelectorAll(%q)].some((e) => e.textContent.includes(%q))`, selector, text)
}

func (p *page) text(selector string) string {
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
	defer cancel()
	expression := fmt.Sprintf("document.querySelector(%q)?.innerText ?? ''", selector)
	out, _ := chromedp.Run(ctx, chromedp.Evaluate[string](expression)) // it is for a message
	return out
}

func (p *page) click(selector string) {
	p.t.Helper()
	p.wait("document.querySelector(%q)", selector)
	p.run(chromedp.Click(chromedp.CSS(selector)))
}

// choose clicks the choice of a question with a text.
func (p *page) choose(text string) {
	p.t.Helper()
	p.wait(`(() => {
		const button = [...document.querySelectorAll(".choices button")].find((b) => b.textContent.includes(%q));
		button?.click();
		return Boolean(button);
	})()`, text)
}

// prompt types into the prompt and sends it.
func (p *page) prompt(text string) {
	p.t.Helper()
	p.wait(`!document.querySelector("lathe-prompt").hidden`)
	p.run(chromedp.SendKeys(chromedp.CSS("#prompt"), text), chromedp.Click(chromedp.CSS(".send")))
}

func (p *page) size(width, height int64) {
	p.t.Helper()
	call(p, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: width, Height: height, DeviceScaleFactor: 1, Mobile: width < 600,
	})
}

func (p *page) theme(name string) {
	p.t.Helper()
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
	})
}

// save writes a picture, if the environment names a folder for them.
func (p *page) save(name string) {
	p.t.Helper()
	dir := os.Getenv("LATHE_PICTURES")
	if dir == "" {
		return
	}
	ctx, cancel := context.WithTimeout(p.ctx, 10*time.Second)
	defer cancel()
	b, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Logf("no picture %s: %v", name, err)
		return
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), b, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// webPlace is a machine with the page in a browser.
type webPlace struct {
	*servePlace
	*browser
}

// newWebPlace starts a server whose model follows a script; nil: that of the tests of jobs.
func newWebPlace(t *testing.T, script *llmtest.Script) *webPlace {
	b := newBrowser(t)
	p := &servePlace{jobsPlace: newJobsPlace(t)}
	if script != nil {
		p.serve(script)
	}
	p.start()
	t.Cleanup(p.kill9)
	return &webPlace{p, b}
}

// paired is a tab that was paired by a link with a code.
func (p *webPlace) paired() *page {
	p.browser.t.Helper()
	made, err := p.socket().BeginPairing(p.browser.t.Context(), client.NewPairing{
		Scopes: []string{"read", "prompt", "approve", "admin"},
	})
	if err != nil || len(made.URLs) == 0 {
		p.browser.t.Fatalf("%+v %v", made, err)
	}
	tab := p.page()
	tab.size(1280, 860)
	tab.run(chromedp.Navigate(made.URLs[0]))
	tab.wait(`document.documentElement.dataset.link === "on"`)
	return tab
}

// session begins a session and shows it in a tab.
func (p *webPlace) session(tab *page, name string) client.Session {
	p.browser.t.Helper()
	s, err := p.socket().CreateSession(p.browser.t.Context(), client.NewSession{Dir: p.dir, Name: name})
	if err != nil {
		p.browser.t.Fatal(err)
	}
	tab.do("location.hash = '#/" + s.ID + "'")
	tab.wait(`document.querySelector(".settings .mode")`)
	return s
}
