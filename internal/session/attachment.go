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

// Attached names the files that go with a message, each with its size: "a.go (120 lines)".
func Attached(m llm.Message) []string {
	var out []string
	for _, p := range m.Parts {
		t, ok := p.(llm.Text)
		if !ok || t.Origin != llm.OriginFile {
			continue
		}
		first, _, _ := strings.Cut(t.Text, "\n")
		name, size, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(first, attachedOpen), ">"), attachedSize)
		if name, err := strconv.Unquote(name); err == nil {
			size, _ = strconv.Unquote(size)
			out = append(out, fmt.Sprintf("%s (%s)", name, size))
		}
	}
	return out
}
