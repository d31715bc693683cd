//go:build linux || darwin

package cli_test

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/face/gateway/telegram/fake"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// settings are the settings of a gateway, for --settings.
func (p *gatePlace) settings(gateway map[string]any) {
	b, err := json.Marshal(map[string]any{"gateway": gateway})
	if err != nil {
		p.t.Fatal(err)
	}
	p.args = append(p.args, "--settings", string(b))
}

// question waits for a message with buttons in a chat.
func (p *gatePlace) question(chat int64) (found fake.Message) {
	p.t.Helper()
	if !await.Until(func() bool {
		all := p.fake.Sent(chat)
		i := slices.IndexFunc(all, func(m fake.Message) bool { return len(m.Buttons) > 0 })
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	}) {
		p.t.Fatalf("no question: %s", bodies(p.fake.Sent(chat)))
	}
	return found
}

func (p *gatePlace) until(what string, f func() bool) {
	p.t.Helper()
	if !await.Until(f) {
		p.t.Fatalf("not: %s", what)
	}
}

func TestApprovalsComeFromApproversOnly(t *testing.T) {
	p := newGatePlace(t, "--allow", "7,8", "--approver", "7")
	p.start()
	p.fake.Say(fake.Private(ann), ann, "hello")
	p.await(ann, "an answer of some words")
	asked := p.fake.Say(fake.Private(ben), ben, "ask me")
	q := p.question(ann) // the approver's chat: Ben may not answer
	if !strings.Contains(q.Body(), "touch made.txt") || !strings.Contains(q.Body(), "telegram:8") {
		t.Errorf("%s", q.Body())
	}
	for _, row := range q.Buttons {
		if strings.Contains(row[0].Text, "lways") || strings.Contains(row[0].Data, "once") {
			t.Errorf("%+v", row)
		}
	}
	for _, who := range []int64{ben, eve} { // a forged press: the button of another chat
		p.fake.Press(fake.Message{ID: q.ID, Chat: fake.Private(who)}, who, q.Buttons[0][0].Data)
	}
	p.until("Ben and Eve are refused", func() bool { return len(p.fake.Answers()) == 2 })
	if got := strings.Join(p.fake.Answers(), " "); strings.Contains(got, "Answered") {
		t.Errorf("%s", got)
	}
	p.fake.Press(q, ann, q.Buttons[0][0].Data)
	if m := p.await(ben, "It is made."); m.ReplyTo != asked.ID {
		t.Errorf("%+v", m)
	}
	p.until("the question is closed", func() bool {
		m := p.fake.Message(q.ID)
		return len(m.Buttons) == 0 && strings.Contains(m.Body(), "Allowed once by telegram:7")
	})
	p.fake.Press(q, ann, q.Buttons[0][0].Data) // again
	p.until("a second answer is refused", func() bool {
		return slices.Contains(p.fake.Answers(), "This question is no longer open.")
	})
}

func TestAGroupIsHeardOnlyIfItIsListed(t *testing.T) {
	const listed, other = -100, -200
	p := newGatePlace(t, "--allow", "7,8", "--approver", "7")
	p.settings(map[string]any{"telegram": map[string]any{"chats": map[string]any{"-100": map[string]any{}}}})
	p.start()
	p.fake.Say(fake.Group(other), ann, "@lathe_bot hello")
	p.fake.Say(fake.Group(listed), eve, "@lathe_bot hello")
	p.fake.Say(fake.Group(listed), ann, "not for the bot")
	p.fake.Push("guest_message", map[string]any{
		"message_id": 5, "chat": fake.Group(listed), "from": fake.User{ID: ann},
		"text": "@lathe_bot hello", "guest_query_id": "x",
	})
	first := p.fake.Say(fake.Group(listed), ann, "@lathe_bot ask me first")
	q := p.question(listed)
	if q.Reader != ann { // nobody else sees it
		t.Errorf("%+v", q)
	}
	second := p.fake.Say(fake.Group(listed), ben, "@lathe_bot hello second")
	p.until("the second one is on disk", func() bool { return len(p.fake.Message(second.ID).Reactions) > 0 })
	p.fake.Press(q, ann, q.Buttons[0][0].Data)
	if m := p.await(listed, "It is made."); m.ReplyTo != first.ID {
		t.Errorf("%+v", m)
	}
	if m := p.await(listed, "an answer of some words"); m.ReplyTo != second.ID { // a turn of its own
		t.Errorf("%+v", m)
	}
	if n := len(p.fake.Sent(other)); n > 0 {
		t.Errorf("%s", bodies(p.fake.Sent(other)))
	}
	p.until("the drafts are gone", func() bool {
		return !strings.Contains(bodies(p.fake.Sent(listed)), "▸")
	})
}

