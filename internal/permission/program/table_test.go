package program

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lathe-dev/lathe/internal/permission"
)

func rank(c permission.Class) int {
	if c.ReadOnly() {
		return 0
	}
	return slices.Index(permission.Classes, c)
}

// readOnly reports whether a use is read-only, with all that it runs.
func readOnly(u Use, depth int) bool {
	if !u.Class.ReadOnly() || len(u.Script) > 0 || u.ScriptHides || u.Stdin || depth > 5 {
		return false
	}
	for _, inner := range u.Inner {
		if !readOnly(Analyze(inner, env), depth+1) {
			return false
		}
	}
	return true
}

// milder reports whether the class of b is less strict than that of a.
func milder(a, b Use) bool {
	return rank(b.Class) < rank(a.Class)
}

// TestEveryRowThatLooksHasAnExample keeps the table and the examples together.
func TestEveryRowThatLooksHasAnExample(t *testing.T) {
	var lines []string
	for _, e := range examples(t) {
		if e.class != "asks" && e.class != "write" && e.class != "destructive" {
			lines = append(lines, e.line+" ")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(table())) {
		if r := find(name); r.name != name || !r.class.ReadOnly() {
			continue
		}
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, name+" ") }) {
			t.Errorf("no example shows that %q is read-only", name)
		}
	}
}

// TestEveryFlagOfTheTableIsTakenForWhatItIs runs through all flags of all rows: one that is marked makes a use
// no longer read-only, the others do not.
func TestEveryFlagOfTheTableIsTakenForWhatItIs(t *testing.T) {
	for name := range table() {
		r := find(name)
		if r.has("raw") || r.class == "" || r.name != name || r.has("plain") && len(r.judges) > 0 {
			continue
		}
		for _, o := range r.options {
			line := append(words(name), Word{Text: o.name})
			if o.role != "" && !o.optional {
				line = append(line, Word{Text: "9"})
			}
			u := Analyze(line, env)
			if o.ask && u.Class.ReadOnly() {
				t.Errorf("%s %s: class %s although the table marks the flag", name, o.name, u.Class)
			}
			if !o.ask && r.class.ReadOnly() && len(r.judges) == 0 && !u.Class.ReadOnly() {
				t.Errorf("%s %s: class %s (%s) although the table does not mark the flag", name, o.name, u.Class, u.Reason)
			}
			if o.exact && !u.Literal {
				t.Errorf("%s %s: a rule with a pattern may allow it", name, o.name)
			}
		}
	}
}

func TestTheTableIsWellFormed(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(table())) {
		r := find(name)
		if r.name != name {
			continue
		}
		for _, bad := range r.bad {
			t.Error(bad)
		}
		if r.class == destructive && r.does == "" {
			t.Errorf("%s does not say what it does", name)
		}
	}
}

func TestNoNameStandsTwiceInTheTable(t *testing.T) {
	files, err := tableFiles.ReadDir("table")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, file := range files {
		text, err := tableFiles.ReadFile("table/" + file.Name())
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if line == "" || line[0] == ' ' || line[0] == '#' {
				continue
			}
			names, _, _ := strings.Cut(line, " : ")
			for name := range strings.SplitSeq(names, ", ") {
				if at, ok := seen[name]; ok {
					t.Errorf("%s stands in %s and %s:%d", name, at, file.Name(), i+1)
				}
				seen[name] = fmt.Sprintf("%s:%d", file.Name(), i+1)
			}
		}
	}
}

// TestABadRowIsReportedWithItsLine holds the test of the table against rows that are wrong.
func TestABadRowIsReportedWithItsLine(t *testing.T) {
	for text, want := range map[string]string{
		"a : readish\n": "x:2:", "a : read SIDE\n": "x:2:", "a : read nojudge\n": "x:2:", "a :\n": "x:2:",
		"a : read\n    allow -a\n    may -b\n": "x:4:", "a : read\n    allow b\n": "x:3:", "a : read\n    like nobody\n": "x:3:",
		"a : read\n    destroys b\n": "x:3:", "a : read\n    ask=SIDE -b\n": "x:3:",
	} {
		places := map[string]place{}
		index(places, &file{"x", "# x\n" + text})
		for _, p := range places {
			if r := readRow(p); len(r.bad) != 1 || !strings.HasPrefix(r.bad[0], want) {
				t.Errorf("%q: %q, want one message of %s", text, r.bad, want)
			}
		}
	}
}

// pieces are words that change the meaning of a command.
var pieces = []string{
	"-x", "-o", "--output=x", "--exec", "-exec", "{}", ";", "+", "--", "-", "-c", "-i", "a", "./x", "/etc/passwd", "-zzz",
	"--unknown", "--pre=./x",
	"-delete", "A=b", "9", "-9", "w out", "s/a/b/e", "{print > \"x\"}", "*", "$", "rm", "--version", "--help", "-n", "-e",
	"-f",
}

func drawWord(t *rapid.T, label string) Word {
	p := rapid.SampledFrom(pieces).Draw(t, label)
	return Word{Text: p, Glob: p == "*", Unknown: p == "$", Quoted: rapid.Bool().Draw(t, label+" quoted")}
}

