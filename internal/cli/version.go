package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version and commit are set by the linker (see Makefile). A binary built without it, by go install or
// go run, takes them from the go command's build information.
var version, commit string

// versionLine is the output of `lathe --version`: the version, the commit with "-dirty" where the tree had
// changes, and the Go release and platform it was built with.
func versionLine() string {
	v, c := currentVersion()
	return fmt.Sprintf("lathe %s (%s, %s, %s/%s)", v, c, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// buildVersion prefers the linker's values, then the module version, then the stamps of version control.
func buildVersion(version, commit string, info *debug.BuildInfo) (v, c string) {
	if version == "" {
		version = info.Main.Version
	}
	if version == "" || version == "(devel)" {
		version = "dev"
	}
	if commit == "" {
		commit = stampedCommit(info)
	}
	if commit == "" {
		commit = "commit unknown"
	}
	return version, commit
}

func stampedCommit(info *debug.BuildInfo) string {
	rev, dirty := "", ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			rev = s.Value[:min(12, len(s.Value))]
		case "vcs.modified":
			if s.Value == "true" {
				dirty = "-dirty"
			}
		}
	}
	if rev == "" {
		return ""
	}
	return rev + dirty
}

// protocolVersion is the release of Claude Code whose protocol lathe speaks with hosts: they compare it with the
// versions that brought a message or a request.
const protocolVersion = "2.1.332"

func currentVersion() (v, c string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return buildVersion(version, commit, info)
}