func TestCommandsFilesAndProjects(t *testing.T) {
	p := newGatePlace(t, "--allow", "7")
	side := filepath.Join(p.home, "side")
	if err := os.Mkdir(side, 0o700); err != nil {
		t.Fatal(err)
	}
	p.settings(map[string]any{"projects": map[string]string{"side": side}, "transcribe": []string{"cat", "{file}"}})
	p.fake.Topics = true
	p.start()
	me := fake.Private(ann)
	p.fake.Say(me, ann, "/status")
	p.await(ann, "no session yet")
	voice := p.fake.Attach("voice.ogg", "audio/ogg", []byte("hello by voice"))
	p.fake.Say(me, ann, "", func(m *fake.Message) { m.Voice = &voice })
	p.await(ann, "an answer of some words")
	if !strings.Contains(lastPrompt(p.srv), "hello by voice") {
		t.Errorf("%s", lastPrompt(p.srv))
	}
	doc := p.fake.Attach("../../notes.txt", "text/plain", []byte("notes"))
	p.fake.Say(me, ann, "", func(m *fake.Message) { m.Document, m.Caption = &doc, "look at this" })
	p.until("the document's path is told", func() bool { return strings.Contains(lastPrompt(p.srv), "notes.txt") })
	photo := p.fake.Attach("", "", []byte("a picture"))
	p.fake.Say(me, ann, "", func(m *fake.Message) { m.Photo, m.Caption = []fake.File{photo}, "a photo" })
	p.until("the photo goes to the model", func() bool {
		return strings.Contains(lastPrompt(p.srv), "a photo") && strings.Contains(lastPrompt(p.srv), "image/jpeg")
	})
	p.fake.Say(me, ann, "/log")
	p.await(ann, "hello by voice")
	p.fake.Say(me, ann, "/status")
	p.await(ann, "lathe attach")
	p.fake.Say(me, ann, "/diff")
	p.await(ann, "changed no file")
	p.fake.Say(me, ann, "/loop 30m look around")
	p.await(ann, "every 30m")
	p.fake.Say(me, ann, "/todo")
	p.await(ann, "task list is empty")
	p.fake.Say(me, ann, "/bg hello aside")
	p.await(ann, "In the background")
	p.fake.Say(me, ann, "/project side")
	if m := p.await(ann, "begins a new session in `side`"); m.Thread == 0 {
		t.Errorf("%+v", m)
	}
	p.fake.Say(me, ann, "hello there", func(m *fake.Message) { m.Thread, m.Topic = 1, true })
	p.until("the topic has an answer", func() bool {
		return slices.ContainsFunc(p.fake.Sent(ann), func(m fake.Message) bool {
			return m.Thread == 1 && strings.Contains(m.Body(), "an answer")
		})
	})
	if out := p.must("ps"); !strings.Contains(out, side) {
		t.Errorf("%s", out)
	}
	if err := os.WriteFile(filepath.Join(p.dir, "plan.md"), []byte("the plan"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.fake.Say(me, ann, "/file plan.md")
	p.until("the file is sent", func() bool {
		return slices.ContainsFunc(p.fake.Sent(ann), func(m fake.Message) bool { return string(m.Data) == "the plan" })
	})
}

// lastPrompt is the newest request to the model.
func lastPrompt(s *llmtest.Server) string {
	all := s.Requests()
	if len(all) == 0 {
		return ""
	}
	return string(all[len(all)-1].Body)
}

func TestAServerWithoutRichMessagesGetsEntitiesInPieces(t *testing.T) {
	p := newGatePlace(t, "--allow", "7")
	long := strings.Repeat("A **bold** line with `code`.\n", 300)
	script := llmtest.Replies()
	reply := llmtest.Say(llmtest.Text("# Title\n\n" + long + "\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThe end."))
	script.Final = &reply
	p.serve(script)
	p.fake.Lacks = []string{"sendRichMessage", "sendRichMessageDraft", "sendMessageDraft"}
	p.start()
	p.fake.Say(fake.Private(ann), ann, "write")
	p.await(ann, "The end.")
	all := p.fake.Sent(ann)
	if len(all) < 2 || all[0].Rich != "" || len(all[0].Entities) == 0 || strings.Contains(all[0].Text, "**") {
		t.Errorf("%d messages, the first: %.300s %d", len(all), all[0].Body(), len(all[0].Entities))
	}
	if calls := p.fake.Calls(); calls["sendRichMessage"] > 1 {
		t.Errorf("%v", calls)
	}
}

func TestAWebhookTakesUpdatesWithItsSecretOnly(t *testing.T) {
	p := newGatePlace(t, "--allow", "7")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	p.settings(map[string]any{"telegram": map[string]any{"webhook": map[string]any{
		"listen": addr, "url": "http://" + addr + "/", "secret": "a-secret",
	}}})
	p.start()
	p.until("the webhook is set", func() bool { return p.fake.Calls()["setWebhook"] == 1 })
	if code := p.fake.Forge("a-guess", ann, "hello forged"); code != 403 {
		t.Errorf("%d", code)
	}
	p.fake.Say(fake.Private(ann), ann, "hello")
	p.await(ann, "an answer of some words")
	if out := bodies(p.fake.Sent(ann)); strings.Count(out, "an answer") != 1 {
		t.Errorf("%s", out)
	}
}

func TestACodePairsOnePerson(t *testing.T) {
	p := newGatePlace(t)
	p.start()
	out := p.must("gateway", "pair", "telegram")
	_, code, _ := strings.Cut(out, "/pair ")
	code = strings.TrimSpace(code)
	p.fake.Say(fake.Private(eve), eve, "/pair GUESS")
	p.await(eve, "not valid")
	p.fake.Say(fake.Private(ann), ann, "/pair "+code)
	p.await(ann, "Paired")
	p.fake.Say(fake.Private(ben), ben, "/pair "+code) // it was used
	p.await(ben, "not valid")
	p.fake.Say(fake.Private(ann), ann, "hello")
	p.await(ann, "an answer of some words")
	p.fake.Say(fake.Private(ann), ann, "/status") // who was paired may not approve: nothing is asked
	p.await(ann, "mode dontAsk")
}

func TestATurnStreamsAndIsStopped(t *testing.T) {
	p := newGatePlace(t, "--allow", "7")
	script := llmtest.Replies()
	slow := llmtest.Say(llmtest.Text(strings.Repeat("some words of a long answer ", 400)))
	slow.Chunk, slow.Gap = 20, llmtest.Duration(100_000_000)
	script.Final = &slow
	p.serve(script)
	p.start()
	p.fake.Say(fake.Private(ann), ann, "write")
	p.until("a draft grows", func() bool {
		all := p.fake.Drafts()
		return len(all) > 2 && len(all[len(all)-1]) > len(all[0]) && strings.Contains(all[len(all)-1], "some words")
	})
	waits := p.fake.Say(fake.Private(ann), ann, "and then this")
	p.until("the second message is taken", func() bool { return len(p.fake.Message(waits.ID).Reactions) > 0 })
	p.fake.Edit(waits, "and then that")
	p.until("the change is taken", func() bool { return len(p.fake.Message(waits.ID).Reactions) > 1 })
	p.fake.Stop(fake.Private(ann))
	p.await(ann, "*Stopped.*")
	p.until("the changed message is sent", func() bool { return strings.Contains(lastPrompt(p.srv), "and then that") })
}

func TestTheModelAsksByButtonsAndWords(t *testing.T) {
	p := newGatePlace(t, "--allow", "7,8")
	option := func(label string) map[string]any { return map[string]any{"label": label, "description": "as it says"} }
	ask := llmtest.Tool("AskUserQuestion", map[string]any{"questions": []any{
		map[string]any{
			"question": "Which colour?", "header": "Colour", "multiSelect": false,
			"options": []any{option("Red"), option("Blue")},
		},
		map[string]any{
			"question": "Which parts?", "header": "Parts", "multiSelect": true,
			"options": []any{option("Door"), option("Roof")},
		},
	}})
	run := llmtest.Tool("Bash", map[string]any{"command": "touch made.txt"})
	when := func(contains, result string, parts ...llmtest.Part) llmtest.Reply {
		return llmtest.Reply{When: &llmtest.When{Contains: contains, Result: result}, Parts: parts}
	}
	script := llmtest.Replies(when("", "Blue", llmtest.Text("It will be blue.")),
		when("", "use the other file", llmtest.Text("The other one, then.")), when("paint", "", ask), when("make", "", run))
	p.serve(script)
	p.start()
	me := fake.Private(ann)
	press := func(label string) {
		t.Helper()
		var m fake.Message
		data := ""
		p.until("a button "+label, func() bool {
			for _, sent := range p.fake.Sent(ann) {
				for _, row := range sent.Buttons {
					if row[0].Text == label {
						m, data = sent, row[0].Data
					}
				}
			}
			return data != ""
		})
		p.fake.Press(m, ann, data)
	}
	p.fake.Say(me, ann, "paint it")
	press("Blue")
	press("Door")
	press("✓ Door")
	press("Roof")
	p.until("the roof is picked", func() bool { return strings.Contains(buttons(p.fake.Sent(ann)), "✓ Roof") })
	press("Done")
	p.await(ann, "It will be blue.")
	if got := lastPrompt(p.srv); strings.Contains(got, `Door\"`) && !strings.Contains(got, "Roof") {
		t.Errorf("%s", got)
	}
	p.fake.Say(me, ann, "make it")
	var q fake.Message
	p.until("a question", func() bool {
		for _, m := range p.fake.Sent(ann) {
			if strings.Contains(m.Body(), "touch made.txt") && len(m.Buttons) > 0 {
				q = m
			}
		}
		return q.ID != 0
	})
	p.fake.Say(me, ann, "use the other file", func(m *fake.Message) { m.Reply = &q })
	p.await(ann, "The other one, then.")
}

func buttons(all []fake.Message) string {
	var b strings.Builder
	for _, m := range all {
		for _, row := range m.Buttons {
			b.WriteString(row[0].Text + "\n")
		}
	}
	return b.String()
}