func drawUse(t *rapid.T) (row string, line []Word) {
	names := slices.Sorted(maps.Keys(table()))
	row = rapid.SampledFrom(names).Draw(t, "row")
	line = words(row)
	for range rapid.IntRange(0, 4).Draw(t, "words") {
		line = append(line, drawWord(t, "word"))
	}
	return row, line
}

func TestAnUnknownFlagNeverMakesAUseMilder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, line := drawUse(t)
		if last := line[len(line)-1]; strings.HasPrefix(last.Text, "-") {
			line = append(line, Word{Text: "a"}) // else the flag may become the value of the last one
		}
		before := Analyze(line, env)
		after := Analyze(append(slices.Clone(line), Word{Text: rapid.SampledFrom([]string{"--zz-unknown", "--zz=1"}).Draw(t,
			"flag")}), env)
		if milder(before, after) {
			t.Fatalf("%v: %s (%s) became %s", line, before.Class, before.Reason, after.Class)
		}
	})
}

func TestAnUnknownWordNeverMakesAUseMilder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row, line := drawUse(t)
		if find(row).has("tame") {
			return // the program can do no harm with any word
		}
		i := rapid.IntRange(0, len(line)-1).Draw(t, "at")
		hidden := slices.Clone(line)
		hidden[i] = Word{Unknown: true}
		after := Analyze(hidden, env)
		if !readOnly(after, 0) {
			return
		}
		// The unknown word may be harmless, but the table must not call it so for a program that could do harm with it.
		for _, p := range pieces {
			shown := slices.Clone(line)
			shown[i] = Word{Text: p}
			if u := Analyze(shown, env); !readOnly(u, 0) {
				t.Fatalf("%v: %s, but with %q for the unknown word %s (%s)", hidden, after.Class, p, u.Class, u.Reason)
			}
		}
	})
}

func TestANameThatIsNotOfTheSystemIsNeverReadOnly(t *testing.T) {
	for name := range table() {
		first, rest, _ := strings.Cut(name, " ")
		line := append([]Word{{Text: "/tmp/x/" + first}}, words(rest)...)
		if u := Analyze(line, env); u.Class.ReadOnly() {
			t.Errorf("/tmp/x/%s is %s", name, u.Class)
		}
	}
}

func FuzzLook(f *testing.F) {
	for _, e := range examples(f) {
		f.Add(e.line, uint8(0))
	}
	f.Fuzz(func(t *testing.T, line string, flip uint8) {
		ws := words(line)
		for i := range ws {
			if flip>>(i%8)&1 == 1 {
				ws[i].Unknown = true
			}
		}
		u := Analyze(ws, env)
		if u.Class == "" || (u.Reason == "") != u.Class.ReadOnly() {
			t.Fatalf("%q: class %q, reason %q", line, u.Class, u.Reason)
		}
		for _, inner := range u.Inner {
			Analyze(inner, env)
		}
	})
}

func BenchmarkLook(b *testing.B) {
	lines := [][]Word{
		words("ls -la src"), words("git log --oneline -20"), words("grep -rn foo ."),
		words("sed -n 1,20p a"), words("find . -name x"),
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, l := range lines {
			Analyze(l, env)
		}
	}
}

func BenchmarkTable(b *testing.B) {
	for b.Loop() {
		for _, name := range []string{"files.txt", "git.txt", "languages.txt"} {
			text, err := tableFiles.ReadFile("table/" + name)
			if err != nil {
				b.Fatal(err)
			}
			index(map[string]place{}, &file{name, string(text)})
		}
	}
}

func TestOrdinaryOptionsNeedNoExactRule(t *testing.T) {
	for _, line := range []string{
		"git clone https://a/b", "git clone --depth 1 -b main https://a/b c", "git commit -m x", "git push -u origin main",
		"npm test", "npm test -- --watch", "npm run build", "npm install x", "npm ci",
		"make", "make -j4 test", "make V=1 -k all", "go build ./...", "go build -o bin/x ./cmd/x",
		"go test -count=1 -run X ./...", "go test -race -coverprofile=c.out ./...", "go vet ./...", "go mod tidy",
		"gcc -O2 -Wall -Iinclude -o a a.c -lm", "cargo test -- --nocapture", "cargo build --release",
		"tar -xzf a.tar.gz -C out", "tar xzf a.tgz", "curl https://a/b", "curl -fsSL https://a/b?c=d",
		"curl -X POST -H X:1 -d x=1 localhost:80/b",
		"docker compose up -d", "docker compose logs -f web", "docker compose exec web ls", "pytest -q -x -k foo tests",
		"jest --coverage src", "eslint src --fix", "tsc --noEmit", "mvn -q test", "gradle test", "rsync -a a b",
		"pip install x", "kubectl apply -f x.yml",
	} {
		if u := Analyze(words(line), env); u.Literal && !strings.Contains(line, "compose exec") {
			t.Errorf("%s needs an exact rule", line)
		}
	}
}
