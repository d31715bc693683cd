package serverset

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/lathe-dev/lathe/internal/extend/mcp/entry"
	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
)

// A server of a plugin reads its own files, writes to its folder of data, and nowhere else.
func TestAServerOfAPluginWritesToItsDataOnly(t *testing.T) {
	if confine.Detect().Tier != confine.Full {
		t.Skip("this machine has no full sandbox")
	}
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string {
		dir := filepath.Join(home, name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	project, root, data := at("project"), at("root"), at("data")
	if err := os.WriteFile(filepath.Join(root, "own"), []byte("own file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := boundary.Open(boundary.Options{
		Flag: "workspace", Dir: project, Home: home, Config: at("config"),
		State: at("state"), Cache: at("cache"),
	})
	if err != nil {
		t.Fatal(err)
	}
	c, done, err := Options{Dir: project, Boundary: b}.confine(&entry.Entry{
		Name: "s", Scope: entry.Plugin,
		Plugin: &entry.PluginServer{Root: root, Data: data},
	})
	if err != nil || c == nil {
		t.Fatal(c, err)
	}
	defer done()
	runner := sandbox.New()
	defer runner.Close()
	var out bytes.Buffer
	script := `cat ` + root + `/own; for d in project root data state; do touch ` + home +
		`/$d/new 2>/dev/null; done; true`
	if _, err := runner.Run(t.Context(), sandbox.Spec{
		Argv: []string{"/bin/sh", "-c", script}, Dir: project,
		Env: os.Environ(), Stdout: &out, Stderr: &out, Confine: c,
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(data, "new")); err != nil || !bytes.HasPrefix(out.Bytes(), []byte("own file\n")) {
		t.Errorf("%v: %s", err, out.String())
	}
	for _, dir := range []string{project, root, filepath.Join(home, "state")} {
		if _, err := os.Stat(filepath.Join(dir, "new")); err == nil {
			t.Errorf("a file was written to %s", dir)
		}
	}
}
