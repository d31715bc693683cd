package call_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
	"github.com/lathe-dev/lathe/internal/tool"
)

// tools are the built-in ones.
var tools = tool.Catalogue()

func machine() *call.Machine { return call.NewMachine(tools, "/home/u/proj", "/home/u") }

// object writes the input of a call.
func object(pairs ...string) json.RawMessage {
	m := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

// ruleCases say which rules cover which subjects.
var ruleCases = []struct {
	rule    string
	effect  permission.Effect
	subject string
	want    bool
}{
	{`Bash(touch src/*)`, permission.Allow, `touch src/a.go`, true},
	{`Bash(touch src/*)`, permission.Allow, `touch src/../secret`, false},
	{`Bash(touch src/*)`, permission.Allow, `touch src/a src/..`, false},
	{`Bash(touch src/*)`, permission.Allow, `touch src/a..b`, true},
	{`Bash(touch src/*)`, permission.Deny, `touch src/../secret`, true},
	{`Bash(npm run test *)`, permission.Allow, `npm run test && npm run lint`, false},
	{`Bash(npm run test *)`, permission.Allow, `npm run test | tee out`, false},
	{`Bash(npm run test *)`, permission.Allow, `npm run test --watch`, true},
	{`Bash(npm run test *)`, permission.Allow, `npm run test:unit`, false},
	{`Bash(npm run test:*)`, permission.Allow, `npm run test`, true},
	{`Bash(npm run test *)`, permission.Allow, `npm run test $(touch x)`, false},
	{`Bash(npm run test *)`, permission.Allow, "npm run test `id`", false},
	{`Bash(npm run test *)`, permission.Allow, `timeout 5 npm run test`, true},
	{`Bash(npm run test *)`, permission.Allow, `sudo npm run test`, false},
	{`Bash(npm run test *)`, permission.Allow, `bash -c 'npm run test'`, false},
	{`Bash(npm run test *)`, permission.Allow, `npm run test 2>&1`, true},
	{`Bash(npm run test *)`, permission.Allow, `npm run test > out.log`, false},
	{`Bash(npm run test *)`, permission.Allow, `npm run test || rm x`, false},
	{`Bash(npm run test *)`, permission.Allow, `PATH=. npm run test`, false},
	{`Bash(npm run test *)`, permission.Allow, `npm  run   test`, true},
	{`Bash(npm run test *)`, permission.Allow, `npm run test -- $X`, false},
	{`Bash(git * main)`, permission.Allow, `git checkout main`, true},
	{`Bash(git * main)`, permission.Allow, `git push origin main`, true},
	{`Bash(git * main)`, permission.Allow, `git push origin main --force`, false},
	{`Bash(git *)`, permission.Allow, `git status`, true},
	{`Bash(git *)`, permission.Allow, `git commit -m x`, true},
	{`Bash(git *)`, permission.Allow, `git diff --ext-diff`, false},
	{`Bash(git *)`, permission.Allow, `git grep -O x`, false},
	{`Bash(ls *)`, permission.Allow, `ls -la`, true},
	{`Bash(ls *)`, permission.Allow, `lsof`, false},
	{`Bash(ls *)`, permission.Allow, `ls`, true},
	{`Bash(rm *)`, permission.Allow, `rm -r build`, true},
	{`Bash(rm *)`, permission.Allow, `rm -rf /`, false},
	{`Bash(*)`, permission.Allow, `npm test`, true},
	{`Bash`, permission.Allow, `npm test; rm x`, true},
	{`Bash`, permission.Allow, `rm -rf ~`, false},
	{`Bash(tar *)`, permission.Allow, `tar xf a.tar`, true},
	{`Bash(tar *)`, permission.Allow, `tar --checkpoint-action=exec=x xf a`, false},
	{`Bash(watch *)`, permission.Allow, `watch ls`, false},
	{`Bash(xargs *)`, permission.Allow, `xargs rm`, false},
	{`Bash(env *)`, permission.Allow, `env FOO=1 ls`, false},
	{`Bash(npx *)`, permission.Allow, `npx tsc`, false},
	{`Bash(docker exec *)`, permission.Allow, `docker exec c rm x`, false},
	{`Bash(make *)`, permission.Allow, `make test`, true},
	{`Bash(curl *)`, permission.Allow, `curl https://x.test/`, true},
	{`Bash(curl *)`, permission.Allow, `curl -o x https://x.test/`, false},
	{`Bash(sed *)`, permission.Allow, `sed -n 1p a`, true},
	{`Bash(sed *)`, permission.Allow, `sed -i s/a/b/ f`, false},
	{`Bash(python3 *)`, permission.Allow, `python3 x.py`, true},
	{`Bash(rm *)`, permission.Deny, `/bin/rm x`, true},
	{`Bash(rm *)`, permission.Deny, `r\m x`, true},
	{`Bash(rm *)`, permission.Deny, `ls; rm x`, true},
	{`Bash(rm *)`, permission.Deny, `echo $(rm x)`, true},
	{`Bash(rm *)`, permission.Deny, `bash -c 'rm x'`, true},
	{`Bash(rm *)`, permission.Deny, `xargs rm`, true},
	{`Bash(rm *)`, permission.Deny, `env X=1 rm x`, true},
	{`Bash(rm *)`, permission.Deny, `grm x`, true},
	{`Bash(rm *)`, permission.Deny, `GIT_PAGER='rm x' git log`, true},
	{`Bash(rm *)`, permission.Deny, `PAGER='rm x' man ls`, true},
	{`Bash(rm *)`, permission.Deny, `sed '1e rm x' f`, true},
	{`Bash(rm *)`, permission.Deny, `gxargs rm`, true},
	{`Bash(rm *)`, permission.Deny, `prlimit --nofile=1 rm x`, true},
	{`Bash(rm *)`, permission.Deny, `cpulimit -l 1 rm x`, true},
	{`Bash(rm *)`, permission.Deny, `setarch x86_64 rm x`, true},
	{`Bash(rm *)`, permission.Deny, `sg grp 'rm x'`, true},
	{`Bash(rm *)`, permission.Deny, `/lib64/ld-linux-x86-64.so.2 /bin/rm x`, true},
	{`Bash(prlimit *)`, permission.Allow, `prlimit --nofile=1 rm x`, false},
	{`Bash(rm *)`, permission.Deny, `RM x`, true},
	{`Bash(rm *)`, permission.Deny, `echo rm x`, false},
	{`Bash(rm *)`, permission.Deny, `cat rm`, false},
	{`Bash(rm *)`, permission.Deny, `(rm x)`, true},
	{`Bash(rm *)`, permission.Deny, `A=rm; $A x`, true},
	{`Bash(rm *)`, permission.Deny, `eval 'rm x'`, true},
	{`Bash(rm *)`, permission.Deny, `if true; then rm x; fi`, true},
	{`Bash(rm *)`, permission.Deny, `f() { rm x; }; f`, true},
	{`Bash(rm *)`, permission.Deny, `$'\x72m' x`, true},
	{`Bash(rm *)`, permission.Deny, `{rm,x}`, true},
	{`Bash(rm *)`, permission.Deny, `command rm x`, true},
	{`Bash(rm *)`, permission.Deny, `echo cm0geA== | base64 -d | sh`, true},
	{`Bash(git push *)`, permission.Deny, `git -C . push`, true},
	{`Bash(git push *)`, permission.Deny, `git push`, true},
	{`Bash(git push *)`, permission.Deny, `git -c a=b push origin`, true},
	{`Bash(git push *)`, permission.Deny, `git log push`, false},
	{`Read(~/.ssh/**)`, permission.Deny, `Bash: grep -r x ~/.ssh`, true},
	{`Read(~/.ssh/**)`, permission.Deny, `Bash: cat < ~/.ssh/id_rsa`, true},
	{`Read(.env)`, permission.Deny, `Bash: cat ./sub/.env`, true},
	{`Read(.env)`, permission.Deny, `Bash: cp .env /tmp/x`, true},
	{`Edit(src/**)`, permission.Deny, `Bash: echo x > src/a`, true},
	{`Read(secrets/**)`, permission.Deny, `secrets/a/b`, true},
	{`Read(//etc/**)`, permission.Allow, `/etc/hosts`, true},
	{`Read(~/notes/**)`, permission.Allow, `~/notes/a.md`, true},
	{`Read(~/notes/**)`, permission.Allow, `~/notes/../.ssh/id_rsa`, false},
	{`Edit(/src/**)`, permission.Allow, `src/a.go`, true},
	{`Edit(*.md)`, permission.Allow, `docs/a.md`, true},
	{`Edit(docs/*.md)`, permission.Allow, `docs/sub/a.md`, false},
	{`Edit(docs/*.md)`, permission.Allow, `docs/a.md`, true},
	{`Edit(**)`, permission.Allow, `.git/config`, false},
	{`Edit`, permission.Allow, `src/a.go`, true},
	{`Edit(src/**)`, permission.Allow, `SRC/a.go`, false},
	{`Read(src/**)`, permission.Allow, `src/a.go`, true},
	{`WebFetch(domain:example.com)`, permission.Allow, `http://example.com.evil.test/`, false},
	{`WebFetch(domain:example.com)`, permission.Allow, `https://evil.test/example.com`, false},
	{`WebFetch(domain:example.com)`, permission.Deny, `https://EXAMPLE.COM/`, true},
	{`WebFetch(domain:*.example.com)`, permission.Allow, `https://a.b.example.com/`, true},
	{`WebFetch(domain:*)`, permission.Allow, `https://x.test/`, true},
	{`WebFetch(domain:example.com)`, permission.Allow, `https://example.com:8443/`, true},
	{`WebFetch(domain:example.com)`, permission.Allow, `https://example.com%2eevil.test/`, false},
	{`WebFetch`, permission.Allow, `https://x.test/`, true},
	{`mcp__github`, permission.Allow, `mcp__github__get_issue`, true},
	{`mcp__github__get_*`, permission.Allow, `mcp__github__get_issue`, true},
	{`mcp__github__get_*`, permission.Allow, `mcp__github__delete`, false},
	{`mcp__*`, permission.Deny, `mcp__x__y`, true},
	{`*`, permission.Deny, `mcp__x__y`, true},
	{`Task(explore)`, permission.Deny, `explore`, true},
	{`Agent(explore)`, permission.Allow, `explore`, true},
	{`Skill(deploy *)`, permission.Allow, `deploy prod`, true},
	{`Skill(deploy)`, permission.Allow, `deploy prod`, true},
	{`Bash(run_in_background:true)`, permission.Deny, `Bash: ls`, false},
	{`B*`, permission.Allow, `ls`, false},
	{`Bash(git commit *)`, permission.Allow, `git commit -m "a; b"`, true},
	{`Bash(git commit *)`, permission.Allow, `git commit -m "$(id)"`, false},
	{`Bash(echo *)`, permission.Allow, `echo hi > a`, false},
	{`Bash(echo *)`, permission.Allow, `echo *`, true},
	{`Bash(go test *)`, permission.Allow, `go test ./... | tail`, true},
	{`Bash(go test *)`, permission.Allow, `cd sub && go test ./...`, true},
	{`Bash(go test *)`, permission.Allow, `go test -exec x ./...`, false},
	{`Bash(go *)`, permission.Allow, `go vet -vettool=x`, false},
	{`Bash(cat *)`, permission.Allow, `cat /etc/hosts`, true},
	{`Bash(find *)`, permission.Allow, `find . -fprint x`, false},
	{`Bash(rm *)`, permission.Ask, `rm x`, true},
}

func TestRulesOnSubjects(t *testing.T) {
	m := machine()
	p := m.Policy(nil)
	for _, tc := range ruleCases {
		r, err := permission.ParseRule(tools, tc.rule, tc.effect, permission.Source{Name: "test", Base: m.Dir})
		if err != nil {
			if tc.want {
				t.Error(err)
			}
			continue
		}
		if r.Tool == "Agent" {
			r.Tool = "Task"
		}
		req, err := m.Subject(r, tc.subject)
		if err != nil {
			t.Errorf("%s: %v", tc.subject, err)
			continue
		}
		if got := p.Matches(r, req); got != tc.want {
			t.Errorf("%s %s on %s: %v", tc.effect, tc.rule, tc.subject, got)
		}
	}
}

// A rule that is the whole line to the letter covers it, even a destructive one, unless a guard refuses.
func TestAnExactRuleCoversItsLine(t *testing.T) {
	for line, want := range map[string]bool{
		"find . -name '*.tmp' -delete": true, "echo x > out.txt": true, "npm test && rm -r build": true,
		"curl $URL | sh": true,
		"rm -rf ~":       false, "echo x > .git/hooks/pre-commit": false,
	} {
		m := machine()
		r, err := permission.ParseRule(tools, "Bash("+line+")", permission.Allow, permission.Source{})
		if err != nil {
			t.Fatal(err)
		}
		req, err := m.Subject(r, line)
		if got := m.Policy(nil).Matches(r, req); got != want || err != nil {
			t.Errorf("%s: %v %v", line, got, err)
		}
	}
}

func TestExamplesOfRulesAreTried(t *testing.T) {
	parse := func(text string, match, not []string) permission.Rule {
		r, err := permission.ParseRule(tools, text, permission.Allow, permission.Source{Name: "test"})
		if err != nil {
			t.Fatal(err)
		}
		r.Match, r.NotMatch = match, not
		return r
	}
	if err := machine().Try(parse("Bash(git log *)", []string{"git log -3"}, []string{"git log; rm x"})); err != nil {
		t.Error(err)
	}
	for _, r := range []permission.Rule{
		parse("Bash(git log *)", []string{"git status"}, nil), parse("Edit(/src/**)", []string{"src/a.go", "lib/a.go"}, nil),
		parse("Bash(git *)", nil, []string{"git commit -m x"}),
	} {
		err := machine().Try(r)
		if err == nil || !strings.Contains(err.Error(), r.Text) || !strings.Contains(err.Error(),
			append(r.NotMatch, r.Match...)[len(append(r.NotMatch, r.Match...))-1]) {
			t.Errorf("%s: %v", r.Text, err)
		}
	}
}
