package shell

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
)

// counters are lines whose loops, sums, arrays and conditions are worked out beforehand.
var counters = []string{
	"i=0; while [ $i -lt 3 ]; do echo $i; i=$((i+1)); done; echo end $i",
	"i=0; while (( i < 3 )); do echo $i; ((i++)); done",
	"i=5; until [ $i -eq 2 ]; do echo $i; let i--; done",
	"for ((i=0;i<3;i++)); do echo $i; done; echo $i",
	"for ((i=10;i>0;i-=4)); do head -c $i a.txt; done",
	"n=0; for f in *.txt; do n=$((n+1)); done; echo $n files",
	"n=0; for f in a b; do ((n+=10)); echo \"$n: $f\"; done",
	"i=0; while [ $i -lt 2 ]; do for f in a b; do echo $i$f; done; i=$((i+1)); done",
	"x=7; y=$((x/2)); echo $y $((x%2)) $((-x/2)) $((x*-3)) $(( (x+1)*2 )) $((x>3)) $((!x))",
	"((x=3)) && echo yes; ((x-3)) || echo no",
	"a=(one two three); echo ${a[1]} ${a[@]} ${#a[@]} \"${a[@]}\" \"${a[2]}\" $a",
	"a=(a.txt b.txt); for f in \"${a[@]}\"; do wc -l \"$f\"; done",
	"a=(*.go); echo \"${a[0]}\" ${#a[@]}",
	"a=(a b c); i=1; echo ${a[i+1]} ${a[$i]}",
	"[[ -f a.txt ]] && echo file; [[ -d a.txt ]] || echo no folder",
	"[[ -f a.txt && -d src ]] && echo both; [[ ! -e nosuch ]] && echo none",
	"[[ -n \"$(ls)\" ]] && echo some; [[ -z $(ls) ]] || echo some",
	"[[ $(head -1 a.txt) == foo ]] && echo foo; [[ $(head -1 a.txt) != f* ]] || echo f",
	"x=main.go; [[ $x == *.go ]] && echo go; [[ $x == '*.go' ]] || echo literal",
	"[[ abc =~ ^a.c$ ]] && echo match; [[ abd =~ ^a.c$ ]] || echo not",
	"[[ 3 -gt 2 || 1 -eq 2 ]] && echo yes; [[ (1 -eq 1) && ! (2 -eq 1) ]] && echo yes",
	"[[ main.go -nt nosuch ]] && echo newer",
	"if [[ -f go.mod ]]; then echo go; elif [[ -f package.json ]]; then echo node; else echo none; fi",
	"cd src && cd -; ls",
	"cd src; ls; cd - > /dev/null; ls *.md",
	"pushd src > /dev/null; ls; popd > /dev/null; ls *.md",
	"cat <<EOF\nuser $HOME and $((1+2)) and $(head -1 a.txt)\nEOF",
	"wc -l <<EOF\n$(cat a.txt)\nlast\nEOF",
	"cat <<EOF | tr a-z A-Z\nit's \"quoted\" $HOME\nEOF",
	"echo a.txt b.txt | xargs wc -l",
	"echo a.txt b.txt | xargs -n1 wc -l",
	"printf '%s\\n' a.txt 'two words.txt' | xargs -d '\\n' wc -l",
	"printf 'a.txt\\nb.txt\\n' | xargs -I{} echo 'file {} here'",
	"echo a.txt | xargs cat | wc -l",
	"echo | xargs echo none",
	"n=World; echo \"${n,,} ${n^^} ${#n} ${n:-x} ${n:1:3} ${n:2} ${n/o/0} ${n//o/} ${n: -2}\"",
	"v=1.2.3; echo ${v%.*} ${v//./-} ${v/./_} ${v#*.} $((2**10)) $((-2**63))",
}

func TestWhatIsWorkedOutBeforehandIsWhatBashDoes(t *testing.T) {
	m := workshop(t)
	for _, line := range counters {
		sameAsBash(t, m, line, true)
	}
	top := "cd $(git rev-parse --show-toplevel) && ls"
	if r := Analyze(top, m.root, m); r.Command.Script != "builtin cd '"+m.root+"' && '"+m.Program("ls", "")+
		"'" && r.Command.Script != "builtin 'cd' '"+m.root+"' && '"+m.Program("ls", "")+"'" {
		t.Errorf("%q: script %q: %s", top, r.Command.Script, show(r))
	}
}

// sameAsBash compares a line with its script; must: it has to have one.
func sameAsBash(t *testing.T, m machine, line string, must bool) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	r := Analyze(line, m.root, m)
	if r.Command.Script == "" || !r.Command.Class.ReadOnly() {
		if must {
			t.Errorf("%q has no script: %s", line, show(r))
		}
		return
	}
	if want, got := bash(t, m, line), bash(t, m, r.Command.Script); got != want {
		t.Errorf("%q prints\n%s\nits script %s prints\n%s", line, want, r.Command.Script, got)
	}
}

