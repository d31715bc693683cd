package shell

import (
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/lathe-dev/lathe/internal/permission/permissiontest"
)

func TestAnAnalysisLeavesNothingForTheNext(t *testing.T) {
	lines := permissiontest.Lines(t, "deny.txt")
	lines = append(lines, permissiontest.Lines(t, "everyday.txt")...)
	lines = append(lines, strings.Repeat("cat a | ", 500)+"cat b > c", strings.Repeat("touch x; ", 500), "echo "+
		strings.Repeat("$(ls a) ", 100))
	first := make([]Result, len(lines))
	for i, line := range lines {
		first[i] = read(line)
	}
	var all sync.WaitGroup
	for worker := range 2 {
		all.Go(func() { // in other orders, so that each line comes after others than before
			for i := range lines {
				at := len(lines) - 1 - i
				if worker == 1 {
					at = i * 7 % len(lines)
				}
				if again := read(lines[at]); !reflect.DeepEqual(again, first[at]) {
					t.Errorf("%.100q is read differently after another line:\n%s\n%s", lines[at], show(first[at]), show(again))
				}
			}
		})
	}
	all.Wait()
}
