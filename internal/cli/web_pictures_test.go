//go:build linux || darwin

package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/client"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

const pictured = `package retry

import "time"

// Delay is how long to wait before an attempt.
func Delay(attempt int) time.Duration {
	d := 100 * time.Millisecond << attempt
	if d > time.Minute {
		return time.Minute
	}
	return d
}
`

const picturedReply = `The delay is bounded now.

## What changed

- **Delay** returns a minute from attempt 10 on, before the shift can overflow
- the tests cover attempts **0 to 100**

| attempt | before | now |
|---:|---:|---:|
| 3 | 800 ms | 800 ms |
| 10 | 1 min | 1 min |
| 40 | *−2h 3m* | 1 min |

The whole function:

~~~go
func Delay(attempt int) time.Duration {
	if attempt > 9 { // larger shifts overflow
		return time.Minute
	}
	return 100 * time.Millisecond << attempt
}
~~~

See [the documentation](https://pkg.go.dev/time#Duration) for the range of a duration.`

// pictureScript is a conversation that has everything in it.
func pictureScript() *llmtest.Script {
	const file = "retry.go"
	todo := func(a, b, c string) llmtest.Part {
		item := func(text, active, status string) map[string]any {
			return map[string]any{"content": text, "activeForm": active, "status": status}
		}
		return llmtest.Tool("TodoWrite", map[string]any{"todos": []any{
			item("Find why the delay overflows", "Finding why the delay overflows", a),
			item("Bound the shift", "Bounding the shift", b), item("Run the tests", "Running the tests", c),
		}})
	}
	s := llmtest.Replies(
		llmtest.Say(llmtest.Thinking("The shift is not bounded: attempt 40 overflows to a negative duration."),
			llmtest.Text("I'll look at how the delay is computed, and at who calls it."), todo("in_progress", "pending", "pending"),
			llmtest.Tool("Read", map[string]any{"file_path": file}), llmtest.Tool("Grep", map[string]any{"pattern": "Delay"})),
		llmtest.Say(llmtest.Text("The shift overflows from **attempt 37** on, so `d > time.Minute` is false."),
			todo("completed", "in_progress", "pending"),
			llmtest.Tool("Edit", map[string]any{
				"file_path":  file,
				"old_string": "\td := 100 * time.Millisecond << attempt\n\tif d > time.Minute {\n\t\treturn time.Minute\n\t}\n\treturn d\n",
				"new_string": "\tif attempt > 9 { // larger shifts overflow\n\t\treturn time.Minute\n\t}\n" +
					"\treturn 100 * time.Millisecond << attempt\n",
			})),
		llmtest.Say(todo("completed", "completed", "in_progress"), llmtest.Tool("Bash", map[string]any{
			"command":     `printf 'ok  \texample.com/retry\t0.012s\nok  \texample.com/retry/queue\t0.048s\n'; rm -f old.txt`,
			"description": "Run the tests",
		})),
		llmtest.Say(llmtest.Text(picturedReply)),
	)
	s.NoTools = &llmtest.Reply{Parts: []llmtest.Part{llmtest.Text("Bound the retry delay")}}
	return s
}

// TestThePageInPictures draws docs/img/web-*.png with LATHE_PICTURES=DIR.
func TestThePageInPictures(t *testing.T) {
	if os.Getenv("LATHE_PICTURES") == "" {
		t.Skip("LATHE_PICTURES names no folder")
	}
	p := newWebPlace(t, pictureScript())
	if err := os.WriteFile(filepath.Join(p.dir, "retry.go"), []byte(pictured), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "-C", p.dir, "init", "-q", "-b", "main").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	for _, name := range []string{"Sort the import list", "Explain the cache", "Write release notes"} {
		s, err := p.socket().CreateSession(t.Context(), client.NewSession{Dir: p.dir, Name: name})
		if err != nil {
			t.Fatal(err)
		}
		_ = s
	}
	tab := p.paired()
	shots := func(name string) {
		for _, theme := range []string{"dark", "light"} {
			tab.theme(theme)
			for _, size := range [][2]int64{{390, 844}, {820, 1180}, {1440, 900}} {
				tab.size(size[0], size[1])
				tab.do(fmt.Sprintf(`document.querySelector("#app").classList.toggle("details", %v)`, size[0] > 1200))
				tab.do("new Promise((r) => setTimeout(r, 250))")
				tab.save(fmt.Sprintf("web-%s-%d-%s", name, size[0], theme))
			}
		}
		tab.size(1440, 900)
	}
	p.session(tab, "Bound the retry delay")
	tab.prompt("The retry test fails with a negative delay. Find out why and fix it.")
	tab.has(".question", "retry.go")

	shots("question")
	tab.choose("Yes")
	tab.has(".question", "printf")
	shots("command")
	tab.choose("Yes")
	tab.has(".item.reply", "The whole function")
	tab.wait(`document.querySelector(".busy").hidden`)
	shots("done")
	tab.do(`document.querySelector("lathe-transcript").scrollTop = 0`)
	shots("top")
	tab.do(`location.hash = "#/"`)
	shots("list")
	if strings.Contains(tab.text("body"), "undefined") {
		t.Error("something is undefined")
	}
}
