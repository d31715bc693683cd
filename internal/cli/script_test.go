package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// TestScripts runs the command line as a user would, each script in a home and its own folder. Beside
// testscript's own commands there are
//
//	model FILE       serve the replies of a script (docs/wire-server.md) and set the address and a key
//	edit FILE A B    replace the first A by B in a file, escapes as in Go
//	isjson FILE...   each line is a JSON value; stdout is a file too
//	sessionid VAR N  set VAR to the id of the N-th newest session, as lathe session list prints it
//
// and the condition [root].
func TestScripts(t *testing.T) {
	bin := filepath.Dir(buildLathe(t))
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", UpdateScripts: updating(), RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			e.Setenv("PATH", bin+string(filepath.ListSeparator)+e.Getenv("PATH"))
			e.Setenv("HOME", home)
			e.Setenv("USERPROFILE", home)
			e.Setenv("PROJECT", filepath.Join(e.WorkDir, "project"))
			for _, dir := range []string{home, filepath.Join(e.WorkDir, "project")} {
				if err := os.MkdirAll(dir, 0o700); err != nil {
					return err
				}
			}
			e.Cd = filepath.Join(e.WorkDir, "project")
			return nil
		},
		Condition: func(cond string) (bool, error) {
			return cond == "root" && os.Geteuid() == 0, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"model": serveModel, "edit": editFile, "isjson": isJSON, "sessionid": sessionID,
		},
	})
}

func serveModel(ts *testscript.TestScript, _ bool, args []string) {
	script, err := llmtest.Parse([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	srv := llmtest.New(script, llmtest.Options{Vars: map[string]string{"WORKDIR": ts.Getenv("PROJECT")}})
	ts.Check(srv.Start("127.0.0.1:0"))
	ts.Defer(func() { _ = srv.Close() })
	ts.Setenv("ANTHROPIC_BASE_URL", srv.URL())
	ts.Setenv("ANTHROPIC_API_KEY", "sk-ant-very-secret-0123456789")
}

func editFile(ts *testscript.TestScript, _ bool, args []string) {
	unquote := func(s string) string {
		var out string
		ts.Check(json.Unmarshal([]byte(`"`+s+`"`), &out))
		return out
	}
	old := ts.ReadFile(args[0])
	text := strings.Replace(old, unquote(args[1]), unquote(args[2]), 1)
	if text == old {
		ts.Fatalf("%q is not in %s", args[1], args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

func isJSON(ts *testscript.TestScript, neg bool, args []string) {
	for _, file := range args {
		for line := range strings.Lines(ts.ReadFile(file)) {
			if !json.Valid([]byte(line)) != neg {
				ts.Fatalf("%s: %q: JSON is %v", file, line, neg)
			}
		}
	}
}

var listedID = regexp.MustCompile(`"id":"([0-9a-f-]{36})"`)

func sessionID(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Exec("lathe", "session", "list", "--json"))
	all := listedID.FindAllStringSubmatch(ts.ReadFile("stdout"), -1)
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	if n > len(all) {
		ts.Fatalf("there are only %d sessions", len(all))
	}
	ts.Setenv(args[0], all[n-1][1])
}
