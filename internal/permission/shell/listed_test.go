package shell

import (
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
)

func TestAListOfFilesThatNobodyKnowsAsks(t *testing.T) {
	for _, line := range []string{
		"find / -name x | xargs cat", "find .. | xargs cat", "find -L . | xargs cat", "find . -follow | xargs cat",
		"find . -printf '/etc/passwd\\n' | xargs cat", "find . -ls | xargs cat",
		"find . | xargs rm", "find . | xargs -I{} sh -c {}", "find . | xargs -I{} sh -c 'cat {}'",
		"find . | xargs sed -i s/a/b/", "find . | xargs sed -n 'w x'", "find . | xargs tee", "find . | xargs uniq",
		"find . | xargs awk -f",
		"find . | xargs -d x cat", "find . | xargs -dx cat", "find . | xargs --delimiter=x cat", "find . | xargs -a f cat",
		"find . | xargs cat < f", "xargs cat", "xargs -a list cat", "cat list | xargs cat", "cat list | xargs wc -l",
		"find . | grep -o x | xargs cat", "find . | sed s/a/b/ | xargs cat", "find . | awk '{print $9}' | xargs cat",
		"find . | cut -c3- | xargs cat", "find . | head -c 9 | xargs cat", "find . | tr a b | xargs cat",
		"find . | head -5 < other | xargs cat",
		"find . | sort x | xargs cat", "find . | grep a x | xargs cat", "find . | rev | xargs cat",
		"find . 2>&1 | xargs cat", "find . |& xargs cat", "(find .; echo /etc/passwd) | xargs cat",
		"{ find .; cat x; } | xargs cat",
		"ls /etc | xargs cat", "ls .. | xargs cat", "ls src/../.. | xargs cat", "ls ~ | xargs cat", "ls $X | xargs cat",
		"git log | xargs cat", "git log --format=%s | xargs cat", "git ls-files ../x | xargs cat",
		"git ls-files :/ | xargs cat",
		"git ls-files -s | xargs cat", "git ls-files --format='/etc/passwd' | xargs cat",
		"git diff --name-only --line-prefix=/etc/ | xargs cat", "git diff --name-only -z | xargs cat",
		"git ls-files -z | xargs cat", "git diff | xargs cat",
		"git diff --name-only --relative=.. | xargs cat", "git grep -l x -- ../y | xargs cat",
		"git -C /x ls-files | xargs cat", "rg --files --path-separator=/../ | xargs cat",
		"rg -l x --hyperlink-format=y | xargs cat", "rg -l x -r y | xargs cat", "rg x | xargs cat",
		"grep -r x . | xargs cat", "grep -rl x /etc | xargs cat", "grep -rh x . | xargs cat",
		"grep -lo x a | grep -o y | xargs cat", "grep -rl --color=always x . | xargs cat",
		"find . | xargs -I{} cat src/{}", "find . | xargs -I{} cat ../{}", "find . | xargs -I{} cat -{}",
		"find . | xargs -I{} {}", "find . | xargs grep -r x", "find . | xargs git show", "find . | xargs find",
		"find . | xargs env", "find . | xargs xargs cat",
		"find . | xargs node", "find . | xargs nm", "find . | xargs sort -o x", "find . | xargs wc --files0-from",
		"find . | xargs -I{} wc --files0-from={}", "find . | xargs -p cat", "find . | xargs FOO=1 cat", "FOO=1 xargs cat",
		"find . | FOO=1 xargs cat",
		"find . -exec cat {} \\; -exec sh -c x \\;", "find . -exec sh -c 'cat {}' \\;", "find . -execdir cat {} \\;",
		"find . -exec cat {} + -delete", "find . -exec cat {} + -fprint x", "find . -exec cat ../{} \\;",
		"find . -exec uniq {} x \\;", "find . -exec uniq {} {} \\;",
		"find / -exec cat {} +", "find -L . -exec cat {} +", "find . -exec sed -i s/a/b/ {} +", "find . -exec rm {} +",
		"find . -exec env {} \\;", "find . -exec {} \\;", "find . -exec ./x {} \\;", "find . -ok cat {} \\;",
		"find . -exec awk -f {} x \\;", "find . -exec sed -n {} x \\;",
		"find . -exec grep -r x {} +", "find . -exec cp {} x \\;", "find $X -exec cat {} +", "find . -exec",
		"find . -exec cat", "wc -l $(cat list)", "find . -exec cat -- {} + -o -exec rm {} +",
		"git ls-files | xargs -I% sh -c %", "find . | xargs -I{} awk {} a", "find . | xargs -I{} sed {} a",
		"find . -name '*.go' | xargs cat /etc/passwd", "find . -name '*.go' | xargs cat ../x",
		"git ls-files | xargs grep -f", "git ls-files | xargs grep -c x -f", "git ls-files | xargs file -f",
		"find . -exec grep -f {} + x", "git ls-files | xargs wc -l ~/.ssh/id_ed25519",
		"find . -name '*.go' -exec cat /etc/passwd {} +", "find . -name '*.go' -exec cat {} /etc/passwd \\;",
		"find . -name '*.go' | xargs -I{} cat {} .env",
	} {
		r := read(line)
		if decided(r, permission.Default) == permission.Allow {
			t.Errorf("%q runs unasked: %s", line, show(r))
		}
	}
}

