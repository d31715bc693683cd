//go:build amd64 || arm64

package inside

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// op is one system call of a script. The assembler knows the layout.
type op struct {
	nr    uintptr
	args  [6]uintptr
	deref uintptr    // bit i: args[i] is the address of the value
	store uintptr    // address for the result; 0: it is dropped
	next  uintptr    // bytes to the op after a success
	on    [2]errJump // errors that do not end the script
}

// errJump is the distance in bytes to the op after an error. An errno of anyError stands for all.
type errJump struct{ errno, to uintptr }

const (
	opSize   = unsafe.Sizeof(op{})
	anyError = ^uintptr(0)
)

// script is a list of system calls under construction, with the memory that they use.
type script struct {
	ops   []op
	steps []string // the name of each op in error messages
	keep  []any    // the memory that the addresses in ops point to
	chars []byte   // of texts; its memory stays where it is
	words []uintptr
}

// arg is an argument of a system call: a number, or the address of one that an earlier call stores.
type arg struct {
	value uintptr
	deref bool
}

func num[T ~int | ~uint32 | ~uintptr | ~uint64](n T) arg { return arg{value: uintptr(n)} }

// cwd is AT_FDCWD.
var cwd = num(unix.AT_FDCWD)

// text is the address of a NUL-terminated copy of a string.
func (s *script) text(t string) arg {
	if n := len(t) + 1; cap(s.chars)-len(s.chars) < n {
		s.keep = append(s.keep, s.chars)
		s.chars = make([]byte, 0, max(n, charsSize))
	}
	at := len(s.chars)
	s.chars = append(append(s.chars, t...), 0)
	return arg{value: uintptr(unsafe.Pointer(&s.chars[at]))}
}

// data is the address of a value on the heap.
func data[T any](s *script, v *T) arg {
	s.keep = append(s.keep, v)
	return arg{value: uintptr(unsafe.Pointer(v))}
}

// word is a place for a result. Before that it holds -1, which is no descriptor.
func (s *script) word() *uintptr {
	if len(s.words) == cap(s.words) {
		s.keep = append(s.keep, s.words)
		s.words = make([]uintptr, 0, wordsSize)
	}
	s.words = append(s.words, ^uintptr(0))
	return &s.words[len(s.words)-1]
}

// The sizes of a script's memory, which few need more of.
const (
	callsSize = 320
	charsSize = 16 << 10
	wordsSize = 128
)

// reset makes an empty script of one that was carried out, with its memory.
func (s *script) reset() {
	clear(s.ops)
	clear(s.steps)
	clear(s.keep)
	*s = script{ops: s.ops[:0], steps: s.steps[:0], keep: s.keep[:0], chars: s.chars[:0], words: s.words[:0]}
}

func at(w *uintptr) arg { return arg{uintptr(unsafe.Pointer(w)), true} }

// call adds a system call. Its error ends the script with the name of the step, unless onError says otherwise.
func (s *script) call(step string, nr uintptr, args ...arg) int {
	o := op{nr: nr, next: opSize}
	for i, a := range args {
		o.args[i] = a.value
		if a.deref {
			o.deref |= 1 << i
		}
	}
	s.ops, s.steps = append(s.ops, o), append(s.steps, step)
	return len(s.ops) - 1
}

// result adds a system call whose result goes to a new word.
func (s *script) result(step string, nr uintptr, args ...arg) (int, *uintptr) {
	i, w := s.call(step, nr, args...), s.word()
	s.ops[i].store = uintptr(unsafe.Pointer(w))
	return i, w
}

// onError makes the script go on at its present end after an error of op i.
func (s *script) onError(i int, errno uintptr) {
	o := &s.ops[i]
	free := 0
	if o.on[0].errno != 0 {
		free = 1
	}
	o.on[free] = errJump{errno, s.from(i)}
}

// onSuccess makes the script go on at its present end after a success of op i.
func (s *script) onSuccess(i int) { s.ops[i].next = s.from(i) }

func (s *script) from(i int) uintptr { return uintptr(len(s.ops)-i) * opSize }
