package boundary

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

// defaultViewMB is how much of a private view's changes memory takes, in megabytes.
const defaultViewMB = 1024

// limitView ends a command that changes more in its private view than memory may take. Later views keep their changes
// on the disk, where a command has all the room there is.
func (r *Run) limitView(p *sandbox.Proc) {
	if p == nil || len(r.Policy.View) == 0 || !within(r.Policy.View[0].Upper, r.b.memory()) {
		return
	}
	limit := int64(r.b.viewMB()) << 20
	go func() {
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-p.Done():
				return
			case <-tick.C:
			}
			if r.viewSize() <= limit {
				continue
			}
			r.b.onDisk.Store(true)
			r.guard.note(fmt.Sprintf("the command was ended: it wrote more than %d MB in its private view of the project. "+
				"From now on such changes are kept on the disk: call it again. sandbox.viewMemoryMB sets the limit.",
				r.b.viewMB()))
			p.End()
			return
		}
	}()
}

// viewSize is the size of the files in the view's layers, in bytes.
func (r *Run) viewSize() (size int64) {
	for _, o := range r.Policy.View {
		_ = filepath.WalkDir(o.Upper, func(_ string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				if fi, err := e.Info(); err == nil {
					size += fi.Size()
				}
			}
			return nil // what cannot be looked at is left out
		})
	}
	return size
}

// viewMB is the limit in megabytes.
func (b *Boundary) viewMB() int {
	if b.s.ViewMemoryMB != nil {
		return *b.s.ViewMemoryMB
	}
	return defaultViewMB
}

// memory is the folder in memory; a path that nothing is in where there is none.
func (b *Boundary) memory() string {
	if b.inMemory == "" {
		return "\x00"
	}
	return b.inMemory
}
