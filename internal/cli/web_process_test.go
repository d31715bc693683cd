//go:build linux || darwin

package cli_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/lathe-dev/lathe/client"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/store/session"
)

func TestAPageIsPairedAndATurnIsAllowedInIt(t *testing.T) {
	p := newWebPlace(t, nil)
	tab := p.paired()
	p.session(tab, "greeting")
	tab.prompt("ask me")
	tab.has(".question", "touch made.txt")
	tab.has(".item.user", "ask me")
	tab.has(".row.blocked", "needs your permission")
	tab.choose("Yes")
	tab.has(".item.reply", "It is made.")
	tab.wait(`!document.querySelector(".question")`)
	if _, err := os.Stat(filepath.Join(p.dir, "made.txt")); err != nil {
		t.Errorf("the command that was allowed did not run: %v", err)
	}

	// A code works once, and a browser that is forgotten is asked for one.
	tab.do(`fetch("/v1/logout", {method: "POST"})`)
	tab.run(chromedp.Reload())
	tab.has(".pairing", "Pair this browser")
	tab.run(chromedp.SendKeys(chromedp.CSS(".pairing input"), "WRONG-CODE1"), chromedp.Click(chromedp.CSS(".pairing button")))
	tab.wait(`document.querySelector(".pairing .note").textContent`)
	made, err := p.socket().BeginPairing(t.Context(), client.NewPairing{Scopes: []string{"read"}})
	if err != nil {
		t.Fatal(err)
	}
	tab.do(`document.querySelector(".pairing input").value = "` + made.Code + `"`)
	tab.run(chromedp.Click(chromedp.CSS(".pairing button")))
	tab.has(".item.reply", "It is made.")
	tab.wait(`document.querySelector("lathe-prompt").hidden`) // it may only read
}

func TestACallIsDeniedInThePageAndATurnIsInterrupted(t *testing.T) {
	script := llmtest.Replies(
		llmtest.Say(llmtest.Tool("Bash", map[string]any{"command": "touch never.txt; rm -f x"})),
		llmtest.Say(llmtest.Text("Then not.")),
		llmtest.Reply{
			Parts: []llmtest.Part{
				llmtest.Text("# Streaming\n\nThe first words, **bold ones**.\n\n" + strings.Repeat("More of it. ", 200)),
			},
			Chunk:  7,
			Faults: []llmtest.Fault{{Kind: "stall", At: "60%"}},
		},
	)
	p := newWebPlace(t, script)
	tab := p.paired()
	p.session(tab, "denied")
	tab.prompt("remove it")
	tab.choose("No")
	tab.has(".item.reply", "Then not.")
	tab.has(".item.tool.denied", "Bash")
	if _, err := os.Stat(filepath.Join(p.dir, "never.txt")); err == nil {
		t.Error("a command that was denied ran")
	}

	// A reply that is being written: it grows, survives a reload, shows in a second tab, and can be stopped.
	tab.prompt("and now write")
	tab.has(".item.reply h2", "Streaming")
	tab.has(".item.reply strong", "bold ones")
	tab.has(".item.reply", "More of it.")
	tab.run(chromedp.Reload())
	tab.has(".item.reply h2", "Streaming")
	tab.has(".item.reply strong", "bold ones")
	second := p.paired()
	second.do("location.hash = " + eval[string](tab, `JSON.stringify(location.hash)`))
	second.has(".item.reply strong", "bold ones")
	tab.size(390, 844)
	tab.has(".item.reply", "More of it.")
	if n := eval[int](tab, `document.documentElement.scrollWidth`); n > 390 {
		t.Errorf("the page is %d pixels wide on a phone", n)
	}
	tab.size(1280, 860)
	tab.click(".send.stop")
	for _, each := range []*page{tab, second} {
		each.has(".item.end", "Interrupted")
		each.wait(`document.querySelector(".busy").hidden`)
		if n := eval[int](each, `[...document.querySelectorAll(".item.reply h2")].length`); n != 1 {
			t.Errorf("the reply is there %d times", n)
		}
	}
}

