package tool_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
	"github.com/lathe-dev/lathe/internal/tool"
)

func TestAToolThatIsThereIsNotAmongThoseToCome(t *testing.T) {
	for _, d := range tool.Coming() {
		if slices.Contains(tool.Names(), d.Name) {
			t.Errorf("%s is there; take it out of coming.go", d.Name)
		}
	}
	one := call.NewCatalogue()
	for _, d := range tool.Declarations() {
		if err := one.Add(d); err != nil { // no name or alias twice
			t.Error(err)
		}
	}
	b := newBench(t)
	for i, tl := range tool.All(b.env) {
		if tl.Spec().Name != tool.Names()[i] || tl.Spec().Description == "" || !json.Valid(tl.Spec().Schema) {
			t.Errorf("%s: its specification and its declaration differ", tool.Names()[i])
		}
	}
}

// A tool as somebody would add it: a declaration, a description, a function, and one line in the list.

type deployInput struct {
	Folder string `json:"folder_path"`
	Times  int    `json:"times"`
}

var deployTool = call.Declaration{
	Name:    "Deploy",
	Aliases: []string{"DeployTool", "ship_it"},
	Schema: json.RawMessage(`{"type":"object","properties":{"folder_path":{"type":"string"},"times":{"type":"integer"}},` +
		`"required":["folder_path"]}`),
	Params:  map[string]string{"folder_path": "target where"},
	Subject: permission.SubjectEdit, SubjectIn: []string{"folder_path"}, Class: permission.ClassWrite,
	Accesses: call.Typed(deployAccesses),
}

func deployAccesses(in deployInput, at call.Place) ([]permission.Access, error) {
	return tool.PathAccess(permission.Write, in.Folder, at)
}

func newDeploy(env *tool.Env) agent.Tool {
	return tool.ToolOf(deployTool, "Deploys a folder.", func(_ context.Context, _ llm.ToolCall, in deployInput) (
		*agent.Plan, error,
	) {
		accesses, err := deployAccesses(in, env.Place())
		return &agent.Plan{
			Accesses: accesses, Title: in.Folder,
			Run: func(context.Context) (*agent.Result, error) { return agent.TextResult("deployed " + in.Folder), nil },
		}, err
	})
}

func TestAToolIsOneDeclarationAndOneLine(t *testing.T) {
	tool.AddBuiltin(t, deployTool, newDeploy) // the one line

	b := newBench(t)
	if got := b.must("Deploy", in{"folder_path": "prod"}); got != "deployed prod" {
		t.Error(got)
	}
	if !slices.Contains(tool.Names(), "Deploy") {
		t.Error("it is not completed")
	}
	tools := tool.Catalogue()
	for _, spelling := range []string{"Deploy", "deploy", "ship_it", "shipIt", "DeployTool"} {
		name, input := tools.Canonical(spelling, []byte(`{"where":"prod","times":"3","x":null}`))
		if name != "Deploy" || string(input) != `{"folder_path":"prod","times":3}` {
			t.Errorf("%s is %s with %s", spelling, name, input)
		}
	}
	if !tools.Named("DeployTool") || tools.Named("ship_it") || tools.Nearest("Deplyo") != "Deploy" {
		t.Error("its name is not known on the command line")
	}
	if _, err := tools.Lookup("Deploy"); !err {
		t.Error("it is not in the catalogue")
	}
	m := call.NewMachine(tools, "/home/u/proj", "/home/u")
	req, err := m.Request("ship_it", json.RawMessage(`{"where":"prod/a"}`), call.Fixture{Files: "prod -> /etc"})
	if err != nil || len(req.Accesses) != 1 || req.Accesses[0].Target != "/etc/a" ||
		req.Accesses[0].Named != "/home/u/proj/prod/a" {
		t.Errorf("permission check sees %+v, %v", req.Accesses, err)
	}
	for text, want := range map[string]bool{
		"deploy(prod/**)": true, "Deploy(test/**)": false, "Edit(prod/**)": true,
		"Deploy(times:2)": false,
	} {
		r, err := permission.ParseRule(tools, text, permission.Deny, permission.Source{Base: m.Dir})
		if err != nil {
			t.Fatal(err)
		}
		req, err := m.Subject(r, "Deploy: prod/a")
		if got := m.Policy(nil).Matches(r, req); got != want || err != nil {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

// A server's tool is declared while the session runs.
func TestACatalogueGrowsAndLetsNothingPassItselfOff(t *testing.T) {
	tools := tool.Catalogue()
	weather := call.Declaration{
		Name: "mcp__weather__look", Class: permission.ClassRead,
		Accesses: call.Session("mcp__weather__look"),
	}
	if err := tools.Add(weather); err != nil {
		t.Fatal(err)
	}
	m := call.NewMachine(tools, "/home/u/proj", "/home/u")
	req, err := m.Request("mcp__weather__look", json.RawMessage(`{"city":"Rome"}`), call.Fixture{})
	if d := m.Policy(nil).Decide(req); d.Effect != permission.Allow || err != nil {
		t.Errorf("%+v %v", d, err)
	}
	for _, d := range []call.Declaration{
		weather,
		{Name: "read"},
		{Name: "Reader", Aliases: []string{"read_file"}},
		{Name: "Web_Fetch"},
		{Name: "a b"},
		{},
	} {
		if tools.Add(d) == nil {
			t.Errorf("%q was taken", d.Name)
		}
	}
	if tool.Catalogue().Traits("mcp__weather__look").Known {
		t.Error("another catalogue knows the tool")
	}
}

func BenchmarkCatalogue(b *testing.B) {
	for b.Loop() {
		tool.Catalogue()
	}
}

func BenchmarkCanonical(b *testing.B) {
	tools, input := tool.Catalogue(), []byte(`{"file_path":"a.go","offset":10}`)
	for b.Loop() {
		tools.Canonical("Read", input)
	}
}
