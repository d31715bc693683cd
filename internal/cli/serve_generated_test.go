//go:build linux || darwin

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// oapiCodegen is the generator of a client that knows nothing but the document.
const oapiCodegen = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2"

// A client that oapi-codegen makes from the document alone drives a turn with a question.
func TestAGeneratedClientDrivesATurn(t *testing.T) {
	if os.Getenv("LATHE_OAPI") == "" {
		t.Skip("set LATHE_OAPI=1; it downloads oapi-codegen")
	}
	p := newServePlace(t)
	dir := t.TempDir()
	for name, from := range map[string]string{
		"drive.go": "testdata/oapi/drive.go.txt", "openapi.json": "../../client/openapi.json",
	} {
		b, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) string {
		c := exec.Command("go", args...)
		c.Dir, c.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run("mod", "init", "drive")
	run("run", oapiCodegen, "-generate", "types,client", "-package", "main", "-o", "client.go", "openapi.json")
	run("mod", "tidy")
	out := run("run", ".", p.address, p.must("serve", "token"), p.dir)
	for _, kind := range []string{"message.user", "tool.end", "turn.end"} {
		if !strings.Contains(out, kind) {
			t.Errorf("the history has no %s: %s", kind, out)
		}
	}
}

// The client in client/ts drives a turn with a question.
func TestTheTypeScriptClientDrivesATurn(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	p := newServePlace(t)
	dir := t.TempDir()
	for name, from := range map[string]string{
		"drive.mjs": "testdata/typescript/drive.ts", "drive.ts": "testdata/typescript/drive.ts",
		"lathe.js": "../../client/ts/lathe.js", "lathe.d.ts": "../../client/ts/lathe.d.ts",
		"package.json": "../../client/ts/package.json",
	} {
		b, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if modules := os.Getenv("LATHE_TSC"); modules != "" {
		if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
			t.Fatal(err)
		}
		c := exec.Command(filepath.Join(modules, ".bin", "tsc"), "--noEmit", "--strict",
			"--target", "es2022", "--module", "nodenext", "--types", "node", "drive.ts")
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
	c := exec.Command(node, "drive.mjs", p.address, p.must("serve", "token"), p.dir)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"hello", "opened", "asked", "once", "turn.end", "lathe:turn-over"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("there was no %s: %s", want, out)
		}
	}
}