func TestWhatIsSentOfflineArrivesOnceWhenTheNetworkIsBack(t *testing.T) {
	p := newWebPlace(t, nil)
	tab := p.paired()
	s := p.session(tab, "offline")
	tab.prompt("the first")
	tab.has(".item.reply", "an answer of some words")
	p.kill9()
	tab.wait(`document.documentElement.dataset.link === "off"`)
	tab.prompt("the second")
	tab.has(".item.pending", "Not on the server yet")
	tab.run(chromedp.Reload()) // from the service worker's files, with the prompt that waits
	tab.has(".item.pending", "the second")
	p.start()
	tab.run(chromedp.Reload())
	tab.has(".item.user", "the second")
	tab.wait(`!document.querySelector(".pending")`)
	got, _, err := p.socket().History(t.Context(), s.ID, "", 50)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := json.Marshal(got); err != nil || !strings.Contains(string(b), "the second") {
		t.Errorf("the session has %s %v", b, err)
	}
	tab.wait(`[...document.querySelectorAll(".item.user")].filter((e) => e.textContent.includes("the second")).length === 1`)
}

// manyMessages is how many messages the long transcript has.
func manyMessages() int {
	if os.Getenv("LATHE_ENDURANCE") != "" {
		return 10_000
	}
	return 1_200
}

func TestALongTranscriptIsShownFromItsEnd(t *testing.T) {
	p := newWebPlace(t, nil)
	store := session.NewStore(filepath.Join(p.home, ".local", "share", "lathe"))
	s, err := store.Create(t.Context(), session.Meta{Dir: p.dir})
	if err != nil {
		t.Fatal(err)
	}
	n := manyMessages()
	for i := range n / 2 {
		if err := s.AddUser(t.Context(), llm.UserText(fmt.Sprintf("question %d", i)), false, false); err != nil {
			t.Fatal(err)
		}
		text := llm.Text{Text: fmt.Sprintf("answer **%d** with `code`", i)}
		reply := llm.Message{Role: llm.Assistant, Parts: []llm.Part{text}}
		if err := s.AddReply(t.Context(), reply); err != nil {
			t.Fatal(err)
		}
	}
	id := s.ID()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	tab := p.paired()
	tab.do("location.hash = '#/" + id + "'")
	tab.has(".item.reply", fmt.Sprintf("answer %d with", n/2-1))
	tab.wait(`(() => { const t = document.querySelector("lathe-transcript"); return t.scrollHeight - t.scrollTop - t.clientHeight < 50 })()`)
	if shown := eval[int](tab, `document.querySelectorAll(".item").length`); shown > 400 {
		t.Errorf("%d items are there at first", shown)
	}
	tab.do(`window.up = setInterval(() => { document.querySelector("lathe-transcript").scrollTop = 0 }, 20)`)
	for at := 1000; at < n+1000; at += 1000 {
		tab.wait(`document.querySelectorAll(".item").length >= %d`, min(at, n))
	}
	tab.has(".item.user", "question 0")
	if all := eval[int](tab, `new Set([...document.querySelectorAll(".item.reply")].map((e) => e.textContent)).size`); all != n/2 {
		t.Errorf("%d of %d answers are there", all, n/2)
	}
}

