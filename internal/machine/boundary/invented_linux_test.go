//go:build linux && (amd64 || arm64)

package boundary_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

// hostileLines are lines that write, run something, remove files, reach another machine or print a secret, and were
// made to pass as something else (all of them with LATHE_ENDURANCE); and those of the file of cases that LATHE_CASES
// names, in the form of `lathe permission check`.
func hostileLines(t *testing.T) (out []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "permission", "call", "testdata", "*.txt"))
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// the others are many ways to write the same
		some := os.Getenv("LATHE_ENDURANCE") == "" && filepath.Base(file) != "invented.txt"
		for n, line := range strings.Split(string(text), "\n") {
			line = strings.TrimSpace(line)
			if line == "" || line[0] == '#' || some && n%8 != 0 {
				continue
			}
			if unquoted, err := strconv.Unquote(line); err == nil {
				line = unquoted
			}
			out = append(out, line)
		}
	}
	if name := os.Getenv("LATHE_CASES"); name != "" {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			var c struct {
				Kind, Expect string
				Input        any
			}
			if err := json.Unmarshal(line, &c); err != nil {
				t.Fatal(err)
			}
			if command, ok := c.Input.(string); ok && c.Kind == "command" && (c.Expect == "ask" || c.Expect == "deny") {
				out = append(out, command)
			}
		}
	}
	return out
}

// Inside the lines do no harm, whatever the permissions say about them.
func TestHostileLinesAreHarmlessInside(t *testing.T) {
	if testing.Short() {
		t.Skip("runs some hundred commands")
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
	lines := hostileLines(t)
	for _, line := range lines {
		line = strings.ReplaceAll(line, "MK", outside+"/MK")
		for name, text := range map[string]string{
			".env": "SECRET=" + secret, "a.txt": "text", "a.json": "{}", "x": "x",
			"a.xml": "<a/>", "a.yml": "a: 1",
		} {
			_ = os.RemoveAll(filepath.Join(p.dir, name))
			write(t, filepath.Join(p.dir, name), text)
		}
		out := within(t, b, p.dir, line)
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
	if len(lines) < 450 {
		t.Errorf("only %d lines ran", len(lines))
	}
}

// within runs a line without input, for two seconds at most.
func within(t *testing.T, b *boundary.Boundary, dir, line string) string {
	t.Helper()
	c, err := b.For([]string{dir}, boundary.Network{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Done()
	r := sandbox.New()
	defer r.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	var out bytes.Buffer
	_, err = r.Run(ctx, sandbox.Spec{
		Argv: []string{"bash", "-c", line}, Dir: dir, Env: sandbox.Overlay(os.Environ(), c.Environ()), Stdout: &out,
		Stderr: &out, Confine: c.Confinement,
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
