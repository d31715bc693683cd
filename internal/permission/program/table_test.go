package program

import (
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
	alias := aliases()
	for _, name := range slices.Sorted(maps.Keys(rows())) {
		if _, ok := alias[name]; ok || !rows()[name].class.ReadOnly() {
			continue
		}
		if (strings.HasPrefix(name, "docker ") && strings.Count(name, " ") == 2) || strings.HasPrefix(name, "pip") {
			continue // second names of the same rows
		}
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, name+" ") }) {
			t.Errorf("no example shows that %q is read-only", name)
		}
	}
}

// TestEveryFlagOfTheTableIsTakenForWhatItIs runs through all flags of all rows: one that is marked makes a use
// no longer read-only, the others do not.
func TestEveryFlagOfTheTableIsTakenForWhatItIs(t *testing.T) {
	for name, r := range rows() {
		if r.raw || r.flags == nil || strings.HasPrefix(name, "docker ") || strings.HasPrefix(name, "podman") {
			continue
		}
		g := r.flags.grammar()
		for _, o := range g.options {
			line := append(words(name), Word{Text: o.name})
			if o.takes != takesNothing && !o.optional {
				line = append(line, Word{Text: "9"})
			}
			u := Analyze(line, env)
			if o.unsafe && u.Class.ReadOnly() {
				t.Errorf("%s %s: class %s although the table marks the flag", name, o.name, u.Class)
			}
			if !o.unsafe && r.class.ReadOnly() && r.judge == nil && !u.Class.ReadOnly() {
				t.Errorf("%s %s: class %s (%s) although the table does not mark the flag", name, o.name, u.Class, u.Reason)
			}
			if o.exact && !u.Literal {
				t.Errorf("%s %s: a rule with a pattern may allow it", name, o.name)
			}
		}
	}
}

func TestFlagSetsAreWellFormed(t *testing.T) {
	for name, r := range rows() {
		if r.flags != nil {
			checkFlagSet(t, name, r.flags)
		}
		for role := range strings.FieldsSeq(r.ops) {
			if !slices.Contains([]string{"FILE", "DIR", "OUT", "KILL", "HOST", "TEXT", "SQL"}, strings.TrimSuffix(role, "...")) {
				t.Errorf("%s: no role %q", name, role)
			}
		}
		if !r.class.ReadOnly() && r.does == "" {
			t.Errorf("%s: it does not say what it does", name)
		}
	}
}

// checkFlagSet checks that every name is a flag, listed in one field.
func checkFlagSet(t *testing.T, program string, f *flagSet) {
	t.Helper()
	seen := map[string]bool{}
	add := func(name string) {
		if seen[name] {
			t.Errorf("%s: %s stands twice among its flags", program, name)
		}
		seen[name] = true
	}
	for _, letter := range strings.ReplaceAll(f.letters, " ", "") {
		if letter <= ' ' || letter == '-' || letter > '~' {
			t.Errorf("%s: %q is no letter of a flag", program, letter)
		}
		add("-" + string(letter))
	}
	for _, field := range f.fields() {
		for entry := range strings.FieldsSeq(field.names) {
			name, optional := strings.CutSuffix(entry, "?")
			if len(name) < 2 || name[0] != '-' && name[0] != '+' || strings.ContainsAny(name, ":=!?") {
				t.Errorf("%s: %q is no flag", program, entry)
			}
			if len(name) > 2 && name[0] == '-' && name[1] != '-' && !f.oneDash {
				t.Errorf("%s: %s is a long flag with one dash", program, name)
			}
			if optional && field.takes == takesNothing && field.names != f.unsafeValue {
				t.Errorf("%s: %s is said to have no value, and an optional one", program, name)
			}
			add(name)
		}
	}
}

func TestNoProgramStandsInTwoFamilies(t *testing.T) {
	seen := map[string]bool{}
	for _, family := range families() {
		for name := range family {
			if seen[name] {
				t.Errorf("%s stands in two families", name)
			}
			seen[name] = true
		}
	}
	for name, of := range aliases() {
		if seen[name] || !seen[of] {
			t.Errorf("%s is not a second name of %s", name, of)
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
	names := slices.Sorted(maps.Keys(rows()))
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
		if rows()[row].tame {
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
	for name := range rows() {
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
		for _, family := range families() {
			_ = family
		}
	}
}

func TestAKeyThatIsNoSecretMayBeShown(t *testing.T) {
	for _, line := range []string{
		"git config user.name", "git config --get user.email", "git config --list --name-only",
		"git remote", "git var GIT_EDITOR", "git config get user.name", "git config --get core.autocrlf", "git status",
	} {
		if u := Analyze(words(line), env); u.GitValues || !u.Class.ReadOnly() {
			t.Errorf("%s: class %s, shows values: %v", line, u.Class, u.GitValues)
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
