package console

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/machine/term"
)

// Choices of the question whether to trust the folder.
const (
	trustYes = "trust"
	trustNo  = "leave"
)

// askTrust asks whether to apply the settings that the folder's files define and that need trust, if any, and reports
// whether it did.
func (c *Console) askTrust() bool {
	cfg := c.inst.Config()
	held := cfg.Held()
	if len(held) == 0 || cfg.Trusted() || !c.opts.Session.Interactive {
		return false
	}
	var b strings.Builder
	values, again := cfg.HeldValues()
	if again {
		fmt.Fprintf(&b, "The settings of %s that could do harm have changed since you trusted it. None of them counts "+
			"before you trust them again:\n", term.EscapeLine(cfg.Paths().Root))
	} else {
		fmt.Fprintf(&b,
			"The files of %s have settings that could do harm. None of them counts before you trust the folder:\n",
			term.EscapeLine(cfg.Paths().Root))
	}
	b.WriteString(describeHeld(values, cfg.Paths().Root, again))
	id := uuid.NewString()
	c.mu.Lock()
	c.trust, c.held = id, cfg
	c.mu.Unlock()
	c.publish(event.Asked{ID: id, Question: event.Question{
		Trust: true,
		Title: "Trust this folder?", Text: b.String(),
		Options: []event.Option{
			{ID: trustYes, Label: "Yes, these settings count", Help: "until they change"},
			{ID: trustNo, Label: "No, go on without them"},
		},
	}})
	return true
}

// describeHeld writes every value, since the user decides on what is seen: a heading for each file, and a row for the
// values of one object, such as a hook. A value that changed or is gone has its own row. Foreign text is escaped.
func describeHeld(values []config.HeldValue, root string, states bool) string {
	var b strings.Builder
	file, object, inner := "", "", ""
	for _, v := range values {
		if v.Origin.File != file {
			file, object = v.Origin.File, ""
			name := file
			if rel, err := filepath.Rel(root, file); err == nil && filepath.IsLocal(rel) {
				name = rel
			}
			b.WriteString("\nIn " + term.EscapeLine(name) + ":")
		}
		of, in, key := splitHeld(v.Path)
		row := of
		if states {
			row = string(v.State) + ": " + of
		}
		if row == object && v.Was == nil && v.State != config.Removed {
			b.WriteString(", ")
		} else {
			object, inner = row, ""
			b.WriteString("\n  " + term.EscapeLine(row) + ": ")
		}
		if in != inner {
			inner = in
			b.WriteString(term.EscapeLine(in) + ": ")
		}
		b.WriteString(term.EscapeLine(strings.TrimSpace(key + " " + string(v.JSON))))
		if v.Was != nil {
			b.WriteString(", was " + term.EscapeLine(string(v.Was)))
			object = ""
		}
	}
	return b.String()
}

// splitHeld cuts the path of a value: the object of the settings that it belongs to (hooks.Stop[0], env), the objects
// in that, the key. A path with unusual names stays whole: they could imitate other values.
func splitHeld(path string) (object, inner, key string) {
	usual := func(r rune) bool {
		return r < 0x80 && (r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' ||
			strings.ContainsRune("._-[]", r))
	}
	if strings.ContainsFunc(path, func(r rune) bool { return !usual(r) }) {
		return path, "", ""
	}
	cut := strings.LastIndexByte(path, '.')
	if _, after, found := strings.Cut(path, "]."); found {
		cut = len(path) - len(after) - 1
	}
	if cut <= 0 {
		return path, "", ""
	}
	object, key = path[:cut], path[cut+1:]
	if i := strings.LastIndexByte(key, '.'); i > 0 {
		inner, key = key[:i], key[i+1:]
	}
	return object, inner, key
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
	defer func() { c.start(c.session()) }()
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
