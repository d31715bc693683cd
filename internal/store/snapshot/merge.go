package snapshot

import (
	"slices"

	"github.com/aymanbagabas/go-udiff"
	"github.com/aymanbagabas/go-udiff/myers"
)

// merge3 applies to theirs the changes that lead from base to ours. conflicts counts the changes of ours that touch
// lines which theirs changed too; those are left out.
func merge3(base, ours, theirs string) (merged string, conflicts int) {
	switch {
	case base == theirs || ours == theirs:
		return ours, 0
	case base == ours:
		return theirs, 0
	}
	//nolint:staticcheck // its edits are whole lines
	a, b := myers.ComputeEdits(base, ours), myers.ComputeEdits(base,
		theirs)
	var all []udiff.Edit
	for _, x := range a {
		clash, twice := false, false
		for _, y := range b {
			twice = twice || x == y
			clash = clash || x.Start <= y.End && y.Start <= x.End
		}
		switch {
		case twice:
		case clash:
			conflicts++
		default:
			all = append(all, x)
		}
	}
	all = append(all, b...)
	slices.SortStableFunc(all, func(x, y udiff.Edit) int { return x.Start - y.Start })
	out, err := udiff.Apply(base, all)
	if err != nil {
		return theirs, max(1, conflicts)
	}
	return out, conflicts
}
