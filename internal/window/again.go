package window

import (
	"cmp"
	"context"
	"os"
	"slices"

	"github.com/lathe-dev/lathe/internal/compact"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/tool"
)

// After a summary the files in use are read again, which saves a round of Read calls: first the changed files, then the
// most recently used, as far as they fit.
const (
	mostAgain   = 5
	againRecent = 10     // files that are considered
	againTotal  = 28_000 // bytes, about 8,000 tokens
	againOne    = 14_000
)

// again reads the most recent files whose text is not in the messages from tail on. mark is the number of tokens at which
// the next compaction is due; at most a tenth of it is spent.
func (k *Keeper) again(ctx context.Context, tail []llm.Message, mark int) (out []compact.Again) {
	there := map[string]bool{}
	for _, m := range tail {
		for _, p := range m.Parts {
			if r, ok := p.(llm.ToolResult); ok {
				there[r.CallID] = true
			}
		}
	}
	lost := k.Env.Reads.Lost(func(id string) bool { return there[id] })
	lost = lost[:min(len(lost), againRecent)]
	slices.SortStableFunc(lost, func(a, b tool.Lost) int { return cmp.Compare(rank(a), rank(b)) })
	room := againTotal
	if mark > 0 {
		room = min(room, mark/10*3) // bytes
	}
	for _, l := range lost {
		if len(out) == mostAgain {
			break
		}
		info, err := os.Stat(l.Path)
		if err != nil || !info.Mode().IsRegular() || info.Size() > int64(min(room, againOne)) || k.Env.MayRead(l.Path) != permission.Allow {
			continue
		}
		k.Env.Reads.Forget(l.Path) // so that Read returns the text, not the changes
		name := k.Env.Rel(l.Path)
		if parts := k.Read(ctx, name); len(parts) > 0 {
			out = append(out, compact.Again{Name: name, Parts: parts})
			room -= llm.ContentBytes(parts)
		}
	}
	return out
}

// touched are the files that messages name, by the names that the messages give them.
type touched []struct{ name, real string }

// lookUp finds the files that messages name.
func (k *Keeper) lookUp(msgs []llm.Message) touched {
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
func (k *Keeper) realPaths(again []compact.Again) map[string]bool {
	out := make(map[string]bool, len(again))
	for _, a := range again {
		out[k.real(a.Name)] = true
	}
	return out
}

// real is a path without symlinks; the path itself when it cannot be resolved.
func (k *Keeper) real(path string) string {
	p, err := k.Env.Roots.Resolve(path, k.Env.Dir.Get())
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
