package provider

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/llm"
)

// recording is a conversation with a real host, as recorders of HTTP keep it.
type recording struct {
	Interactions []struct {
		Request struct {
			URL  string
			Body string
		}
		Response struct {
			Status       int
			Headers      map[string]string
			Body         string
			BodyEncoding string
		}
	}
}

// tape answers every request with the same bytes, without a network.
type tape struct {
	kind string
	body []byte
}

func (p tape) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	return &http.Response{
		StatusCode: 200, Body: io.NopCloser(bytes.NewReader(p.body)),
		Header: http.Header{"Content-Type": {p.kind}}, Request: r,
	}, nil
}

// heard is a reply in a form that all wires have in common.
type heard struct {
	Text, Thought string
	Calls         []string
	Prompt, Out   int
}

func listen(m llm.Model) (h heard, ready int, err error) {
	for d, e := range m.Stream(context.Background(), &llm.Request{Messages: []llm.Message{llm.UserText("x")}}) {
		switch d := d.(type) {
		case llm.ToolReady:
			ready++
		case llm.Done:
			for _, p := range d.Message.Parts {
				switch p := p.(type) {
				case llm.Text:
					h.Text += p.Text
				case llm.Reasoning:
					h.Thought += p.Text
				case llm.ToolCall:
					h.Calls = append(h.Calls, p.Name+" "+string(p.Input))
				}
			}
			if u := d.Message.Usage; !u.Estimated {
				h.Prompt, h.Out = u.Prompt(), u.Output
			}
		}
		err = e
	}
	return h, ready, err
}

// TestRecordedConversations decodes the recorded replies of real hosts, from a folder of JSON files that
// LATHE_RECORDINGS names, compares text, calls, arguments and usage with those that a plain reading of the JSON gives,
// and cuts each reply after every event and at random bytes.
func TestRecordedConversations(t *testing.T) {
	dir := os.Getenv("LATHE_RECORDINGS")
	if dir == "" {
		t.Skip("LATHE_RECORDINGS names no folder of recordings; the tests of the wires have the forms that occur in them")
	}
	count := map[string]int{}
	eachRecording(t, dir, func(name, url string, sent []byte, p tape) {
		wire, _ := addressed(t, url, sent, p)
		if wire == "" {
			t.Logf("%s: no wire for %s", name, url)
			return
		}
		count[wire]++
		t.Run(name, func(t *testing.T) { checkTape(t, wire, url, sent, p) })
	})
	t.Logf("%v", count)
}

// eachRecording hands out the replies of a folder of recordings, of which there must be some.
func eachRecording(t testing.TB, dir string, do func(name, url string, sent []byte, p tape)) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".json" {
			return err
		}
		b, err := os.ReadFile(path)
		var r recording
		if err != nil || json.Unmarshal(b, &r) != nil {
			return err
		}
		for i := range r.Interactions {
			x := &r.Interactions[i]
			body := []byte(x.Response.Body)
			if x.Response.BodyEncoding == "base64" {
				body, _ = base64.StdEncoding.DecodeString(x.Response.Body)
			}
			if x.Response.Status == 200 && len(body) > 0 {
				n++
				do(fmt.Sprintf("%s/%d", filepath.Base(path), i), x.Request.URL, []byte(x.Request.Body),
					tape{x.Response.Headers["content-type"], body})
			}
		}
		return nil
	})
	if err != nil || n == 0 {
		t.Fatalf("no replies in %s: %v", dir, err)
	}
}

