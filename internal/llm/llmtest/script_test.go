package llmtest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/llm"
)

const textScript = `
# the same as jsonScript
script order=arrival chunk=8 gap=5ms models=a,b
var NAME some value
fault status 529 times=2 retry_after=1
reply usage=100/20/30 stop=max_tokens shape=crlf,comments chunk=3 write=1 first_byte=10ms
  when contains="two words" turn=0 tools=true
  capture FILE from=results match="created (\\S+)"
  think Hm.
  say <<END
two
  lines
END
  call Read {"file_path":"${FILE}"}
  raw Bash {"command": "x
  do bash {"command":"ls"}
  redacted data
  fill 10
  fault reset at="part 1 50%"
  fault stall for=1s times=-1
reply finish=odd
  say ok
final
  say the end
no_tools
  say title
`

const jsonScript = `{
	"order": "arrival", "chunk": 8, "gap": 5, "models": ["a", "b"], "vars": {"NAME": "some value"},
	"faults": [{"kind": "status", "status": 529, "times": 2, "retry_after": "1"}],
	"replies": [
		{
			"usage": {"input": 100, "output": 20, "cache_read": 30}, "stop": "max_tokens", "shape": ["crlf", "comments"],
			"chunk": 3, "write": 1, "first_byte": "10ms",
			"when": {"contains": "two words", "turn": 0, "tools": true},
			"capture": {"FILE": {"from": "results", "match": "created (\\S+)"}},
			"parts": [
				{"thinking": "Hm."}, {"text": "two\n  lines"}, {"tool": "Read", "input": {"file_path":"${FILE}"}},
				{"tool": "Bash", "raw": "{\"command\": \"x"}, {"do": "bash", "input": {"command":"ls"}}, {"redacted": "data"}, {"fill": 10}
			],
			"faults": [{"kind": "reset", "at": "part 1 50%"}, {"kind": "stall", "for": "1s", "times": -1}]
		},
		{"finish": "odd", "parts": [{"text": "ok"}]}
	],
	"final": {"parts": [{"text": "the end"}]},
	"no_tools": {"parts": [{"text": "title"}]}
}`

func TestTextAndJSONFormsSayTheSame(t *testing.T) {
	a, err := Parse([]byte(textScript))
	if err != nil {
		t.Fatal(err)
	}
	b, err := Parse([]byte(jsonScript))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Error(diff)
	}
	again, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Parse(again)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b, c); diff != "" {
		t.Errorf("after writing and reading: %s", diff)
	}
}

func TestMistakesInScriptsAreNamed(t *testing.T) {
	for in, want := range map[string]string{
		`{"replys":[]}`:                                                  "replys",
		`{"order":"random"}`:                                             "order",
		`{"replies":[{"shape":["sparkly"]}]}`:                            `reply 0: unknown shape "sparkly"`,
		`{"replies":[{"parts":[{"text":"a","tool":"b"}]}]}`:              "exactly one",
		`{"replies":[{"parts":[{}]}]}`:                                   "exactly one",
		`{"replies":[{"parts":[{"tool":"a","input":{},"raw":"x"}]}]}`:    "both input and raw",
		`{"replies":[{"parts":[{"do":"fly"}]}]}`:                         "fly",
		`{"replies":[{"faults":[{"kind":"boom"}]}]}`:                     "boom",
		`{"replies":[{"faults":[{"kind":"status","status":200}]}]}`:      "200",
		`{"replies":[{"faults":[{"kind":"reset","at":"soon"}]}]}`:        "soon",
		`{"replies":[{"faults":[{"kind":"reset","at":"110%"}]}]}`:        "110%",
		`{"replies":[{"when":{"matches":"("}}]}`:                         "when",
		`{"replies":[{"capture":{"A":{"match":""}}}]}`:                   "capture A",
		`{"replies":[{"capture":{"A":{"match":"a","from":"nowhere"}}}]}`: "nowhere",
		`{"final":{"parts":[{"tool":"x","text":"y"}]}}`:                  "final: part 0",
		"say hello":                         "line 1: say: stands before the first reply",
		"reply\n\nshout hello":              "line 3: shout: is not known",
		"reply colour=red":                  "colour",
		"reply\nsay <<END\nno end":          "line 2: say: the line END",
		"reply\ncall Read {broken":          "input is not JSON",
		"reply usage=many":                  "usage",
		"reply\nfault status often":         "often",
		"reply\nfault reset at=\"unclosed":  "quote",
		"reply\nwhen weather=fine":          "weather",
		"script speed=9":                    "speed",
		"reply\nfill lots":                  "lots",
		"reply\ncapture A from=user":        "capture A",
		"reply\nfault reset sometimes=true": "sometimes",
	} {
		_, err := Parse([]byte(in))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n\tgot %v, want %q in it", in, err, want)
		}
	}
}

