package program

import (
	"context"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// generated are programs that the test below runs, with a name that systems give them instead.
var generated = map[string]string{
	"tree": "", "fd": "fdfind", "bat": "batcat", "eza": "exa", "ack": "", "ag": "",
	"rg": "", "sort": "", "uniq": "", "od": "", "xxd": "", "diff": "", "nl": "", "column": "",
}

// TestReadOnlyFlagsWriteNothing runs programs that are there with flags of their rows, alone and joined: where the
// table says read-only, no file may appear or change, and nothing of a file that is not named may be printed.
func TestReadOnlyFlagsWriteNothing(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(generated)) {
		file, err := exec.LookPath(name)
		if err != nil && generated[name] != "" {
			file, err = exec.LookPath(generated[name])
		}
		if err != nil {
			continue // it is not installed
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(1, 2))
			for range runsPerProgram {
				tryReal(t, file, realWords(name, r))
			}
		})
	}
}

const runsPerProgram = 25

// realWords draws words for a program: flags of its row, some joined, values and names of files.
func realWords(name string, r *rand.Rand) []string {
	names := slices.Sorted(maps.Keys(find(name).options))
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	values := []string{"new1", "new2", "a.txt", "sub", "root", "2", ".", "-"}
	out := []string{name}
	for range 1 + r.IntN(3) {
		flag := pick(names)
		switch r.IntN(4) {
		case 0:
			if len(flag) == 2 {
				for range 1 + r.IntN(2) {
					if more := pick(names); len(more) == 2 {
						flag += more[1:]
					}
				}
			}
		case 1:
			if strings.HasPrefix(flag, "--") {
				flag += "="
			}
			flag += pick(values)
		}
		out = append(out, flag)
		if r.IntN(2) == 0 {
			out = append(out, pick(values))
		}
	}
	for range r.IntN(3) {
		out = append(out, pick(values))
	}
	return out
}

func tryReal(t *testing.T, file string, words []string) {
	t.Helper()
	line := make([]Word, len(words))
	for i, w := range words {
		line[i] = Word{Text: w}
	}
	u := Analyze(line, env)
	if !u.Class.ReadOnly() || len(u.Inner)+len(u.Script)+len(u.Writes) > 0 {
		return
	}
	outside, dir := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		outside + "/secret": "root: no-eyes\n", dir + "/a.txt": "root\n1\n",
		dir + "/sub/b": "root\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, dir+"/link"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/.ackrc", []byte("--follow\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	before := contents(t, dir)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, file, words[1:]...)
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + outside, "PATH=" + os.Getenv("PATH"), "TERM=dumb"}
	cmd.Stdin = strings.NewReader(outside + "/secret\n")
	out, _ := cmd.CombinedOutput()
	if after := contents(t, dir); !maps.Equal(before, after) {
		t.Errorf("%q is %s, and the folder was %v and is %v", words, u.Class, before, after)
	}
	if strings.Contains(string(out), "no-eyes") {
		t.Errorf("%q is %s, and shows a file outside: %s", words, u.Class, out)
	}
}

// contents are the files below dir with their text.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		out[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
