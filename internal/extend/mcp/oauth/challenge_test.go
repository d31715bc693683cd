package oauth

import (
	"strings"
	"testing"
)

func TestChallengesAreRead(t *testing.T) {
	for header, want := range map[string]challenge{
		`Bearer`: {},
		`Bearer resource_metadata="https://a/b", scope="x y"`: {
			metadata: "https://a/b",
			scope:    "x y",
		},
		`bearer error=insufficient_scope,scope=z`: {
			fault: "insufficient_scope",
			scope: "z",
		},
		`Basic realm="x, Bearer scope=\"no\"", Bearer scope="yes"`: {scope: "yes"},
		`Bearer scope="a", DPoP scope="b", error="c"`:              {scope: "a"},
		`Bearer scope="a\"b`:                                 {scope: `a"b`},
		`Bearer = , scope="x"`:                               {},
		"Bearer scope=\"" + strings.Repeat("x", 3*maxHeader): {scope: strings.Repeat("x", maxHeader-len(`Bearer scope="`))},
		`Negotiate abc==, Bearer error="invalid_token", scope="first", scope="second"`: {
			fault: "invalid_token",
			scope: "first",
		},
	} {
		got := parseChallenge(header)
		if got != want {
			t.Errorf("%.80q: %.200v, want %.200v", header, got, want)
		}
	}
}

func FuzzChallenge(f *testing.F) {
	f.Add(`Bearer a="b", c`)
	f.Fuzz(func(t *testing.T, header string) {
		if c := parseChallenge(header); len(c.scope) > len(header) {
			t.Error(c)
		}
	})
}