// filed is a machine whose project has these names, two of which may not be read.
type filed struct {
	paper
	names []string
	leads string
}

func (f filed) Names(string, int) ([]string, bool) { return f.names, true }

func (f filed) Tree(_ string, o permission.TreeOptions) permission.Tree {
	odd := ""
	for _, name := range f.names {
		if strings.ContainsAny(name, o.Odd) {
			odd = name
		}
	}
	return permission.Tree{Listed: true, Leads: f.leads, Odd: odd, Withheld: []permission.Withheld{
		{Path: proj + "/.env"},
		{Path: proj + "/server.pem"},
	}}
}

func TestAListOfFilesIsGuardedLikeTheFiles(t *testing.T) {
	const ask, all, narrowed = "ask", "all", "narrowed"
	for line, want := range map[string]string{
		"find . -name '*.go' | xargs cat":                      all,
		"find . -name '*.go' -exec cat {} +":                   all,
		"git ls-files '*.go' | xargs wc -l":                    all,
		"ls | xargs file":                                      ask,
		"grep -rl foo . | xargs cat":                           narrowed,
		"find . | xargs cat":                                   narrowed,
		"find . -type f | xargs wc -l":                         narrowed,
		"find . -maxdepth 2 -type f | xargs wc -l":             narrowed,
		"find . -name '*.pem' | xargs cat":                     ask, // it looks for secrets
		"find . -name '*' -exec cat {} \\;":                    narrowed,
		"find . -name '*.go' -o -name '.e*' | xargs cat":       narrowed,
		"find . -not -name '*.go' | xargs cat":                 narrowed,
		"find . ! -name '*.go' -exec cat {} +":                 narrowed,
		"find . \\( -name '*.go' -or -true \\) -exec cat {} +": narrowed,
		"git ls-files | xargs cat":                             narrowed,
		"git ls-files -- . | xargs cat":                        narrowed,
		"git diff --name-only HEAD~1 | xargs cat":              narrowed,
		"rg --files | xargs cat":                               narrowed,
		"find . ')' -o '(' -exec cat {} +":                     ask,
		"find . -type f ')' -o '(' -true -exec cat {} +":       ask,
		"find . -name '(' ')' -o '(' -name ')' -exec cat {} +": ask,
		"find . -type f ')' -o '(' -true | xargs cat":          ask,
		"ls -1 | xargs cat":                                    ask,
		"ls .env | xargs cat":                                  ask,
		"ls -d .e* | xargs cat":                                ask,
	} {
		r := Analyze(line, proj, filed{names: []string{".env", "a.go", "server.pem"}})
		got := ask
		if decided(r, permission.Default) == permission.Allow {
			if got = all; strings.Contains(r.Command.Script, ".env") && strings.Contains(strings.ReplaceAll(r.Command.Script,
				`\.`, "."), "server.pem") && len(r.Command.Left) > 0 {
				got = narrowed
			}
		}
		if got != want {
			t.Errorf("%q: %s, want %s: %s\n%s", line, got, want, show(r), r.Command.Script)
		}
	}
	for what, w := range map[string]filed{
		"a line break in a name": {names: []string{"a\n/etc/passwd"}},
		"a link that leads out":  {names: []string{"a.go"}, leads: proj + "/l"},
	} {
		if r := Analyze("find . -name '*.go' | xargs cat", proj, w); decided(r, permission.Default) == permission.Allow {
			t.Errorf("%s: it runs unasked", what)
		}
	}
}

