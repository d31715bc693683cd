package config

import (
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
)

// fieldsOf lists the JSON names of a struct type.
func fieldsOf(typ reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for i := range typ.NumField() {
		name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		out[name] = typ.Field(i).Type
	}
	return out
}

func TestSettingsAndSchemaHaveTheSameKeys(t *testing.T) {
	compareKeys(t, rootSchema(), reflect.TypeFor[Settings](), "")
}

func compareKeys(t *testing.T, s *schema, typ reflect.Type, at string) {
	t.Helper()
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice && s.items != nil {
		if typ.Kind() == reflect.Slice {
			s = s.items
		}
		typ = typ.Elem()
	}
	if typ.Kind() == reflect.Map && s.extra != nil {
		compareKeys(t, s.extra, typ.Elem(), at+".*")
		return
	}
	if typ.Kind() != reflect.Struct {
		return
	}
	fields := fieldsOf(typ)
	var want []string
	for _, p := range s.props {
		want = append(want, p.name)
		if f, ok := fields[p.name]; ok {
			compareKeys(t, p.schema(), f, at+"."+p.name)
		}
	}
	var got []string
	for name := range fields {
		got = append(got, name)
	}
	slices.Sort(want)
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("schema.json and the struct differ at %q (-schema +struct):\n%s", at, d)
	}
}

// eachKey visits all keys that the schema names.
func eachKey(s *schema, p keyPath, visit func(keyPath, *schema)) {
	for _, prop := range s.props {
		at := p.with(prop.name)
		visit(at, prop.schema())
		eachKey(prop.schema(), at, visit)
	}
	for _, inner := range []*schema{s.extra, s.items} {
		if inner != nil {
			eachKey(inner, p.with("*"), visit)
		}
	}
}

func TestEveryKeyIsDescribed(t *testing.T) {
	eachKey(rootSchema(), nil, func(p keyPath, s *schema) {
		if s.description == "" || !strings.HasSuffix(s.description, ".") && !strings.HasSuffix(s.description, "...") {
			t.Errorf("%s: the description %q is missing or no sentence", p, s.description)
		}
		if len(s.types) == 0 && len(s.anyOf) == 0 {
			t.Errorf("%s has no type", p)
		}
	})
}

func TestDefaultsAndExamplesFitTheirKeys(t *testing.T) {
	eachKey(rootSchema(), nil, func(p keyPath, s *schema) {
		var all []*node
		if s.def != nil {
			all = append(all, s.def)
		}
		if s.examples != nil {
			all = append(all, s.examples.elems...)
		}
		for _, n := range all {
			c := checker{src: &source{}, strict: true}
			if !c.value(s, n.clone(), p) || len(c.problems) > 0 {
				t.Errorf("%s: %s does not fit its own schema", p, n.appendJSON(nil))
			}
		}
	})
}

func TestVariablesAndRulesNameKeysThatExist(t *testing.T) {
	for _, row := range envKeys() {
		p, err := parsePath(strings.TrimPrefix(row.key, "!"))
		if err != nil || rootSchema().find(p) == nil {
			t.Errorf("%s sets %s, which the schema does not know", row.name, row.key)
		}
	}
	for _, r := range projectRules {
		p, err := parsePath(strings.TrimSuffix(r.pattern, ".**"))
		if err != nil || rootSchema().find(p) == nil {
			t.Errorf("a rule for projects names %s, which the schema does not know", r.pattern)
		}
	}
	for _, key := range startOnly {
		if rootSchema().find(keyPath{key}) == nil {
			t.Errorf("%s does not exist", key)
		}
	}
}

// fate is what a project's document comes to: free if some of it counts at once, held if some waits for trust, else
// never, of which the user is warned.
func fate(root *node) (v verdict, warned bool) {
	forbid(root, func(Warning) { warned = true })
	switch now, later := split(root); {
	case len(now.members) > 0:
		return free, warned
	case len(later.members) > 0:
		return held, warned
	}
	return never, warned
}

func TestEachVerdictCountsInADocument(t *testing.T) {
	eachKey(rootSchema(), nil, func(p keyPath, s *schema) {
		if len(s.props) > 0 || s.extra != nil || len(p) == 0 {
			return
		}
		src := &source{}
		leaves := []*node{{kind: '"', text: "x", src: src}, {kind: 't', src: src}, {kind: 'f', src: src}}
		for _, text := range s.enum {
			leaves = append(leaves, &node{kind: '"', text: text, src: src})
		}
		for _, leaf := range leaves {
			root := leaf
			for _, name := range slices.Backward(p) {
				root = &node{kind: '{', src: src, members: []member{{key: name, val: root}}}
			}
			want := judge(p, leaf)
			if got, warned := fate(root); got != want || warned != (want == never) {
				t.Errorf("%s: %c %s: its verdict is %d, but in a document it gets %d; warned: %v", p, leaf.kind, leaf.text, want,
					got, warned)
			}
		}
	})
}