func TestWhatIsNotKnownIsNotWorkedOut(t *testing.T) {
	for _, line := range []string{
		"i=0; while [ $i -lt 3 ]; do touch $i; i=$((i+1)); done", "while true; do echo x; done",
		"i=0; while [ $i -lt 1000 ]; do echo $i; i=$((i+1)); done",
		"i=0; while [ $i -lt $N ]; do echo; i=$((i+1)); done", "for ((;;)); do echo; done",
		"for ((i=0;i<n;i++)); do echo $i; done", "let x=y+1", "((a[0]++))", "x=08; echo $((x+1))",
		"x=1; echo $((x/0))", "x=1; eval x=2; echo $((x+1))", "echo $((RANDOM))", "[[ -v x ]]", "[[ $a == $b ]]",
		"[[ x == $(cat p) ]] && ls", "[[ $x -eq 1 ]]", "[[ -o noglob ]]",
		"n=x; echo ${n@Q}", "n=xx; echo ${n/x/&y}", "n=xx; echo ${n/#x/y}", "n=a; echo ${n:=b}", "n=a; echo ${n/$m/b}",
		"echo ${m:-x}", "[[ a =~ $r ]]", "[[ a =~ (b|c) ]] && ls", "[[ a < b ]]", "[[ a == @(b|c) ]]", "[[ -f $(touch x) ]]",
		"echo x | xargs rm", "echo -delete | xargs find .", "echo /etc/shadow | xargs cat",
		"echo ~/.ssh/id_rsa | xargs cat", "echo .env | xargs cat", "echo \"a b\" | xargs cd", "cat list | xargs wc",
		"ls | { xargs cat; }", "{ xargs cat; } < list", "echo '\"a\" b' | xargs cat",
		"cat <<EOF\n$SECRET\nEOF", "cat <<EOF\n$(touch x)\nEOF", "bash <<EOF\n$HOME\nEOF",
		"cd $(git rev-parse --show-toplevel) && touch x", "cd src; cd - && rm -r x", "a=(x); unset a; echo ${a[0]}",
		"a=(x y); for i in 1; do a=(z); done; [ -e q ] && a=(w); cat ${a[0]}", "a=(x y); a[0]=$(cat f); cat ${a[0]}",
		"declare -A m=([a]=b); echo ${m[a]}",
	} {
		if r := read(line); approved(r) && decided(r, permission.Default) == permission.Allow {
			t.Errorf("%q runs unasked: %s", line, show(r))
		}
	}
}

// randomLine makes a line of sums, loops, arrays and conditions.
func randomLine(r *rand.Rand) string {
	names := []string{"i", "j", "n", "x"}
	name := func() string { return names[r.IntN(len(names))] }
	number := func() string { return fmt.Sprint(r.IntN(30) - 8) }
	var sum func(depth int) string
	sum = func(depth int) string {
		switch k := r.IntN(8); {
		case depth == 0 || k < 2:
			return []string{number(), name(), "$" + name(), "${" + name() + "}"}[r.IntN(4)]
		case k == 2:
			return "(" + sum(depth-1) + ")"
		case k == 3:
			return []string{"-", "!", "~", "+"}[r.IntN(4)] + " " + sum(depth-1)
		}
		ops := strings.Fields("+ - * / % == != <= >= < > && || & | ^ << >> ** ,")
		return sum(depth-1) + " " + ops[r.IntN(len(ops))] + " " + sum(depth-1)
	}
	test := func() string {
		ops := strings.Fields("-eq -ne -lt -le -gt -ge = !=")
		return fmt.Sprintf("$%s %s %s", name(), ops[r.IntN(len(ops))], []string{number(), "$" + name()}[r.IntN(2)])
	}
	var out []string
	for _, n := range names[:1+r.IntN(4)] {
		out = append(out, n+"="+number())
	}
	for range 1 + r.IntN(4) {
		switch r.IntN(11) {
		case 0:
			out = append(out, name()+"=$(("+sum(2)+"))")
		case 1:
			out = append(out, "echo $(("+sum(3)+"))")
		case 2:
			out = append(out, "(("+name()+[]string{"++", "--", "+=3", "-=2", "*=2", "=" + number(), "%=4", "/=3"}[r.IntN(8)]+
				")) && echo t")
		case 3:
			out = append(out, "while [ "+test()+" ]; do echo $"+name()+"; "+name()+"=$(("+sum(1)+")); done")
		case 4:
			out = append(out, "for ((i="+number()+";i<"+number()+";i"+[]string{"++", "+=3", "--"}[r.IntN(3)]+")); do echo $i $"+
				name()+"; done")
		case 5:
			out = append(out, "[[ "+test()+" "+[]string{"&&", "||"}[r.IntN(2)]+" ! "+test()+" ]] && echo yes")
		case 6:
			out = append(out, "a=(p q*r s); echo ${a["+sum(1)+"]} ${#a[@]} \"${a[@]}\" $a")
		case 7:
			out = append(out, "for f in u v; do "+name()+"=$(("+sum(1)+")); echo $f $"+name()+"; done")
		case 8:
			out = append(out, "if (( "+sum(2)+" )); then "+name()+"="+number()+"; fi")
		case 9:
			out = append(out, "[ "+test()+" ] && "+name()+"="+number())
		default:
			out = append(out, "let "+name()+[]string{"++", "=" + number(), "+=2"}[r.IntN(3)]+"; echo $"+name())
		}
	}
	return strings.Join(append(out, "echo $i $j $n $x"), "; ")
}

// FuzzSumsAgainstBash compares lines that are worked out beforehand with bash.
func FuzzSumsAgainstBash(f *testing.F) {
	for i := range uint64(40) {
		f.Add(i)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		m := machine{home: "/nonexistent", root: t.TempDir()}
		sameAsBash(t, m, randomLine(rand.New(rand.NewPCG(seed, 7))), false)
	})
}
