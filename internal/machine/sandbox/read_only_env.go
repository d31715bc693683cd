package sandbox

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// ToolDirs are the folders of a PATH from which programs are taken for commands that run without a
// question: absolute, there, with their links resolved, in the order of the PATH, each once. Left out are
// those that everybody may write to, and those in a working folder (work, absolute paths with links
// resolved) that lathe's own tools could write to: programs there may be the project's and not the user's.
func ToolDirs(path string, work []string) []string {
	var out []string
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || slices.Contains(out, real) {
			continue
		}
		info, err := os.Stat(real)
		if err != nil || !info.IsDir() || everybodyWrites(info) {
			continue
		}
		if !slices.ContainsFunc(work, func(w string) bool { return plantable(w, real) }) {
			out = append(out, real)
		}
	}
	return out
}

// everybodyWrites: the bit for others says nothing on Windows, where Go makes it up.
func everybodyWrites(info os.FileInfo) bool {
	return runtime.GOOS != "windows" && info.Mode().Perm()&0o002 != 0
}

// plantable reports whether dir lies in work and it, or a folder on the way to it, may be written to, so
// that something else could stand in its place.
func plantable(work, dir string) bool {
	rel, err := filepath.Rel(work, dir)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return false
	}
	for {
		if mayWrite(dir) {
			return true
		}
		if dir == work || dir == filepath.Dir(dir) {
			return false
		}
		dir = filepath.Dir(dir)
	}
}

// steering are the names that change the behaviour of a read-only command's program: start-up options, paths of
// modules, configuration files, helpers. Such a command is read-only for certain only without them. The
// credentials go with them, since it has no need of any.
var steering = []string{
	"GIT_*", "SSH_*", "*PAGER", "LESS*", "MAN*", "POSIXLY_CORRECT", "_POSIX2_VERSION", "TAR_OPTIONS", "GZIP", "XZ_*",
	"ZSTD_*",
	"RIPGREP_CONFIG_PATH", "GREP_*", "FZF_*", "BAT_*", "JQ_*", "LS_OPTIONS", "DIFF_OPTIONS", "MAKEFLAGS", "MAKEFILES",
	"MFLAGS",
	"NODE_*", "NPM_*", "npm_*", "YARN_*", "PNPM_*", "COREPACK_*", "BUN_*", "DENO_*", "PYTHON*", "PIP_*", "VIRTUAL_ENV",
	"UV_*",
	"PERL*", "RUBY*", "GEM_*", "BUNDLE_*", "LUA_*", "TCL*", "PHP*", "COMPOSER_*", "JAVA_*", "_JAVA_OPTIONS", "JDK_*",
	"MAVEN_*",
	"GRADLE_*", "DOTNET_*", "RUSTC*", "RUSTFLAGS", "CARGO_BUILD_*", "CARGO_TARGET_*", "GOFLAGS", "GOENV", "GOWORK",
	"GOTOOLCHAIN",
	"GOPROXY", "GOVCS", "GODEBUG", "CGO_*", "CC", "CXX", "AR", "PKG_CONFIG*", "OPENSSL_*", "CURL_HOME", "WGETRC",
	"DOCKER_*", "KUBECONFIG",
}

// secretParts make a name one of a secret wherever they stand in it.
var secretParts = [...]string{"KEY", "TOKEN", "SECRET", "PASS", "AUTH", "CRED"}

// looking are the values that keep the go command from fetching anything or running another version of
// itself while it is read-only.
var looking = [][2]string{
	{"GOTOOLCHAIN", "local"},
	{"GOPROXY", "off"},
	{"GOFLAGS", "-mod=readonly -buildvcs=false"},
}

// ReadOnlyEnv is the environment of a read-only command, which runs without a question: CleanEnv
// without variables that steer programs, without anything that looks like a secret, with dirs (see [ToolDirs]) as its
// PATH, and a go command that stays at home. more is added at the end.
func ReadOnlyEnv(environ, dirs, more []string) []string {
	plain := slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return matchAny(steering, name) || strings.EqualFold(name, "PATH") || hasSecretPart(name)
	})
	out := slices.DeleteFunc(CleanEnv(plain, Options{ScrubCredentials: true}), func(kv string) bool {
		return strings.HasPrefix(kv, "GIT_") && len(more) > 0 // CleanEnv sets a few of its own
	})
	out = append(out, "PATH="+strings.Join(dirs, string(filepath.ListSeparator)))
	for _, kv := range looking {
		out = append(out, kv[0]+"="+kv[1])
	}
	return append(out, more...)
}

func hasSecretPart(name string) bool {
	upper := strings.ToUpper(name)
	return slices.ContainsFunc(secretParts[:], func(part string) bool { return strings.Contains(upper, part) })
}
