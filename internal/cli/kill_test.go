//go:build unix

package cli_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// kills is how often TestKilledRunsLoseNothing kills a run; LATHE_KILLS changes it.
const kills = 12

const killSteps = 5

// killScript reads and edits one file and appends to another, step after step, with some time between the
// pieces so that a kill hits every kind of moment.
func killScript() *llmtest.Script {
	s := &llmtest.Script{Chunk: 16, Gap: llmtest.Duration(time.Millisecond)}
	for i := range killSteps {
		s.Replies = append(s.Replies,
			llmtest.Say(llmtest.Text(fmt.Sprintf("Step %d.", i)),
				llmtest.Tool("Read", map[string]any{"file_path": "${WORKDIR}/data.txt", "limit": 3}),
				llmtest.Tool("Edit", map[string]any{
					"file_path":  "${WORKDIR}/data.txt",
					"old_string": fmt.Sprintf("counter = %d\n", i), "new_string": fmt.Sprintf("counter = %d\n", i+1),
				})),
			llmtest.Say(llmtest.Tool("Bash", map[string]any{"command": fmt.Sprintf("echo step-%d >> log.txt; cat log.txt", i)})))
	}
	return s
}

// killed is one run that is killed and then continued.
type killed struct {
	t    *testing.T
	bin  string
	home string
	dir  string
	srv  *llmtest.Server
}

func (k *killed) command(args ...string) *exec.Cmd {
	c := exec.Command(k.bin, append([]string{
		"-p", "--output-format", "stream-json", "--verbose", "--permission-mode", "bypassPermissions",
	}, args...)...)
	c.Dir = k.dir
	c.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + k.home, "ANTHROPIC_BASE_URL=" + k.srv.URL(), "ANTHROPIC_API_KEY=sk-test",
	}
	return c
}

const killFiller = 2000

func newKilled(t *testing.T, bin string) *killed {
	k := &killed{t: t, bin: bin, home: t.TempDir()}
	k.dir = filepath.Join(k.home, "project")
	if err := os.Mkdir(k.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	text := "counter = 0\n" + strings.Repeat("filler line\n", killFiller)
	if err := os.WriteFile(filepath.Join(k.dir, "data.txt"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	k.srv = llmtest.New(killScript(), llmtest.Options{Vars: map[string]string{"WORKDIR": k.dir}})
	if err := k.srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.srv.Close() })
	return k
}

// runFor starts a run and kills it after a while; it returns the complete lines that were printed.
func (k *killed) runFor(d time.Duration) [][]byte {
	c := k.command("go")
	out, err := c.StdoutPipe()
	if err != nil {
		k.t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		k.t.Fatal(err)
	}
	timer := time.AfterFunc(d, func() { _ = c.Process.Kill() })
	defer timer.Stop()
	var lines [][]byte
	r := bufio.NewReader(out)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			break // a torn line does not count as printed
		}
		lines = append(lines, bytes.Clone(line))
	}
	_ = c.Wait()
	return lines
}

type toldResult struct {
	ID      string `json:"tool_use_id"`
	Content any    `json:"content"`
}

// told returns the tool results among printed lines.
func told(t *testing.T, lines [][]byte) (out []toldResult) {
	for _, l := range lines {
		var m struct {
			Type    string
			Message struct{ Content json.RawMessage }
		}
		if err := json.Unmarshal(l, &m); err != nil {
			t.Fatalf("%v: %s", err, l)
		}
		var rs []toldResult
		if m.Type == "user" && json.Unmarshal(m.Message.Content, &rs) == nil {
			for _, r := range rs {
				if r.ID != "" {
					out = append(out, r)
				}
			}
		}
	}
	return out
}

var wholeData = regexp.MustCompile(`\Acounter = \d+\n(filler line\n){` + "1000" + `}(filler line\n){` +
	strconv.Itoa(killFiller-1000) + `}\z`)

// check continues the session and compares the next request with the printed lines.
func (k *killed) check(lines [][]byte) {
	data, err := os.ReadFile(filepath.Join(k.dir, "data.txt"))
	if err != nil || !wholeData.Match(data) {
		k.t.Errorf("data.txt is damaged (%v): %.60q...", err, data)
	}
	before := len(k.srv.Requests())
	out, err := k.command("--continue", "go on").CombinedOutput()
	if err != nil {
		if len(lines) <= 1 {
			return // killed before the prompt was in a session
		}
		k.t.Fatalf("--continue failed: %v\n%s", err, out)
	}
	body := k.firstWhole(before)
	for _, r := range told(k.t, lines) {
		want, _ := json.Marshal(r.Content)
		if !strings.Contains(body, `"`+r.ID+`"`) {
			k.t.Errorf("the printed result of %s is not in the next request (content %.80s)", r.ID, want)
		}
		if s, ok := r.Content.(string); ok {
			quoted, _ := json.Marshal(s)
			if !strings.Contains(body, strings.Trim(string(quoted), `"`)) {
				k.t.Errorf("the printed text of %s is not in the next request: %.120s", r.ID, s)
			}
		}
	}
	k.once()
}

// firstWhole is the first complete request from the n-th on: the one that the killed run was sending may
// still arrive.
func (k *killed) firstWhole(n int) string {
	for _, r := range k.srv.Requests()[n:] {
		if r.Refused == "" {
			return string(r.Body)
		}
	}
	k.t.Fatal("--continue sent no request")
	return ""
}

// once: no command ran twice.
func (k *killed) once() {
	log, err := os.ReadFile(filepath.Join(k.dir, "log.txt"))
	if err != nil {
		return
	}
	seen := map[string]bool{}
	for l := range strings.Lines(string(log)) {
		if seen[l] {
			k.t.Errorf("%q ran twice", strings.TrimSpace(l))
		}
		seen[l] = true
	}
}

// Every result that was printed before a kill -9 is in the next request after --continue, no file is half
// written and no call runs twice.
func TestKilledRunsLoseNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	n := kills
	if v, err := strconv.Atoi(os.Getenv("LATHE_KILLS")); err == nil {
		n = v
	}
	bin := buildLathe(t)
	whole := newKilled(t, bin)
	began := time.Now()
	if lines := whole.runFor(time.Minute); len(told(t, lines)) != 3*killSteps {
		t.Fatalf("a run that is not killed prints %d results, want %d\n%s", len(told(t, lines)), 3*killSteps,
			bytes.Join(lines, nil))
	}
	length := time.Since(began)
	for i := range n {
		k := newKilled(t, bin)
		// evenly over the run, with some chance inside each slice
		at := time.Duration((float64(i) + rand.Float64()) / float64(n) * float64(length))
		k.check(k.runFor(at))
		if t.Failed() {
			t.Fatalf("killed after %v of %v", at, length)
		}
	}
}
