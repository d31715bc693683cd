package agent

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lathe-dev/lathe/internal/llm"
)

// genHistory draws histories as bad as a crash, a bug or another program could leave them.
func genHistory(t *rapid.T) []llm.Message {
	ids := rapid.SampledFrom([]string{"a", "b", "c", "d", ""})
	txt := rapid.SampledFrom([]string{"", " ", "\n\t", "x", "hello", strings.Repeat("huge ", 1_000)})
	media := rapid.Custom(func(t *rapid.T) llm.Part {
		return llm.Media{
			MIME: rapid.SampledFrom([]string{"image/png", ""}).Draw(t, "mime"),
			Data: []byte(txt.Draw(t, "data")),
		}
	})
	inner := rapid.Custom(func(t *rapid.T) llm.Part {
		switch rapid.IntRange(0, 4).Draw(t, "inner") {
		case 0:
			return media.Draw(t, "media")
		case 1: // a part that no result may hold
			return llm.ToolResult{CallID: ids.Draw(t, "nested"), Parts: []llm.Part{llm.Text{Text: "x"}}}
		case 2:
			return llm.ToolCall{ID: ids.Draw(t, "nested"), Name: "Read"}
		}
		return llm.Text{Text: txt.Draw(t, "result")}
	})
	part := rapid.Custom(func(t *rapid.T) llm.Part {
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0, 1:
			return llm.Text{Text: txt.Draw(t, "text")}
		case 2:
			return llm.Reasoning{Text: txt.Draw(t, "thought"), Signature: txt.Draw(t, "sig")}
		case 3:
			return llm.ToolCall{
				ID: ids.Draw(t, "id"), Name: rapid.SampledFrom([]string{"Read", ""}).Draw(t, "name"),
				Input: []byte("{}"),
			}
		case 4:
			return llm.ToolResult{
				CallID: ids.Draw(t, "for"), Parts: rapid.SliceOfN(inner, 0, 3).Draw(t, "content"), IsError: rapid.Bool().Draw(t,
					"failed"),
			}
		case 5:
			return llm.Opaque{Provider: rapid.SampledFrom([]string{"p", "q"}).Draw(t, "provider"), JSON: []byte("{}")}
		}
		return media.Draw(t, "media")
	})
	msg := rapid.Custom(func(t *rapid.T) llm.Message {
		m := llm.Message{
			Role:  rapid.SampledFrom([]llm.Role{llm.User, llm.Assistant}).Draw(t, "role"),
			Parts: rapid.SliceOfN(part, 0, 4).Draw(t, "parts"),
		}
		if m.Role == llm.Assistant {
			m.Model = rapid.SampledFrom([]string{"m", "old", ""}).Draw(t, "model")
			m.Stop = rapid.SampledFrom([]llm.StopReason{llm.StopEndTurn, llm.StopPauseTurn, llm.StopBroken}).Draw(t, "stop")
		}
		return m
	})
	return rapid.SliceOfN(msg, 0, 8).Draw(t, "history")
}

// refused says why a strict provider would refuse a history, or "".
func refused(msgs []llm.Message) string {
	ids := map[string]bool{}
	var open []string
	for i, m := range msgs {
		if len(m.Parts) == 0 {
			return fmt.Sprintf("message %d is empty", i)
		}
		if i == 0 && m.Role != llm.User {
			return "it begins with a reply"
		}
		if m.Role == llm.Assistant && i > 0 && msgs[i-1].Role == llm.Assistant && msgs[i-1].Stop != llm.StopPauseTurn {
			return fmt.Sprintf("two replies in a row at %d", i)
		}
		var got []string
		content := false
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.Text:
				content = true
				if strings.TrimSpace(p.Text) == "" {
					return fmt.Sprintf("message %d has an empty text", i)
				}
			case llm.Reasoning:
				if m.Role == llm.User || (m.Model != "m" && m.Model != "") {
					return fmt.Sprintf("message %d has foreign reasoning", i)
				}
			case llm.Opaque:
				content = true
				if p.Provider != "p" {
					return fmt.Sprintf("message %d has a foreign block", i)
				}
			case llm.ToolCall:
				content = true
				if m.Role == llm.User || ids[p.ID] || p.ID == "" {
					return fmt.Sprintf("message %d: bad call %q", i, p.ID)
				}
				ids[p.ID] = true
			case llm.ToolResult:
				content = true
				if m.Role != llm.User {
					return fmt.Sprintf("message %d: a result in a reply", i)
				}
				got = append(got, p.CallID)
				if why := refusedResult(p); why != "" {
					return fmt.Sprintf("message %d: %s", i, why)
				}
			case llm.Media:
				content = true
				if len(p.Data) == 0 || p.MIME == "" {
					return fmt.Sprintf("message %d has an empty image", i)
				}
			}
		}
		if !content {
			return fmt.Sprintf("message %d is only reasoning", i)
		}
		if !cmp.Equal(got, open) {
			return fmt.Sprintf("message %d answers %v, want %v", i, got, open)
		}
		open = nil
		for _, c := range m.Calls() {
			open = append(open, c.ID)
		}
	}
	if n := len(msgs); n > 0 && msgs[n-1].Role == llm.Assistant && msgs[n-1].Stop != llm.StopPauseTurn {
		return "it ends with a reply"
	}
	return ""
}

