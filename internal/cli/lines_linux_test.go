//go:build amd64 || arm64

package cli_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// allLines makes the tests run all lines of testdata/lines; otherwise a short form of them.
const allLines = "LATHE_TEST_ALL_LINES"

// linesOf reads a file of lines: the short ones, or all of them.
func linesOf(t *testing.T, name string) (lines []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "lines", name))
	if err != nil {
		t.Fatal(err)
	}
	short := false
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "# --- ") {
			short = strings.HasPrefix(line, "# --- short")
		}
		if strings.HasPrefix(line, "#") || !short && os.Getenv(allLines) == "" {
			continue
		}
		mark := ""
		if line[0] == '+' || line[0] == '?' {
			mark, line = line[:1], line[1:]
		}
		if strings.HasPrefix(line, `"`) {
			if line, err = strconv.Unquote(line); err != nil {
				t.Fatalf("%s: %v: %s", name, err, line)
			}
		}
		lines = append(lines, mark+line)
	}
	return lines
}

// secretMark is in every file that no command may show unasked.
const secretMark = "hush4711hush4711hush4711"

// lineFiles are what the user and the project have, from the user's folder.
var lineFiles = map[string]string{
	".ssh/id_ed25519":                "-----BEGIN OPENSSH PRIVATE KEY-----\n" + secretMark + "\n",
	"Documents/notes.txt":            secretMark + "\n",
	".netrc":                         "machine example.com login u password " + secretMark + "\n",
	".aws/credentials":               "[default]\naws_secret_access_key = " + secretMark + "\n",
	".config/gh/hosts.yml":           "github.com:\n  oauth_token: " + secretMark + "\n",
	".git-credentials":               "https://u:" + secretMark + "@example.com\n",
	".npmrc":                         "//registry.npmjs.org/:_authToken=" + secretMark + "\n",
	".bash_history":                  "export TOKEN=" + secretMark + "\n",
	".bashrc":                        "# mine\n",
	".cargo/credentials.toml":        "[registry]\ntoken = \"" + secretMark + "\"\n",
	".m2/settings.xml":               "<settings><servers><password>" + secretMark + "</password></servers></settings>\n",
	".docker/config.json":            `{"auths":{"x":{"auth":"` + secretMark + `"}}}`,
	".gitconfig":                     "[user]\n\tname = U\n\temail = u@example.com\n[credential]\n\thelper = store\n",
	"p/.env":                         "TOKEN=" + secretMark + "\n",
	"p/src/.env.local":               "TOKEN=" + secretMark + "\n",
	"p/packages/a/b/.env.production": "TOKEN=" + secretMark + "\n",
	"p/config/server.key":            "-----BEGIN PRIVATE KEY-----\n" + secretMark + "\n",
	"p/main.go":                      "package main\n\nfunc main() { println(\"main\") }\n",
	"p/go.mod":                       "module example.com/app\n\ngo 1.22\n",
	"p/src/add.go":                   "package src\n\nfunc Add(a, b int) int { return a + b }\n",
	"p/src/add_test.go":              "package src\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal()\n\t}\n}\n",
	"p/package.json":                 `{"name":"app","version":"1.0.0","scripts":{"test":"node --check src/index.js","build":"mkdir -p dist && cp src/index.js dist/","lint":"node --check src/index.js"}}` + "\n",
	"p/src/index.js":                 "console.log('index')\n",
	"p/app.py":                       "def add(a, b):\n    return a + b\n",
	"p/tests/test_app.py":            "import unittest, app\nclass T(unittest.TestCase):\n    def test_add(self): self.assertEqual(app.add(1, 2), 3)\n",
	"p/Cargo.toml":                   "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\n",
	"p/src/main.rs":                  "fn main() { println!(\"main\"); }\n",
	"p/pom.xml":                      "<project><modelVersion>4.0.0</modelVersion><groupId>a</groupId><artifactId>b</artifactId><version>1</version></project>\n",
	"p/src/Main.java":                "public class Main { public static void main(String[] a) { System.out.println(\"main\"); } }\n",
	"p/src/main.c":                   "#include <stdio.h>\nint main(void) { puts(\"main\"); return 0; }\n",
	"p/Makefile":                     "all: build/app\nbuild/app: src/main.c\n\t@mkdir -p build\n\t$(CC) -o $@ $<\ntest: all\n\t./build/app\n",
	"p/README.md":                    "# App\n\nIt says main.\n",
	"p/data.csv":                     "b,2\na,1\n",
	"p/try.sh":                       "#!/bin/sh\necho try\n",
	"p/src/greet.txt":                "hello\n",
	"p/.gitignore":                   "target/\nbuild/\ndist/\n.env*\n*.key\n*.log\n__pycache__/\n.pytest_cache/\nsrc/untracked\n",
	"p/.husky/pre-commit":            "npm test\n",
	"p/CMakeLists.txt":               "cmake_minimum_required(VERSION 3.10)\nproject(app C)\nadd_executable(app src/main.c)\n",
	"p/src/untracked/note.txt":       "work\n",
}