// A rule of the list that an earlier one covers would have no effect.
func TestNoVerdictIsHiddenByAnEarlierOne(t *testing.T) {
	for _, r := range projectRules {
		path := strings.ReplaceAll(strings.ReplaceAll(r.pattern, ".**", ".x"), "*", "x")
		if got := judge(strings.Split(path, "."), &node{kind: '"', text: "x"}); got != r.verdict {
			t.Errorf("%s: %s gets %d, want %d", r.pattern, path, got, r.verdict)
		}
	}
}

func TestSomeVerdictsDependOnTheValue(t *testing.T) {
	for doc, want := range map[string]verdict{
		`{"sandbox": {"enabled": true}}`: held, `{"sandbox": {"enabled": false}}`: never,
		`{"sandbox": {"failIfUnavailable": true}}`: held, `{"sandbox": {"failIfUnavailable": false}}`: never,
		`{"sandbox": {"mode": "read-only"}}`: held, `{"sandbox": {"mode": "workspace"}}`: never,
		`{"sandbox": {"mode": "off"}}`:                     never,
		`{"sandbox": {"autoAllowBashIfSandboxed": false}}`: free, `{"sandbox": {"autoAllowBashIfSandboxed": true}}`: never,
		`{"sandbox": {"allowUnsandboxedCommands": false}}`: free, `{"sandbox": {"allowUnsandboxedCommands": true}}`: never,
		`{"sandbox": {"excludedCommands": ["ls"]}}`:          never,
		`{"sandbox": {"filesystem": {"denyWrite": ["/x"]}}}`: held, `{"sandbox": {"filesystem": {"denyRead": ["/x"]}}}`: held,
		`{"sandbox": {"filesystem": {"allowWrite": ["/x"]}}}`:    never,
		`{"sandbox": {"filesystem": {"allowRead": ["/x"]}}}`:     never,
		`{"sandbox": {"network": {"deniedDomains": ["x"]}}}`:     held,
		`{"sandbox": {"network": {"allowedDomains": ["x"]}}}`:    never,
		`{"sandbox": {"network": {"strictAllowlist": true}}}`:    held,
		`{"sandbox": {"network": {"strictAllowlist": false}}}`:   never,
		`{"sandbox": {"network": {"allowUnixSockets": ["/x"]}}}`: never,
		`{"sandbox": {"network": {"allowLocalBinding": true}}}`:  never,
		`{"permissions": {"askBeforeCommands": true}}`:           free, `{"permissions": {"askBeforeCommands": false}}`: never,
		`{"permissions": {"defaultMode": "plan"}}`: free, `{"permissions": {"defaultMode": "dontAsk"}}`: free,
		`{"permissions": {"defaultMode": "acceptEdits"}}`: held, `{"permissions": {"defaultMode": "default"}}`: held,
		`{"permissions": {"defaultMode": "auto"}}`: never, `{"permissions": {"defaultMode": "bypassPermissions"}}`: never,
		`{"permissions": {"rules": [{"action": "deny", "tool": "Bash"}]}}`:  free,
		`{"permissions": {"rules": [{"action": "allow", "tool": "Bash"}]}}`: held,
		`{"plansDirectory": "docs/plans"}`:                                  held, `{"plansDirectory": ".git/hooks"}`: never,
		`{"plansDirectory": "../x"}`: never, `{"plansDirectory": "/etc"}`: never,
		`{"env": {"FINE": "1"}}`: held, `{"env": {"PATH": "."}}`: never, `{"env": {"X_TOKEN": "t"}}`: never,
	} {
		if got, warned := fate(parseSchema([]byte(doc))); got != want || warned != (want == never) {
			t.Errorf("%s gets %d, want %d; warned: %v", doc, got, want, warned)
		}
	}
	// Only the rule that denies counts at once; the one that allows waits.
	root := parseSchema(
		[]byte(`{"permissions": {"rules": [{"action": "allow", "tool": "Bash"}, {"action": "deny", "tool": "Edit"}]}}`))
	forbid(root, func(Warning) {})
	now, later := split(root)
	rules := keyPath{"permissions", "rules"}
	if n, l := now.at(rules), later.at(rules); n == nil || len(n.elems) != 1 || n.elems[0].get("action").text != "deny" ||
		l == nil || len(l.elems) != 1 || l.elems[0].get("action").text != "allow" {
		t.Errorf("at once %+v, later %+v", n, l)
	}
}

