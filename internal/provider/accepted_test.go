package provider

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/anthropic"
	"github.com/lathe-dev/lathe/internal/llm/converse"
	"github.com/lathe-dev/lathe/internal/llm/google"
	"github.com/lathe-dev/lathe/internal/llm/openai"
)

// above splits an address before its last name.
func above(address string) (rest, name string) {
	i := strings.LastIndexByte(address, '/')
	return address[:i], address[i+1:]
}

// addressed returns the model that lathe would use for a request to an address, with its quirks; nil: lathe has no wire
// for it. Its replies are those of the tape.
func addressed(t testing.TB, address string, body []byte, reply tape) (wire string, m llm.Model) {
	t.Helper()
	var named struct{ Model string }
	_ = json.Unmarshal(body, &named) // some wires have the model in the address
	client, once := &http.Client{Transport: reply}, llm.RetryPolicy{Max: -1}
	whole, _, _ := strings.Cut(address, "?")
	base, verb := above(whole)
	id, _, _ := strings.Cut(verb, ":")
	models, quoted := above(base)
	var p llm.Provider
	switch {
	case strings.HasPrefix(verb, "converse"):
		wire, p = "converse", converse.New(converse.Config{
			BaseURL: strings.TrimSuffix(models, "/model"), HTTP: client,
			Retry: once,
		})
		id, _ = url.PathUnescape(quoted)
	case strings.Contains(verb, "enerateContent"):
		wire, p = "google", google.New(google.Config{BaseURL: base, HTTP: client, Retry: once})
	case verb == "messages", strings.Contains(verb, "awPredict"), strings.HasPrefix(verb, "invoke"):
		c := anthropic.Config{BaseURL: address, APIKey: "k", HTTP: client, Retry: once}
		switch {
		case verb == "messages":
			id = named.Model
		case strings.HasPrefix(verb, "invoke"):
			c.Cloud, c.BaseURL = anthropic.Bedrock, strings.TrimSuffix(models, "/model")
			id, _ = url.PathUnescape(quoted)
		default:
			c.Cloud, c.BaseURL = anthropic.Vertex, models
		}
		a, err := anthropic.New(c)
		if err != nil {
			t.Fatal(err)
		}
		wire, p = "anthropic", a
	case verb == "responses":
		wire, id, p = "responses", named.Model, openai.New(openai.Config{
			BaseURL: base, HTTP: client, Retry: once,
			Responses: true,
		})
	case verb == "completions":
		wire, id, p = "chat", named.Model, openai.New(openai.Config{
			BaseURL: strings.TrimSuffix(base, "/chat"), HTTP: client,
			Retry: once, Traits: chatTraits(base, named.Model),
		})
	default:
		return "", nil
	}
	m, err := p.Model(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return wire, m
}

// chatTraits are those of a host on Chat Completions, also for models that lathe asks on the Responses API there.
func chatTraits(base, model string) *openai.Traits {
	traits := openai.TraitsOf(llm.CatalogueHost(base), model)
	traits.Both = false
	return &traits
}

// sentBody returns the body that a model sends for a request.
func sentBody(t *testing.T, m llm.Model, req *llm.Request) []byte {
	t.Helper()
	for d, err := range m.Stream(t.Context(), req) {
		if sent, ok := d.(llm.Sent); ok {
			return sent.Body()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("nothing was sent")
	return nil
}

// said lists what a conversation says: who, in order, and all that has a meaning to the model.
func said(req *llm.Request) []string {
	out := []string{"system " + (llm.Message{Parts: req.System}).PlainText()}
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			line := string(m.Role) + " " + saidPart(p)
			if text, ok := strings.CutPrefix(line, string(m.Role)+" text "); ok && strings.HasPrefix(out[len(out)-1],
				string(m.Role)+" text ") {
				out[len(out)-1] += "\n\n" + text // texts of one author are one
				continue
			}
			out = append(out, line)
		}
	}
	for _, t := range req.Tools {
		out = append(out, "tool "+t.Name+" "+t.Description)
	}
	return append(out, "choice "+req.ToolChoice)
}

func saidPart(p llm.Part) string {
	signed := func(o *llm.Opaque) string {
		if o == nil {
			return ""
		}
		return " signed " + string(llm.AppendCanonical(nil, o.JSON))
	}
	switch p := p.(type) {
	case llm.Text:
		return "text " + p.Text + signed(p.Opaque)
	case llm.Reasoning:
		return "thought " + p.Text + p.Signature + p.Data + signed(p.Opaque)
	case llm.Media:
		return fmt.Sprintf("media %s %d bytes", p.MIME, len(p.Data))
	case llm.ToolCall:
		return "call " + p.ID + " " + p.Name + " " + string(llm.AppendCanonical(nil, p.Input)) + signed(p.Opaque)
	case llm.ToolResult:
		s := "result " + p.CallID + fmt.Sprint(" ", p.IsError)
		for _, q := range p.Parts {
			s += " " + saidPart(q)
		}
		return s
	case llm.Opaque:
		return "opaque" + signed(&p)
	}
	return "?"
}

// fields lists the members of a body, without the texts, schemas and arguments in it.
func fields(body []byte) map[string]bool {
	var v any
	_ = json.Unmarshal(body, &v)
	out := map[string]bool{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, x := range v {
				inner := strings.TrimPrefix(path+"."+k, ".")
				switch _, isObject := x.(map[string]any); {
				case isObject && slices.Contains([]string{"input_schema", "parameters", "input", "args", "json", "response"}, k):
					out[inner] = true
				case k == "type" || k == "role":
					out[inner+"="+str(x)] = true
				default:
					walk(inner, x)
				}
			}
		case []any:
			for _, x := range v {
				walk(path+"[]", x)
			}
		default:
			out[path] = true
		}
	}
	walk("", v)
	return out
}