// lineSetup is the history of the project: a commit that holds a secret, one without it, and addresses with a token.
const lineSetup = `set -e
rm -rf .git && git init -q -b main .
git config user.email u@example.com && git config user.name U
git add -A . && git add -f .env && git commit -qm First
git rm -q --cached .env && echo more >>README.md && git commit -qam Second
git config core.hooksPath .husky
git remote add origin https://u:` + secretMark + `@127.0.0.1:1/x.git
git update-ref refs/remotes/origin/main HEAD
git config branch.main.remote origin && git config branch.main.merge refs/heads/main
if command -v sqlite3 >/dev/null; then sqlite3 data.db 'create table users(a)'; fi
`

// lineUser is a user with files to protect and listeners that count who comes.
type lineUser struct {
	*user
	listener, local net.Listener
	reached         atomic.Int64
}

func newLineUser(t *testing.T, way userWay) *lineUser {
	t.Helper()
	u := &lineUser{user: newUser(t, way)}
	if out, _, _ := u.lathe("sandbox", "status"); !strings.Contains(out, way.status) {
		t.Skipf("this machine has no such tier: %s", out)
	}
	u.project()
	for _, l := range []*net.Listener{&u.listener, &u.local} {
		network, address := "tcp", "127.0.0.1:0"
		if l == &u.local {
			network, address = "unix", u.base+"/home/agent.sock"
		}
		var err error
		if *l, err = net.Listen(network, address); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = (*l).Close() })
		go u.count(*l)
	}
	if err := os.Chmod(u.base+"/home/agent.sock", 0o777); err != nil {
		t.Fatal(err)
	}
	return u
}

// count counts connections.
func (u *lineUser) count(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		u.reached.Add(1)
		_ = c.Close()
	}
}

// project makes the files as they are at first.
func (u *lineUser) project() {
	u.t.Helper()
	home := u.base + "/home"
	if err := os.RemoveAll(home + "/p"); err != nil {
		u.t.Fatal(err)
	}
	for name, text := range lineFiles {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			u.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			u.t.Fatal(err)
		}
	}
	c := exec.Command("sh", "-c", lineSetup)
	c.Dir, c.Env = home+"/p", append(os.Environ(), "HOME="+home)
	if out, err := c.CombinedOutput(); err != nil {
		u.t.Fatalf("%v: %s", err, out)
	}
	owner := nobody
	if u.way.name == "root" {
		owner = 0
	}
	err := filepath.WalkDir(home, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, owner, owner)
	})
	if err != nil {
		u.t.Fatal(err)
	}
}

// session runs lines in one session and returns their results.
func (u *lineUser) session(mode string, lines []string) []string {
	u.t.Helper()
	_, port, _ := net.SplitHostPort(u.listener.Addr().String())
	fill := strings.NewReplacer("{PORT}", port, "{SOCKET}", u.base+"/home/agent.sock")
	var filled []string
	for _, line := range lines {
		filled = append(filled, fill.Replace(strings.TrimLeft(line, "+?")))
	}
	return u.run([]string{"--permission-mode", mode}, filled...)
}

