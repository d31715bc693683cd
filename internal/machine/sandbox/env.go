package sandbox

import (
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Options change the result of CleanEnv. Keep and Drop hold names or shell patterns of names ("NPM_*");
// Keep wins over everything else, also over the values that CleanEnv sets.
type Options struct {
	Keep             []string
	Drop             []string
	ScrubCredentials bool              // also drop likely keys, tokens and passwords
	Set              map[string]string // set at the end, unless the name is in Keep and present
}

// dropped are the names that no child gets. The groups: lathe's own settings and keys; variables that make the
// loader or a shell run other code than the command's; variables that make programs draw on our terminal.
var dropped = []string{
	"LATHE_*", "ANTHROPIC_*", "OPENAI_*", "CLAUDE_CODE_*", "CLAUDE_CONFIG_DIR", "AZURE_OPENAI_*",
	"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "AWS_BEARER_TOKEN_BEDROCK",
	"XAI_API_KEY", "GROQ_API_KEY", "MISTRAL_API_KEY", "DEEPSEEK_API_KEY", "OPENROUTER_API_KEY",
	"TOGETHER_API_KEY", "FIREWORKS_API_KEY", "CEREBRAS_API_KEY", "PERPLEXITY_API_KEY", "MOONSHOT_API_KEY",
	"ZAI_API_KEY", "ZHIPU_API_KEY", "DASHSCOPE_API_KEY", "OLLAMA_API_KEY", "TELEGRAM_BOT_TOKEN",

	"LD_*", "DYLD_*", "GCONV_PATH", "LOCPATH", "NLSPATH", "MALLOC_*", "GLIBC_TUNABLES", "LIBPATH", "SHLIB_PATH",

	"BASH_ENV", "ENV", "BASH_FUNC_*", "BASHOPTS", "SHELLOPTS", "BASH_XTRACEFD", "BASH_LOADABLES_PATH",
	"BASH_COMPAT", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS3", "PS4", "IFS", "CDPATH", "GLOBIGNORE",
	"EXECIGNORE", "FIGNORE", "FPATH", "NULLCMD", "READNULLCMD", "POSTEDIT", "HISTFILE", "OLDPWD",

	"LESSOPEN", "LESSCLOSE", "GPG_TTY", "COLUMNS", "LINES", "COLORTERM", "FORCE_COLOR", "CLICOLOR_FORCE",
}

// quiet are the values that keep a program without a terminal from waiting for a person, and its output
// plain. The last two tell scripts who runs them; CLAUDECODE is the name they already look for.
var quiet = [][2]string{
	{"TERM", "dumb"},
	{"NO_COLOR", "1"},
	{"PAGER", "cat"},
	{"GIT_PAGER", "cat"},
	{"MANPAGER", "cat"},
	{"SYSTEMD_PAGER", "cat"},
	{"GH_PAGER", "cat"},
	{"EDITOR", "true"},
	{"VISUAL", "true"},
	{"GIT_EDITOR", "true"},
	{"GIT_TERMINAL_PROMPT", "0"},
	{"GCM_INTERACTIVE", "never"},
	{"DEBIAN_FRONTEND", "noninteractive"},
	{"LATHE", "1"},
	{"CLAUDECODE", "1"},
}

// CleanEnv returns the environment for a child: environ ("NAME=value") without lathe's own keys, without
// the variables of the loader and of shells' hooks, without entries of PATH that are no absolute path
// (an empty one or "." would run programs of the working folder), and with values that keep programs
// from paging, prompting, editing and colouring. environ is not changed.
func CleanEnv(environ []string, o Options) []string {
	out := make([]string, 0, len(environ)+len(quiet)+len(o.Set))
	kept := map[string]bool{}
	for _, kv := range environ {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || name == "" {
			continue
		}
		if matchAny(o.Keep, name) {
			kept[name] = true
			out = append(out, kv)
			continue
		}
		if matchAny(dropped, name) || matchAny(o.Drop, name) || (o.ScrubCredentials && credential(name, value)) {
			continue
		}
		if name == "PATH" || (runtime.GOOS == "windows" && strings.EqualFold(name, "PATH")) {
			kv = name + "=" + absolutePath(value)
		}
		out = append(out, kv)
	}
	return set(out, kept, o.Set)
}

func set(env []string, kept map[string]bool, more map[string]string) []string {
	values := map[string]string{}
	for _, q := range quiet {
		values[q[0]] = q[1]
	}
	for name, v := range more {
		values[name] = v
	}
	out := env[:0]
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if _, replaced := values[name]; !replaced || kept[name] {
			out = append(out, kv)
		}
	}
	for _, q := range quiet { // in a fixed order, so that the same input gives the same environment
		if !kept[q[0]] {
			out = append(out, q[0]+"="+values[q[0]])
		}
		delete(values, q[0])
	}
	for _, name := range sortedKeys(values) {
		if !kept[name] {
			out = append(out, name+"="+values[name])
		}
	}
	return out
}

