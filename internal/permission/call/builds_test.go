package call_test

import (
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

// TestOneAnswerCoversTheTestsAndBuildsOfAProject: the rule that the first question offers covers the next runs of the
// same program form, and not the options that make it run something else.
func TestOneAnswerCoversTheTestsAndBuildsOfAProject(t *testing.T) {
	for first, later := range map[string]struct{ allowed, asks []string }{
		"cd sub && go test ./... 2>&1 | tail -20": {
			allowed: []string{
				"go test ./...", "go test -run TestX -count=1 ./internal/x",
				"CGO_ENABLED=0 go test -v . | grep FAIL", "timeout 60 go test -race ./...",
			},
			asks: []string{
				"go test -exec ./x ./...", "go test -toolexec=./x .", "go test -ldflags=-extld=./x .",
				"go test ./... > out.txt", "go run .", "go test ./... && touch x",
			},
		},
		"go build ./...": {
			allowed: []string{"go build -o /dev/null ./cmd/x", "go build -v ./..."},
			asks:    []string{"go build -toolexec ./x ./...", "go install ./...", "go generate ./..."},
		},
		"go vet ./...": {allowed: []string{"go vet ./internal/..."}, asks: []string{"go vet -vettool=./x ./..."}},
		"npm test": {
			allowed: []string{"npm test", "npm test -- --watch=false"},
			asks:    []string{"npm test --script-shell=./x", "npm install", "npm run deploy"},
		},
		"npm run build": {
			allowed: []string{"npm run build", "npm run build -- --mode dev"},
			asks:    []string{"npm run deploy", "npm run build --prefix ../x"},
		},
		"cargo test": {
			allowed: []string{"cargo test", "cargo test parse -- --nocapture"},
			asks:    []string{"cargo --config x test", "cargo test --config x", "cargo publish"},
		},
		"pytest -q": {allowed: []string{"pytest tests/test_a.py -k x"}, asks: []string{
			"python -m pytest",
			"pytest -p ./x -q --rootdir=../y -c ../z.ini",
		}},
		"make test": {allowed: []string{"make test", "make test | tail -5"}, asks: []string{
			"make deploy",
			"make test SHELL=./x", "make -f other test",
		}},
		"./gradlew test":    {allowed: []string{"./gradlew test"}, asks: []string{"./gradlew publish"}},
		"npx tsc --noEmit":  {allowed: []string{"npx tsc --noEmit"}, asks: []string{"npx other"}},
		"bundle exec rspec": {allowed: []string{"bundle exec rspec"}, asks: []string{"bundle exec rake deploy"}},
	} {
		texts, _ := proposed(t, first)
		if len(texts) != 1 {
			t.Errorf("%q proposes %q, want one rule", first, texts)
			continue
		}
		m := machine()
		p := m.Policy(nil)
		ask := func(line string) permission.Effect {
			req, err := m.Request("Bash", object("command", line), call.Fixture{})
			if err != nil {
				t.Fatal(err)
			}
			return p.Decide(req).Effect
		}
		if ask(first) != permission.Ask {
			t.Errorf("%q does not ask before it was answered", first)
		}
		r, err := permission.ParseRule(tools, texts[0], permission.Allow, permission.Source{Name: "project"})
		if err != nil {
			t.Fatal(err)
		}
		p.SetRules([]permission.Rule{r})
		for _, line := range append(later.allowed, first) {
			if got := ask(line); got != permission.Allow {
				t.Errorf("after %q, %q: %s (rule %s)", first, line, got, texts[0])
			}
		}
		for _, line := range later.asks {
			if got := ask(line); got != permission.Ask {
				t.Errorf("after %q, %q: %s (rule %s)", first, line, got, texts[0])
			}
		}
	}
}
