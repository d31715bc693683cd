package llm

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// awsMessageOf encodes one message of an AWS event stream, whose headers are all strings.
func awsMessageOf(t testing.TB, headers map[string]string, payload string) string {
	t.Helper()
	var h []byte
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		h = append(append(append(h, byte(len(name))), name...), awsString)
		h = append(binary.BigEndian.AppendUint16(h, uint16(len(headers[name]))), headers[name]...)
	}
	return awsFrame(h, payload)
}

func awsFrame(headers []byte, payload string) string {
	b := binary.BigEndian.AppendUint32(nil, uint32(awsMessageMin+len(headers)+len(payload)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(headers)))
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	b = append(append(b, headers...), payload...)
	return string(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

func awsEvent(t testing.TB, name, payload string) string {
	t.Helper()
	return awsMessageOf(t, map[string]string{
		":message-type": "event", ":event-type": name,
		":content-type": "application/json",
	}, payload)
}

// readAll reads to the first error.
func readAll(src EventSource) (got []string, err error) {
	for {
		ev, err := src.Next()
		if err != nil {
			return got, err
		}
		got = append(got, string(ev.Name)+" "+string(ev.Data))
	}
}

func TestAWSStreamIsDecoded(t *testing.T) {
	inner := `{"type":"message_stop"}`
	stream := awsEvent(t, "messageStart", `{"role":"assistant"}`) +
		awsEvent(t, "chunk", `{"bytes":"`+base64.StdEncoding.EncodeToString([]byte(inner))+`","p":"abc"}`) +
		awsEvent(t, "empty", "") + awsEvent(t, "big", `"`+strings.Repeat("x", 300_000)+`"`)
	want := []string{`messageStart {"role":"assistant"}`, "chunk " + inner, "empty ", `big "` +
		strings.Repeat("x", 300_000) + `"`}
	for name, r := range map[string]io.Reader{
		"whole":        strings.NewReader(stream),
		"byte by byte": iotest.OneByteReader(strings.NewReader(stream)),
	} {
		got, err := readAll(NewAWSReader(r))
		if !errors.Is(err, io.EOF) || !slices.Equal(got, want) {
			t.Errorf("%s: %d events, %v", name, len(got), err)
		}
	}
}

// A cut between two messages is a clean end, any other is not, and a partial message yields no event.
func TestAWSStreamCutAnywhereYieldsWholeEventsOnly(t *testing.T) {
	one, two := awsEvent(t, "a", `{"n":1}`), awsEvent(t, "b", `{"n":2}`)
	for at := range len(one) + len(two) + 1 {
		got, err := readAll(NewAWSReader(strings.NewReader((one + two)[:at])))
		var want []string
		if at >= len(one) {
			want = append(want, `a {"n":1}`)
		}
		if at == len(one)+len(two) {
			want = append(want, `b {"n":2}`)
		}
		orderly := at == 0 || at == len(one) || at == len(one)+len(two)
		if !slices.Equal(got, want) || errors.Is(err, io.ErrUnexpectedEOF) == orderly || errors.Is(err, io.EOF) != orderly {
			t.Errorf("cut at %d: %q, %v", at, got, err)
		}
	}
}

func TestAWSStreamWithADamagedByteIsRefused(t *testing.T) {
	whole := awsEvent(t, "a", `{"n":1}`)
	for at := range len(whole) {
		b := []byte(whole)
		b[at] ^= 0x40
		got, err := readAll(NewAWSReader(strings.NewReader(string(b))))
		if _, damaged := errors.AsType[*FramingError](err); !damaged || len(got) > 0 {
			t.Errorf("byte %d: %q, %v", at, got, err)
		}
	}
}

func TestAWSStreamReportsExceptions(t *testing.T) {
	for _, c := range []struct {
		headers map[string]string
		payload string
		kind    ErrorKind
		retry   bool
		text    string
	}{
		{
			map[string]string{":message-type": "exception", ":exception-type": "throttlingException"},
			`{"message":"Too many requests"}`, KindRateLimit, true, "Too many requests",
		},
		{
			map[string]string{":message-type": "exception", ":exception-type": "serviceUnavailableException"},
			`{"message":"later"}`, KindOverloaded, true, "later",
		},
		{
			map[string]string{":message-type": "exception", ":exception-type": "validationException"},
			"not JSON", KindInvalid,
			false, "not JSON",
		},
		{
			map[string]string{":message-type": "exception", ":exception-type": "modelStreamErrorException"},
			`{"message":"broke"}`, KindServer, true, "broke",
		},
		{
			map[string]string{":message-type": "error", ":error-code": "InternalError", ":error-message": "oops"},
			"",
			KindServer, true, "oops",
		},
	} {
		_, err := readAll(NewAWSReader(strings.NewReader(awsMessageOf(t, c.headers, c.payload))))
		if _, ok := errors.AsType[*AWSException](err); !ok {
			t.Fatalf("%v: %v", c.headers, err)
		}
		r := &Reply{where: &where{provider: "bedrock"}, guard: &stallGuard{}}
		mustFail(t, r.Failed(t.Context(), err), c.kind, c.retry, c.text)
	}
}

func TestAWSStreamHasLimits(t *testing.T) {
	prelude := func(total, headers uint32) string {
		b := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, total), headers)
		return string(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
	}
	if _, err := NewAWSReader(strings.NewReader(prelude(MaxEvent+1, 0))).Next(); err == nil ||
		!strings.Contains(err.Error(), "larger than 16 MB") {
		t.Error(err)
	}
	for _, p := range []string{prelude(15, 0), prelude(100, 90), prelude(1<<20, awsHeadersMax+1)} {
		_, err := NewAWSReader(strings.NewReader(p + strings.Repeat("x", 200))).Next()
		if _, ok := errors.AsType[*FramingError](err); !ok {
			t.Error(err)
		}
	}
	r := NewAWSReader(strings.NewReader(prelude(MaxEvent, 0) + "short"))
	if _, err := r.Next(); !errors.Is(err, io.ErrUnexpectedEOF) || r.buf.Cap() > 1<<20 {
		t.Errorf("a length that is a lie took %d bytes, %v", r.buf.Cap(), err)
	}
}

func TestAWSHeadersOfAllTypesAreRead(t *testing.T) {
	h := []byte{1, 'a', 0, 1, 'b', 1, 1, 'c', 2, 9, 1, 'd', 3, 0, 1, 1, 'e', 4, 0, 0, 0, 1}
	h = append(append(h, 1, 'f', 5), make([]byte, 8)...)
	h = append(h, 1, 'g', 6, 0, 2, 'x', 'y')
	h = append(append(h, 1, 'h', 8), make([]byte, 8)...)
	h = append(append(h, 1, 'i', 9), make([]byte, 16)...)
	h = append(append(h, 11), ":event-type"...)
	h = append(h, 7, 0, 2, 'o', 'k')
	if got, err := readAll(NewAWSReader(strings.NewReader(awsFrame(h, "{}")))); !errors.Is(err, io.EOF) ||
		!slices.Equal(got, []string{"ok {}"}) {
		t.Errorf("%q, %v", got, err)
	}
	for at := 1; at < len(h); at++ { // every cut is noticed, unless it leaves complete headers
		if _, err := parseAWSHeaders(h[:at]); err != nil {
			if _, ok := errors.AsType[*FramingError](err); !ok {
				t.Error(err)
			}
		}
	}
	if _, err := parseAWSHeaders([]byte{1, 'a', 77}); err == nil {
		t.Error("an unknown type was read")
	}
}

func FuzzAWSStream(f *testing.F) {
	one := awsEvent(f, "chunk", `{"bytes":"e30="}`)
	f.Add([]byte(one), uint16(0))
	f.Add([]byte(one+awsMessageOf(f, map[string]string{":message-type": "exception", ":exception-type": "x"}, "{}")),
		uint16(3))
	f.Add([]byte(awsFrame([]byte{1, 'a', 5, 0}, "")), uint16(9))
	f.Fuzz(func(t *testing.T, b []byte, split uint16) {
		whole, err := readAll(NewAWSReader(strings.NewReader(string(b))))
		at := min(int(split), len(b))
		src := io.MultiReader(strings.NewReader(string(b[:at])), iotest.OneByteReader(strings.NewReader(string(b[at:]))))
		again, errAgain := readAll(NewAWSReader(src))
		if !slices.Equal(whole, again) || err.Error() != errAgain.Error() {
			t.Fatalf("split at %d: %q, %v; whole: %q, %v", at, again, errAgain, whole, err)
		}
		if headers, payload := b[:at], string(b[at:]); len(headers) <= awsHeadersMax {
			_, _ = NewAWSReader(strings.NewReader(awsFrame(headers, payload))).Next() // any headers behind right checksums
		}
	})
}

func BenchmarkAWSStream(b *testing.B) {
	stream := strings.Repeat(awsEvent(b, "contentBlockDelta",
		`{"contentBlockIndex":0,"delta":{"text":"some words of a reply"},"p":"abcdefgh"}`), 1000)
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		if got := 0; true {
			for r := NewAWSReader(strings.NewReader(stream)); ; got++ {
				if _, err := r.Next(); err != nil {
					break
				}
			}
			if got != 1000 {
				b.Fatal(got)
			}
		}
	}
	b.ReportMetric(1000, "events/op")
}