// differences lists the members that only the accepted request has ("-") or only lathe's ("+").
func differences(accepted, sent []byte) (out []string) {
	a, b := fields(accepted), fields(sent)
	for f := range a {
		if !b[f] {
			out = append(out, "-"+f)
		}
	}
	for f := range b {
		if !a[f] {
			out = append(out, "+"+f)
		}
	}
	slices.Sort(out)
	return out
}

// checkAccepted reads a request that a host accepted, has lathe send the same conversation, and reports what differs,
// except for members that are expected to.
func checkAccepted(t *testing.T, address string, body []byte, expected func(wire, field string) bool) (other []string) {
	t.Helper()
	wire, m := addressed(t, address, body, tape{"application/json", []byte("{}")})
	if m == nil {
		t.Skipf("no wire for %s", address)
	}
	want := readRequest(t, wire, m.Info().Host, body)
	sent := sentBody(t, m, want)
	got := readRequest(t, wire, m.Info().Host, sent)
	if diff := cmp.Diff(said(want), said(got)); diff != "" {
		t.Errorf("another conversation is sent\n%s", diff)
	}
	all := differences(body, sent)
	if d := slices.DeleteFunc(slices.Clone(all), func(f string) bool { return expected(wire, f) }); len(d) > 0 {
		t.Errorf("%s: members differ from those that the host accepted: %s\naccepted %.3000s\nsent     %.3000s", m.Info().ID,
			strings.Join(d, " "), body, sent)
	}
	return all
}

// TestAcceptedRequestsAreSentAsTheyWere reads requests that hosts accepted, from the folder that LATHE_RECORDINGS
// names, and compares them with what lathe sends for the same conversation.
func TestAcceptedRequestsAreSentAsTheyWere(t *testing.T) {
	dir := os.Getenv("LATHE_RECORDINGS")
	if dir == "" {
		t.Skip("LATHE_RECORDINGS names no folder of recordings; TestRequestsHaveTheAcceptedForms has the forms that occur " +
			"in them")
	}
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
			if x.Response.Status != 200 || !strings.HasPrefix(x.Request.Body, "{") {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", filepath.Base(path), i), func(t *testing.T) {
				checkAccepted(t, x.Request.URL, []byte(x.Request.Body),
					func(wire, f string) bool { return judged()[wire+" "+f] != "" })
				if i+1 < len(r.Interactions) && r.Interactions[i+1].Response.Status == 200 {
					reply := []byte(x.Response.Body)
					if x.Response.BodyEncoding == "base64" {
						reply, _ = base64.StdEncoding.DecodeString(x.Response.Body)
					}
					checkContinued(t, x.Request.URL, []byte(x.Request.Body), tape{x.Response.Headers["content-type"], reply},
						[]byte(r.Interactions[i+1].Request.Body))
				}
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// checkContinued has lathe read a reply, and requires that its next request sends all of the reply back that the
// accepted request did: texts, calls in order with their ids, and what the host sealed.
func checkContinued(t *testing.T, address string, first []byte, reply tape, second []byte) {
	t.Helper()
	wire, m := addressed(t, address, first, reply)
	if m == nil {
		return
	}
	host := m.Info().Host
	before, want := readRequest(t, wire, host, first), readRequest(t, wire, host, second)
	if len(want.Messages) <= len(before.Messages) || want.Messages[len(before.Messages)].Role != llm.Assistant {
		return // another conversation
	}
	msg := received(t, m, before)
	next := *before
	next.Messages = append(append([]llm.Message(nil), before.Messages...), msg, llm.UserText("Go on."))
	sent := readRequest(t, wire, host, sentBody(t, m, &next))
	if got := kept(sent.Messages[len(before.Messages)]); !holds(got, kept(want.Messages[len(before.Messages)])) {
		t.Errorf("of the reply\n%s\ngoes back, but the host was sent\n%s", strings.Join(got, "\n"),
			strings.Join(kept(want.Messages[len(before.Messages)]), "\n"))
	}
}

func received(t *testing.T, m llm.Model, req *llm.Request) (msg llm.Message) {
	t.Helper()
	for d, err := range m.Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		if done, ok := d.(llm.Done); ok {
			msg = done.Message
		}
	}
	return msg
}

// kept lists what of a reply must go back. Arguments are left out, since recorders black them out.
func kept(msg llm.Message) (out []string) {
	for _, p := range msg.Parts {
		if c, ok := p.(llm.ToolCall); ok {
			c.Input = nil
			p = c
		}
		out = append(out, saidPart(p))
	}
	return out
}

// holds reports whether a list has all of another one, in its order.
func holds(all, some []string) bool {
	for _, s := range all {
		if len(some) > 0 && s == some[0] {
			some = some[1:]
		}
	}
	return len(some) == 0
}