func TestNoForeignTextBecomesAnElementOfThePage(t *testing.T) {
	const evil = `<img src=x onerror="window.hit=1"><script>window.hit=2</script><svg onload=window.hit=3>`
	const file = `<img src=x onerror=window.hit=4>.md`
	branch := `<img/src=x/onerror=hit=5>`
	p := newWebPlace(t, llmtest.Replies(
		llmtest.Say(llmtest.Thinking(evil), llmtest.Text(strings.ReplaceAll(
			"E\n\n# E\n\n```E\nE\n```\n\n[x](javascript:window.hit=6)\n\n| E |\n|---|\n| E |\n", "E", evil)),
			llmtest.Tool("TodoWrite", map[string]any{"todos": []any{map[string]any{"content": evil, "activeForm": evil, "status": "in_progress"}}}),
			llmtest.Tool("Write", map[string]any{"file_path": file, "content": evil + "\n"})),
		llmtest.Say(llmtest.Tool("Bash", map[string]any{"command": "printf '%s\\n' '" + evil + "'; rm -f x", "description": evil})),
		llmtest.Say(llmtest.Tool("Read", map[string]any{"file_path": file}), llmtest.Tool("Glob", map[string]any{"pattern": "*.md"})),
		llmtest.Say(llmtest.Tool("AskUserQuestion", map[string]any{"questions": []any{map[string]any{
			"question": evil, "header": "<b>x</b>", "multiSelect": false,
			"options": []any{
				map[string]any{"label": evil, "description": evil, "preview": evil}, map[string]any{"label": "other", "description": evil},
			},
		}}})),
		llmtest.Say(llmtest.Text("the end "+evil)),
	))
	for _, args := range [][]string{{"init", "-q"}, {"checkout", "-q", "-b", branch}} {
		if out, err := exec.Command("git", append([]string{"-C", p.dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
	}
	tab := p.paired()
	s := p.session(tab, evil)
	tab.prompt(evil)
	tab.choose("Yes")
	tab.has(".question", "printf")
	tab.choose("Yes")
	tab.has(".question", "onerror")
	tab.wait(`(() => {
		const choice = [...document.querySelectorAll(".choice")].find((b) => b.textContent.includes("other"));
		choice?.click();
		return Boolean(choice);
	})()`)
	if eval[bool](tab, `Boolean(document.querySelector(".question button[type=submit].choice"))`) {
		tab.click(".question button[type=submit].choice")
	}
	tab.has(".item.reply", "the end")
	tab.click("[data-do=panel]")
	tab.has("lathe-panel", branch)
	tab.click("[data-do=files]")
	tab.has("dialog .tree", file)
	tab.do(`[...document.querySelectorAll("dialog .file")].find((b) => b.textContent.includes("onerror")).click()`)
	tab.has("dialog.wide .page", "window.hit=1")
	tab.save("evil")
	tab.run(chromedp.Reload())
	tab.has(".item.reply", "the end")
	if hit := eval[string](tab, `String(window.hit)`); hit != "undefined" {
		t.Errorf("foreign text ran: %s", hit)
	}
	if n := eval[int](tab, `document.querySelectorAll("img[src=x], svg[onload], main script, .side script, [onerror], a[href^=javascript]").length`); n > 0 {
		t.Errorf("foreign text became %d elements", n)
	}
	_ = s
}

func TestThePageIsAccessible(t *testing.T) {
	axe := os.Getenv("LATHE_AXE")
	if axe == "" {
		t.Skip("LATHE_AXE names no axe.min.js: npm install axe-core")
	}
	source, err := os.ReadFile(axe)
	if err != nil {
		t.Fatal(err)
	}
	p := newWebPlace(t, pictureScript())
	if err := os.WriteFile(filepath.Join(p.dir, "retry.go"), []byte(pictured), 0o600); err != nil {
		t.Fatal(err)
	}
	tab := p.paired()
	call(tab, cdppage.SetBypassCSP, cdppage.SetBypassCSPParams{Enabled: true})
	check := func(where string) {
		t.Helper()
		for _, theme := range []string{"dark", "light"} {
			for _, width := range []int64{390, 1440} {
				tab.theme(theme)
				tab.size(width, 860)
				tab.do(string(source))
				found := eval[[]string](tab, `axe.run(document, {resultTypes: ["violations"]}).then((r) =>
					r.violations.map((v) => v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map((n) => n.target + " " + (n.any[0]?.message ?? n.html)).join("; ")))`)
				for _, f := range found {
					t.Errorf("%s, %s, %d: %s", where, theme, width, f)
				}
			}
		}
	}
	check("the list")
	p.session(tab, "Bound the retry delay")
	tab.prompt("Fix it.")
	tab.has(".question", "retry.go")
	check("a question")
	tab.choose("Yes")
	tab.has(".question", "printf")
	tab.choose("Yes")
	tab.has(".item.reply", "The whole function")
	tab.do(`document.querySelector("#app").classList.add("details")`)
	check("a transcript")
	tab.do(`document.querySelector("[data-do=files]").click()`)
	check("a dialog")
}

func TestThePageIsSmallAndItsCommandFindsTheServer(t *testing.T) {
	p := newWebPlace(t, nil)
	out := p.must("web", "--no-open")
	if !strings.Contains(out, "open "+p.address+"/#code=") || !strings.Contains(out, "for a phone:") {
		t.Errorf("lathe web printed\n%s", out)
	}
	tab := p.paired()
	names := eval[[]string](tab, `performance.getEntriesByType("resource").map((e) => e.name)`)
	size := eval[int](tab, `[...performance.getEntriesByType("resource"), ...performance.getEntriesByType("navigation")]
		.filter((e) => !e.name.includes("/v1/") && !e.name.includes("/page/")).reduce((n, e) => n + e.decodedBodySize, 0)`)
	if size > 200_000 || size < 10_000 {
		t.Errorf("the page has %d bytes", size)
	}
	for range 3 { // for docs/web.md; no limit, since machines differ
		tab.run(chromedp.Reload())
		tab.wait(`performance.getEntriesByName("first-contentful-paint").length`)
		t.Logf("%d bytes, first paint after %.0f ms", size,
			eval[float64](tab, `performance.getEntriesByName("first-contentful-paint")[0].startTime`))
	}
	if i := slices.IndexFunc(names, func(n string) bool { return !strings.HasPrefix(n, p.address) && !strings.HasPrefix(n, "data:") }); i >= 0 {
		t.Errorf("the page loads %s", names[i])
	}
	if got, err := p.socket().Sessions(t.Context(), client.SessionsQuery{}); err != nil {
		t.Errorf("%+v %v", got, err)
	}
}

func TestLatheWebStartsTheServerWhereNoneRuns(t *testing.T) {
	p := newJobsPlace(t)
	cmd := exec.Command(p.lathe, "web", "--no-open")
	cmd.Dir, cmd.Env = p.dir, p.environ()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
	stuck := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }) // it ends the scan
	defer stuck.Stop()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		link, ok := strings.CutPrefix(lines.Text(), "open ")
		if !ok {
			continue
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v %v", link, answer, err)
		}
		_ = answer.Body.Close()
		return
	}
	t.Error("no link was printed")
}

