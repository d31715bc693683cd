//go:build unix

package supervisor

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// limitsVariable carries the umask and the soft limits of a terminal to a session process that it did not start itself.
const limitsVariable = "LATHE_LIMITS"

// limits are those that a shell sets with ulimit and whose value this process did not change: Go raises that for files.
var limits = []struct {
	name     string
	resource int
}{
	{"core", unix.RLIMIT_CORE},
	{"cpu", unix.RLIMIT_CPU},
	{"data", unix.RLIMIT_DATA},
	{"fsize", unix.RLIMIT_FSIZE},
	{"stack", unix.RLIMIT_STACK},
	{"as", unix.RLIMIT_AS},
}

// Surroundings is the environment of this process, with its umask and limits.
func Surroundings() []string {
	mask := unix.Umask(0o077)
	unix.Umask(mask)
	text := fmt.Sprintf("%s=umask:%d", limitsVariable, mask)
	for _, l := range limits {
		var now unix.Rlimit
		if unix.Getrlimit(l.resource, &now) == nil {
			text += fmt.Sprintf(" %s:%d", l.name, now.Cur)
		}
	}
	return append(os.Environ(), text)
}

// Settle takes the umask and the limits that the process was started with, and hides them from its children.
func Settle() error {
	text := os.Getenv(limitsVariable)
	if text == "" {
		return nil
	}
	for field := range strings.FieldsSeq(text) {
		var n uint64
		name, value, _ := strings.Cut(field, ":")
		if _, err := fmt.Sscan(value, &n); err != nil {
			return fmt.Errorf("the limits of the terminal cannot be read: %q", field)
		}
		if name == "umask" {
			unix.Umask(int(n))
		}
		for _, l := range limits {
			if l.name == name {
				lower(l.resource, n)
			}
		}
	}
	return os.Unsetenv(limitsVariable)
}

// lower sets a soft limit, as far as the hard one of this process lets it.
func lower(resource int, n uint64) {
	var now unix.Rlimit
	if unix.Getrlimit(resource, &now) == nil {
		now.Cur = min(n, now.Max)
		_ = unix.Setrlimit(resource, &now) // within the hard limit, it cannot fail
	}
}
