//go:build amd64 || arm64

package inside

import "strings"

// runtimeVars configure the Go runtime. Those of the command must not configure the helper's: it would print, or collect garbage.
var runtimeVars = [...]string{"GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK"}

// keptPrefix marks a variable of the command that the helper must not obey.
const keptPrefix = "LATHE_CONFINED_"

// HelperEnv is the helper's environment: the command's, with the variables of the Go runtime renamed, and one thread for Go code.
func HelperEnv(env []string) []string {
	out := make([]string, 0, len(env)+1)
	for _, entry := range env {
		if ofRuntime(entry) {
			entry = keptPrefix + entry
		}
		out = append(out, entry)
	}
	return append(out, "GOMAXPROCS=1")
}

// RestoreEnv reverses HelperEnv.
func RestoreEnv(env []string) []string {
	out := make([]string, 0, len(env))
	for _, entry := range env {
		kept, was := strings.CutPrefix(entry, keptPrefix)
		if was || !ofRuntime(entry) {
			out = append(out, kept)
		}
	}
	return out
}

func ofRuntime(entry string) bool {
	for _, name := range runtimeVars {
		if strings.HasPrefix(entry, name+"=") {
			return true
		}
	}
	return false
}
