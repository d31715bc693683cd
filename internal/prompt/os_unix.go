//go:build unix

package prompt

import (
	"strings"

	"golang.org/x/sys/unix"

	"github.com/lathe-dev/lathe/internal/base/regular"
)

// osVersion is the kernel's name and release, and the distribution's name where there is one.
func osVersion() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	text := unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
	b, err := regular.ReadFile("/etc/os-release")
	if err != nil {
		return text
	}
	for l := range strings.Lines(string(b)) {
		if name, ok := strings.CutPrefix(l, "PRETTY_NAME="); ok {
			return text + " (" + strings.Trim(strings.TrimSpace(name), `"'`) + ")"
		}
	}
	return text
}
