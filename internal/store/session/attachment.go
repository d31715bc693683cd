package session

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// The text of an attached file is one element whose first line names the file and how much of it follows.
const (
	attachedOpen  = "<attached file="
	attachedSize  = " size="
	attachedClose = "</attached>"
)

// AttachedText is the part of a message that has the content of a file which its author named. Size is for
// people and the model: "120 lines".
func AttachedText(name, size, content string) llm.Text {
	text := attachedOpen + strconv.Quote(name) + attachedSize + strconv.Quote(size) + ">\n" +
		strings.TrimSuffix(strings.ReplaceAll(content, attachedClose, "&lt;/attached>"), "\n") + "\n" + attachedClose
	return llm.Text{Text: text, Origin: llm.OriginFile}
}

// attachedID begins the ids of AttachedID.
const attachedID = "attached "

// AttachedID returns an id for an attached file, to use as a call id in Lines.CallID and InContext: the file is in a
// part made by AttachedText instead of a call's result.
func AttachedID(name string) string { return attachedID + name }

// attachedName returns the name of the file that a part attaches, and its size for people.
func attachedName(p llm.Part) (name, size string, ok bool) {
	t, ok := p.(llm.Text)
	if !ok || t.Origin != llm.OriginFile {
		return "", "", false
	}
	first, _, _ := strings.Cut(t.Text, "\n")
	name, size, _ = strings.Cut(strings.TrimSuffix(strings.TrimPrefix(first, attachedOpen), ">"), attachedSize)
	name, err := strconv.Unquote(name)
	size, _ = strconv.Unquote(size)
	return name, size, err == nil
}

// Attached names the files that go with a message, each with its size: "a.go (120 lines)".
func Attached(m llm.Message) []string {
	var out []string
	for _, p := range m.Parts {
		if name, size, ok := attachedName(p); ok {
			out = append(out, fmt.Sprintf("%s (%s)", name, size))
		}
	}
	return out
}
