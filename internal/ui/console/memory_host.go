package console

import (
	"regexp"
	"sync"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/tool/memory"
	"github.com/lathe-dev/lathe/internal/ui/command"
)

func (h host) Memory() command.Memory { return memoryHost(h) }

type memoryHost struct{ c *Console }

func (m memoryHost) Notes() *memory.Store { return m.c.inst.Notes() }

// givenFile finds the heads that package prompt puts before each memory file.
var givenFile = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(?:Contents of|Instructions for files like this one, from) (.+ \(.+\)):$`)
})

func (m memoryHost) Given() (out []string) {
	seen := map[string]bool{}
	add := func(parts []llm.Part) {
		for _, p := range parts {
			t, ok := p.(llm.Text)
			if !ok || t.Origin != llm.OriginMemory {
				continue
			}
			for _, found := range givenFile().FindAllStringSubmatch(t.Text, -1) {
				if !seen[found[1]] {
					seen[found[1]] = true
					out = append(out, found[1])
				}
			}
		}
	}
	for _, msg := range m.c.session().Messages() {
		add(msg.Parts)
		for _, p := range msg.Parts {
			if r, ok := p.(llm.ToolResult); ok {
				add(r.Parts)
			}
		}
	}
	return out
}
