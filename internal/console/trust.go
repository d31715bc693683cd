package console

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/term"
)

// Choices of the question whether to trust the folder.
const (
	trustYes = "trust"
	trustNo  = "leave"
)

// askTrust asks whether to apply the settings that the folder's files define and that need trust, if any.
func (c *Console) askTrust() {
	cfg := c.inst.Config()
	held := cfg.Held()
	if len(held) == 0 || cfg.Trusted() || !c.opts.Session.Interactive {
		return
	}
	var b strings.Builder
	values, again := cfg.HeldValues()
	if again {
		fmt.Fprintf(&b, "The settings of %s that could do harm have changed since you trusted it. None of them counts before you trust them again:\n", term.EscapeLine(cfg.Paths().Root))
	} else {
		fmt.Fprintf(&b, "The files of %s have settings that could do harm. None of them counts before you trust the folder:\n", term.EscapeLine(cfg.Paths().Root))
	}
	for _, v := range values { // the question shows every value
		text := v.Describe()
		if !again {
			text = strings.TrimPrefix(text, string(config.New)+": ")
		}
		b.WriteString("\n" + term.EscapeLine(text))
	}
	id := uuid.NewString()
	c.mu.Lock()
	c.trust, c.held = id, cfg
	c.mu.Unlock()
	c.publish(event.Asked{ID: id, Question: event.Question{
		Title: "Trust this folder?", Text: b.String(),
		Options: []event.Option{
			{ID: trustYes, Label: "Yes, these settings count", Help: "until they change"},
			{ID: trustNo, Label: "No, go on without them"},
		},
	}})
}

// answerTrust handles the answer if it is to that question.
func (c *Console) answerTrust(id string, a event.Answer) bool {
	c.mu.Lock()
	ours, cfg := id != "" && c.trust == id, c.held
	if ours {
		c.trust, c.held = "", nil
	}
	c.mu.Unlock()
	if !ours {
		return false
	}
	c.publish(event.Answered{ID: id, Answer: a})
	if a.Choice != trustYes || a.Canceled {
		return true
	}
	err := cfg.Trust() // trusts the values shown, even if the files have changed
	if err == nil {
		_, err = c.inst.Reload()
	}
	if err != nil {
		c.notice("error", "the folder is not trusted: %v", err)
		return true
	}
	c.notice("info", "the folder is trusted; its settings count now")
	c.refreshLine()
	return true
}