// A key that reaches code, network or the user's data must not count from an untrusted repository. A new key
// must be added to one of these lists on purpose.
func TestWhatAProjectMaySetAtOnceIsThisAndNoMore(t *testing.T) {
	var got []string
	eachKey(rootSchema(), nil, func(p keyPath, s *schema) {
		if len(s.props) == 0 && judge(p, &node{kind: '"'}) == free {
			got = append(got, p.String())
		}
	})
	want := []string{
		"$schema", "version", "effort", "maxThinkingTokens", "maxOutputTokens",
		"permissions.ask", "permissions.deny", "permissions.disableBypassPermissionsMode", "permissions.disableAutoMode",
		"disabledMcpjsonServers", "outputStyle", "language",
		"theme", "prefersReducedMotion", "autoCompactEnabled", "compactionThreshold", "compactionModel", "includeGitInstructions",
		"subagents.maxConcurrent",
		"exploreCache.enabled", "exploreCache.maxEntries", "exploreCache.directoryTtlMs",
		"lsp.warnings", "lsp.waitMs", "lsp.startMs", "lsp.requestMs", "lsp.idleMinutes", "lsp.maxMemoryMB",
		"lsp.maxCPUMinutes", "formatters.timeoutMs", "background.idleMinutes", "bash.defaultTimeoutMs", "bash.maxTimeoutMs",
		"bash.maxOutputLength", "bash.backgroundWaitMs", "stream.stallTimeoutMs", "stream.headerTimeoutMs", "stream.contentTimeoutMs", "stream.maxRetries", "stream.retryBaseMs",
		"stream.maxRetryWaitMs",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestCheckerAgreesWithAFullValidator compares the checker with a complete implementation of JSON Schema on
// random documents.
func TestCheckerAgreesWithAFullValidator(t *testing.T) {
	var js jsonschema.Schema
	if err := json.Unmarshal(Schema(), &js); err != nil {
		t.Fatal(err)
	}
	full, err := js.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	valid, invalid := 0, 0
	for range 7000 {
		doc := randomValue(rnd, rootSchema(), 0)
		var instance any
		if err := json.Unmarshal(doc.appendJSON(nil), &instance); err != nil {
			t.Fatal(err)
		}
		want := full.Validate(instance) == nil
		c := checker{src: &source{}, strict: true}
		trial := doc.clone()
		unplace(trial, c.src)
		err := c.check(trial)
		// Formats are our own extension: skip documents that are invalid only for one.
		if err != nil && want && formatFailure(c.problems) {
			continue
		}
		if (err == nil) != want {
			t.Fatalf("we say %v, the validator says %v\n%s", err, full.Validate(instance), doc.appendJSON(nil))
		}
		if want {
			valid++
		} else {
			invalid++
		}
	}
	if valid < 500 || invalid < 500 {
		t.Errorf("only %d valid and %d invalid documents were compared", valid, invalid)
	}
}

func formatFailure(problems []*Error) bool {
	return !slices.ContainsFunc(problems, func(e *Error) bool {
		return !strings.Contains(e.Allowed, "URL") && !strings.Contains(e.Allowed, "rule") && !strings.Contains(e.Allowed,
			"a path")
	})
}

// randomValue makes a value that is usually valid.
func randomValue(rnd *rand.Rand, s *schema, depth int) *node {
	if rnd.IntN(60) == 0 {
		return []*node{
			{kind: 'n'},
			{kind: 't'},
			{kind: '0', text: "-3.5"},
			{kind: '"', text: "odd"},
			{kind: '['},
			{kind: '{'},
		}[rnd.IntN(6)]
	}
	if len(s.anyOf) > 0 {
		s = s.anyOf[rnd.IntN(len(s.anyOf))]
	}
	if len(s.types) == 0 {
		return &node{kind: 't'}
	}
	switch s.types[rnd.IntN(len(s.types))] {
	case "object":
		return randomObject(rnd, s, depth)
	case "array":
		n := &node{kind: '['}
		for range rnd.IntN(4) {
			if s.items != nil {
				n.elems = append(n.elems, randomValue(rnd, s.items, depth+1))
			}
		}
		return n
	case "boolean":
		return &node{kind: 'f'}
	case "integer", "number":
		low := max(s.minimum, s.above)
		if math.IsInf(low, 0) {
			low = -5
		}
		return &node{kind: '0', text: []string{
			"0", "1", "2.5", "1000", "1e4", itoaFloat(low),
			itoaFloat(low + 1),
		}[rnd.IntN(7)]}
	}
	if len(s.enum) > 0 {
		return &node{kind: '"', text: s.enum[rnd.IntN(len(s.enum))]}
	}
	return &node{kind: '"', text: []string{"x", "x", "x", "https://x.example", ""}[rnd.IntN(5)]}
}

func itoaFloat(f float64) string {
	b, _ := json.Marshal(f)
	return string(b)
}

func randomObject(rnd *rand.Rand, s *schema, depth int) *node {
	n := object(&source{})
	for _, p := range s.props {
		if rnd.IntN(4+depth*2) == 0 || slices.Contains(s.required, p.name) && rnd.IntN(10) > 0 {
			n.set(p.name, randomValue(rnd, p.schema(), depth+1))
		}
	}
	if s.extra != nil && rnd.IntN(2) == 0 {
		n.set("name", randomValue(rnd, s.extra, depth+1))
	}
	if rnd.IntN(10) == 0 {
		n.set("unheardOf", &node{kind: 't'})
		if s.extra != nil || s.prop("deny") != nil { // an unknown key of permissions could restrict: we refuse it
			n.remove("unheardOf")
		}
	}
	return n
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a": 1}`, "// c\n{\"model\": \"x\", /* y */}", `{"permissions": {"allow": ["Bash(x)"]}}`, `[`,
		`{"a":{"b":[{"c":null}]}}`,
		`{"x": "{env:A}{file:b}\\{env:C}"}`, "\xef\xbb\xbf{}", `{"version":0,"small_model":"x"}`, `{"a":1,"a":2}`, "{}//",
		"{\"a\":1}//x",
	} {
		f.Add([]byte(seed))
	}
	home := f.TempDir()
	opts, env, paths, err := Options{Dir: home, Home: home, Environ: []string{"A=1"}}.resolve()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l := loader{opts: opts, env: env, paths: paths, home: home, warned: map[Warning]bool{}}
		for _, layer := range []Layer{User, Project, Organization} {
			root, err := l.parse(&source{layer: layer, file: "f", data: slices.Clone(data), dir: home, base: home})
			if err != nil {
				if strings.ContainsAny(err.Error(), "\n\x1b\x00") {
					t.Errorf("the error is not one clean line: %q", err)
				}
				continue
			}
			if out := root.appendJSON(nil); !json.Valid(out) {
				t.Errorf("not JSON: %q", out)
			}
			var s Settings
			if err := json.Unmarshal(merge(defaultTree(), root, nil).appendJSON(nil), &s); err != nil {
				t.Errorf("the schema lets through what Settings does not take: %v", err)
			}
		}
	})
}

