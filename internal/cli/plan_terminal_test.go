//go:build linux || darwin

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/machine/term/termtest"
)

// seated is lathe on a terminal, with a scripted model behind HTTP.
type seated struct {
	*termtest.Terminal
	t    *testing.T
	home string
	dir  string
	srv  *llmtest.Server
}

// seat starts it in the folder "project" of an empty home, with files, by their paths below home.
func seat(t *testing.T, model string, files map[string]string, args ...string) *seated {
	t.Helper()
	script, err := llmtest.Parse([]byte(model))
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	s := &seated{t: t, home: home, dir: filepath.Join(home, "project")}
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, name), []byte(text),
			0o700); err != nil { //nolint:gosec // some are programs
			t.Fatal(err)
		}
	}
	s.srv = llmtest.New(script, llmtest.Options{Vars: map[string]string{"WORKDIR": s.dir}})
	if err := s.srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.srv.Close() })
	c := exec.Command(buildLathe(t), args...)
	c.Dir = s.dir
	c.Env = []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "ANTHROPIC_BASE_URL=" + s.srv.URL(),
		"ANTHROPIC_API_KEY=sk-test", "LANG=C.UTF-8",
		"EDITOR=" + filepath.Join(home, "editor"),
	}
	s.Terminal = termtest.Start(t, c, 100, 40)
	return s
}

// sends waits until a request has a text.
func (s *seated) sends(text string) string {
	s.t.Helper()
	body := ""
	if !await.Until(func() bool {
		for _, r := range s.srv.Requests() {
			if strings.Contains(string(r.Body), text) {
				body = string(r.Body)
			}
		}
		return body != ""
	}) {
		s.t.Fatalf("no request has %q; the screen:\n%s", text, s.Text())
	}
	return body
}

func (s *seated) leave() {
	s.t.Helper()
	s.Press("\x03", "again leaves")
	s.Type("\x03")
	_ = s.Ends()
}

const planModel = `reply
  when contains="Greet the world"
  say Now I work.
reply
  when turn=0 tools=true
  call ExitPlanMode {"plan": "# Greet the world\n\n1. Say hello\n2. Say goodbye"}
reply
  when result="shorter please"
  say A shorter one comes.
final
  say Now I work.
`

// Every answer to a plan in the terminal does what it says.
func TestAPlanIsAnsweredInTheTerminal(t *testing.T) {
	files := map[string]string{
		"editor":                      "#!/bin/sh\nprintf '\\n3. Bow\\n' >>\"$1\"\n",
		".config/lathe/settings.json": `{"plansDirectory": "plans"}`,
	}
	for name, tc := range map[string]struct {
		keys  func(*seated)
		sent  string
		mode  string
		plans string // text of the copy in the folder for plans
	}{
		"yes, and accept edits": {
			keys: func(s *seated) { s.Press("1", "Now I work.") }, sent: "the mode is acceptEdits",
			mode: "acceptEdits", plans: "2. Say goodbye",
		},
		"yes, and ask": {
			keys: func(s *seated) { s.Press("2", "Now I work.") }, sent: "the mode is default", mode: "default",
			plans: "2. Say goodbye",
		},
		"yes, in a fresh context": {
			keys: func(s *seated) { s.Press("3", "Now I work.") }, sent: "2. Say goodbye", mode: "acceptEdits",
			plans: "2. Say goodbye",
		},
		"no": {keys: func(s *seated) {
			s.Press("4", "> ")
			s.Hides("Approve this plan?")
			s.Line("and now?")
		}, sent: "and now?", mode: "plan"},
		"no, with guidance": {keys: func(s *seated) {
			s.Press("5", "answer:")
			s.Type("shorter please")
			s.Press("\r", "A shorter one comes.")
		}, sent: "shorter please", mode: "plan"},
		"edited in the editor": {keys: func(s *seated) {
			s.Press("\x07", "3. Bow")
			s.Press("1", "Now I work.")
		}, sent: "3. Bow", mode: "acceptEdits", plans: "3. Bow"},
	} {
		t.Run(name, func(t *testing.T) {
			s := seat(t, planModel, files, "--permission-mode", "plan", "greet")
			s.Shows("Approve this plan?")
			s.Shows("2. Say goodbye")
			tc.keys(s)
			s.sends(tc.sent)
			if name == "yes, in a fresh context" {
				body := string(s.srv.Requests()[len(s.srv.Requests())-1].Body)
				if strings.Contains(body, "ExitPlanMode") && strings.Contains(body, "tool_use") {
					t.Error("the calls before the plan are in the request")
				}
			}
			s.Shows("· " + tc.mode + " ·")
			s.leave()
			plans, _ := filepath.Glob(filepath.Join(s.dir, "plans", "*-greet-the-world.md"))
			if got := len(plans); got != map[bool]int{true: 1}[tc.plans != ""] {
				t.Fatalf("%q", plans)
			}
			for _, path := range plans {
				if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), tc.plans) {
					t.Errorf("%s %v", text, err)
				}
			}
		})
	}
}

const askingModel = `reply
  when result="It is blue."
  say Both are done.
reply
  when result="Blue"
  call Bash {"command":"touch painted"}
reply
  when result="no output"
  say It is blue.
reply
  when contains="ask something"
  call AskUserQuestion {"questions": [{"question": "Which colour?", "header": "Colour", "options": [{"label": "Red"}, {"label": "Blue"}]}]}
reply
  when turn=0 tools=true
  call Task {"description":"small work","prompt":"ask something","subagent_type":"general-purpose"}
`

// A subagent's question and its permission are asked in the parent's terminal, with the agent's name.
func TestASubagentAsksInItsParentsTerminal(t *testing.T) {
	s := seat(t, askingModel, nil, "--sandbox", "off", "delegate")
	s.Until("a question that names the agent", func(v *termtest.Screen) bool {
		_, question, _ := strings.Cut(v.Text(), "╭─")
		return strings.Contains(question, "Which colour?") && strings.Contains(question, "general-purpose")
	})
	s.Press("2", "touch painted")
	s.Until("a question that names the agent", func(v *termtest.Screen) bool {
		_, question, _ := strings.Cut(v.Text(), "╭─")
		return strings.Contains(question, "touch painted") && strings.Contains(question, "general-purpose")
	})
	if _, err := os.Stat(filepath.Join(s.dir, "painted")); err == nil {
		t.Error("the command ran before the answer")
	}
	s.Press("1", "Both are done.")
	s.leave()
	if _, err := os.Stat(filepath.Join(s.dir, "painted")); err != nil {
		t.Error(err)
	}
}

// A host gets both as requests that name the agent's call.
func TestASubagentAsksItsHost(t *testing.T) {
	d := drive(t, askingModel, "--sandbox", "off", "--permission-prompt-tool", "stdio")
	d.send(said("delegate", "1"))
	q := d.answerHost(`{"behavior":"allow","updatedInput":{"answers":{"Which colour?":"Blue"}}}`)
	p := d.answerHost(`{"behavior":"allow"}`)
	if q["tool_name"] != "AskUserQuestion" || q["agent_id"] == nil || p["tool_name"] != "Bash" ||
		p["agent_id"] != q["agent_id"] {
		t.Errorf("%v\n%v", q, p)
	}
	if r := d.kind("result"); r["result"] != "Both are done." {
		t.Errorf("%v", r)
	}
	d.end()
}
