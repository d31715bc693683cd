package tool_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/tool"
)

func TestASearchOfOneFileThatRunsOutOfTimeKeepsItsMatches(t *testing.T) {
	b := newBench(t)
	b.put("big.txt", "needle\n"+strings.Repeat("some other line\n", 5*tool.ChunkSize/16)+"needle\n")
	e, err := tool.NewEngines(b.env, tool.GrepInput{Pattern: "needle", Path: "big.txt", OutputMode: tool.ModeContent})
	if err != nil {
		t.Fatal(err)
	}
	h, err := e.Late(2)
	if !errors.Is(err, context.DeadlineExceeded) || h == nil || h.Files() != 1 {
		t.Errorf("%+v, %v", h, err)
	}
	if h, err = e.Late(1000); err != nil || h.Files() != 1 {
		t.Errorf("%+v, %v", h, err)
	}
}

// A line of 18 MB with marks at both ends, and about the size of the buffer.
func TestALineOfManyMegabytesIsSearched(t *testing.T) {
	b := newBench(t)
	b.env.Limits.SearchTime = 10 * time.Minute // the race detector is slow
	long := []byte(strings.Repeat("some words; ", 18<<20/12))
	for i, at := range []int{0, tool.ChunkSize - 9, 2*tool.ChunkSize - 2, len(long) - 7} {
		copy(long[at:], fmt.Sprintf("needle%d", i))
	}
	b.put("long.txt", "first\n"+string(long)+"\nlast needle4\n")
	for _, tt := range []struct {
		in   in
		want []string
	}{
		{in{"pattern": "needle1"}, []string{"long.txt"}},
		{in{"pattern": "needle2", "output_mode": "content"}, []string{"2:…", "words; ", "needle2"}},
		{in{"pattern": `needle\d`, "output_mode": "count"}, []string{"long.txt:2"}},
		{
			in{"pattern": `needle\d`, "output_mode": "content", "-o": true},
			[]string{"2:needle0\n2:needle1\n2:needle2\n2:needle3\n3:needle4\n"},
		},
		{in{"pattern": `^needle\d`, "output_mode": "content", "-o": true}, []string{"2:needle0\n"}},
		{in{"pattern": `needle\d$`, "output_mode": "content", "-o": true}, []string{"2:needle3\n3:needle4\n"}},
		{
			in{"pattern": `(?i)NEEDLE3|needle4`, "output_mode": "content", "-C": 1},
			[]string{"1-first\n2:…", "needle3\n3:last needle4\n"},
		},
		{in{"pattern": `absent`}, []string{"No matches found."}},
	} {
		tt.in["path"] = "long.txt"
		wantIn(t, b.must("Grep", tt.in), tt.want...)
	}
}

func TestALineThatIsTooLongIsNamed(t *testing.T) {
	b := newBench(t)
	b.put("long.txt", "needle"+strings.Repeat("x", tool.LineLimit+tool.ChunkSize))
	b.fails("Grep", in{"pattern": "needle", "path": "long.txt"}, "a line of more than", "Bash")
}
