package tool

import (
	"encoding/hex"

	"github.com/lathe-dev/lathe/internal/store/session"
)

// Entry is the record of the model's knowledge of a file.
func (s Seen) Entry(path string) session.Seen {
	b := session.Seen{
		Path: path, Mtime: s.Mtime, Size: s.Size, Inode: s.Inode, Changed: s.Changed, Lines: s.Lines,
		Written: s.Written, By: s.By, Needs: s.Needs, Partial: s.Partial,
	}
	if s.Hashed() {
		b.Hash = hex.EncodeToString(s.Hash[:])
	}
	for _, sp := range s.Shown {
		b.Shown = append(b.Shown, session.Lines{First: sp.First, Last: sp.Last, CallID: sp.CallID, Needs: sp.Needs})
	}
	return b
}

// SeenFrom reads such a record.
func SeenFrom(b session.Seen) Seen {
	s := Seen{
		State: State{Mtime: b.Mtime, Size: b.Size, Inode: b.Inode, Changed: b.Changed}, Lines: b.Lines,
		Written: b.Written, By: b.By, Needs: b.Needs, Partial: b.Partial,
	}
	if raw, err := hex.DecodeString(b.Hash); err == nil {
		copy(s.Hash[:], raw)
	}
	for _, l := range b.Shown {
		s.Shown = append(s.Shown, Span{First: l.First, Last: l.Last, CallID: l.CallID, Needs: l.Needs})
	}
	return s
}
