package conversation

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"slices"

	"github.com/lathe-dev/lathe/internal/agent/compact"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/tool"
)

// After a summary the files in use are read again, which saves a round of Read calls: first the changed files, then the
// most recently used, as far as they fit.
const (
	mostAgain   = 5
	againRecent = 10     // files that are considered
	againTotal  = 28_000 // bytes with line numbers, about 8,000 tokens
	againOne    = 14_000
)

// again reads the files that matter most of those whose text is not in the messages from tail on. mark is the number of
// tokens at which the next compaction is due; at most a tenth of it is spent.
func (k *Window) again(ctx context.Context, tail []llm.Message, mark int) (out []compact.Again) {
	room := againTotal
	if mark > 0 {
		room = min(room, mark/10*3) // bytes
	}
	chosen := k.choose(k.lost(tail), room)
	names := make([]string, len(chosen))
	for i, path := range chosen {
		k.s.env.Reads.Forget(path) // so that Read returns the text, not the changes
		names[i] = k.s.env.Rel(path)
	}
	for i, parts := range k.s.attachAgain(ctx, names) {
		if len(parts) > 0 {
			out = append(out, compact.Again{Name: names[i], Parts: parts})
		}
	}
	for _, path := range slices.Backward(chosen) {
		k.s.env.Reads.Get(path) // the most important one counts as the most recently used
	}
	return out
}

// lost lists the files to consider, in the order of their importance.
func (k *Window) lost(tail []llm.Message) []tool.Lost {
	there := map[string]bool{}
	for _, m := range tail {
		for _, p := range m.Parts {
			if r, ok := p.(llm.ToolResult); ok {
				there[r.CallID] = true
			}
		}
	}
	lost := k.s.env.Reads.Lost(func(id string) bool { return there[id] })
	if k.changed == nil {
		k.changed = map[string]bool{}
	}
	for i, l := range lost {
		k.changed[l.Path] = k.changed[l.Path] || l.Written
		lost[i].Written = k.changed[l.Path] // a file that was read again since counts as changed, too
	}
	lost = lost[:min(len(lost), againRecent)]
	slices.SortStableFunc(lost, func(a, b tool.Lost) int { return cmp.Compare(rank(a), rank(b)) })
	return lost
}

// choose picks the first files that fit into room, in bytes as Read shows them.
func (k *Window) choose(lost []tool.Lost, room int) (paths []string) {
	for _, l := range lost {
		if len(paths) == mostAgain {
			break
		}
		most := min(room, againOne)
		info, err := os.Stat(l.Path)
		if err != nil || !info.Mode().IsRegular() || info.Size() > int64(most) ||
			k.s.MayRead(l.Path) != permission.Allow {
			continue
		}
		if size, ok := shownSize(l.Path); ok && size <= most {
			paths, room = append(paths, l.Path), room-size
		}
	}
	return paths
}

// shownSize is the size of a text file with its line numbers.
func shownSize(path string) (int, bool) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	size, lines := len(data), bytes.Count(data, []byte("\n"))
	if !bytes.HasSuffix(data, []byte("\n")) {
		lines++
	}
	for from := 1; from <= lines; from *= 10 {
		size += lines - from + 1 // a digit of each line from here on
	}
	return size + lines, true // and the tabs
}

// touched are the files that messages name, by the names that the messages give them.
type touched []struct{ name, real string }

// lookUp finds the files that messages name.
func (k *Window) lookUp(msgs []llm.Message) touched {
	names := compact.Touched(msgs)
	out := make(touched, len(names))
	for i, name := range names {
		out[i].name, out[i].real = name, k.real(name)
	}
	return out
}

// without are the names of the files that were not read again.
func (t touched) without(reread map[string]bool) []string {
	var out []string
	for _, f := range t {
		if !reread[f.real] {
			out = append(out, f.name)
		}
	}
	return out
}

// realPaths are the files that were read again.
func (k *Window) realPaths(again []compact.Again) map[string]bool {
	out := make(map[string]bool, len(again))
	for _, a := range again {
		out[k.real(a.Name)] = true
	}
	return out
}

// real is a path without symlinks; the path itself when it cannot be resolved.
func (k *Window) real(path string) string {
	p, err := k.s.env.Roots.Resolve(path, k.s.env.Dir.Get())
	if err != nil {
		return path
	}
	return p.Real
}

func rank(l tool.Lost) int {
	if l.Written {
		return 0
	}
	return 1
}
