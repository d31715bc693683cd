package customtool_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/extend/customtool"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

// place is a user with a tools folder.
type place struct {
	t    *testing.T
	home string
	set  *customtool.Set
}

func newPlace(t *testing.T) *place { return placeAt(t, t.TempDir()) }

func placeAt(t *testing.T, home string) *place {
	p := &place{t: t, home: home}
	cfg, err := config.Load(config.Options{
		Dir: p.home, Home: p.home, Environ: []string{"HOME=" + p.home},
		ManagedPaths: []string{},
	})
	if err != nil {
		t.Fatal(err)
	}
	runner := sandbox.New()
	t.Cleanup(runner.Close)
	p.set = customtool.New(customtool.Options{
		Config: func() *config.Config { return cfg },
		Tools:  call.NewCatalogue(call.Declaration{Name: "Bash", Aliases: []string{"shell"}}), Runner: runner,
		Environ: func(bool) []string { return []string{"PATH=" + os.Getenv("PATH")} }, Dir: p.home,
	})
	return p
}

// put writes a shell script as a tool. describe is its output for --describe, run the rest of the script.
func (p *place) put(name, describe, run string) string {
	dir := filepath.Join(p.home, ".config", "lathe", "tools")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		p.t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	script := "#!/bin/sh\nif [ \"$1\" = --describe ]; then echo described >> " + p.home + "/asked; cat <<'X'\n" +
		describe + "\nX\nexit; fi\n" + run + "\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		p.t.Fatal(err)
	}
	return path
}

func (p *place) asked() int {
	data, _ := os.ReadFile(filepath.Join(p.home, "asked"))
	return strings.Count(string(data), "\n")
}

func (p *place) tools() []customtool.Tool {
	at := call.NewMachine(call.NewCatalogue(), p.home, p.home)
	return p.set.Tools(context.Background(), customtool.Seat{Place: func() call.Place {
		return call.Place{World: &at.HypotheticalMachine, Dir: p.home, Resolve: func(name string) (string, permission.Node) {
			if !filepath.IsAbs(name) {
				name = filepath.Join(p.home, name)
			}
			return name, permission.Node{Real: name, Kind: permission.File}
		}}
	}, Session: "s"})
}

func (p *place) run(ctx context.Context, input string) (*agent.Plan, *agent.Result, error) {
	tools := p.tools()
	if len(tools) != 1 {
		p.t.Fatalf("%d tools, notes %q", len(tools), p.set.Notes())
	}
	plan, err := tools[0].Prepare(ctx, llm.ToolCall{ID: "c", Name: tools[0].Spec().Name, Input: json.RawMessage(input)})
	if err != nil {
		return nil, nil, err
	}
	r, err := plan.Run(ctx)
	return plan, r, err
}