// FuzzEdit changes arbitrary files: the result parses, has the value, and differs in nothing else.
func FuzzEdit(f *testing.F) {
	f.Add([]byte("{\n  // c\n  \"model\": \"x\", // d\n}\n"), "theme", "v")
	f.Add([]byte(`{"permissions":{"allow":["a"//x
]}}`), "language", "")
	f.Add([]byte(`{/* only */}`), "a.b[c].d", "\"\\")
	f.Add([]byte("{\"a\":1 /* x */ , /* y */ }"), "a.b", "z")
	f.Fuzz(func(t *testing.T, data []byte, path, value string) {
		p, err := parsePath(path)
		if err != nil || slices.ContainsFunc(p, func(s string) bool { return s == "-" || isIndex(s) || !validText(s) }) ||
			!validText(value) {
			return
		}
		doc, err := parseDocument(&source{data: slices.Clone(data)})
		if err != nil {
			return
		}
		dups := 0
		before := doc.tree(func(string, int) { dups++ })
		e := newEditor(doc)
		if e.set(p, stringNode(value, doc.src, 0)) != nil || dups > 0 {
			return
		}
		out := e.root.Pack()
		again, err := parseDocument(&source{data: slices.Clone(out)})
		if err != nil {
			t.Fatalf("%v\n%q\n%q", err, data, out)
		}
		after := again.tree(func(string, int) {})
		if got := after.at(p); got == nil || got.text != value {
			t.Fatalf("the value is lost in %q", out)
		}
		want := before.clone()
		want.put(p, stringNode(value, doc.src, 0))
		if d := cmp.Diff(string(want.appendJSON(nil)), string(after.appendJSON(nil))); d != "" {
			t.Fatalf("%q -> %q\n%s", data, out, d)
		}
		for _, remark := range []string{"// c", "/* x */", "/* only */"} {
			if strings.Count(string(out), remark) < strings.Count(string(data), remark) && !strings.Contains(value, remark) {
				t.Fatalf("a comment is lost: %q -> %q", data, out)
			}
		}
		u := newEditor(again)
		if !u.unset(p) {
			t.Fatalf("cannot be removed from %q", out)
		}
		last, err := parseDocument(&source{data: u.root.Pack()})
		if err != nil || last.tree(func(string, int) {}).at(p) != nil {
			t.Fatalf("removing: %v\n%q\n%q", err, out, u.root.Pack())
		}
	})
}

