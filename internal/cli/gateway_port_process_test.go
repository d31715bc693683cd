//go:build linux || darwin

package cli_test

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/lathe-dev/lathe/internal/face/gateway/telegram/fake"
	"github.com/lathe-dev/lathe/internal/face/port/porttest"
)

// notInChats are the tests of the port that a chat has no words for.
var notInChats = map[string]string{
	"Queue":            "a chat changes a message that waits by editing it (TestATurnStreamsAndIsStopped); it has no list",
	"NamedTurn":        "a person names no turn; the host does, for messages of the author of the running turn",
	"ManyAtOnce":       "a chat sends no requests beside messages",
	"CursorGetsMissed": "people have no cursor; the host's is tested by kills (TestKillsOfAGatewayLoseNothing)",
	"SameOrder":        "a chat shows answers and questions, not events",
	"Read":             "a chat reads by /log, /todo, /status and /file (TestCommandsFilesAndProjects)",
}

// The promises of the port as far as a chat can express them, through the host and Telegram's API.
func TestThePortThroughTelegram(t *testing.T) {
	tests := map[string]func(*testing.T, *gatePlace){
		"Prompt": func(t *testing.T, p *gatePlace) {
			m := p.fake.Say(fake.Private(ann), ann, "hello")
			if a := p.await(ann, "an answer"); a.ReplyTo != m.ID {
				t.Errorf("%+v", a)
			}
		},
		"SamePromptOnce": func(t *testing.T, p *gatePlace) {
			m := p.fake.Say(fake.Private(ann), ann, "hello")
			p.fake.Again()
			p.await(ann, "an answer")
			p.fake.Push("message", *m) // as another update
			p.fake.Again()
			p.fake.Say(fake.Private(ann), ann, "/log")
			log := p.await(ann, "**hello**")
			if strings.Count(log.Body(), "**hello**") != 1 || len(p.answersTo(ann, m.ID)) != 1 {
				t.Errorf("%s", bodies(p.fake.Sent(ann)))
			}
		},
		"QuestionsReach":  answersAnApproval,
		"AnswersByPolicy": answersAnApproval,
		"FirstAnswer": func(t *testing.T, p *gatePlace) {
			p.fake.Say(fake.Private(ann), ann, "ask me")
			q := p.question(ann)
			p.fake.Press(q, ann, q.Buttons[0][0].Data)
			p.fake.Press(q, ann, q.Buttons[len(q.Buttons)-1][0].Data)
			p.await(ann, "It is made.")
			p.until("the second answer is refused", func() bool {
				return slices.Contains(p.fake.Answers(), "This question is no longer open.")
			})
		},
		"TurnWithoutFace": func(t *testing.T, p *gatePlace) {
			m := p.fake.Say(fake.Private(ann), ann, "hello")
			p.until("it is taken", func() bool { return len(p.fake.Message(m.ID).Reactions) > 0 })
			p.kill(syscall.SIGKILL)
			p.start()
			p.until("one answer", func() bool { return len(p.answersTo(ann, m.ID)) == 1 })
		},
		"Restart": func(t *testing.T, p *gatePlace) {
			p.fake.Say(fake.Private(ann), ann, "ask me")
			q := p.question(ann)
			jobs, err := p.List()
			if err != nil || len(jobs) != 1 {
				t.Fatalf("%+v %v", jobs, err)
			}
			p.jobsPlace.kill(jobs[0].ID)
			p.until("the old question is closed", func() bool { return len(p.fake.Message(q.ID).Buttons) == 0 })
			again := p.question(ann)
			p.fake.Press(again, ann, again.Buttons[0][0].Data)
			p.await(ann, "It is made.")
		},
	}
	for _, name := range porttest.Names() {
		t.Run(name, func(t *testing.T) {
			if why := notInChats[name]; why != "" {
				t.Log("not in chats: " + why)
				return
			}
			if tests[name] == nil {
				t.Fatal("write it, or say in notInChats why a chat has no words for it")
			}
			p := newGatePlace(t, "--allow", "7")
			p.start()
			tests[name](t, p)
		})
	}
}

func answersAnApproval(t *testing.T, p *gatePlace) {
	m := p.fake.Say(fake.Private(ann), ann, "ask me")
	q := p.question(ann)
	p.kill(syscall.SIGKILL) // who attaches later gets the question, too
	p.start()
	p.fake.Press(fake.Message{ID: q.ID, Chat: fake.Private(eve)}, eve, q.Buttons[0][0].Data)
	p.fake.Press(q, ann, q.Buttons[0][0].Data)
	if a := p.await(ann, "It is made."); a.ReplyTo != m.ID || strings.Contains(bodies(p.fake.Sent(ann)), "telegram:66") {
		t.Errorf("%s", bodies(p.fake.Sent(ann)))
	}
}