func refusedResult(r llm.ToolResult) string {
	for _, p := range r.Parts {
		switch p := p.(type) {
		case llm.Text:
			if strings.TrimSpace(p.Text) == "" {
				return "an empty text in a result"
			}
		case llm.Media:
			if len(p.Data) == 0 || p.MIME == "" {
				return "an empty image in a result"
			}
		default:
			return fmt.Sprintf("a %T in a result", p)
		}
	}
	if len(r.Parts) == 0 {
		return "an empty result"
	}
	return ""
}

func TestAResultThatHoldsNothingToSendIsReplaced(t *testing.T) {
	out := Repair([]llm.Message{
		llm.UserText("x"),
		{Role: llm.Assistant, Parts: []llm.Part{llm.ToolCall{ID: "a", Name: "Read", Input: []byte("{}")}}},
		{Role: llm.User, Parts: []llm.Part{llm.ToolResult{CallID: "a", Parts: []llm.Part{llm.ToolResult{CallID: "b"}}}}},
	}, "m", "p")
	if why := refused(out); why != "" {
		t.Errorf("%s: %+v", why, out)
	}
}

func TestRepairedHistoriesAreNeverRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := genHistory(t)
		out := Repair(in, "m", "p")
		if why := refused(out); why != "" {
			t.Fatalf("%s\nin  %+v\nout %+v", why, in, out)
		}
		if again := Repair(out, "m", "p"); !cmp.Equal(out, again) {
			t.Fatalf("repairing twice changed it:\n%+v\n%+v", out, again)
		}
	})
}

func TestIncrementalRepairEqualsTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := genHistory(t)
		var r repairer
		info := llm.ModelInfo{ID: "m", Provider: "p"}
		for n := range len(in) + 1 {
			got, want := r.repair(in[:n:n], 0, info), Repair(in[:n:n], "m", "p")
			if len(got) != len(want) || (len(want) > 0 && !cmp.Equal(got, want)) {
				t.Fatalf("after %d messages:\ngot  %+v\nwant %+v\nof   %+v", n, got, want, in[:n])
			}
		}
	})
}

func TestRepairKeepsSoundMessagesAsTheyAre(t *testing.T) {
	in := []llm.Message{
		llm.UserText("go"),
		{Role: llm.Assistant, Model: "m", Parts: []llm.Part{
			llm.Reasoning{Text: "hm", Signature: "s"}, llm.ToolCall{ID: "1", Name: "Read", Input: []byte("{}")},
		}},
		{Role: llm.User, Parts: []llm.Part{llm.TextResult(llm.ToolCall{ID: "1"}, "ok", false)}},
	}
	out := Repair(in, "m", "p")
	for i := range in {
		if len(in) != len(out) || !sameParts(in[i], out[i]) {
			t.Fatalf("changed: %+v", out)
		}
	}
	if out := Repair(in, "other", "p"); len(out[1].Parts) != 1 {
		t.Errorf("reasoning of another model was kept: %+v", out[1])
	}
}

func TestWhatOneHostSignedIsNotKeptForAnother(t *testing.T) {
	const ours, theirs = "claude@api.example", "claude@gateway.example"
	msgs := []llm.Message{llm.UserText("go"), {Role: llm.Assistant, Model: "m", Parts: []llm.Part{
		llm.Reasoning{Text: "ours", Signature: "s", Provider: ours},
		llm.Reasoning{Text: "theirs", Signature: "s", Provider: theirs},
		llm.Reasoning{Opaque: &llm.Opaque{Provider: ours, JSON: []byte("{}")}, Provider: ours},
		llm.Opaque{Provider: ours, JSON: []byte("{}")},
		llm.Opaque{Provider: theirs, JSON: []byte("{}")},
		llm.Text{Text: "hi"},
	}}, llm.UserText("on")}
	r := newRepair(llm.ModelInfo{ID: "m", Provider: "anthropic", Host: ours})
	for _, m := range msgs {
		r.add(m)
	}
	was := msgs[1].Parts
	want := []llm.Part{was[0], was[2], was[3], was[5]}
	if d := cmp.Diff(want, r.history()[1].Parts); d != "" {
		t.Error(d)
	}
}
