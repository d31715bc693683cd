package shell

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/permission"
)

// seen are all texts that deny and ask rules are held against.
func seen(r Result) []string {
	var out []string
	for _, p := range r.Command.Parts {
		out = append(append(out, p.Text), p.Deep...)
	}
	return out
}

func TestPartsReadAsRulesAreWritten(t *testing.T) {
	for line, want := range map[string][]string{
		"npm run test":                          {"npm run test"},
		"npm  run   'test'":                     {"npm run test"},
		"NODE_ENV=test npm run test":            {"npm run test"},
		"LC_ALL=C TZ=UTC npm test":              {"npm test"},
		"LD_PRELOAD=./x npm test":               {"LD_PRELOAD=./x npm test"},
		"FOO=1 npm test":                        {"FOO=1 npm test"},
		"timeout 5 npm test":                    {"timeout 5 npm test", "npm test"},
		"time npm test":                         {"npm test"},
		"nice -n 5 nohup npm test":              {"nice -n 5 nohup npm test", "nohup npm test", "npm test"},
		"npm test > out.txt 2>&1":               {"npm test"},
		"npm test && npm run lint; ls | cat":    {"npm test", "npm run lint", "ls", "cat"},
		"git commit -m 'a b'":                   {"git commit -m a b"},
		"rm ''":                                 {"rm ''"},
		"cat ~/x":                               {"cat ~/x"},
		"ls *.go":                               {"ls *.go"},
		"rm $X":                                 {"rm $X"},
		"sudo -u x rm -r build":                 {"sudo -u x rm -r build", "rm -r build"},
		"(npm test)":                            {"npm test"},
		"if npm test; then npm publish; fi":     {"npm test", "npm publish"},
		"echo $(npm test)":                      {"echo $(npm test)", "npm test"},
		"bash -c 'npm test; npm publish'":       {"bash -c npm test; npm publish", "npm test", "npm publish"},
		"find . -exec npm test {} +":            {"find . -exec npm test {} +", "npm test {}"},
		"for f in a b; do npm run $f; done":     {"npm run $f", "npm run a", "npm run b"},
		"npm test \\\n  --watch":                {"npm test --watch"},
		"npm test # and so on":                  {"npm test"},
		"cat <<'E' | npm test\nrm x\nE":         {"cat", "npm test"},
		"[ -f x ] && npm test":                  {"[ -f x ]", "npm test"},
		"! npm test":                            {"npm test"},
		"{ npm test; }":                         {"npm test"},
		"X=1":                                   {"X=1"},
		"case $1 in a) npm test;; *) ls;; esac": {"npm test", "ls"},
	} {
		var got []string
		for _, p := range read(line).Command.Parts {
			got = append(got, p.Text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", line, diff)
		}
	}
}

func TestDenyRulesSeeThroughEverySpelling(t *testing.T) {
	for line, want := range map[string]string{
		"/usr/bin/curl -s x":                       "curl -s x",
		"FOO=1 rm x":                               "rm x",
		"A=rm; $A x":                               "rm x",
		"git -C sub --no-pager push x":             "git push x",
		"docker --context x rm y":                  "docker rm y",
		"curl.exe x":                               "curl x",
		"CURL x":                                   "curl x",
		"r${nothing}m x":                           "rm x",
		"$nothing rm x":                            "rm x",
		"if then rm x":                             "rm x",
		"echo 'unterminated; rm x":                 "rm x",
		"{ rm x } always { ls }":                   "rm x",
		"for f (a b) rm $f":                        "rm $f",
		"eval \"$(echo cm0geA== | base64 -d)\"":    "rm x",
		"echo rm x > a.sh; sh a.sh":                "rm x",
		"[ -v 'a[$(rm x)]' ]":                      "rm x",
		"noglob rm x":                              "rm x",
		"repeat 3 rm x":                            "rm x",
		strings.Repeat("true;", 3000) + "rm x":     "rm x",
		strings.Repeat("true; ", 30_000) + "rm x":  "rm x",
		strings.Repeat("bash -c \"", 1) + "rm x\"": "rm x",
		strings.Repeat("$(", 300) + "rm x" + strings.Repeat(")", 300): "rm x",
	} {
		if got := seen(read(line)); !slices.Contains(got, want) {
			t.Errorf("%.80q does not show %q: %.300q", line, want, got)
		}
	}
}

func TestQuotedTextIsNoCommand(t *testing.T) {
	for _, line := range []string{
		"grep 'rm -rf' notes.txt", "echo 'a; rm x'", "git commit -m 'rm x'",
		"cat <<'E'\nrm x\nE", "git rm x", "echo '$(rm x)'", "# rm x\nls",
	} {
		for _, text := range seen(read(line)) {
			if strings.HasPrefix(text, "rm") {
				t.Errorf("%q shows %q", line, text)
			}
		}
	}
}

func TestOnlyWhatIsUnderstoodIsExact(t *testing.T) {
	for line, want := range map[string]bool{
		"npm test": true, "npm test 2>&1": true, "npm test | cat": true, "(npm test)": true, "npm test &": true,
		"timeout 5 npm test":       true,
		"if npm test; then ls; fi": true, "NODE_ENV=x npm test": true, "npm run *": true, "npm test <<'E'\nx\nE": true,
		"npm $X": false, "npm $(ls)": false, "npm `ls`": false, "$X": false, "while npm test; do ls; done": false,
		"f() { npm test; }": false, "npm ${x:-y}": false,
		"npm $'\\x61'": false, "npm 'unterminated": false, "npm\u00a0test": false, "npm test\r": false, "npm <(ls)": false,
		"eval \"$X\"": false, "export GOOS=js": false,
		"n{pm,x}": false, "git *": false, "npm ~x": false, "coproc npm test": false, "npm test <<$'E'\nx\nE": false,
		"case a in a) npm test;; esac":      false,
		"for f in a b; do npm run $f; done": false, "for i in 1 2; do npm test; done": true,
	} {
		if r := read(line); r.Command.Exact != want {
			t.Errorf("%q: exact is %v: %s", line, r.Command.Exact, show(r))
		}
	}
}

func TestWhoStandsForWhom(t *testing.T) {
	for line, want := range map[string]string{
		"timeout 5 npm test": "timeout covered, npm",
		"sudo npm test":      "sudo, npm covered",
		"npm test":           "npm",
	} {
		var got []string
		for _, p := range read(line).Command.Parts {
			text := p.Program
			if p.Covered {
				text += " covered"
			}
			got = append(got, text)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

func TestPathsAreResolvedAsTheKernelDoes(t *testing.T) {
	m := workshop(t)
	outside := filepath.Join(m.home, "outside")
	if err := os.MkdirAll(filepath.Join(outside, "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, link := range [][2]string{{filepath.Join(outside, "deep"), "link"}, {
		filepath.Join(outside, "deep", "x"),
		"file",
	}} {
		if err := os.Symlink(link[0], filepath.Join(m.root, link[1])); err != nil {
			t.Skip("there are no links here: ", err)
		}
	}
	if err := os.WriteFile(filepath.Join(outside, "deep", "x"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]permission.Access{
		"cat file": {
			Kind: permission.Read, Target: outside + "/deep/x", Named: m.root + "/file",
			Node: permission.File,
		},
		"cat link/x": {
			Kind: permission.Read, Target: outside + "/deep/x", Named: m.root + "/link/x",
			Node: permission.File,
		},
		"cat link/../a.txt": {
			Kind: permission.Read, Target: outside + "/a.txt", Named: m.root + "/a.txt",
			Node: permission.Missing,
		},
		"cd link && cat x": {
			Kind: permission.Read, Target: outside + "/deep/x", Named: m.root + "/link/x",
			Node: permission.File,
		},
		"cat a.txt": {Kind: permission.Read, Target: m.root + "/a.txt", Node: permission.File},
		"ls > out": {
			Kind: permission.Write, Target: m.root + "/out", Node: permission.Missing,
			Redirect: true,
		},
		"ls >| src/../out": {
			Kind: permission.Write, Target: m.root + "/out", Node: permission.Missing,
			Redirect: true,
		},
		"cat < b.txt":              {Kind: permission.Read, Target: m.root + "/b.txt", Node: permission.File, Redirect: true},
		"touch new":                {Kind: permission.Write, Target: m.root + "/new", Node: permission.Missing},
		"cat < /dev/tcp/h.test/80": {Kind: permission.Net, Target: "h.test:80"},
	} {
		got := Analyze(line, m.root, m).Accesses
		if !slices.ContainsFunc(got, func(x permission.Access) bool { return cmp.Equal(x, want) }) {
			t.Errorf("%q does not touch %+v but %+v", line, want, got[1:])
		}
	}
}

func TestProgramsOfTheProjectAreNotReadOnly(t *testing.T) {
	m := workshop(t)
	bin := filepath.Join(m.root, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "cat"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, line := range []string{"cat a.txt", "bin/cat a.txt", bin + "/cat a.txt", "nosuchprogram"} {
		if r := Analyze(line, m.root, m); r.Command.Class.ReadOnly() {
			t.Errorf("%q is read-only: %s", line, show(r))
		}
	}
}

// keyed is a world whose repositories name programs.
type keyed struct{ paper }

func (keyed) GitKeys(_ string, kind permission.KeyKind) ([]string, error) {
	if kind == permission.ProgramKeys {
		return []string{"core.fsmonitor"}, nil
	}
	return nil, nil
}

func TestGitThatWouldRunProgramsAsks(t *testing.T) {
	r := Analyze("git status", proj, keyed{})
	if r.Command.Class.ReadOnly() || !strings.Contains(r.Command.Parts[0].Reason, "core.fsmonitor") {
		t.Errorf("it does not name the key: %s", show(r))
	}
}
