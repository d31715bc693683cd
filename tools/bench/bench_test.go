package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"strings"
	"testing"
)

// TestMain makes the test binary an agent of three steps when it is started as a program to measure.
func TestMain(m *testing.M) {
	if url := os.Getenv("BENCH_AGENT"); url != "" {
		if err := agent(url); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// agent sends a conversation that grows by one reply with each request.
func agent(url string) error {
	tools := `{"name":"Read","input_schema":{"type":"object","properties":{}}}`
	tools += "," + strings.Replace(tools, "Read", "Bash", 1) + "," + strings.Replace(tools, "Read", "Edit", 1)
	messages := `{"role":"user","content":"hello"}`
	for i := range 4 {
		body := fmt.Sprintf(`{"model":"m","max_tokens":9,"stream":true,"tools":[%s],"messages":[%s]}`, tools, messages)
		r, err := http.NewRequest(http.MethodPost, url+"/v1/messages", strings.NewReader(body))
		if err != nil {
			return err
		}
		r.Header.Set("X-Api-Key", os.Getenv("ANTHROPIC_API_KEY"))
		reply, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, reply.Body); err != nil {
			return err
		}
		messages += fmt.Sprintf(`,{"role":"assistant","content":"step %d"},{"role":"user","content":"go on"}`, i)
	}
	return nil
}

func TestProgramsAreMeasuredSideBySide(t *testing.T) {
	o := options{runs: 2, steps: 3, keep: t.TempDir(), setups: []string{"two=echo {dir} >{home}/set-up"}}
	for _, name := range []string{"one", "two"} {
		o.programs = append(o.programs, name+"=BENCH_AGENT={url} '"+os.Args[0]+"' {prompt}")
	}
	var out bytes.Buffer
	if err := run(t.Context(), o, []string{"hello", "steps", "once"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| steps | one | two |",
		"| once | one | two |", "| tools offered | 3 | 3 |", "| gap between steps, ms |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the tables lack %q:\n%s", want, out.String())
		}
	}
	if b, err := os.ReadFile(o.keep + "/two/home/set-up"); err != nil || !strings.Contains(string(b), "two/project") {
		t.Errorf("the set-up wrote %q, %v", b, err)
	}
}

func TestAFailingProgramShowsItsOutput(t *testing.T) {
	o := options{runs: 1, keep: t.TempDir(), programs: []string{"bad=sh -c 'echo no key; exit 3'"}}
	err := run(t.Context(), o, []string{"hello"}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "no key") {
		t.Errorf("got %v", err)
	}
}

func TestTheBillFollowsTheMarks(t *testing.T) {
	text := func(n int, mark bool) string {
		b := fmt.Sprintf(`{"type":"text","text":"%s"`, strings.Repeat("x", n))
		if mark {
			b += `,"cache_control":{"type":"ephemeral"}`
		}
		return b + "}"
	}
	user := func(parts ...string) []byte {
		return []byte(`{"messages":[{"role":"user","content":[` + strings.Join(parts, ",") + `]}]}`)
	}
	b := newBill()
	b.add(user(text(36_000, true)))
	first := b.marked
	if want := 10_000 * factorWrite; math.Abs(first-want) > 50 {
		t.Errorf("writing 10,000 tokens weighs %.0f, want about %.0f", first, want)
	}
	b.add(user(text(36_000, false), text(3_600, true)))
	if want := 10_000*factorRead + 1_000*factorWrite; math.Abs(b.marked-first-want) > 50 {
		t.Errorf("reading 10,000 and writing 1,000 weighs %.0f, want about %.0f", b.marked-first, want)
	}
}