func TestPlacesAreFoundInAStream(t *testing.T) {
	s := newStream(nil)
	for i, data := range []string{"aa", "bbb", "cccc", "d"} {
		s.part = []int{-1, 0, 1, -1}[i]
		s.append([]byte(data))
	}
	blocks := []block{{label: "first"}, {label: "second"}}
	for place, want := range map[string]int{
		"": 5, "0": 0, "3": 3, "-1": 9, "100": 10, "-100": 0, "0%": 0, "100%": 10, "event 0": 0, "event 2": 5,
		"event -1": 9, "event 9": 10, "part 0": 2, "part second": 5, "part 1 50%": 7, "part 1 1": 6, "part first -1": 4,
		"after part 0": 5, "after part second": 9, "part 7": 10,
	} {
		at, err := ParseAt(place)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := s.offset(at, blocks); got != want {
			t.Errorf("%q is at %d, want %d", place, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(textScript)
	f.Add(jsonScript)
	f.Fuzz(func(t *testing.T, in string) {
		s, err := Parse([]byte(in))
		if err == nil && s.Check() != nil {
			t.Error("a script was accepted that does not pass its check")
		}
	})
}

func TestRepliesAreChosenByConditions(t *testing.T) {
	yes, no, one := true, false, 1
	s := &Script{Replies: []Reply{
		{When: &When{Contains: "secret", Model: "big"}, Parts: []Part{Text("0")}},
		{When: &When{Matches: `^fix \w+$`, Tools: &yes}, Parts: []Part{Text("1")}},
		{When: &When{Result: "boom"}, Parts: []Part{Text("2")}},
		{When: &When{System: "subagent", Turn: &one}, Parts: []Part{Text("3")}},
		{When: &When{Contains: "title", Tools: &no}, Parts: []Part{Text("4")}},
		{Parts: []Part{Text("5")}},
		{Parts: []Part{Tool("Read", nil)}},
	}}
	tools := []tool{{name: "Read"}}
	for i, row := range []struct {
		c    call
		want int
	}{
		{call{model: "big-1", users: []string{"the secret"}, tools: tools}, 0},
		{call{model: "small", users: []string{"the secret"}, tools: tools}, 5},
		{call{users: []string{"no", "fix it"}, tools: tools}, 1},
		{call{users: []string{"fix it", "no"}, tools: tools}, 5},
		{call{users: []string{"go"}, results: []string{"boom", "fine"}, fresh: 1, tools: tools, turn: 1}, 6},
		{call{users: []string{"go"}, results: []string{"fine", "boom"}, fresh: 1, tools: tools, turn: 1}, 2},
		{call{system: "a subagent", turn: 1, tools: tools}, 3},
		{call{users: []string{"a title"}}, 4},
		{call{users: []string{"go"}}, replyNoTools},
		{call{users: []string{"go"}, tools: tools, turn: 9}, replyFinal},
	} {
		if _, got := s.choose(&row.c, 0); got != row.want {
			t.Errorf("row %d: reply %d, want %d", i, got, row.want)
		}
	}
	s.Order = "arrival"
	if _, got := s.choose(&call{tools: tools}, 1); got != 6 {
		t.Errorf("by arrival: reply %d", got)
	}
}

func TestValuesAreCapturedAndQuoted(t *testing.T) {
	r := Reply{
		Capture: map[string]Capture{"FILE": {Match: `wrote (\S+)`}, "WHO": {From: "users", Match: `for \w+`}},
		Parts: []Part{
			Text("${FILE} ${WHO} ${HOME} $FILE ${open"),
			Tool("Write", map[string]string{"a": "${FILE}", "b": "${DIR}"}),
		},
	}
	s := &Script{Vars: map[string]string{"DIR": "x"}, Replies: []Reply{r}}
	c := &call{users: []string{"do it for Bob", "go"}, results: []string{`wrote C:\a"b ok`}, fresh: 1}
	bs, err := s.resolve(&s.Replies[0], c, map[string]string{"DIR": "a\nb"}, 1, "id_")
	if err != nil {
		t.Fatal(err)
	}
	if want := `C:\a"b for Bob ${HOME} $FILE ${open`; bs[0].text != want {
		t.Errorf("text %q, want %q", bs[0].text, want)
	}
	var in map[string]string
	if err := json.Unmarshal([]byte(bs[1].text), &in); err != nil || in["a"] != `C:\a"b` || in["b"] != "a\nb" {
		t.Errorf("input %s, %v", bs[1].text, err)
	}
	c.results = nil
	c.fresh = 0
	if _, err := s.resolve(&s.Replies[0], c, nil, 1, ""); err == nil || !strings.Contains(err.Error(), "FILE") {
		t.Errorf("a capture without a match: %v", err)
	}
}

func TestPartsThatDoAreTranslatedToTheToolsOffered(t *testing.T) {
	edit := tool{"str_replace", json.RawMessage(
		`{"type":"object","properties":{"filePath":{},"oldString":{},"newString":{},"all":{"type":"boolean"}},"required":["all"]}`)}
	name, in, err := translate("edit", []byte(`{"path":"/a","old":"x","new":"y"}`), []tool{edit})
	if err != nil || name != "str_replace" || in != `{"all":false,"filePath":"/a","newString":"y","oldString":"x"}` {
		t.Errorf("%s %s %v", name, in, err)
	}
	sh := tool{"shell", json.RawMessage(`{"type":"object","properties":{"cmd":{"type":"string"}}}`)}
	name, in, err = translate("read", []byte(`{"path":"/it's"}`), []tool{sh})
	if err != nil || name != "shell" || in != `{"cmd":"cat '/it'\\''s'"}` {
		t.Errorf("%s %s %v", name, in, err)
	}
	if _, _, err = translate("read", []byte(`{}`), []tool{edit}); err == nil || !strings.Contains(err.Error(),
		"str_replace") {
		t.Errorf("no tool fits: %v", err)
	}
}

func TestSamplesFollowTheirSchema(t *testing.T) {
	schema := `{"type":"object","required":["a","b","c","d","e","f"],"properties":{"a":{"type":["string","null"]},"b":{"type":"integer","minimum":3},
		"c":{"enum":["x","y"]},"d":{"type":"array","items":{"type":"boolean"},"minItems":2},"e":{"const":7},"f":{"anyOf":[{"type":"null"}]}}}`
	if got := sample([]byte(schema)); got != `{"a":"text","b":3,"c":"x","d":[false,false],"e":7,"f":null}` {
		t.Error(got)
	}
}

func TestFillHasTheLengthAskedFor(t *testing.T) {
	for n := range 300 {
		if got := Fill(n); len(got) != n || strings.ToValidUTF8(got, "") != got {
			t.Fatalf("Fill(%d) has %d bytes: %q", n, len(got), got)
		}
	}
}

func TestChunksKeepCharactersWhole(t *testing.T) {
	if got := chunks("aé🙂bc", 2); !cmp.Equal(got, []string{"aé", "🙂b", "c"}) {
		t.Error(got)
	}
}

func TestSamePrefixSeesChanges(t *testing.T) {
	a := `{"model":"m","system":[{"text":"s","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":"a"},{"role":"user","content":[{"text":"b","cache_control":{"type":"ephemeral"}}]}]}`
	for b, want := range map[string]string{
		a: "",
		`{"model":"m","system":[{"text":"s"}],"messages":[{"role":"user","content":"a"},{"role":"user","content":[{"text":"b"}]},{}]}`: "",
		`{"model":"n","system":[{"text":"s"}],"messages":[{"role":"user","content":"a"},{"role":"user","content":[{"text":"b"}]}]}`:    "model changed",
		`{"model":"m","system":[{"text":"s"}],"messages":[{"role":"user","content":"a"},{"role":"user","content":[{"text":"c"}]}]}`:    "messages[1] changed",
		`{"model":"m","system":[{"text":"s"}],"messages":[{"role":"user","content":"a"}]}`:                                             "1 messages after 2",
		`{"model":"m","system":[{"text":"s"}],"x":1,"messages":[]}`:                                                                    "x is new",
	} {
		err := SamePrefix([]byte(a), []byte(b))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n\tgot %v, want %q", b, err, want)
		}
	}
}

func TestDurationsHaveTwoForms(t *testing.T) {
	var v struct{ A, B Duration }
	if err := json.Unmarshal([]byte(`{"A":1500,"B":"1.5s"}`), &v); err != nil || v.A != v.B ||
		time.Duration(v.A) != 1500*time.Millisecond {
		t.Errorf("%v, %v", v, err)
	}
}

func TestUsageIsCountedWhenTheScriptHasNone(t *testing.T) {
	r := Say(Text(strings.Repeat("x", 400)), Thinking(strings.Repeat("y", 40)))
	bs, err := Replies(r).resolve(&r, &call{}, nil, 1, "")
	if err != nil {
		t.Fatal(err)
	}
	got := r.usage(&call{size: 4000}, bs)
	if want := (llm.Usage{Input: 16, CacheRead: 984, Output: 110, Reasoning: 10}); got != want {
		t.Errorf("%+v", got)
	}
}
