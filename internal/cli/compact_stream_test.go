//go:build linux || darwin

package cli_test

import (
	"strings"
	"testing"
)

// Consumers of a stream take what comes after a result for the next turn's.
func TestACompactionByACommandIsABoundaryBeforeItsResult(t *testing.T) {
	d := drive(t, "final\n  say Done.\n")
	for _, prompt := range []string{"one", "two", "three", "four", "five", "six"} {
		d.send(said(strings.Repeat(prompt+" ", 3000), prompt))
		d.kind("result")
	}
	d.send(said("/compact --force", "7"))
	var meta map[string]any
	d.until("the result", func(m map[string]any) bool {
		if m["subtype"] == "compact_boundary" {
			meta, _ = m["compact_metadata"].(map[string]any)
		}
		return m["type"] == "result"
	})
	if before, _ := meta["pre_tokens"].(float64); meta["trigger"] != "manual" || before < 10_000 {
		t.Errorf("got %v before the result", meta)
	}
	d.end()
}
