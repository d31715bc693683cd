package event

import (
	"cmp"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Masked replaces a secret.
const Masked = "[masked]"

// Masker removes secrets from text that people read and pass on. It is safe for concurrent use.
type Masker struct {
	text, json *strings.Replacer // literals as they are, and quoted for JSON
}

// shortSecret is the length below which a literal is too common to be masked.
const shortSecret = 6

// NewMasker returns a Masker for everything that has the shape of a secret and for the given literal values,
// also in URL-quoted form. Literals of fewer than six characters are ignored.
func NewMasker(literals ...string) *Masker {
	var plain, inJSON []string
	for _, s := range literals {
		if len(s) >= shortSecret {
			forms := []string{url.QueryEscape(s), url.PathEscape(s)}
			plain = append(append(plain, s), forms...)
			inJSON = append(append(inJSON, quoted(s, true), quoted(s, false)), forms...)
		}
	}
	return &Masker{replacer(plain), replacer(append(inJSON, plain...))}
}

// replacer tries longer literals first, since a secret may be a prefix of another.
func replacer(forms []string) *strings.Replacer {
	forms = slices.Clone(forms)
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	var pairs []string
	for _, f := range slices.Compact(forms) {
		pairs = append(pairs, f, Masked)
	}
	return strings.NewReplacer(pairs...)
}

// quoted returns s as it appears inside a JSON string.
func quoted(s string, html bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if enc.Encode(s) != nil {
		return s
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(b.String()), `"`), `"`)
}

// Mask returns text with its secrets replaced.
func (m *Masker) Mask(text string) string { return maskShapes(m.text.Replace(text)) }

// MaskJSON returns a JSON value with its secrets replaced. The result is valid JSON: where a literal spans
// more than one string (or b was not JSON), it is the masked text as one string.
func (m *Masker) MaskJSON(b []byte) []byte {
	text := maskShapes(m.json.Replace(string(b)))
	if json.Valid([]byte(text)) {
		return []byte(text)
	}
	out, err := json.Marshal(text)
	if err != nil { // a string can always be written
		return []byte(`"` + Masked + `"`)
	}
	return out
}

func maskShapes(text string) string {
	folded := lower(text)
	for _, s := range secretShapes() {
		for _, h := range s.hints {
			look := text
			if s.fold {
				look = folded
			}
			if masked, changed := s.mask(text, look, h, nil); changed {
				text, folded = masked, lower(masked)
			}
		}
	}
	return text
}

// shape is one form of secret. Regular expressions over megabytes are slow, so each is tried only where one
// of its hints occurs, at the beginning of the word around it.
type shape struct {
	hints []string              // one of these is in every match; in lower case if fold
	fold  bool                  // case does not matter
	re    func() *regexp.Regexp // compiled when a hint is first found
	with  string

	assigns bool // the name with the hint is followed by : or =
	issued  bool // the form tells who issued the key
}

// longest is the maximum length of a secret: more than the largest private keys in use.
const longest = 16 << 10

// mask replaces the matches around one hint, which it searches in look: text, or text in lower case. With only, those
// for which it is true.
func (s shape) mask(text, look, hint string, only func(match string) bool) (masked string, changed bool) {
	var out strings.Builder
	done, at := 0, 0
	for {
		i := strings.Index(look[at:], hint)
		if i < 0 {
			break
		}
		start := at + i
		if wordByte(hint[0]) {
			start = wordStart(text, start, done)
		}
		at += i + len(hint)
		if s.assigns && !assigned(text[at:]) {
			continue
		}
		window := text[start:min(len(text), start+longest)]
		re := s.re()
		if m := re.FindStringSubmatchIndex(window); m != nil && (only == nil || only(window[m[0]:m[1]])) {
			out.WriteString(text[done:start])
			out.Write(re.ExpandString(nil, s.with, window, m))
			done = start + m[1]
			at = max(at, done)
		}
	}
	if done == 0 {
		return text, false
	}
	out.WriteString(text[done:])
	return out.String(), true
}

// assigned reports whether the rest of a name, perhaps quoted, is followed by : or =. It is cheaper than the
// expression.
func assigned(rest string) bool {
	rest = rest[:min(len(rest), 64)]
	for rest != "" && (wordByte(rest[0]) || rest[0] == '-' || rest[0] == '.') {
		rest = rest[1:]
	}
	rest = strings.TrimLeft(rest, " \t\"'\\")
	return rest != "" && (rest[0] == ':' || rest[0] == '=')
}

// wordStart goes back from i to the beginning of its word, but not before low. The letter of an escaped newline, return
// or tab is none of it.
func wordStart(text string, i, low int) int {
	at := i
	for i > low && wordByte(text[i-1]) {
		i--
	}
	if i < at && i > 0 && text[i-1] == '\\' && strings.IndexByte("nrt", text[i]) >= 0 {
		i++
	}
	return i
}

func wordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// lower converts ASCII only, which keeps positions unchanged.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c | 0x20
		}
	}
	return string(b)
}

// value is one character of a secret after its name.
const value = "[" + other + "]"

// other is in no such value: white space, quotes, brackets, separators.
const other = `^\s"'\\,;&<>()\[\]{}$` + "`"

// telling is a value of six characters or more with a digit, which distinguishes a secret from a word.
const telling = `(?:[` + other + `0-9]{5,}[0-9]` + value + `*|[` + other + `0-9]{3,}[0-9]` + value + `{2,}|[` + other +
	`0-9]*[0-9]` + value + `{5,})`

