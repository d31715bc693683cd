package console

import (
	"path/filepath"
	"regexp"
	"sync"

	"github.com/lathe-dev/lathe/internal/event"
)

// inTemp finds paths in /tmp.
var inTemp = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("/tmp/[^\\s'\"`;|&<>()]+")
})

// tellTemp says once where the files lie that commands write to /tmp: with the sandbox that is the session's own
// folder. Seen maps a path in /tmp to its place.
func (c *Console) tellTemp(b event.ToolEnd, seen func(string) string) {
	v, ok := b.View.(event.Command)
	if !ok || c.saidTemp {
		return
	}
	for _, path := range inTemp().FindAllString(v.Command+" "+v.Output, -1) {
		if at := seen(path); at != path {
			c.saidTemp = true
			c.notice("info", "commands have a /tmp of their own: %s is %s; /tmp/X is %s", path, at,
				filepath.Join(at[:len(at)-len(path[len("/tmp"):])], "X"))
			return
		}
	}
}