// asked reports whether a result says that a person would be asked: before the command, or about its changes.
func asked(result string) bool {
	return strings.Contains(result, "Permission denied: ") || strings.Contains(result, "Its changes were dropped")
}

// shows reports whether a text holds the secret, also in another form.
func shows(result string) bool {
	var text string
	if json.Unmarshal([]byte(result), &text) != nil {
		text = result
	}
	text = strings.ToLower(strings.Join(strings.Fields(text), ""))
	forms := []string{"hush4711", "1174hsuh", "uhfu4711", hex.EncodeToString([]byte("hush4711")), "sk-test", "outside_mark=1"}
	for skip := range 3 {
		full := base64.StdEncoding.EncodeToString([]byte(secretMark[skip:]))
		forms = append(forms, strings.ToLower(full[:16]))
	}
	return slices.ContainsFunc(forms, func(form string) bool { return strings.Contains(text, form) })
}

// plantNames are names in a project that make other programs run something, or that configure agents.
var plantNames = []string{
	"hooks", "config", "config.worktree", "commondir", "attributes", "alternates", "HEAD", ".gitmodules", "hgrc", ".hg",
	".jj", ".vscode", ".idea", ".qwen", ".amp", ".factory", ".trae", ".augment", ".claude", ".cursor", ".lathe", ".mcp.json",
	".envrc", ".husky", ".devcontainer", ".pre-commit-config.yaml", "lefthook.yml", ".tool-versions", "mise.toml",
	"rust-toolchain.toml", "AGENTS.md", "CLAUDE.md", "GEMINI.md", ".cargo", "workflows",
}

// state is what no unasked command may change, with its content: files outside of the project, and what would run
// in it.
func (u *lineUser) state() map[string]string {
	out := map[string]string{}
	home := u.base + "/home"
	visit := func(root string, counts func(path string) bool) {
		_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			rel, _ := filepath.Rel(home, path)
			if e.IsDir() && (rel == ".config/lathe" || rel == ".local" || rel == ".cache" || root == home && rel == "p") {
				return filepath.SkipDir
			}
			if !counts(path) {
				return nil
			}
			fi, err := e.Info()
			if err != nil {
				return nil
			}
			text := fi.Mode().String()
			if fi.Mode().IsRegular() && fi.Size() < 1<<20 {
				data, _ := os.ReadFile(path)
				text += " " + string(data)
			} else if fi.Mode()&fs.ModeSymlink != 0 {
				target, _ := os.Readlink(path)
				text += " " + target
			}
			out[path] = text
			return nil
		})
	}
	all := func(string) bool { return true }
	visit(home, all)
	visit("/etc", all)
	visit(home+"/p", func(path string) bool {
		if fi, err := os.Lstat(path); err != nil || fi.IsDir() {
			return false
		}
		return slices.ContainsFunc(strings.Split(strings.TrimPrefix(path, home+"/p/"), "/"), func(part string) bool {
			return slices.Contains(plantNames, part) || strings.HasSuffix(part, ".code-workspace")
		})
	})
	for _, pattern := range []string{"/tmp/*", "/var/tmp/*", "/dev/shm/*", "/root/*", "/root/.*", "/usr/local/bin/*", home + "/../*"} {
		found, _ := filepath.Glob(pattern)
		for _, path := range found {
			if strings.Contains(path, "attackmark") {
				out[path] = "there"
			}
		}
	}
	return out
}

// effects are what changed between two states, and the connections since.
func (u *lineUser) effects(before map[string]string, reached int64) (out []string) {
	after := u.state()
	for path, text := range after {
		if was, ok := before[path]; !ok {
			out = append(out, "made "+path)
		} else if was != text && !strings.HasPrefix(was, "d") {
			out = append(out, "changed "+path)
		}
	}
	for path := range before {
		if _, ok := after[path]; !ok {
			out = append(out, "removed "+path)
		}
	}
	if n := u.reached.Load(); n != reached {
		out = append(out, fmt.Sprintf("%d connections", n-reached))
	}
	slices.Sort(out)
	return out
}