// Names of secrets: environment variables, and other names in any case.
const (
	bigName   = `[A-Z][A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS)`
	smallName = `(?:[a-z0-9_.-]*(?:api[-_]?key|access[-_]?key|secret[-_]?key|private[-_]?key|secret|token|password|passwd|passphrase|credentials?))`
)

// secretShapes lists the patterns. A pattern never matches a quote
// or backslash of the text after the name, so masked JSON stays valid JSON.
var secretShapes = sync.OnceValue(func() []shape {
	mk := func(fold bool, pattern, with string, hints ...string) shape {
		flags := "^(?:"
		if fold {
			flags = "(?i)^(?:"
		}
		return shape{hints: hints, fold: fold, re: sync.OnceValue(
			func() *regexp.Regexp { return regexp.MustCompile(flags + pattern + ")") }), with: with}
	}
	assigns := func(s shape) shape { s.assigns = true; return s }
	issued := func(s shape) shape { s.issued = true; return s }
	const exact, fold = false, true
	return []shape{
		// A private key, to its end or to the end of the string that holds it.
		mk(exact,
			`-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----(?:(?:[^"\\]|\\.)*?-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|(?:[^"\\]|\\.)*)`, Masked, "-----BEGIN "),
		// Keys that name their issuer: OpenAI, Anthropic, Stripe; GitHub, GitLab; Slack; AWS; Google; npm, Hugging Face,
		// Groq, xAI.
		issued(mk(exact, `[spr]k[-_][A-Za-z0-9_-]{16,}`, Masked, "sk-", "sk_", "pk_", "pk-", "rk_")),
		issued(mk(exact, `gh[pousr]_[A-Za-z0-9]{20,}`, Masked, "ghp_", "gho_", "ghu_", "ghs_", "ghr_")),
		issued(mk(exact, `github_pat_[A-Za-z0-9_]{20,}`, Masked, "github_pat_")),
		issued(mk(exact, `glpat-[A-Za-z0-9_-]{16,}`, Masked, "glpat-")),
		issued(mk(exact, `(?:xox[a-z]|xapp)-[A-Za-z0-9-]{8,}`, Masked, "xox", "xapp-")),
		issued(mk(exact, `(?:AKIA|ASIA)[A-Z0-9]{16}\b`, Masked, "AKIA", "ASIA")),
		issued(mk(exact, `AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{16,}`, Masked, "AIza", "ya29.")),
		issued(mk(exact, `(?:npm_|hf_|gsk_|xai-)[A-Za-z0-9]{20,}`, Masked, "npm_", "hf_", "gsk_", "xai-")),
		// A signed token (JWT): header, claims, signature.
		mk(exact, `eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`, Masked, "eyJ"),
		// The value of an Authorization header. Two digits tell a token from prose about bearers.
		mk(fold, `(bearer\s+)(?:[A-Za-z._~+/=-]*[0-9]){2}[A-Za-z0-9._~+/=-]{6,}`, "${1}"+Masked, "bearer"),
		// Headers by their names, in header form and in JSON (also quoted once more).
		mk(fold, `((?:api-key|authorization|auth-token|cookie)(?:\\*")?\s*:\s*(?:\\*")?(?:(?:basic|bearer|token)\s+)?)`+
			value+`{8,}`, "${1}"+Masked, "api-key", "authorization", "auth-token", "cookie"),
		// Fields by their names, in JSON.
		mk(fold,
			`([a-z0-9_]*(?:api_?key|access_?key|secret_?key|private_?key|secret|token|password|passwd|passphrase)\\*"\s*:\s*\\*")[^"\\{}$]{6,}`, "${1}"+Masked,
			"key\"", "key\\", "secret\"", "secret\\", "token\"", "token\\", "passw", "passphrase"),
		// Assignments: of an environment, YAML, INI, TOML, a dictionary. A quoted name has a quoted value: numbers of JSON
		// stay.
		assigns(mk(exact, `(`+bigName+`(?:\\*["'][ \t]*(?::|=>|=)[ \t]*\\*["']|[ \t]*[:=][ \t]*(?:\\*["'])?))`+value+`{6,}`,
			"${1}"+Masked,
			"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIALS")),
		assigns(mk(fold, `(`+smallName+`[ \t]*[:=][ \t]*(?:\\*["'])?)`+telling, "${1}"+Masked,
			"key", "secret", "token", "passw", "passphrase", "credential")),
		mk(exact, `((?:ENV|setenv|setx|set -[a-zA-Z]+)[ \t]+`+bigName+`[ \t]+(?:\\*["'])?)`+value+`{6,}`, "${1}"+Masked,
			"ENV ", "setenv ", "setx ", "set -"),
		mk(fold, `(--`+smallName+`[ \t]+(?:\\*["'])?)`+telling, "${1}"+Masked, "--"),
		// URLs: a password, and parameters.
		mk(exact, `(://[^\s"'\\/@:]*:)[^\s"'\\/@]{3,}(@)`, "${1}"+Masked+"${2}", "://"),
		mk(fold, `((?:api[-_]?key|key|token|access_token|sig|signature|credential)=)`+value+`{8,}`, "${1}"+Masked, "key=",
			"token=", "sig=", "signature=", "credential="),
	}
})
