//go:build linux && (amd64 || arm64)

package boundary_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/boundary"
	"github.com/lathe-dev/lathe/internal/sandbox"
)

// The lines write, run something, reach another machine or print a secret, and were made to pass as read-only. Inside they do no harm,
// whatever the permissions say about them.
func TestLinesThatPassAsReadOnlyAreHarmlessInside(t *testing.T) {
	if testing.Short() {
		t.Skip("runs some hundred commands")
	}
	text, err := os.ReadFile(filepath.Join("..", "permission", "call", "testdata", "invented.txt"))
	if err != nil {
		t.Fatal(err)
	}
	p := newPlace(t)
	b := p.open(t, `{"enabled": true}`)
	outside := filepath.Join(filepath.Dir(p.dir), "outside")
	const secret = "held-value-4711"
	write(t, outside+"/kept", "kept")
	write(t, p.home+"/.netrc", "password "+secret)
	gitIn(t, p.dir, "init", "-q")
	git := snapshot(t, p.dir+"/.git/hooks") + snapshot(t, p.dir+"/.git/config")
	before := snapshot(t, outside) + snapshot(t, p.home)
	ran := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if unquoted, err := strconv.Unquote(line); err == nil {
			line = unquoted
		}
		line = strings.ReplaceAll(line, "MK", outside+"/MK")
		for name, text := range map[string]string{".env": "SECRET=" + secret, "a.txt": "text", "a.json": "{}", "x": "x", "a.xml": "<a/>", "a.yml": "a: 1"} {
			_ = os.RemoveAll(filepath.Join(p.dir, name))
			write(t, filepath.Join(p.dir, name), text)
		}
		out := within(t, b, p.dir, line)
		ran++
		if strings.Contains(out, secret) {
			t.Errorf("%q printed a secret: %s", line, out)
		}
		if now := snapshot(t, outside) + snapshot(t, p.home); now != before {
			t.Fatalf("%q changed a file outside:\n%s", line, now)
		}
		if now := snapshot(t, p.dir+"/.git/hooks") + snapshot(t, p.dir+"/.git/config"); now != git {
			t.Fatalf("%q changed git's hooks or configuration:\n%s", line, now)
		}
	}
	if ran < 200 {
		t.Errorf("only %d lines ran", ran)
	}
}

// within runs a line without input, for a few seconds at most.
func within(t *testing.T, b *boundary.Boundary, dir, line string) string {
	t.Helper()
	c, err := b.For([]string{dir}, boundary.Network{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Done()
	r := sandbox.New()
	defer r.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	var out bytes.Buffer
	_, err = r.Run(ctx, sandbox.Spec{
		Argv: []string{"bash", "-c", line}, Dir: dir, Env: sandbox.Overlay(os.Environ(), c.Environ()), Stdout: &out, Stderr: &out, Confine: c.Confinement,
	})
	if err != nil && ctx.Err() == nil {
		t.Fatalf("%s: %v", line, err)
	}
	return out.String()
}

// snapshot is the names and contents of the files below a path, but for lathe's own.
func snapshot(t *testing.T, root string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && (e.Name() == "state" || e.Name() == "config") {
			return filepath.SkipDir
		}
		out.WriteString(path + "\n")
		if e.Type().IsRegular() {
			text, err := os.ReadFile(path)
			out.Write(text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}
