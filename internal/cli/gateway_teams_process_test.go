//go:build linux || darwin

package cli_test

import (
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/face/gateway/teams/fake"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// People of the tenant.
const (
	anna  = "aaaaaaaa-0000-0000-0000-000000000007"
	boris = "bbbbbbbb-0000-0000-0000-000000000008"
)

// teamsPlace is a machine with lathe teams, and a fake of the connector.
type teamsPlace struct {
	*gatePlace
	teams *fake.Server
}

func newTeamsPlace(t *testing.T, script *llmtest.Script, args ...string) *teamsPlace {
	t.Helper()
	p := &teamsPlace{gatePlace: newGatePlace(t, args...), teams: fake.New()}
	t.Cleanup(p.teams.Close)
	if script != nil {
		p.serve(script)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	p.teams.Endpoint = "http://" + addr + "/api/messages"
	p.settings(map[string]any{"teams": map[string]any{
		"appId": fake.App, "tenant": fake.Tenant, "listen": addr, "chats": map[string]any{"19:room": map[string]any{}},
	}})
	return p
}

// begin starts the host.
func (p *teamsPlace) begin() {
	p.t.Helper()
	p.host = exec.Command(p.lathe, append([]string{"teams", "--cwd", p.dir}, p.args...)...)
	p.host.Dir, p.host.Stdout, p.host.Stderr = p.dir, p, p
	p.host.Env = append(p.environ(), "TEAMS_APP_PASSWORD="+fake.Password, "TEAMS_LOGIN_BASE="+p.teams.URL())
	if err := p.host.Start(); err != nil {
		p.t.Fatal(err)
	}
}

// find waits for a message of the bot.
func (p *teamsPlace) find(conversation string, fits func(fake.Message) bool) (found fake.Message) {
	p.t.Helper()
	p.until("a message of Teams", func() bool {
		all := p.teams.Sent(conversation)
		i := slices.IndexFunc(all, fits)
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	})
	return found
}

func contains(text string) func(fake.Message) bool {
	return func(m fake.Message) bool { return strings.Contains(m.Text, text) }
}

func TestTeamsConversesWithApprovals(t *testing.T) {
	p := newTeamsPlace(t, nil, "--allow", anna+","+boris, "--approver", anna)
	p.begin()
	hello := p.teams.Activity("a:anna", anna, "hello")
	p.teams.Say(hello)
	p.teams.Say(hello) // again
	p.find("a:anna", contains("an answer of some words"))

	p.teams.Say(fake.Mention(p.teams.Activity("19:room;messageid=5", boris, "ask me")))
	room := "19:room;messageid=5"
	q := p.find(room, func(m fake.Message) bool { return len(m.Tokens) > 0 })
	if !strings.Contains(q.Card, "touch made.txt") || !strings.Contains(q.Card, "Action.Execute") {
		t.Errorf("%s", q.Card)
	}
	if out := p.teams.Say(p.teams.Press(room, boris, q.Tokens[0])); !strings.Contains(out, "may not") {
		t.Errorf("%s", out)
	}
	if out := p.teams.Say(p.teams.Press(room, anna, q.Tokens[0])); !strings.Contains(out, "Answered.") {
		t.Errorf("%s", out)
	}
	p.find(room, contains("It is made."))
	p.find(room, contains("Allowed once by teams:"+anna))
	n := 0
	for _, m := range p.teams.Sent("a:anna") {
		if strings.Contains(m.Text, "an answer") {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d answers", n)
	}
	p.teams.Limit(2)
	p.teams.Say(p.teams.Activity("a:anna", anna, "/status"))
	p.find("a:anna", contains("lathe attach"))
}

func TestTeamsRefusesForgedActivities(t *testing.T) {
	p := newTeamsPlace(t, nil, "--allow", anna)
	p.begin()
	p.teams.Say(p.teams.Activity("a:anna", anna, "hello")) // it listens
	other := fake.New()
	defer other.Close()
	claims := func(name string, v any) map[string]any {
		c := p.teams.Claims()
		c[name] = v
		return c
	}
	for name, token := range map[string]string{
		"another key":      other.Sign(p.teams.Claims()),
		"no signature":     "eyJhbGciOiJub25lIn0.e30.",
		"another issuer":   p.teams.Sign(claims("iss", "https://sts.windows.net/"+fake.Tenant+"/")),
		"another audience": p.teams.Sign(claims("aud", "another")),
		"an old token":     p.teams.Sign(claims("exp", time.Now().Add(-time.Hour).Unix())),
		"an early token":   p.teams.Sign(claims("nbf", time.Now().Add(time.Hour).Unix())),
	} {
		if code, _ := p.teams.Post(p.teams.Activity("a:anna", anna, "forged"), token); code != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, code)
		}
	}
	for name, change := range map[string]func(a map[string]any){
		"another service": func(a map[string]any) { a["serviceUrl"] = "https://evil.example" },
		"another channel": func(a map[string]any) { a["channelId"] = "webchat" },
		"another tenant": func(a map[string]any) {
			a["channelData"] = map[string]any{"tenant": map[string]any{"id": "other"}}
		},
	} {
		a := p.teams.Activity("a:anna", anna, "forged")
		change(a)
		if code, _ := p.teams.Post(a, p.teams.Sign(p.teams.Claims())); code != http.StatusForbidden {
			t.Errorf("%s: %d", name, code)
		}
	}
	p.find("a:anna", contains("an answer of some words"))
	if strings.Contains(lastPrompt(p.srv), "forged") {
		t.Error("a forged activity was a prompt")
	}
}

func TestTeamsStreamsAndAnswersOnceOverKills(t *testing.T) {
	script := llmtest.Replies()
	slow := llmtest.Say(llmtest.Text(strings.Repeat("some words of a long answer ", 40) + "the end"))
	slow.Chunk, slow.Gap = 20, llmtest.Duration(80*time.Millisecond)
	script.Final = &slow
	p := newTeamsPlace(t, script, "--allow", anna)
	p.begin()
	for range 3 {
		a := p.teams.Activity("a:anna", anna, "write")
		p.teams.Say(a)
		p.until("a stream", func() bool {
			all := p.teams.Typings()
			return len(all) > 0 && strings.Contains(all[len(all)-1], "some words")
		})
		p.kill(syscall.SIGKILL)
		p.begin()
		p.find("a:anna", func(m fake.Message) bool { return strings.HasSuffix(m.Text, "the end") && m.Reply == a["id"] })
	}
	answers := map[string]int{}
	for _, m := range p.teams.Sent("a:anna") {
		if strings.HasSuffix(m.Text, "the end") {
			answers[m.Reply]++
		}
	}
	for id, n := range answers {
		if n != 1 {
			t.Errorf("%d answers to %s", n, id)
		}
	}
	if got := p.teams.Refused(); slices.Contains(got, "BadArgument") {
		t.Errorf("%v", got)
	}
}
