package event_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
)

// The keys are put together here, so that no scanner of sources takes them for real ones.
var (
	githubKey = "ghp_" + "k3Jd82hQmZpL0aVx7TnWc5RyUbE1sGfHiO94"
	slackKey  = "xoxb-" + "718293740-283746-aBcDeFk2"
	awsKey    = "AKIA" + "Q3EGR7TLWX2ZJ5KD"
	skKey     = "sk-ant-" + "api03-9fK2-mQx7_LwPz31TtVb"
	pemBegin  = "-----BEGIN RSA " + "PRIVATE KEY-----"
	pemEnd    = "-----END RSA " + "PRIVATE KEY-----"
	pemLine   = "MIIEpAIBAAKCAQEA7yn3bRHQ5FHMQ" + "abcd+/=="
)

func TestKeysThatNameTheirIssuerAreMasked(t *testing.T) {
	v := event.NewValues().WithKeys(true)
	for _, key := range []string{githubKey, slackKey, awsKey, skKey, "github_pat_" + githubKey[4:], "glpat-" +
		githubKey[4:26], "AIza" + githubKey, "npm_" + githubKey[4:]} {
		for _, around := range [][2]string{
			{"", ""},
			{`x = "`, `";`},
			{"12\tTOKEN=", "\n13\tz"},
			{`"\n`, `\n"`},
			{"see ", ", or not"},
		} {
			if got, want := v.Mask(around[0]+key+around[1]), around[0]+event.Masked+around[1]; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	}
	for _, plain := range []string{
		"AKIAIOSFODNN7EXAMPLE", "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "sk-your-key-goes-here-1234", "sk-ant-...",
		`.sk-fading-circle .sk-circle12:before`,
		"task-1234567890-abcdefghijkl", "ghp_" + strings.Repeat("0123456789", 3), "gh" + githubKey[4:],
		"-----BEGIN CERTIFICATE-----\n" + pemLine + "\n-----END CERTIFICATE-----", "password=hunter2hunter2",
	} {
		if got := v.Mask(plain); got != plain {
			t.Errorf("%q became %q", plain, got)
		}
	}
	if got := event.NewValues("other-value-1").Mask(githubKey); got != githubKey {
		t.Errorf("without keys: %q", got)
	}
	if got := v.MaskAll(map[string]any{"a": []string{"b", githubKey}}); got.(map[string]any)["a"].([]string)[1] != event.Masked {
		t.Errorf("in data: %v", got)
	}
}

func TestThePrivateKeyOfAFileIsMaskedLineByLine(t *testing.T) {
	v := event.NewValues().WithKeys(true)
	text := "1\tbefore\n2\t" + pemBegin + "\n3\t" + pemLine + "\n4\t" + pemLine + "\n5\t" + pemEnd + "\n6\t" + pemLine +
		"\n"
	want := strings.Replace(text, pemLine, event.Masked, 2)
	if got := v.Mask(text); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	cut := text[:strings.Index(text, "\n4\t")] // a part of the file
	if got := v.Mask(cut); strings.Contains(got, pemLine) || !strings.HasPrefix(got, "1\tbefore\n2\t"+pemBegin+"\n3\t") {
		t.Errorf("a part: %q", got)
	}
	inJSON := `{"key": "` + pemBegin + `\n` + pemLine + `\n` + pemEnd + `\n"}`
	if got, want := v.Mask(inJSON), strings.Replace(inJSON, pemLine, event.Masked, 1); got != want {
		t.Errorf("in JSON: got %q, want %q", got, want)
	}
}

func TestKeysAreMaskedOverSeveralWrites(t *testing.T) {
	v := event.NewValues(secretA).WithKeys(true)
	text := "a " + githubKey + "\n" + pemBegin + "\n" + pemLine + "\n" + pemLine + "\n" + pemEnd + "\n--- sk- " + skKey +
		" task-1 " + secretA + " " + githubKey + " -----BEGIN x " + awsKey + "," + slackKey
	want := v.Mask(text)
	for _, s := range []string{githubKey, pemLine, skKey, secretA, awsKey, slackKey} {
		if strings.Contains(want, s) {
			t.Fatalf("%q is in %q", s, want)
		}
	}
	inPieces(t, v, text)
}

func TestAPromptIsNotHeldBack(t *testing.T) {
	v := event.NewValues().WithKeys(true)
	for _, text := range []string{
		"Password: ", "name> ", "go on? [y/n]", "building...", strings.Repeat("=", 2000),
		strings.Repeat("a", 2000),
	} {
		var out bytes.Buffer
		if _, err := v.Writer(&out).Write([]byte(text)); err != nil || out.String() != text {
			t.Errorf("%q, %v of %q", out.String(), err, text)
		}
	}
}

func BenchmarkKeysOfAResult(b *testing.B) {
	v, text := event.NewValues().WithKeys(true), strings.Repeat("some line of a program's output, about tasks and keys\n",
		600)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		v.Mask(text)
	}
}