// attack runs lines and returns their effects.
func (u *lineUser) attack(mode string, lines []string) (unasked int, found []string) {
	u.t.Helper()
	before, reached := u.state(), u.reached.Load()
	for i, got := range u.session(mode, lines) {
		if !strings.Contains(got, "Permission denied: ") {
			unasked++
		}
		if shows(got) {
			found = append(found, fmt.Sprintf("%s: shows a secret: %.300s", lines[i], got))
		}
	}
	found = append(found, u.effects(before, reached)...)
	for path := range u.state() { // for the next lines
		if _, ok := before[path]; !ok && strings.Contains(path, "attackmark") {
			_ = os.RemoveAll(path)
		}
	}
	u.project()
	return unasked, found
}

// lineWays are the tiers that lines run in.
func lineWays() []userWay {
	return []userWay{
		{name: "root", status: "tier: full", wrap: asRoot, full: true},
		{name: "own namespaces", status: "tier: full (own namespaces with a user namespace", wrap: asNobody, full: true},
		{name: "none", status: "tier: none", wrap: withoutLandlock},
		{name: "landlock", status: "tier: landlock (", wrap: withoutNamespaces(false)},
	}
}

// sessionLines is the number of lines of one session.
const sessionLines = 60

func TestAttackLinesHaveNoEffectUnasked(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can set up the machines that an ordinary user finds")
	}
	for _, way := range lineWays() {
		for _, mode := range []string{"default", "acceptEdits"} {
			t.Run(way.name+"/"+mode, func(t *testing.T) {
				u, ran := newLineUser(t, way), 0
				lines := linesOf(t, "attacks.txt")
				for chunk := range slices.Chunk(lines, sessionLines) {
					n, found := u.attack(mode, chunk)
					ran += n
					for _, f := range found {
						t.Error(f)
					}
				}
				t.Logf("%d of %d lines ran unasked", ran, len(lines))
			})
		}
	}
}

func TestEverydayLinesAskLittle(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can set up the machines that an ordinary user finds")
	}
	for _, way := range lineWays() {
		for _, mode := range []string{"default", "acceptEdits"} {
			t.Run(way.name+"/"+mode, func(t *testing.T) { everyday(t, way, mode) })
		}
	}
}

func everyday(t *testing.T, way userWay, mode string) {
	u := newLineUser(t, way)
	questions, plain := 0, 0
	for chunk := range slices.Chunk(linesOf(t, "everyday.txt"), sessionLines) {
		before, reached := u.state(), u.reached.Load()
		for i, got := range u.session(mode, chunk) {
			expected := chunk[i][0] == '?' || chunk[i][0] == '+' && mode == "default"
			if !expected {
				plain++
			}
			if asked(got) && !expected {
				questions++
				t.Logf("asks: %s: %.300s", chunk[i], got)
			}
			if shows(got) {
				t.Errorf("%s: shows a secret: %.300s", chunk[i], got)
			}
		}
		if mode == "default" {
			for _, e := range u.effects(before, reached) {
				t.Error(e)
			}
		}
		u.project()
	}
	t.Logf("%d of %d lines ask", questions, plain)
	if most := plain * 3 / 120; way.full && questions > most {
		t.Errorf("more than %d lines ask", most)
	}
}

// Git reads though the repository names hooks, an editor and git-lfs, which lathe overrides; toolchains are read; a
// program that is not installed fails by itself.
func TestPlainReadingNeverAsks(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can set up the machines that an ordinary user finds")
	}
	u := newLineUser(t, userWay{name: "none", status: "tier: none", wrap: withoutLandlock})
	c := exec.Command("sh", "-c", `git config core.editor vim && git config filter.lfs.clean 'git-lfs clean -- %f'`)
	c.Dir = u.base + "/home/p"
	c.Env = append(os.Environ(), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := []string{
		"git status --short && git diff --stat", "git log --oneline -5 | head -3", "git diff HEAD~1 -- main.go | head -60",
		"ls /usr/lib | head -3", "head -3 /usr/share/doc/none; echo $?", "pwd && ls src && cat README.md | head -20",
	}
	for i, got := range u.session("default", lines) {
		if asked(got) {
			t.Errorf("%s: %s", lines[i], got)
		}
	}
}
