//go:build amd64 || arm64

package inside

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestAScriptKeepsTheMemoryOfItsAddresses: the garbage collector does not see the addresses, and the memory is used
// again.
func TestAScriptKeepsTheMemoryOfItsAddresses(t *testing.T) {
	for range 2 {
		r := runs.Get().(*run)
		s := &r.script
		var texts, words []arg
		for i := range 1000 {
			texts = append(texts, s.text(fmt.Sprint(i, strings.Repeat("x", i))))
			_, w := s.result("a step", unix.SYS_GETPID)
			*w = uintptr(i)
			words = append(words, at(w))
			if i%100 == 0 {
				runtime.GC()
			}
		}
		runtime.GC()
		for i := range 1000 {
			if got := unix.BytePtrToString(*(**byte)(unsafe.Pointer(&texts[i].value))); got != fmt.Sprint(i,
				strings.Repeat("x", i)) {
				t.Fatalf("text %d is %.20q", i, got)
			}
			if got := **(**uintptr)(unsafe.Pointer(&words[i].value)); got != uintptr(i) {
				t.Fatalf("word %d is %d", i, got)
			}
		}
		(&Entry{run: r}).Began()
	}
}