func text(r *agent.Result) string {
	var b strings.Builder
	for _, p := range r.Parts {
		if t, ok := p.(llm.Text); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

func TestAProgramIsAskedOnceForEachContent(t *testing.T) {
	p := newPlace(t)
	p.put("a", `{"name":"a","description":"first"}`, "echo 1")
	for range 3 {
		if got := p.tools(); len(got) != 1 || got[0].Spec().Description != "first" {
			t.Fatalf("%v", got)
		}
		p.set.Version()
	}
	if p.asked() != 1 {
		t.Fatalf("asked %d times", p.asked())
	}
	if again := placeAt(t, p.home); len(again.tools()) != 1 || p.asked() != 1 { // a second start
		t.Fatalf("asked %d times", p.asked())
	}
	before := p.set.Version()
	if got := p.set.Version(); got != before {
		t.Errorf("the version goes from %d to %d, and nothing changed", before, got)
	}
	p.put("a", `{"name":"a","description":"second"}`, "echo 22")
	if p.set.Version() == before {
		t.Fatal("a changed program is not noticed")
	}
	if got := p.tools(); got[0].Spec().Description != "second" || p.asked() != 2 {
		t.Fatalf("%v, asked %d times", got, p.asked())
	}
}

func TestDescriptionsThatAreRefused(t *testing.T) {
	for describe, want := range map[string]string{
		`{"name":"bash","description":"x"}`:                                            "means Bash already",
		`{"name":"sh_ell","description":"x"}`:                                          "means Bash already",
		`{"name":"mcp__a__b","description":"x"}`:                                       "imitates",
		`{"name":"Вash","description":"x"}`:                                            "is not up to 64 letters",
		`{"name":"a","description":" "}`:                                               "description is empty",
		`not JSON`:                                                                     "no JSON object",
		`{"name":"a","description":"x","input_schema":{"type":"array"}}`:               `not of the type "object"`,
		`{"name":"a","description":"x","accesses":[{"kind":"think","param":"x"}]}`:     "none of read, write and net",
		`{"name":"a","description":"x","accesses":[{"kind":"read"}]}`:                  "either a value or a param",
		`{"name":"a","description":"` + strings.Repeat("x", 70<<10) + `","timeout":1}`: "more than 64 kB",
	} {
		p := newPlace(t)
		p.put("tool", describe, "")
		if got := p.tools(); len(got) != 0 {
			t.Errorf("%.60s is taken: %v", describe, got)
		}
		if notes := strings.Join(p.set.Notes(), "\n"); !strings.Contains(notes, want) {
			t.Errorf("%.60s: %q, want %q", describe, notes, want)
		}
	}
}

func TestCallsEndWithAResult(t *testing.T) {
	for name, tc := range map[string]struct {
		run, want string
		failed    bool
	}{
		"all of the output":     {"cat; echo done", `{"n":1}` + "\ndone", false},
		"a last line with JSON": {`echo working; echo '{"result":"42"}'`, "42", false},
		"blocks":                {`echo '{"result":[{"type":"text","text":"a"},{"type":"image","mime_type":"image/png","data":"aGk="}]}'`, "a", false},
		"an error":              {`echo '{"error":"no such thing"}'`, "no such thing", true},
		"an exit code":          {`echo partly; echo why >&2; exit 3`, "partlytool ended with exit code 3.\nwhy", true},
		"nothing":               {`true`, "(the result is empty)", false},
		"a flood": {
			`head -c 3000000 /dev/zero | tr '\0' x; echo; yes | head -c 2000000`,
			"more bytes of output were dropped", false,
		},
		"other JSON as its text":  {`echo '{"result":{"a":1}}'`, `{"a":1}`, false},
		"a process that stays on": {`sleep 1000 & echo left`, "left", false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.put("tool", `{"name":"a","description":"x","accesses":[]}`, tc.run)
			_, r, err := p.run(context.Background(), `{"n":1}`)
			if err != nil {
				t.Fatal(err)
			}
			if got := text(r); !strings.Contains(got, tc.want) || len(got) > 1100000 || r.IsError != tc.failed {
				t.Errorf("%.200q, failed %v", got, r.IsError)
			}
		})
	}
}

func TestImagesOfAResultAreThoseThatModelsSee(t *testing.T) {
	for block, image := range map[string]bool{
		`{"type":"image","mime_type":"image/png","data":"aGk="}`:          true,
		`{"type":"image","mime_type":"image/svg+xml","data":"aGk="}`:      false,
		`{"type":"image","mime_type":"image/png","data":"not base 64 !"}`: false,
		`{"type":"audio","mime_type":"image/png","data":"aGk="}`:          false,
	} {
		p := newPlace(t)
		p.put("tool", `{"name":"a","description":"x","accesses":[]}`, `echo '{"result":[`+block+`]}'`)
		_, r, err := p.run(context.Background(), `{}`)
		if err != nil || len(r.Parts) != 1 {
			t.Fatalf("%s: %v, %v", block, r, err)
		}
		m, ok := r.Parts[0].(llm.Media)
		if ok != image || image && (m.MIME != "image/png" || string(m.Data) != "hi") || !image && text(r) != "["+block+"]" {
			t.Errorf("%s: %v", block, r.Parts)
		}
	}
}

func TestACallEndsWithItsTime(t *testing.T) {
	p := newPlace(t)
	p.put("tool", `{"name":"a","description":"x","accesses":[],"timeout":0.05}`, "echo begun; sleep 1000")
	if _, _, err := p.run(context.Background(), `{}`); err == nil || !strings.Contains(err.Error(),
		"did not end within 50ms") {
		t.Fatal(err)
	}
}

func TestDeclaredAccessesAreThoseOfTheCall(t *testing.T) {
	for declared, want := range map[string]string{
		``:               `[{"kind":"tool","target":"a"}]`,
		`,"accesses":[]`: `[{"kind":"tool","target":"a","safe":true}]`,
		`,"accesses":[{"kind":"read","param":"files"},{"kind":"write","value":"out"},{"kind":"read","param":"none"}]`: `[{"kind":"tool","target":"a","safe":true},{"kind":"read","target":"HOME/x","node":"file"},{"kind":"read","target":"/etc/y","node":"file"},{"kind":"write","target":"HOME/out","node":"file"}]`,
	} {
		p := newPlace(t)
		p.put("tool", `{"name":"a","description":"x"`+declared+`}`, "")
		plan, _, err := p.run(context.Background(), `{"files":["x","/etc/y"]}`)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := json.Marshal(plan.Accesses)
		if string(got) != strings.ReplaceAll(want, "HOME", p.home) {
			t.Errorf("%s: %s", declared, got)
		}
	}
}

func TestTemplatesWork(t *testing.T) {
	for _, language := range customtool.Languages {
		p := newPlace(t)
		if _, err := customtool.Create(filepath.Join(p.home, ".config", "lathe", "tools"), "mine", language); err != nil {
			t.Fatal(err)
		}
		tools := p.tools()
		if notes := p.set.Notes(); len(tools) != 1 {
			if strings.Contains(strings.Join(notes, ""), "No such file or directory") {
				t.Skip("the interpreter of " + language + " is not there")
			}
			t.Fatalf("%s: %q", language, notes)
		}
		if err := os.WriteFile(filepath.Join(p.home, "f"), []byte("one two"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, r, err := p.run(context.Background(), `{"path":"`+filepath.Join(p.home, "f")+`"}`)
		if err != nil || r.IsError || tools[0].Spec().Name != "mine" {
			t.Errorf("%s: %v %v", language, r, err)
		}
	}
}
