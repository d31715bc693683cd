//go:build unix

package tool_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/tool"
)

// outputs are the output and exit code of a command in its safe form and in plain bash; ok is false where it has no
// safe form.
func outputs(t *testing.T, env *tool.Env, command string) (safe, plain string, ok bool) {
	t.Helper()
	root := env.Roots.First()
	env.Dir.Set(root)
	plan := planBash(t, env, command)
	if c := plan.Accesses[0].Command; c.Script == "" {
		return "", "", false
	}
	r, err := plan.Run(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	root = keptEnv(t).Roots.First() // a command that writes finds the files as they were
	cmd := exec.Command("bash", "--noprofile", "--norc", "-c", command)
	cmd.Dir, cmd.Env = root, []string{"HOME=/nonexistent", "PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "PWD=" + root}
	out, _ := cmd.CombinedOutput()
	got, _ := r.Meta["stdout"].(string)
	// programs name themselves by how they were called
	got = strings.ReplaceAll(strings.ReplaceAll(got, env.Roots.First(), root), "/usr/bin/", "")
	code, _ := r.Meta["exitCode"].(int)
	return strings.TrimRight(got, "\n") + "|" + string(rune('0'+code)), strings.TrimRight(string(out), "\n") + "|" +
		string(rune('0'+cmd.ProcessState.ExitCode())), true
}

func keptEnv(t *testing.T) *tool.Env {
	needBash(t)
	env := bashIn(t, "bash")
	env.Environ = func() []string { return []string{"HOME=/nonexistent", "PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"} }
	for name, content := range map[string]string{
		"lines": "  one\n two  three \n\n\n", "star": "*.txt [ab]*", "empty": "", "dash": "-n x",
		"quotes": "it's \"$HOME\" `x` $(x) \\t", "a.txt": "1\n", "b.txt": "2\n2\n", "names": "a.txt\nb.txt\n",
	} {
		if err := os.WriteFile(filepath.Join(env.Roots.First(), name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return env
}

func TestACommandWhoseOutputAVariableHasRunsOnce(t *testing.T) {
	env := keptEnv(t)
	for _, command := range []string{
		"v=$(date +%s%N); echo $v $v", "v=$(date +%s%N); echo \"$v\" \"${v}\"", "v=`date +%s%N`; echo $v $v",
		"v=$(date +%s%N) && echo $v && echo $v", "export v=$(date +%s%N); echo $v; echo $v",
		"v=$(date +%s%N); (echo $v); echo $(echo $v)", "v=$(date +%s%N); echo $v | cat; echo $v",
		"v=$(date +%s%N); for i in 1 2; do echo $v; done",
		"for i in 1 2; do v=$(date +%s%N); [ \"$v\" = \"$v\" ] && echo same; done",
		"v=$(date +%s%N); cat <<E\n$v\n$v\nE", "{ v=$(date +%s%N); echo $v; echo $v; }",
		"w=$(date +%s%N) v=$(date +%s%N); echo $v $v", "echo $(v=$(date +%s%N); echo $v $v)",
	} {
		safe, _, ok := outputs(t, env, command)
		if !ok {
			t.Errorf("%q has no safe form", command)
			continue
		}
		values := map[string]bool{}
		for _, field := range strings.Fields(strings.TrimSuffix(safe, "|0")) {
			values[field] = true
		}
		if len(values) != 1 {
			t.Errorf("%q ran more than once: %s", command, safe)
		}
	}
}

func TestAVariableWithTheOutputOfACommandHasTheValueThatBashGivesIt(t *testing.T) {
	env := keptEnv(t)
	ran := 0
	for _, file := range []string{"lines", "star", "empty", "dash", "quotes", "none"} {
		sets := []string{
			"v=$(cat " + file + "); ", "v=\"$(cat " + file + ")\"; ", "v=$(cat " + file + " | head -2); ", "v=$(cat " + file +
				") && ", "v=$(cat " + file + ") || ", "! v=$(cat " + file + "); ", "export v=$(cat " + file + ") && ",
			"set -e; v=$(cat " + file + "); ", "u=$(cat a.txt) v=$(cat " + file + ") && ",
		}
		for i, use := range []string{
			"echo $v $v", `echo "$v" "$v"`, `printf '<%s>' x $v "$v"`, `echo x$v"y$v"z`, "(echo $v; echo \"$v\")",
			"echo $(echo \"$v\"; echo $v)", "echo \"$v\" | wc -c; echo $v | cat", "for i in 1 2; do echo $v; done",
			"for w in $v; do echo \"<$w>\"; done", `for w in "$v"; do echo "<$w>"; done`, "cat <<E\n<$v>\nE",
			`[ -n "$v" ] && echo some || echo none`, `case $v in "") echo nothing;; *) echo text;; esac`,
			"cd sub && echo $v; echo \"$v\"", "v=x; echo $v",
		} {
			for _, set := range []string{sets[i%len(sets)], sets[(i+4)%len(sets)]} {
				safe, plain, ok := outputs(t, env, set+use)
				if !ok {
					continue
				}
				ran++
				if d := cmp.Diff(plain, safe); d != "" {
					t.Errorf("%q\n%s", set+use, d)
				}
			}
		}
	}
	for _, command := range []string{ // exit codes, members of a list, loops
		"f=$(cat none); echo $?", "f=$(ls none) 2>/dev/null; echo $?", "v=$(cat none) && w=$(cat a.txt) || echo \"<$w>\"",
		"w=1; v=$(cat none) && w=2 || echo \"<$w>\"", "w=1; true && w=2 && false || echo $w",
		"f=$(ls *.txt); wc -l $f; cat $f",
		"f=$(ls *.txt); cd sub; cat $f", "f=$(ls *.txt); cd sub && wc -l < $f", "v=$(cat a.txt) true",
		"v=$(cat a.txt) w=$(echo x); echo $v $w", "v=$(cat none) w=$(echo x) && echo $w", "v=1 w=$(cat none) || echo $v",
		"v=$(cat a.txt); v=$(cat b.txt); echo $v", "echo \"<$v>\"; v=$(cat a.txt); echo $v",
		"(v=$(cat a.txt)); echo \"<$v>\"", "v=$(cat a.txt) | cat; echo \"<$v>\"",
		"export v=$(cat none) w=$(cat a.txt); echo $? $w", "set -e; export v=$(cat none); echo on",
		"true || for i in 1 2; do echo $i; done", "false && for i in 1 2; do echo $i; done",
		"for i in 1 2; do echo $i; done | wc -l", "i=0; while [ $i -lt 2 ]; do echo $i; i=$((i+1)); done | wc -l",
		"true || for ((i=0; i<2; i++)); do echo $i; done", "echo $(v=$(cat star); echo $v $v) end",
		"for f in $(cat names); do v=$(wc -l < $f); echo $f $v $v; done",
		"ls *.txt | while read -r f; do v=$(wc -l < $f); echo $v; done",
	} {
		if safe, plain, ok := outputs(t, env, command); ok && safe != plain {
			t.Errorf("%q\n%s", command, cmp.Diff(plain, safe))
		}
	}
	for _, command := range []string{ // written or moved between the assignment and the use
		"v=$(cat a.txt); cp b.txt a.txt; echo \"$v\" > saved.txt; cat saved.txt",
		"n=$(ls | wc -l); touch zz; echo \"before: $n\"", "v=$(cat a.txt); echo new > a.txt; echo $v; cat a.txt",
		"mkdir d; v=$(ls d); touch d/x; echo \"<$v>\"",
		"v=$(cat a.txt); cd sub && echo \"$v\"", "v=`cat a.txt`; (cd sub && echo $v)", "v=$(cat a.txt); pushd sub; echo $v",
		"export v=$(cat a.txt); cd sub; cat <<E\n$v\nE", "v=$(cat a.txt); for d in sub; do cd $d; echo $v; done",
		"v=$(ls); cd sub && echo $v",
		"v=$(cat a.txt); cd sub; case $v in 1) echo one;; *) echo $v;; esac",
		"cd sub; v=$(ls); cd ..; echo $v; printf '%s' \"$v\"",
		"x=$(grep nosuch a.txt) && echo found || echo missing",
		"x=$(grep nosuch a.txt); if [ $? -eq 0 ]; then echo yes; else echo no; fi",
		"if x=$(grep nosuch a.txt); then echo yes; else echo no; fi", "x=$(false) || echo failed", "a=$(false); echo $?",
		"set -e; x=$(false); echo reached",
		"x=$(grep -c nosuch a.txt); echo \"rc $?\"", "x=$(! echo hi); echo $? $x", "x=$(printf %d 010); echo $x",
		"x=$(printf %d z 2>/dev/null); echo $? $x", "x=$(basename ''); echo \"<$x>\"",
		"x=$(basename --version | head -c 8); echo $x", "x=$(echo a | false); echo $?", "! x=$(false); echo $?",
		"x=$(echo hi; false); echo $? $x",
	} {
		safe, plain, ok := outputs(t, keptEnv(t), command)
		if !ok {
			t.Logf("%q asks", command)
			continue
		}
		if ran++; safe != plain {
			t.Errorf("%q\n%s", command, cmp.Diff(plain, safe))
		}
	}
	t.Logf("%d lines ran both ways", ran)
	if ran < 150 {
		t.Errorf("only %d lines have a safe form", ran)
	}
}