// BenchmarkRecordings decodes the replies of a folder of recordings as they are, each through its own request.
func BenchmarkRecordings(b *testing.B) {
	dir := os.Getenv("LATHE_RECORDINGS")
	if dir == "" {
		b.Skip("LATHE_RECORDINGS names no folder of recordings")
	}
	models, size := map[string][]llm.Model{}, map[string]int{}
	eachRecording(b, dir, func(_, url string, sent []byte, p tape) {
		if wire, m := addressed(b, url, sent, p); m != nil {
			models[wire] = append(models[wire], m)
			size[wire] += len(p.body)
		}
	})
	for _, wire := range slices.Sorted(maps.Keys(models)) {
		b.Run(wire, func(b *testing.B) {
			b.SetBytes(int64(size[wire]))
			for b.Loop() {
				for _, m := range models[wire] {
					if _, _, err := listen(m); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(size[wire])/float64(len(models[wire])), "bytes/reply")
		})
	}
}

func checkTape(t *testing.T, wire, url string, sent []byte, p tape) {
	t.Helper()
	_, m := addressed(t, url, sent, p)
	got, ready, err := listen(m)
	if err != nil {
		t.Fatal(err)
	}
	want, cuts := readPlainly(t, wire, p.body)
	want.Thought, got.Thought = strings.Join(strings.Fields(want.Thought), ""), strings.Join(strings.Fields(got.Thought),
		"")
	if diff := cmp.Diff(want, got); diff != "" || ready != len(want.Calls) {
		t.Errorf("%d calls were ready\n%s", ready, diff)
	}
	for range 40 {
		cuts = append(cuts, rand.IntN(len(p.body)))
	}
	for _, cut := range cuts {
		if cut >= len(bytes.TrimRight(p.body, "\r\n ")) {
			continue
		}
		_, m := addressed(t, url, sent, tape{p.kind, p.body[:cut]})
		part, ready, err := listen(m)
		if err == nil && !cmp.Equal(part.Calls, want.Calls) || ready > len(want.Calls) {
			t.Errorf("cut at %d of %d: complete with %v", cut, len(p.body), part.Calls)
		}
		if err == nil && part.Text != want.Text {
			t.Errorf("cut at %d of %d: complete with the text %q", cut, len(p.body), part.Text)
		}
	}
}

// payloads splits a stream into the JSON of its events, and returns the offsets of their ends.
func payloads(t *testing.T, wire string, body []byte) (out []map[string]any, ends []int) {
	t.Helper()
	if wire == "converse" {
		r := llm.NewAWSReader(bytes.NewReader(body))
		for {
			ev, err := r.Next()
			if err != nil {
				return out, ends
			}
			var v map[string]any
			if err := json.Unmarshal(ev.Data, &v); err != nil {
				t.Fatal(err)
			}
			v["type"] = string(ev.Name)
			out = append(out, v)
		}
	}
	at := 0
	for line := range bytes.Lines(body) {
		at += len(line)
		data, ok := bytes.CutPrefix(line, []byte("data:"))
		var v map[string]any
		if ok && json.Unmarshal(data, &v) == nil {
			out, ends = append(out, v), append(ends, at)
		}
	}
	return out, ends
}

func at(v any, path ...any) any {
	for _, key := range path {
		switch k := key.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[k]
		case int:
			l, _ := v.([]any)
			if k >= len(l) {
				return nil
			}
			v = l[k]
		}
	}
	return v
}

func str(v any) string { s, _ := v.(string); return s }

func num(v any) int { f, _ := v.(float64); return int(f) }

// reading collects a reply from the JSON of its events, without the rules of any decoder.
type reading struct {
	heard
	args  map[int]string
	names map[int]string
	order []int
}

func (r *reading) call(i int, name, args string) {
	if _, known := r.names[i]; !known {
		r.order = append(r.order, i)
	}
	r.names[i] += name
	r.args[i] += args
}

func readPlainly(t *testing.T, wire string, body []byte) (heard, []int) {
	t.Helper()
	events, ends := payloads(t, wire, body)
	r := &reading{args: map[int]string{}, names: map[int]string{}}
	for _, e := range events {
		map[string]func(map[string]any){
			"converse": r.converse, "google": r.google, "anthropic": r.anthropic, "responses": r.responses, "chat": r.chat,
		}[wire](e)
	}
	for _, i := range r.order {
		args := r.args[i]
		if args == "" {
			args = "{}"
		}
		r.Calls = append(r.Calls, r.names[i]+" "+string(llm.AppendCanonical(nil, []byte(args))))
	}
	return r.heard, ends
}