func TestNamesOfAListAreNeverFlags(t *testing.T) {
	for line, want := range map[string]string{
		"git ls-files | xargs wc -l":               `'/usr/bin/git' 'ls-files' | '/usr/bin/xargs' '-d' '\n' '/usr/bin/wc' '-l' '--'`,
		"git ls-files -z | xargs -0 wc -l":         `'/usr/bin/git' 'ls-files' '-z' | '/usr/bin/xargs' '-0' '/usr/bin/wc' '-l' '--'`,
		"find . -name '*.go' | xargs -I{} cat {}":  `'/usr/bin/find' '.' '-name' '*.go' | '/usr/bin/xargs' '-d' '\n' '-I{}' '/usr/bin/cat' '--' '{}'`,
		"find . -name '*.go' -exec grep -n a {} +": `'/usr/bin/find' '.' '-name' '*.go' '-exec' '/usr/bin/grep' '-n' 'a' '{}' '+'`,
	} {
		if r := read(line); r.Command.Script != want {
			t.Errorf("%q: %s, want %s", line, r.Command.Script, want)
		}
	}
}

func TestANameForATextIsPutInItsPlace(t *testing.T) {
	for line, want := range map[string]string{
		"x=1; echo $x":            `builtin ':'; builtin 'echo' '1'`,
		"f=a.txt && wc -l \"$f\"": `builtin ':' && '/usr/bin/wc' '-l' 'a.txt'`,
		"ls && f=a && cat $f":     `'/usr/bin/ls' && builtin ':' && '/usr/bin/cat' 'a'`,
		"V=$(git describe); echo \"$V\"": "kept_1=$( '/usr/bin/git' 'describe' ); builtin 'echo' " +
			"''\"${kept_1}\"",
		"export V=$(git describe); echo $V $V": "{ kept_1=$( '/usr/bin/git' 'describe' ) || builtin ':'; }; " +
			"builtin 'echo' ${kept_1} ${kept_1}",
		"V=$(ls) 2>/dev/null; echo $V":                  "kept_1=$( '/usr/bin/ls' ) 2>'/dev/null'; builtin 'echo' ${kept_1}",
		"ls && V=$(ls) || echo $V":                      "",
		"V=$(ls); cd sub; cat $V":                       "",
		"V=$(ls); cd sub; wc -l < $V":                   "",
		"V=$(ls); cd sub; for f in $V; do cat $f; done": "",
		"V=$(git ls-files); cd sub; git log -- \"$V\"":  "",
		"V=$(ls) W=$(echo x); echo $V $W":               "",
		"ls && f=a; cat $f":                             "",
		"false || f=a; cat $f":                          "",
		"ls || f=a && cat $f":                           "",
		"ls && f=a || cat $f":                           "",
		"false || for i in 1 2; do echo $i; done": "builtin 'false' || { { builtin 'echo' '1'; }; { builtin 'echo' " +
			"'2'; }; }",
		"if ls; then f=a; fi; cat $f":              "",
		"x=ls; $x":                                 "",
		"x=rm; $x a":                               "",
		"x=$(cat list); cat $x":                    "",
		"x=$(cat list); wc -l $(echo $x)":          "",
		"x=$(touch a); echo $x":                    "",
		"IFS=x; echo $a":                           "",
		"PATH=.; ls":                               "",
		"LD_PRELOAD=./x; ls":                       "",
		"x=a; x=b y=$x; cat $y":                    "",
		"a[1]=x; echo $a":                          "",
		"a=(x y); echo $a":                         "builtin ':'; builtin 'echo' 'x'",
		"a=(x y); a+=(z); echo ${a[2]}":            "",
		"a=(x 'y z'); echo ${a[@]}":                "",
		"a=($(ls)); echo ${a[0]}":                  "",
		"a=(rm x); ${a[@]}":                        "",
		"a=(x y); echo ${a[$(touch b)]}":           "",
		"a=(x y); i='a[$(touch b)]'; echo ${a[i]}": "",
		"x+=1; echo $x":                            "",
		"x='$(touch a)'; echo $x":                  "",
		"x=1; ((x))":                               "builtin ':'; builtin true",
		"x=1; ((y))":                               "",
		"x='a[$(touch b)]'; echo $((x))":           "",
		"x=$(cat n); echo $((x+1))":                "",
		"ls || i=1; echo $((i+1))":                 "",
		"PATH=1; ((PATH++)); ls":                   "",
		"x=-delete; find . $x":                     "",
		"x=.env; cat $x":                           "",
		"x=/etc; cat $x/shadow":                    "",
		"x=sub; cd $x; git status":                 "",
		"x='a; touch b'; eval $x":                  "",
		"x=--output=y; sort $x a":                  "",
		"x=1; export x":                            "",
		"x='print > \"y\"'; awk \"{$x}\" a":        "",
	} {
		r := read(line)
		got := r.Command.Script
		if decided(r, permission.Default) != permission.Allow {
			got = ""
		}
		if got != want {
			t.Errorf("%q: script %q, want %q: %s", line, got, want, show(r))
		}
	}
}
