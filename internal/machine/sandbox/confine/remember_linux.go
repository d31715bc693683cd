//go:build amd64 || arm64

package confine

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lathe-dev/lathe/internal/base/regular"
)

// Remembered is Detect for a start that must not wait for the probe: the tier Full, once found, is kept in file until
// the machine is started again or something changes on which it depends. No other result is kept. A wrong memory
// confines nothing less: a command whose boundary cannot be set up does not start.
func Remembered(file string) Support {
	key := circumstances()
	var kept struct {
		Key     string
		Support Support
	}
	if b, err := regular.ReadFile(file); err == nil && json.Unmarshal(b, &kept) == nil && key != "" && kept.Key == key &&
		kept.Support.Tier == Full {
		return kept.Support
	}
	s := Detect()
	if s.Tier != Full || key == "" || starved() {
		return s
	}
	kept.Key, kept.Support = key, s
	if b, err := json.Marshal(kept); err == nil {
		keep(file, b)
	}
	return s
}

// leastFiles is how many files a process must be able to open for its probe to count: with fewer the namespaces that
// lathe makes itself fail, and bubblewrap would take their place for good.
const leastFiles = 256

func starved() bool {
	var limit unix.Rlimit
	return unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil || limit.Cur < leastFiles
}

// keep writes the file as a whole. Without it the next start probes again.
func keep(file string, b []byte) {
	if os.MkdirAll(filepath.Dir(file), 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".tier-*")
	if err != nil {
		return
	}
	_, err = f.Write(b)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil || os.Rename(f.Name(), file) != nil {
		os.Remove(f.Name())
	}
}

// circumstances is a hash of all that the tier Full depends on: the run of the kernel, this program, its user, rights
// and namespaces, and the switches of the system for namespaces. "" if they are not known.
func circumstances() string {
	var exe unix.Stat_t
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || unix.Stat("/proc/self/exe", &exe) != nil {
		return ""
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s %d %d %d %s %d %d\n", boot, exe.Dev, exe.Ino, exe.Size, time.Unix(exe.Mtim.Unix()), os.Getuid(),
		os.Geteuid())
	for _, name := range []string{
		"user/max_user_namespaces", "user/max_net_namespaces",
		"kernel/unprivileged_userns_clone", "kernel/apparmor_restrict_unprivileged_userns",
	} {
		b, _ := os.ReadFile("/proc/sys/" + name) // not every kernel has all
		fmt.Fprintf(&out, "%s %s\n", name, b)
	}
	for _, name := range []string{"user", "mnt", "pid"} {
		link, _ := os.Readlink("/proc/self/ns/" + name)
		out.WriteString(link + "\n")
	}
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "Cap") || strings.HasPrefix(line, "NoNewPrivs") || strings.HasPrefix(line, "Seccomp") {
			out.WriteString(line)
		}
	}
	profile, _ := os.ReadFile("/proc/self/attr/current")
	out.Write(profile)
	return fmt.Sprintf("%x", sha256.Sum256([]byte(out.String())))
}
