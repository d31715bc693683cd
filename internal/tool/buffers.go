package tool

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/machine/files"
)

// Buffers are the texts of files that an editor holds, which may be newer than the disk. A method returns false where
// no editor answers in time.
type Buffers interface {
	Open() bool // an editor is there
	Text(ctx context.Context, path string) (text string, ok bool)
	Save(ctx context.Context, path, text string) bool // the text is in the editor and on disk
}

// bufferMax is the largest text that is exchanged with an editor, in bytes.
const bufferMax = 2 << 20

// buffered reports whether an editor may have other texts than the disk.
func (e *Files) buffered(p files.Path) bool {
	return e.Buffers != nil && e.Isolated == nil && p.Inside() && e.Buffers.Open()
}

// unsaved is the content of a file in the editor, encoded like the file; nil: it is that of the disk.
func (e *Files) unsaved(ctx context.Context, p files.Path, disk []byte) []byte {
	if !e.buffered(p) || len(disk) > bufferMax || files.Binary(disk[:min(len(disk), 8000)]) {
		return nil
	}
	text, ok := e.Buffers.Text(ctx, p.Lexical)
	was := files.Decode(disk)
	if !ok || text == was.View || text+"\n" == was.View || len(text) > bufferMax { // some editors leave out the last line end
		return nil
	}
	return was.Rewrite(text)
}

// fromEditor takes the content that the editor has in the place of the one on disk.
func (c *change) fromEditor(ctx context.Context) {
	if c.info == nil {
		return
	}
	if text := c.env.unsaved(ctx, c.path, c.before); text != nil {
		c.disk, c.before = c.before, text
	}
}

// saveInEditor has the editor take the new content and write it. False: lathe writes it itself.
func (c *change) saveInEditor(ctx context.Context) (notes string, saved bool, err error) {
	if !c.env.buffered(c.path) || len(c.after) > bufferMax || !utf8.Valid(c.after) {
		return "", false, nil
	}
	if c.info != nil {
		disk := c.before
		if c.disk != nil {
			disk = c.disk
		}
		now := c.env.unsaved(ctx, c.path, disk)
		if now == nil {
			now = disk
		}
		if HashOf(now) != HashOf(c.before) {
			return "", false, fmt.Errorf("cannot write %s: %w in the editor. Read it again, then try again", c.path.Lexical,
				files.ErrChanged)
		}
	}
	if !c.env.Buffers.Save(ctx, c.path.Lexical, files.Decode(c.after).View) {
		return "", false, nil
	}
	data, info, err := c.target.Read(writeMax)
	switch {
	case err != nil:
		return "", false, nil // it is not there: the editor did not write it
	case HashOf(data) == HashOf(c.after):
		c.note(agent.CallID(ctx), info)
	case c.info != nil && files.Unchanged(c.info, info):
		return "", false, nil
	default:
		c.env.Reads.Forget(c.path.Real)
		notes = " The editor changed it as it was saved: read it before you write to it again."
	}
	c.env.Cache.InvalidateFile(c.path.Real)
	return notes, true, nil
}
