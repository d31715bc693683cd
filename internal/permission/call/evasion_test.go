package call_test

import (
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/permissiontest"
)

// evaded holds lines against one deny rule: none may run in a mode that asks for nothing else, nor by an allow rule
// for the program that the line begins with.
func evaded(t *testing.T, rule, file string) {
	t.Helper()
	rules := map[string]permission.Effect{rule: permission.Deny}
	for _, line := range permissiontest.Lines(t, file) {
		if d := decided(t, permission.Bypass, line, rules); d.Effect == permission.Allow {
			t.Errorf("%s does not stop %q: %+v", rule, line, d)
		}
		wide := map[string]permission.Effect{
			rule: permission.Deny, "Bash": permission.Allow, "Read": permission.Allow,
			"Edit": permission.Allow,
		}
		if d := decided(t, permission.AcceptEdits, line, wide); d.Effect == permission.Allow {
			t.Errorf("%s does not stop %q with allow rules: %+v", rule, line, d)
		}
	}
}

func TestADenyRuleOnACommandIsNotEvaded(t *testing.T) {
	evaded(t, "Bash(rm *)", "evasions_rm.txt")
	evaded(t, "Bash(rm *)", "evasions_more.txt")
	evaded(t, "Bash(rm *)", "evasions_code.txt")
}

func TestADenyRuleOnAHostIsNotEvaded(t *testing.T) {
	evaded(t, "WebFetch(domain:evil.example)", "evasions_host.txt")
}

func TestADenyRuleOnASubcommandIsNotEvaded(t *testing.T) {
	evaded(t, "Bash(git push *)", "evasions_push.txt")
}

func TestADenyRuleOnAFileIsNotEvaded(t *testing.T) { evaded(t, "Read(.env)", "evasions_read.txt") }

func TestADenyRuleDoesNotStopOtherWork(t *testing.T) {
	rules := map[string]permission.Effect{"Bash(rm *)": permission.Deny, "WebFetch(domain:evil.example)": permission.Deny}
	for _, line := range []string{
		"go test ./... -run $X", "npm test", "make build", "git commit -m 'rm old files'", "git rm x", "docker rm c",
		"echo rm x > notes.txt", "cat a | grep 'rm x'",
		"python3 script.py", "./build.sh", "bash build.sh", "for f in a b; do touch $f; done", "x=1; echo $x",
		"export A=b; go build", "npm run rm", "terraform apply", "curl https://a.example",
		"git push origin main", "cp a b", "mkdir -p x && touch x/y", "sed -i s/a/b/ f", "tar xf a.tar", "pip install x",
		"cargo build", "kubectl get pods", "grep -rn rm .",
		"make -j4", "make -f x.mk", "make -C sub", "node x.js", "node --test", "python3 -m venv .venv", "perl x.pl",
		"julia x.jl", "R CMD check .", "screen -dm make test", "parallel gofmt -l ::: a b", "sed -n 5p f",
		"sed -i.off s/a/b/ f", "python3 -V",
	} {
		if d := decided(t, permission.Bypass, line, rules); d.Effect != permission.Allow {
			t.Errorf("%q: %+v", line, d)
		}
	}
}

// Programs of the project that are run by their names or files do as their files say, which no rule sees; a question at
// each of these lines would make the rule useless.
func TestADenyRuleLeavesTheProgramsOfTheProjectAlone(t *testing.T) {
	for _, rule := range []string{"Read(.env)", "WebFetch(domain:evil.example)", "Bash(rm *)"} {
		rules := map[string]permission.Effect{rule: permission.Deny}
		for _, line := range []string{
			"go test ./...", "go run .", "go generate ./...", "make", "make -j4 test", "npm test", "npm run build", "npx jest",
			"yarn build", "cargo test", "pytest -q", "python3 x.py", "python3 -m pytest", "node server.js", "bash build.sh",
			"./script.sh", "./gradlew build", "docker compose up", "bundle exec rspec", "source .venv/bin/activate && pytest",
			"FOO=1 make", "tox", "mvn test", "ruby x.rb", "sh -c 'make test'", "for i in 1 2; do make test; done",
			"curl http://127.0.0.1:8080/", "curl http://localhost:3000",
		} {
			if d := decided(t, permission.Bypass, line, rules); d.Effect != permission.Allow {
				t.Errorf("%s: %q: %+v", rule, line, d)
			}
		}
	}
}

func TestADenyRuleOnAFileDoesNotStopOtherWork(t *testing.T) {
	rules := map[string]permission.Effect{"Read(.env)": permission.Deny}
	for _, line := range []string{
		"cat a.go", "go test ./...", "npm test", "git log --oneline", "git status", "git diff --stat",
		"git diff --name-only HEAD~1", "git show HEAD:src/a.go", "git show --stat", "git commit -m 'x'",
		"docker compose up", "cat .env.example", "cp .env.example x", "make", "ls -la", "find . -name '*.go'",
		"python3 x.py", "touch a", "git add -A", "git blame src/a.go", "ls $X", "git commit -m \"$M\"",
	} {
		if d := decided(t, permission.Bypass, line, rules); d.Effect != permission.Allow {
			t.Errorf("%q: %+v", line, d)
		}
	}
}

func TestHarmIsNeverDoneUnasked(t *testing.T) {
	for _, line := range permissiontest.Lines(t, "invented.txt") {
		if d := decided(t, permission.Default, line, nil); d.Effect == permission.Allow {
			t.Errorf("%q: %+v", line, d)
		}
	}
}
