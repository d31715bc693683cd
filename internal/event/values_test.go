package event_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
)

const secretA, secretB = "s3cret-value", "s3cret-value-that-is-longer"

func TestOnlyDistinctValuesAreSecrets(t *testing.T) {
	v := event.NewValues("", "true", "postgres", "12345678", "/tmp/ssh-1/agent.2", "https://auth.example.com/1",
		"postgres://user:pa55w0rdX@host/db", secretA)
	text := "true postgres 12345678 /tmp/ssh-1/agent.2 https://auth.example.com/1 "
	if got, want := v.Mask(text+"pa55w0rdX "+secretA), text+event.Masked+" "+event.Masked; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var none *event.Values
	if none.Mask(secretA) != secretA || none.MaskAll(secretA) != any(secretA) {
		t.Error("without values something was masked")
	}
}

func TestValuesAreMaskedAnywhereInData(t *testing.T) {
	v := event.NewValues(secretA, secretB)
	view := event.Listing{Title: "x", Items: []string{"a", secretB}, Total: 2}
	in := map[string]any{
		"view": view, "list": []any{1, &event.TextView{Text: "see " + secretA}},
		"bytes": []byte(secretA), "n": 3,
	}
	want := map[string]any{
		"view": event.Listing{Title: "x", Items: []string{"a", event.Masked}, Total: 2},
		"list": []any{1, &event.TextView{Text: "see " + event.Masked}}, "bytes": []byte(secretA), "n": 3,
	}
	if got := v.MaskAll(in); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	if view.Items[1] != secretB {
		t.Error("the data itself was changed")
	}
}

func TestValuesAreMaskedOverSeveralWrites(t *testing.T) {
	v := event.NewValues(secretA, secretB)
	text := "begin s3 " + secretA + "\ns3cret-val and " + secretB + strings.Repeat("s", 3) + " s3cret" + secretA
	inPieces(t, v, text)
}

// inPieces writes a text in pieces of each length, and holds what comes out against the text masked at once.
func inPieces(t *testing.T, v *event.Values, text string) {
	t.Helper()
	want := v.Mask(text)
	for size := 1; size < len(text); size++ {
		var out bytes.Buffer
		w := v.Writer(&out)
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			if _, err := w.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := w.(interface{ Flush() error }).Flush(); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); got != want {
			t.Fatalf("in pieces of %d: got %q, want %q", size, got, want)
		}
	}
}

func BenchmarkValuesWriter(b *testing.B) {
	var all []string
	for i := range 20 {
		all = append(all, fmt.Sprintf("value-%d-%s", i, strings.Repeat("x", 40)))
	}
	v, line := event.NewValues(all...), []byte(strings.Repeat("some line of a program's output\n", 128))
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if _, err := v.Writer(&bytes.Buffer{}).Write(line); err != nil {
			b.Fatal(err)
		}
	}
}
