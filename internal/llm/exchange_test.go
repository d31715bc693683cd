package llm

import "testing"

func TestACallWhoseIDTheServerRepeatsIsKnown(t *testing.T) {
	ids := CallIDs{Prefix: "call", Request: &Request{Messages: []Message{{Parts: []Part{ToolCall{ID: "old"}}}}}}
	a, b := ids.Unique("x"), ids.Unique("x")
	if a != "x" || b == "x" || ids.Repeats(a) != "" || ids.Repeats(b) != "x" {
		t.Errorf("%s repeats %q, %s repeats %q", a, ids.Repeats(a), b, ids.Repeats(b))
	}
	c, d := ids.Unique("old"), ids.Unique("old")
	if c == "old" || c == d || ids.Repeats(c) != "" || ids.Repeats(d) != c {
		t.Errorf("%s repeats %q, %s repeats %q", c, ids.Repeats(c), d, ids.Repeats(d))
	}
	if e, f := ids.Unique(""), ids.Unique(""); e == f || ids.Repeats(f) != "" {
		t.Errorf("%s, %s repeats %q", e, f, ids.Repeats(f))
	}
}
