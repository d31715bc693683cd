package tool

import (
	"strings"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/machine/files"
)

// A file that is read again is given as a diff where the model can follow it: the file is long, the diff is short, and
// the text that it starts from is not far back in the conversation.
const (
	diffFrom = 200 // lines of the file
	diffBack = 40  // messages
)

// keptText is a text of a file and the call whose result shows all of it.
type keptText struct {
	state  State
	enc    files.Encoding
	view   string
	callID string
}

// keptTexts holds a text of each file, up to keptBytes in all: the one that was kept longest ago goes first.
type keptTexts struct {
	mu    sync.Mutex
	at    *lru.LRU[string, keptText]
	bytes int
}

const keptBytes = 4 << 20

func newKeptTexts() *keptTexts {
	k := &keptTexts{}
	k.at, _ = lru.NewLRU(trackedFiles, func(_ string, t keptText) { k.bytes -= len(t.view) }) // fails only below 1
	return k
}

func (k *keptTexts) get(path string) (keptText, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.at.Peek(path)
}

func (k *keptTexts) add(path string, t keptText) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.at.Remove(path)
	if len(t.view) > keptBytes/4 {
		return
	}
	k.at.Add(path, t)
	for k.bytes += len(t.view); k.bytes > keptBytes; {
		k.at.RemoveOldest()
	}
}

func (k *keptTexts) forget(path string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.at.Remove(path)
}

func (k *keptTexts) clear() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.at.Purge()
}

// diff is the file as a diff from the text that the last full Read of it shows, and the call of that Read; "" where the
// whole text serves the model better.
func (c *readCall) diff(p *page, now *files.Text) (text, from string) {
	base, ok := c.env.Reads.full.get(c.path.Real)
	if !ok || !p.whole() || p.total < diffFrom || base.enc != now.Encoding || c.env.InContext == nil ||
		!c.env.InContext(base.callID) || c.env.Ago != nil && c.env.Ago(base.callID) > diffBack {
		return "", ""
	}
	d, _ := diffTexts(c.path.Lexical, base.view, now.View)
	_, hunks, ok := strings.Cut(d.Unified, "\n@@")
	if !ok || 2*len(hunks) > len(now.View) {
		return "", ""
	}
	return "File changed since your full Read of it. Diff from that text to now:\n@@" + hunks, base.callID
}

// whole reports whether the page shows every character of a file.
func (p *page) whole() bool { return p.first == 1 && !p.more && p.cut == 0 }

// changed is the result of a Read that gives a diff.
func (c *readCall) changed(p *page, text string) *agent.Result {
	r := agent.TextResult(text)
	r.Title = c.env.Rel(c.path.Lexical)
	r.View = event.TextView{Text: text, Path: c.path.Lexical, Summary: "changes since it was read"}
	r.Meta = map[string]any{"type": "file_changes", "file": map[string]any{
		"filePath": c.path.Lexical, "startLine": p.first, "numLines": len(p.lines), "totalLines": p.total,
	}}
	return r
}
