package supervisor

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"reflect"
	"strconv"
	"strings"
	"syscall"
)

// longestSocket is as in the port: macOS allows 104 bytes with an ending zero.
const longestSocket = 103

// shortSum tells state folders apart.
func shortSum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}

// jobFields are the names of the fields of a job's file.
var jobFields = func() (out []string) {
	for f := range reflect.TypeFor[Job]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		out = append(out, name)
	}
	return out
}()

// alive reports whether a process with this id runs. One that ended and that its parent did not wait for does not
// (proc(5), state Z).
func alive(pid int) bool {
	if b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil {
		_, after, _ := strings.Cut(string(b), ") ")
		return !strings.HasPrefix(after, "Z") && !strings.HasPrefix(after, "X")
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return false // only Windows reports it here
	}
	defer func() { _ = p.Release() }()
	err = p.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, os.ErrPermission)
}
