//go:build unix

package cli_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The value of a variable, one of a credential file and a key of a known form are in no request to the model, and in
// nothing that lathe keeps.
func TestSecretsReachNeitherTheModelNorTheDisk(t *testing.T) {
	const variable, stored, shape = "horse-battery-55", "correct-staple-77", "ghp_" +
		"a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
	d := drive(t, `
reply
  when result="[masked]"
  say Three lines.
reply
  when contains="look at"
  call Bash {"command":"cat notes.txt"}
  call Read {"file_path":"${WORKDIR}/notes.txt"}
  call Grep {"pattern":"first|second|third","path":"${WORKDIR}","output_mode":"content"}
final
  say Nothing was masked.
`)
	d.end()
	home := filepath.Dir(d.dir)
	d.write("notes.txt", "first "+variable+"\nsecond "+stored+"\nthird "+shape+"\n")
	if err := os.WriteFile(filepath.Join(home, ".npmrc"), []byte("//registry.example/:_authToken="+stored+"\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	d.cmd.Env = append(d.cmd.Env, "MY_TOKEN="+variable)
	out, stderr, code := d.once("--debug", "--allowedTools", "Bash", "look at @notes.txt")
	if code != 0 || !strings.Contains(out, "Three lines") {
		t.Fatalf("exit code %d: %s%s", code, out, stderr)
	}
	masked := 0
	check := func(where, text string) {
		masked += strings.Count(text, "[masked]")
		for _, secret := range []string{variable, stored, shape} {
			if i := strings.Index(text, secret); i >= 0 {
				t.Errorf("%s has %s: %s", where, secret, text[max(0, i-200):i])
			}
		}
	}
	requests := d.srv.Requests()
	for _, r := range requests {
		check("a request", string(r.Body))
	}
	if len(requests) < 2 || masked < 3 {
		t.Errorf("%d requests, %d masks: the tools showed nothing", len(requests), masked)
	}
	kinds := map[string]bool{}
	if err := filepath.WalkDir(home, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || filepath.Dir(path) == home || filepath.Dir(path) == d.dir {
			return err
		}
		b, err := os.ReadFile(path)
		check(path, string(b))
		kinds[filepath.Ext(path)] = kinds[filepath.Ext(path)] || strings.Contains(string(b), "[masked]")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if !kinds[".jsonl"] {
		t.Errorf("no record was found: %v", kinds)
	}
}
