package plugin_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/plugin"
)

func TestAMarketplaceNamesNoFolderOutsideOfItself(t *testing.T) {
	base := t.TempDir()
	put(t, base, map[string]string{"out/.claude-plugin/plugin.json": `{"name":"out"}`})
	for source, want := range map[string]string{
		`"../out"`: "leads out",
		`"./link"`: "leads out",
		fmt.Sprintf(`{"source":"directory","path":%q}`, filepath.Join(base, "out")): "is a folder of this machine",
		`{"source":"directory","path":"~/out"}`:                                     "is a folder of this machine",
		`{"source":"command","command":"make"}`:                                     "lathe does not run",
	} {
		s, dir := store(t), filepath.Join(t.TempDir(), "market")
		put(t, dir, map[string]string{".claude-plugin/marketplace.json": fmt.Sprintf(`{"name":"corp","plugins":[{"name":"out","source":%s}]}`, source)})
		if err := os.Symlink(filepath.Join(base, "out"), filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(source, "..") {
			put(t, filepath.Dir(dir), map[string]string{"out/.claude-plugin/plugin.json": `{"name":"out"}`})
		}
		if _, err := s.AddMarket(context.Background(), plugin.Source{Kind: "directory", Path: dir}); err != nil {
			t.Fatal(err)
		}
		if c, err := s.Fetch(context.Background(), "out@corp", "", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", source, c, err)
		}
	}
}