func (r *reading) converse(e map[string]any) {
	r.Text += str(at(e, "delta", "text"))
	r.Thought += str(at(e, "delta", "reasoningContent", "text"))
	i := num(e["contentBlockIndex"])
	if name := str(at(e, "start", "toolUse", "name")); name != "" {
		r.call(i, name, "")
	}
	if in := str(at(e, "delta", "toolUse", "input")); in != "" {
		r.call(i, "", in)
	}
	if u := e["usage"]; u != nil {
		r.Prompt = num(at(u, "inputTokens")) + num(at(u, "cacheReadInputTokens")) + num(at(u, "cacheWriteInputTokens"))
		r.Out = num(at(u, "outputTokens"))
	}
}

func (r *reading) google(e map[string]any) {
	parts, _ := at(e, "candidates", 0, "content", "parts").([]any)
	for _, p := range parts {
		if at(p, "thought") == true {
			r.Thought += str(at(p, "text"))
		} else {
			r.Text += str(at(p, "text"))
		}
		if c := at(p, "functionCall"); c != nil {
			b, _ := json.Marshal(at(c, "args"))
			r.call(len(r.order), str(at(c, "name")), string(b))
		}
	}
	if u := e["usageMetadata"]; u != nil {
		r.Prompt = num(at(u, "promptTokenCount")) + num(at(u, "toolUsePromptTokenCount"))
		r.Out = num(at(u, "candidatesTokenCount")) + num(at(u, "thoughtsTokenCount"))
	}
}

func (r *reading) anthropic(e map[string]any) {
	r.Text += str(at(e, "delta", "text"))
	r.Thought += str(at(e, "delta", "thinking"))
	i := num(e["index"])
	if at(e, "content_block", "type") == "tool_use" {
		r.call(i, str(at(e, "content_block", "name")), "")
	}
	if in := str(at(e, "delta", "partial_json")); in != "" && r.names[i] != "" {
		r.call(i, "", in)
	}
	for _, u := range []any{at(e, "message", "usage"), e["usage"]} {
		if at(u, "input_tokens") != nil {
			r.Prompt = num(at(u, "input_tokens")) + num(at(u, "cache_read_input_tokens")) +
				num(at(u, "cache_creation_input_tokens"))
		}
		if n := at(u, "output_tokens"); n != nil {
			r.Out = num(n)
		}
	}
}

func (r *reading) responses(e map[string]any) {
	i := num(e["output_index"])
	switch e["type"] {
	case "response.output_text.delta":
		r.Text += str(e["delta"])
	case "response.reasoning_summary_text.delta":
		r.Thought += str(e["delta"])
	case "response.output_item.added":
		if at(e, "item", "type") == "function_call" {
			r.call(i, str(at(e, "item", "name")), "")
		}
	case "response.function_call_arguments.delta":
		r.call(i, "", str(e["delta"]))
	case "response.completed", "response.incomplete":
		u := at(e, "response", "usage")
		r.Prompt, r.Out = num(at(u, "input_tokens")), num(at(u, "output_tokens"))
	}
}

func (r *reading) chat(e map[string]any) {
	d := at(e, "choices", 0, "delta")
	r.Text += str(at(d, "content"))
	if s := str(at(d, "reasoning_content")); s != "" {
		r.Thought += s
	} else {
		r.Thought += str(at(d, "reasoning"))
	}
	calls, _ := at(d, "tool_calls").([]any)
	for _, c := range calls {
		r.call(num(at(c, "index")), str(at(c, "function", "name")), str(at(c, "function", "arguments")))
	}
	if u := e["usage"]; u != nil && num(at(u, "prompt_tokens")) > 0 {
		r.Prompt, r.Out = num(at(u, "prompt_tokens")), num(at(u, "completion_tokens"))
	}
}
