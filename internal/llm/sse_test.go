package llm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

type flatEvent struct {
	Name, Data string
	Cut        bool
}

func readEvents(r io.Reader) ([]flatEvent, error) {
	var out []flatEvent
	for src := NewSSEReader(r); ; {
		ev, err := src.Next()
		switch {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return out, err
		}
		out = append(out, flatEvent{string(ev.Name), string(ev.Data), ev.Cut})
	}
}

func TestEventStreamIsReadAsTheStandardSays(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []flatEvent
	}{
		{"LF", "event: a\ndata: 1\n\ndata: 2\n\n", []flatEvent{{Name: "a", Data: "1"}, {Data: "2"}}},
		{"CRLF", "event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", []flatEvent{{Name: "a", Data: "1"}, {Data: "2"}}},
		{"CR", "event: a\rdata: 1\r\rdata: 2\r\r", []flatEvent{{Name: "a", Data: "1"}, {Data: "2"}}},
		{"mixed line ends", "data: 1\r\ndata: 2\rdata: 3\n\r\n", []flatEvent{{Data: "1\n2\n3"}}},
		{"several data lines", "data: 1\ndata\ndata:\ndata:  2\n\n", []flatEvent{{Data: "1\n\n\n 2"}}},
		{"no space after the colon", "data:1\n\n", []flatEvent{{Data: "1"}}},
		{"comments and unknown fields", ": hi\nid: 7\nretry: 3\nfoo\n: x\ndata: 1\n\n", []flatEvent{{Data: "1"}}},
		{"an event without data is nothing", "event: a\n\ndata: 1\n\n", []flatEvent{{Data: "1"}}},
		{"empty data is an event", "data\n\n", []flatEvent{{}}},
		{"byte order mark", "\ufeffdata: 1\n\n", []flatEvent{{Data: "1"}}},
		{"second byte order mark stays", "\ufeff\ufeffdata: 1\n\ndata: 2\n\n", []flatEvent{{Data: "2"}}},
		{"no blank line at the end", "data: 1\n\ndata: 2\n", []flatEvent{{Data: "1"}, {Data: "2", Cut: true}}},
		{"no line end at the end", "data: 1\n\ndata: 2", []flatEvent{{Data: "1"}, {Data: "2", Cut: true}}},
		{"a short first line", "0\ndata:1\n\n", []flatEvent{{Data: "1"}}},
		{"short", "\n", nil},
		{"empty", "", nil},
		{"colon only", ":", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := readEvents(strings.NewReader(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Fatal(d)
			}
			bytewise, err := readEvents(iotest.OneByteReader(strings.NewReader(c.in)))
			if err != nil || cmp.Diff(got, bytewise) != "" {
				t.Fatalf("read byte by byte: %v, error %v", bytewise, err)
			}
		})
	}
}

func TestEventStreamIsTheSameHoweverItIsSplit(t *testing.T) {
	in := "\ufeffevent: a\r\ndata: {\"x\":1}\r\n\r\n: ping\r\rdata: 2\ndata: 3\n\ndata: " + strings.Repeat("y", 9000) +
		"\n\ndata: end"
	want, _ := readEvents(strings.NewReader(in))
	if len(want) != 4 {
		t.Fatalf("%d events", len(want))
	}
	for cut := range len(in) {
		got, err := readEvents(io.MultiReader(strings.NewReader(in[:cut]), strings.NewReader(in[cut:])))
		if err != nil || cmp.Diff(want, got) != "" {
			t.Fatalf("split at %d: %v %v", cut, got, err)
		}
	}
}

func TestEventIsReturnedBeforeMoreIsRead(t *testing.T) {
	for _, in := range []string{"data: 1\n\n", "data: 1\r\n\r\n", "data: 1\r\r"} {
		r := NewSSEReader(io.MultiReader(strings.NewReader(in), iotest.ErrReader(errors.New("read on"))))
		if ev, err := r.Next(); err != nil || string(ev.Data) != "1" {
			t.Errorf("%q: %q, %v", in, ev.Data, err)
		}
		if _, err := r.Next(); err == nil || err.Error() != "read on" {
			t.Errorf("%q: then %v", in, err)
		}
	}
}

func TestBrokenConnectionLosesTheOpenEvent(t *testing.T) {
	r := io.MultiReader(strings.NewReader("data: 1\n\ndata: 2\n"), iotest.ErrReader(io.ErrUnexpectedEOF))
	got, err := readEvents(r)
	if !errors.Is(err, io.ErrUnexpectedEOF) || len(got) != 1 {
		t.Fatalf("%v %v", got, err)
	}
}

func TestHugeEventIsReadUpToTheLimit(t *testing.T) {
	big := strings.Repeat("z", 1<<20)
	got, err := readEvents(strings.NewReader("data: " + big + "\n\ndata: x\n\n"))
	if err != nil || len(got) != 2 || got[0].Data != big {
		t.Fatalf("%d events, %v", len(got), err)
	}
	for name, line := range map[string]string{"one line": "data: " + big, "many lines": strings.Repeat("data: zzzz\n",
		200_000)} {
		r := NewSSEReader(strings.NewReader(line + "\n\n"))
		r.limit = 1 << 19
		_, err = r.Next()
		if _, ok := errors.AsType[*EventTooLargeError](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// referenceEvents implements the standard's algorithm literally.
func referenceEvents(b []byte) []flatEvent {
	s := strings.TrimPrefix(string(b), "\ufeff")
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	var out []flatEvent
	var cur flatEvent
	var data []string
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		last := i == len(lines)-1
		if line == "" {
			if data != nil {
				cur.Data, cur.Cut = strings.Join(data, "\n"), last
				out = append(out, cur)
			}
			cur, data = flatEvent{}, nil
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "event":
			cur.Name = value
		case "data":
			data = append(data, value)
		}
		if last && data != nil {
			cur.Data, cur.Cut = strings.Join(data, "\n"), true
			out = append(out, cur)
		}
	}
	return out
}

func FuzzSSE(f *testing.F) {
	for _, s := range []string{
		"data: 1\n\n", "event: a\r\ndata: b\r\rdata", "\ufeffdata:x\n\n", ":\r\n\r", "\xef\xbb",
		"data: 1\n\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := readEvents(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(referenceEvents(b), got); d != "" {
			t.Fatal(d)
		}
		bytewise, err := readEvents(iotest.OneByteReader(bytes.NewReader(b)))
		if err != nil || cmp.Diff(got, bytewise) != "" {
			t.Fatalf("read byte by byte: %v %v", bytewise, err)
		}
	})
}

func BenchmarkSSE(b *testing.B) {
	var s strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&s, "event: content_block_delta\ndata: "+
			"{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"word %d\"}}\n\n", i)
	}
	b.SetBytes(int64(s.Len()))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		r := NewSSEReader(strings.NewReader(s.String()))
		for {
			if _, err := r.Next(); err != nil {
				break
			}
			n++
		}
		if n != 1000 {
			b.Fatal(n)
		}
	}
	b.ReportMetric(1000, "events/op")
}
