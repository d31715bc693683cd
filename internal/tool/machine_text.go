package tool

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/permission"
)

var _ permission.Texts = (*Machine)(nil)

// Text reads a small file that the policy lets everybody read. It answers from the machine once, so that all of one
// decision rests on the same text.
func (m *Machine) Text(path string, max int) (string, bool) {
	if t, ok := m.texts[path]; ok {
		return t.text, t.ok && len(t.text) <= max
	}
	text, ok := m.readText(path, max)
	if m.texts == nil {
		m.texts = map[string]machineText{}
	}
	m.texts[path] = machineText{text, ok}
	return text, ok
}

type machineText struct {
	text string
	ok   bool
}

// readText opens the file that was judged: the path without links, which must still be that one.
func (m *Machine) readText(path string, max int) (string, bool) {
	node := m.Stat(path)
	if node.Kind != permission.File || m.env.MayRead == nil || m.env.MayRead(node.Real) != permission.Allow {
		return "", false
	}
	was, err := os.Lstat(node.Real)
	if err != nil || !was.Mode().IsRegular() || was.Size() > int64(max) {
		return "", false
	}
	f, err := os.Open(node.Real)
	if err != nil {
		return "", false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !os.SameFile(was, info) {
		return "", false
	}
	if real, err := files.FollowLinks(path); err != nil || real != node.Real {
		return "", false // a folder on the way became a link
	}
	data, err := io.ReadAll(io.LimitReader(f, int64(max)+1))
	text := string(data)
	return text, err == nil && len(data) <= max && utf8.Valid(data) && !strings.ContainsRune(text, 0)
}