func validText(s string) bool { return strings.ToValidUTF8(s, "") == s }

func TestPathsAreReadAsTheyAreWritten(t *testing.T) {
	for _, p := range []keyPath{
		{"a"},
		{"a", "b"},
		{"a", "0"},
		{"my.corp", "x"},
		{"a", "", "b"},
		{"a", `q"\[`},
		{"\x1b"},
		{"a", "b c", "12", "d"},
	} {
		got, err := parsePath(p.String())
		if err != nil {
			t.Errorf("%q: %v", p.String(), err)
		}
		if d := cmp.Diff(p, got); d != "" {
			t.Error(d)
		}
	}
	for _, bad := range []string{"", ".", "a.", "a..b", "a[", `a["x`, "a[]", "a]b[0]c", `a["x"]b`} {
		if p, err := parsePath(bad); err == nil && bad != "a]b[0]c" {
			t.Errorf("%q was read as %q", bad, p)
		}
	}
}

// BenchmarkFirstSchema measures the schema's part of a start with one flag.
func BenchmarkFirstSchema(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		top := rawMembers(schemaJSON)
		properties, defs := rawMembers(rawMember(top, "properties")), rawMembers(rawMember(top, "$defs"))
		newSchema(parseSchema(rawMember(properties, "model")))
		rawDefaults(properties)
		if len(defs) == 0 {
			b.Fatal("no $defs")
		}
	}
}

// The schema's text is split by its own scanner.
func TestTheSchemasTextIsSplitAsAParserDoes(t *testing.T) {
	var whole struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Defs       map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(schemaJSON, &whole); err != nil {
		t.Fatal(err)
	}
	for part, want := range map[string]map[string]json.RawMessage{"properties": whole.Properties, "$defs": whole.Defs} {
		got := rawMembers(rawMember(schemaParts().top, part))
		if len(got) != len(want) || len(got) < 5 {
			t.Fatalf("%s has %d members, want %d", part, len(got), len(want))
		}
		for _, m := range got {
			if string(m.value) != string(want[m.key]) {
				t.Errorf("%s.%s is %s", part, m.key, m.value)
			}
		}
	}
	for text, n := range map[string]int{
		`{}`: 0, `[1,{"a":2}]`: 0, `{"a":"},\"","b":[{"c":1},2]}`: 2, `"x:{"`: 0,
		` { "a" : {} } `: 1,
	} {
		if got := rawMembers([]byte(text)); len(got) != n {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// Each default of the schema is in the tree of defaults, and nothing else.
func TestTheDefaultsAreThoseOfTheSchema(t *testing.T) {
	want := map[string]string{}
	eachKey(rootSchema(), nil, func(p keyPath, s *schema) {
		if s.def != nil && !slices.Contains(p, "*") {
			want[p.String()] = string(s.def.appendJSON(nil))
		}
	})
	got := map[string]string{}
	var walk func(n *node, p keyPath)
	walk = func(n *node, p keyPath) {
		for _, m := range n.members {
			at := p.with(m.key)
			if _, leaf := want[at.String()]; leaf || m.val.kind != '{' {
				got[at.String()] = string(m.val.appendJSON(nil))
				continue
			}
			walk(m.val, at)
		}
	}
	walk(defaultTree(), nil)
	if !maps.Equal(got, want) || len(want) < 20 {
		t.Errorf("defaults:\n%v\nof the schema:\n%v", got, want)
	}
}
