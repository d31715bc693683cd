package tool_test

import (
	"context"
	"errors"
	"strings"
	"testing"

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

func TestALineOfManyMegabytesIsRefusedWithTheNextMove(t *testing.T) {
	b := newBench(t)
	b.put("long.txt", strings.Repeat("x", 40<<20))
	b.fails("Grep", in{"pattern": "needle", "path": "long.txt"}, "a line of more than 16.0 MB", "grep -o")
}
