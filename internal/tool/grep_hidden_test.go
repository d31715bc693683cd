package tool_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/tool"
)

// forbidding makes reading of files in secrets/ denied and of .env asked.
func forbidding(b *bench) {
	b.env.MayRead = func(path string) permission.Effect {
		switch {
		case strings.Contains(path, "/secrets/"):
			return permission.Deny
		case filepath.Base(path) == ".env":
			return permission.Ask
		}
		return permission.Allow
	}
}

func TestASearchLeavesOutWhatMayNotBeRead(t *testing.T) {
	for _, files := range []int{1, tool.SmallTree + 10} { // searched in this process, and by ripgrep where it is there
		t.Run(fmt.Sprint(files), func(t *testing.T) {
			b := newBench(t)
			for i := range files {
				b.put(fmt.Sprintf("src/f%d.txt", i), "nothing\n")
			}
			b.put("a.txt", "token=1\n")
			b.put("secrets/k.txt", "token=2\n")
			b.put(".env", "token=3\n")
			forbidding(b)
			for _, mode := range []string{"content", "files_with_matches", "count"} {
				got := b.must("Grep", in{"pattern": "token", "output_mode": mode})
				if strings.Contains(got, "token=2") || strings.Contains(got, "token=3") || !strings.Contains(got, "a.txt") {
					t.Errorf("%s: %s", mode, got)
				}
				if files == 1 {
					wantIn(t, got, "Left out, since reading needs permission:", "secrets/k.txt")
				}
			}
		})
	}
}

func TestASearchDoesNotTellWhetherAFileItLeavesOutMatches(t *testing.T) {
	for _, files := range []int{1, tool.SmallTree + 10} {
		t.Run(fmt.Sprint(files), func(t *testing.T) {
			b := newBench(t)
			for i := range files {
				b.put(fmt.Sprintf("src/f%d.txt", i), "nothing\n")
			}
			b.put("secrets/k.txt", "token=2\n")
			b.put(".env", "token=3\n")
			forbidding(b)
			for _, mode := range []string{"content", "files_with_matches", "count"} {
				hit := b.must("Grep", in{"pattern": "token", "output_mode": mode})
				if miss := b.must("Grep", in{"pattern": "tokem", "output_mode": mode}); hit != miss {
					t.Errorf("%s: %q is told from %q", mode, hit, miss)
				}
				wantIn(t, hit, "Left out, since reading needs permission: .env")
				if got := b.must("Grep", in{"pattern": "token", "output_mode": mode, "glob": "*.go"}); strings.Contains(got,
					"Left out") {
					t.Errorf("%s: a file that the glob leaves out is named: %s", mode, got)
				}
			}
		})
	}
}

func TestAFolderThatWasApprovedIsSearchedButForWhatIsDenied(t *testing.T) {
	b := newBench(t)
	b.put("sub/a.txt", "token=1\n")
	b.put("sub/secrets/k.txt", "token=2\n")
	b.env.MayRead = func(path string) permission.Effect {
		if strings.Contains(path, "/secrets/") {
			return permission.Deny
		}
		return permission.Ask // all of it needs an approval, which this call has
	}
	got := b.must("Grep", in{"pattern": "token", "output_mode": "content"})
	if !strings.Contains(got, "token=1") || strings.Contains(got, "token=2") {
		t.Error(got)
	}
}
