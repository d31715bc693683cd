package cli

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestCallsAreReadLineByLine(t *testing.T) {
	in := strings.Join([]string{
		"\ufeff" + `{"tool":"Read","input":{"a":1}}`, "", "  ", `{"tool":"Read"`, `{"tool":"Write","input":{"x":"` +
			strings.Repeat("y", 200) + `"}}`,
		`null`, `{"tool":"Glob","input":null}`, `{"tool":"Grep","input":{}} trailing`, `{"tool":"Last","input":{}}`,
	}, "\n")
	lines := newCallLines(strings.NewReader(in))
	lines.limit = 100
	var got []string
	for {
		call, err := lines.next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			got = append(got, err.Error())
			continue
		}
		got = append(got, call.Name)
	}
	want := []string{
		"Read", "line 4: not a JSON", "line 5: the line has more", `line 6: "tool" is missing`,
		`line 7: "input" is not an object`, "line 8: not a JSON", "Last",
	}
	if len(got) != len(want) {
		t.Fatalf("got %q", got)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("call %d: %q, want %q", i, got[i], want[i])
		}
	}
	if _, err := lines.next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
}

func TestALongLineWithoutAnEndIsOneError(t *testing.T) {
	lines := newCallLines(strings.NewReader(strings.Repeat("z", 300<<10)))
	lines.limit = 100 << 10
	if _, err := lines.next(t.Context()); !errors.Is(err, errTooLong) {
		t.Errorf("got %v", err)
	}
	if _, err := lines.next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("then %v", err)
	}
}

func TestWaitingForACallEndsWithTheContext(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	lines := newCallLines(r)
	done := make(chan error, 1)
	go func() { _, err := lines.next(ctx); done <- err }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestAnInputThatBreaksEndsTheRun(t *testing.T) {
	lines := newCallLines(io.MultiReader(strings.NewReader(`{"tool":"Read","input":{}}`+"\n"), goneDisk{}))
	if _, err := lines.next(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := lines.next(t.Context())
	if e, ok := errors.AsType[*Error](err); !ok || e.Code != exitUsage {
		t.Errorf("got %v", err)
	}
}

type goneDisk struct{}

func (goneDisk) Read([]byte) (int, error) { return 0, errors.New("the disk is gone") }