// dot is a picture of one pixel.
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func TestThePromptCompletesTakesImagesAndQueues(t *testing.T) {
	p := newWebPlace(t, llmtest.Replies(
		llmtest.Reply{
			Parts:  []llmtest.Part{llmtest.Text(strings.Repeat("Some words. ", 50))},
			Chunk:  9,
			Faults: []llmtest.Fault{{Kind: "stall", At: "50%"}},
		},
		llmtest.Say(llmtest.Text("I see a dot.")),
	))
	if err := os.WriteFile(filepath.Join(p.dir, "retry.go"), []byte(pictured), 0o600); err != nil {
		t.Fatal(err)
	}
	tab := p.paired()
	p.session(tab, "prompts")
	typed := func(text string) { tab.run(chromedp.SendKeys(chromedp.CSS("#prompt"), text)) }
	value := func(want string) { tab.wait(`document.querySelector("#prompt").value === %q`, want) }

	typed("/mod")
	tab.has("#completions", "/mode")
	tab.do(`document.querySelector("#prompt").value = ""`)
	typed("look at @retr")
	tab.has("#completions", "retry.go")
	typed("\t")
	value("look at @retry.go ")
	tab.do(`(() => {
		const bytes = Uint8Array.from(atob("` + dot + `"), (c) => c.charCodeAt(0));
		const data = new DataTransfer();
		data.items.add(new File([bytes], "dot.png", { type: "image/png" }));
		document.querySelector("#prompt").dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, cancelable: true }));
	})()`)
	tab.has(".chips", "dot.png")
	typed("\r")
	tab.has(".item.user", "look at @retry.go")
	tab.wait(`document.querySelector(".item.user img")`)
	tab.has(".item.user .chip", "retry.go")

	// While the turn runs, a message waits, and can be taken back.
	tab.has(".item.reply", "Some words.")
	typed("and then this\r")
	tab.has(".queued", "and then this")
	tab.do(`[...document.querySelectorAll(".queued button")].find((b) => b.textContent === "Take back").click()`)
	value("and then this")
	tab.wait(`!document.querySelector(".queued li")`)
	tab.do(`document.querySelector("#prompt").value = ""`)

	// Keys: a mode, the end of the turn.
	tab.run(chromedp.Focus(chromedp.CSS("#prompt")), chromedp.KeyEvent("\t", chromedp.KeyModifiers(8)))
	tab.has(".settings .mode", "Accept edits")
	tab.run(chromedp.KeyEvent("\x1b"))
	tab.has(".item.end", "Interrupted")
	typed("/mode plan\r")
	tab.has(".settings .mode", "Plan")
	typed("/cost\r")
	tab.has(".item.output, dialog", "$")
}

