package repl

import (
	"strings"
	"testing"
)

func TestDiffsHaveColours(t *testing.T) {
	for line, want := range map[string]string{"  +new": "\x1b[32m", "  -old": "\x1b[31m", "  @@ -1 +1 @@": "\x1b[36m"} {
		if got := diffColour(line); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, plainColour) {
			t.Errorf("%q", got)
		}
	}
	if got := diffColour("   same"); got != "   same" || iconOf("Bash") != "$" || iconOf("mcp__x") != "•" {
		t.Errorf("%q", got)
	}
}
