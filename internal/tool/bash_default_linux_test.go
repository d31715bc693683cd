//go:build linux && (amd64 || arm64)

package tool_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/netproxy"
	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
	"github.com/lathe-dev/lathe/internal/tool"
)

// everyday are lines that must end as they do without a sandbox, in one project, one after the other.
var everyday = []string{
	`git init -q && git config user.email a@example.com && git config user.name A`,
	`git add -A && git commit -qm one && git log --oneline`,
	`git config branch.main.description x && git config --get branch.main.description`,
	`git checkout -q -b topic && echo x >topic.txt && git add . && git commit -qm two && git checkout -q - && git merge -q topic`,
	`git remote add origin ../remote.git && git push -qu origin HEAD`,
	`git fetch -q && git branch -q --track other origin/$(git branch --show-current) && git checkout -q other && git checkout -q -`,
	`git stash list; git tag v1; git rebase -q HEAD~1 || true`,
	`git worktree add -q ../tree && git worktree list`,
	`git worktree remove ../tree`,
	`git clone -q ../remote.git ../clone`,
	`cd ../clone && git status`,
	`cd ../project`,
	`mkdir -p ../beside && touch ../beside/x && cp go.mod ../beside/`,
	`echo hello >/tmp/lathe-everyday && cat /tmp/lathe-everyday && rm /tmp/lathe-everyday`,
	`cat "$OUTSIDE_TMP"`,
	`d=$(mktemp -d) && touch $d/x && ls $d`,
	`go build ./... && go vet ./... && go test ./...`,
	`go run .`,
	`go env GOROOT && gofmt -l .`,
	`go mod tidy`,
	`make`,
	`make -j4 clean all`,
	`gcc -o hello c/hello.c && ./hello`,
	`gdb -batch -ex run -ex bt ./hello`,
	`node -e 'console.log(1)'`,
	`node -e 'require("child_process").fork("ipc.js").on("message", m => process.exit(m == "hi" ? 0 : 1))'`,
	`node -e 'const s=require("http").createServer((q,r)=>r.end("x")).listen(0,"127.0.0.1",()=>fetch("http://127.0.0.1:"+s.address().port).then(()=>process.exit(0)))'`,
	`node -e 'require("net").createServer().listen("/tmp/lathe-everyday.sock",function(){this.close()})'`,
	`npm run hello && npm ls`,
	`npm pack --silent`,
	`npm test`,
	`python3 -c 'print(1)'`,
	`python3 -m unittest -q`,
	`python3 -m venv --without-pip .venv && .venv/bin/python -c 'import sys; print(sys.prefix)'`,
	`python3 -c 'import multiprocessing as m; print(m.Manager().list([1]))'`,
	`python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [1, 2]))'`,
	`python3 -c 'import sqlite3; sqlite3.connect("x.db").execute("create table t(a)")'`,
	`(python3 -m http.server 18973 --bind 127.0.0.1 >/dev/null 2>&1 & p=$!; for i in $(seq 50); do curl -sf http://127.0.0.1:18973/go.mod && break; sleep 0.1; done; kill $p)`,
	`cd crate && cargo build -q --offline && cargo test -q --offline; r=$?; cd ..; exit $r`,
	`rustc --version && rustc -o h hello.rs && ./h`,
	`ps aux | head -3 && id && hostname && df . && free`,
	`tar czf x.tgz go.mod && tar tzf x.tgz && rm x.tgz`,
	`find . -name '*.go' | xargs grep -n func`,
	`sed -i s/one/two/ notes && cat notes && rm notes`,
	`chmod +x script.sh && ./script.sh`,
	`tmux -V`,
	`ssh -V`,
	`curl -sf http://127.0.0.1:1/ ; test $? = 7`,
	`docker --version`,
	`bash -c 'sleep 0.1 & wait'`,
	`timeout 5 sh -c 'exit 3'; test $? = 3`,
	`touch ~/.lathe-everyday && rm ~/.lathe-everyday`,
	`ls ~ >/dev/null && cat /etc/hostname`,
	`date && env | sort | head -3 && which go`,
}

// project makes the files of the everyday lines, and returns the project's folder.
func project(t *testing.T, base string) string {
	t.Helper()
	dir := filepath.Join(base, "project")
	for name, text := range map[string]string{
		"go.mod": "module example.com/x\n\ngo 1.22\n", "main.go": "package main\n\nfunc main() { println(1) }\n",
		"main_test.go": "package main\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestX(t *testing.T) {\n\tif err := " +
			"os.WriteFile(t.TempDir()+\"/x\", nil, 0o600); err != nil {\n\t\tt.Fatal(err)\n\t}\n}\n",
		"Makefile":         "all: hello\nhello: c/hello.c\n\tcc -o hello c/hello.c\nclean:\n\trm -f hello\n",
		"c/hello.c":        "int main(void) { return 0; }\n",
		"ipc.js":           "process.send('hi')\n",
		"package.json":     `{"name": "x", "version": "1.0.0", "scripts": {"hello": "node -v", "test": "node ipc-less.js"}}`,
		"ipc-less.js":      "console.log(1)\n",
		"test_x.py":        "import unittest\nclass T(unittest.TestCase):\n    def test(self): pass\n",
		"hello.rs":         "fn main() {}\n",
		"crate/Cargo.toml": "[package]\nname = \"crate1\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
		"crate/src/lib.rs": "#[test]\nfn t() {}\n",
		"notes":            "one\n", "script.sh": "#!/bin/sh\necho ok\n", ".gitignore": "/.venv\n/crate/target\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("git", "init", "-q", "--bare",
		filepath.Join(base, "remote.git")).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	return dir
}

// everydayEnv is a session in such a project, with the default sandbox or none.
func everydayEnv(t *testing.T, confined bool) *tool.Env {
	t.Helper()
	base, err := os.MkdirTemp("/var/tmp", "lathe-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	env, err := tool.NewEnv(project(t, base))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(env.Runner.Close)
	if confined {
		home, _ := os.UserHomeDir()
		b, err := boundary.Open(boundary.Options{Dir: env.Roots.First(), Home: home, State: base + "/state", Cache: base +
			"/cache"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close() })
		env.Boundary, env.Roots.Seen = b, b.Seen
		env.Hosts = func(string, string, []string) boundary.Network {
			return boundary.Network{Record: func(netproxy.Connection) {}}
		}
	}
	return env
}

func took(r *agent.Result) time.Duration {
	return r.View.(event.Command).Duration.Round(time.Millisecond)
}

func TestEverydayCommandsEndInTheDefaultSandboxAsWithoutOne(t *testing.T) {
	if s := confine.Detect(); s.Tier != confine.Full {
		t.Skipf("this machine has no tier full: %s", s.Why)
	}
	outside, err := os.CreateTemp("", "lathe-everyday-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(outside.Name())
	t.Setenv("OUTSIDE_TMP", outside.Name())
	plain, boxed := everydayEnv(t, false), everydayEnv(t, true)
	for _, line := range everyday {
		without := runBash(t, t.Context(), plain, map[string]any{"command": line})
		within := runBash(t, t.Context(), boxed, map[string]any{"command": line})
		if without.Meta["exitCode"] != within.Meta["exitCode"] {
			t.Errorf("%s\nwithout the sandbox %v: %s\nin it %v: %s", line, without.Meta["exitCode"], textOf(without),
				within.Meta["exitCode"], textOf(within))
			continue
		}
		t.Logf("%v, %v, %v and %v: %s", within.Meta["exitCode"], within.Meta["sandbox"], took(without), took(within), line)
	}
}