// matchAny compares a name with patterns of which most are plain or end in one star.
func matchAny(patterns []string, name string) bool {
	if runtime.GOOS == "windows" {
		name = strings.ToUpper(name)
	}
	for _, p := range patterns {
		if p == "" || name == "" || p[0] != name[0] && !strings.ContainsRune("*?[\\", rune(p[0])) {
			continue // most of them, and every variable of each command comes here
		}
		prefix, isPrefix := strings.CutSuffix(p, "*")
		switch {
		case p == name:
			return true
		case isPrefix && !strings.ContainsAny(prefix, "*?["):
			if strings.HasPrefix(name, prefix) {
				return true
			}
		case strings.ContainsAny(p, "*?["):
			if ok, err := filepath.Match(p, name); err == nil && ok {
				return true
			}
		}
	}
	return false
}

func absolutePath(value string) string {
	var keep []string
	for _, dir := range filepath.SplitList(value) {
		if filepath.IsAbs(dir) {
			keep = append(keep, dir)
		}
	}
	return strings.Join(keep, string(filepath.ListSeparator))
}

// secretWords are the parts of a name, between underscores, that make it one of a secret.
var secretWords = map[string]bool{
	"KEY": true, "KEYS": true, "APIKEY": true, "TOKEN": true, "TOKENS": true, "SECRET": true, "SECRETS": true,
	"PASS": true, "PASSWORD": true, "PASSWD": true, "PASSPHRASE": true, "PWD": true, "PAT": true, "AUTH": true,
	"AUTHORIZATION": true, "CRED": true, "CREDS": true, "CREDENTIAL": true, "CREDENTIALS": true, "COOKIE": true,
	"SIGNATURE": true, "PRIVATE": true, "BEARER": true, "DSN": true,
}

// credential reports whether a variable looks like a secret: by the words of its name, by a name that
// ends in one without an underscore (PGPASSWORD), or by a URL with a password in its value.
func credential(name, value string) bool {
	upper := strings.ToUpper(name)
	if upper == "PWD" || upper == "XAUTHORITY" {
		return false
	}
	for _, word := range strings.Split(upper, "_") {
		if secretWords[word] {
			return true
		}
	}
	for _, end := range [...]string{"PASSWORD", "PASSWD", "TOKEN", "SECRET", "APIKEY", "CREDENTIALS"} {
		if strings.HasSuffix(upper, end) {
			return true
		}
	}
	_, rest, ok := strings.Cut(value, "://")
	if !ok {
		return false
	}
	host, _, _ := strings.Cut(rest, "/")
	user, _, hasUser := strings.Cut(host, "@")
	return hasUser && strings.Contains(user, ":")
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// Overlay returns environ ("NAME=value") with variables in place of those of the same name. environ is not changed.
func Overlay(environ []string, variables map[string]string) []string {
	out := slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		_, replaced := variables[name]
		return replaced
	})
	for _, name := range sortedKeys(variables) {
		out = append(out, name+"="+variables[name])
	}
	return out
}