func TestAPlanIsReviewedInThePage(t *testing.T) {
	p := newWebPlace(t, llmtest.Replies(
		llmtest.Say(llmtest.Tool("ExitPlanMode", map[string]any{"plan": "# The plan\n\n1. first\n2. **second**\n"})),
		llmtest.Say(llmtest.Tool("ExitPlanMode", map[string]any{"plan": "# The other plan\n\n1. only this\n"})),
		llmtest.Say(llmtest.Text("I begin.")),
	))
	tab := p.paired()
	p.session(tab, "planned")
	tab.prompt("/mode plan")
	tab.has(".settings .mode", "Plan")
	tab.prompt("plan it")
	tab.has(".question .prose strong", "second")
	tab.run(chromedp.SendKeys(chromedp.CSS(".own input"), "shorter\r"))
	tab.has(".question", "The other plan")
	tab.do(`document.querySelector(".edit summary").click()`)
	tab.do(`document.querySelector(".edit textarea").value += "2. and test\n"`)
	tab.choose("Approve the edited plan")
	tab.has(".item.reply", "I begin.")
	tab.has(".settings .mode", "Ask")
}

// What the buttons of a notification do, in the service worker, whose cookie is that of the browser.
func TestAQuestionIsAnsweredFromTheServiceWorker(t *testing.T) {
	p := newWebPlace(t, nil)
	tab := p.paired()
	s := p.session(tab, "pushed")
	tab.prompt("ask me")
	tab.has(".question", "touch made.txt")
	id := eval[string](tab, `navigator.serviceWorker.ready.then(async () => {
		const { questions } = await import("/server.js");
		return [...questions().keys()][0];
	})`)
	worker := p.worker(tab)
	worker.do(`answer({ session: "` + s.ID + `", question: "` + id + `" }, "once")`)
	tab.has(".item.reply", "It is made.")
}

// worker is the service worker of a page.
func (p *webPlace) worker(tab *page) *page {
	p.browser.t.Helper()
	all, err := chromedp.Targets(tab.ctx)
	if err != nil {
		p.browser.t.Fatal(err)
	}
	for _, target := range all {
		if target.Type == "service_worker" {
			ctx, cancel := chromedp.NewContext(tab.ctx, chromedp.WithTargetID(target.TargetID))
			p.browser.t.Cleanup(cancel)
			return &page{p.browser.t, ctx}
		}
	}
	p.browser.t.Fatalf("there is no service worker: %+v", all)
	return nil
}
