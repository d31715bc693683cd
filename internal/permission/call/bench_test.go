package call_test

import (
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

// benchPolicy has the rules of a settled user.
func benchPolicy(b *testing.B, m *call.Machine) *permission.Policy {
	var rs []permission.Rule
	for _, e := range []permission.Effect{permission.Allow, permission.Deny} {
		for _, text := range rules {
			r, err := permission.ParseRule(tools, text, e, permission.Source{})
			if err != nil {
				b.Fatal(err)
			}
			rs = append(rs, r)
		}
	}
	return m.Policy(rs)
}

func benchmark(b *testing.B, line string) {
	m := machine()
	p := benchPolicy(b, m)
	in := object("command", line)
	b.ReportMetric(float64(len(line)), "bytes")
	for b.Loop() {
		req, err := m.Request("Bash", in, call.Fixture{})
		if err != nil {
			b.Fatal(err)
		}
		p.Decide(req)
	}
}

func BenchmarkOrdinary(b *testing.B) { benchmark(b, "cd sub && go test ./... 2>&1 | tail -20") }
func BenchmarkManyParts(b *testing.B) {
	benchmark(b, strings.Repeat("true;", 1990)+"touch x")
}

func BenchmarkManyFiles(b *testing.B) {
	benchmark(b, "touch"+strings.Repeat(" a/b/c.go", 1100))
}

func BenchmarkManyMembers(b *testing.B) { benchmark(b, strings.Repeat("cat|", 2499)+"cat") }

func BenchmarkGitLog(b *testing.B) {
	benchmark(b, "git log --oneline -5 | head -3 && grep -rn 'func main' src")
}

func BenchmarkLoop(b *testing.B) {
	benchmark(b, `for f in $(git ls-files '*.go'); do wc -l "$f"; done`)
}

func BenchmarkFourKindsOfMembers(b *testing.B) {
	benchmark(b, strings.Repeat("cat a.txt | grep -v x | sort -u | head -3 | ", 219)+
		"cat a.txt | grep -v x | sort -u | head -3")
}

func BenchmarkManyVariables(b *testing.B) { benchmark(b, strings.Repeat("a=$a$a;", 1427)) }
