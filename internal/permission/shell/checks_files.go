package shell

import (
	"path"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

// reaching makes a check of the files that the line reads or writes.
func reaching(text string, kind permission.Kind, match func(a *analysis, path string) bool) func(*analysis) []string {
	return func(a *analysis) []string {
		var out []string
		for _, x := range a.accesses {
			if x.Kind != kind {
				continue
			}
			if match(a, x.Target) || (x.Named != "" && match(a, x.Named)) {
				out = append(out, text+": "+x.Target)
				if len(out) == 3 {
					break
				}
			}
		}
		return out
	}
}

func secretChecks() []check {
	return []check{
		{"secret-read", ask, false, func(a *analysis) []string {
			out := reaching("it reads secrets", permission.Read, secret)(a)
			return append(out, each(secretWord)(a)...)
		}},
		{"agent-secret", deny, false, func(a *analysis) []string {
			out := reaching("it reads lathe's own keys", permission.Read, agentSecret)(a)
			return append(out, each(func(a *analysis, c *call) string {
				for _, w := range c.words[min(1, len(c.words)):] {
					if !strings.HasPrefix(w.text, "-") && (containsFold(w.text, "lathe") || containsFold(first(c.dirs), "lathe")) &&
						agentSecret(a, from(w.text, first(c.dirs))) && c.name != "ls" && c.name != "echo" {
						return "it reads lathe's own keys: " + w.text
					}
				}
				return ""
			})(a)...)
		}},
		{"process-secret", ask, false, func(a *analysis) []string {
			return each(func(_ *analysis, c *call) string {
				for _, w := range c.words {
					if strings.HasPrefix(w.text, "/proc/") && strings.ContainsAny(strings.TrimPrefix(w.text, "/proc/"), "/*") {
						switch path.Base(w.text) {
						case "environ", "mem", "maps", "cmdline", "fd", "root", "cwd", "*":
							return "it reads another process: " + w.text
						}
						if strings.Contains(w.text, "/fd/") || strings.Contains(w.text, "/root/") || strings.Contains(w.text,
							"/cwd/") || strings.Contains(w.text, "env") {
							return "it reads another process: " + w.text
						}
					}
				}
				return ""
			})(a)
		}},
		{"git-credentials", deny, false, each(func(_ *analysis, c *call) string {
			if c.name == "git" {
				if sub, _ := gitSubcommand(c); sub == "credential" || strings.HasPrefix(sub, "credential-") {
					return "it prints or changes the passwords that git keeps: " + c.raw
				}
			}
			if strings.HasPrefix(c.name, "git-credential") {
				return "it prints or changes the passwords that git keeps: " + c.raw
			}
			return ""
		})},
		{"git-program", deny, false, each(gitProgram)},
	}
}

func writeChecks() []check {
	return []check{
		{"protected-write", deny, false, func(a *analysis) []string {
			out := reaching("it writes a protected path", permission.Write, protected)(a)
			out = append(out, each(protectedWord)(a)...)
			return append(out, each(protectedDestination)(a)...)
		}},
		{"settings-write", ask, false, func(a *analysis) []string {
			return reaching("it writes settings that programs obey", permission.Write, settings)(a)
		}},
		{"bare-repository", deny, false, func(a *analysis) []string {
			seen := map[string]int{}
			for _, x := range a.accesses {
				if x.Kind != permission.Write {
					continue
				}
				dir, base := path.Split(x.Target)
				switch strings.ToLower(base) {
				case "head":
					seen[dir] += 2
				case "objects", "refs", "config":
					seen[dir]++
				}
				if seen[dir] >= 2 && !strings.Contains(dir, "/node_modules/") {
					return []string{"it makes a folder look like a repository: " + dir}
				}
			}
			return nil
		}},
		{"device-write", deny, false, func(a *analysis) []string {
			out := reaching("it writes to a device", permission.Write,
				func(_ *analysis, p string) bool { return deviceFile(p) })(a)
			return append(out, each(func(_ *analysis, c *call) string {
				switch c.name {
				case "dd", "dcfldd", "dc3dd":
					for _, w := range c.words[1:] {
						if of, ok := strings.CutPrefix(w.text, "of="); ok && deviceFile(of) {
							return "it writes to a device: " + of
						}
					}
				case "tee", "cp", "mv", "cat", "shred", "truncate", "badblocks":
					if n := len(c.words); n > 1 && c.name != "cat" && deviceFile(c.words[n-1].text) {
						return "it writes to a device: " + c.words[n-1].text
					}
				}
				return ""
			})(a)...)
		}},
		{"history", ask, false, each(func(_ *analysis, c *call) string {
			if c.name == "history" || c.name == "fc" || c.name == "auditctl" || c.name == "journalctl" && strings.Contains(
				c.raw, "--vacuum") {
				return "it changes or shows the history: " + c.raw
			}
			return ""
		})},
		{"set-user-id", ask, false, each(func(_ *analysis, c *call) string {
			if c.name != "chmod" && c.name != "setcap" && c.name != "install" {
				return ""
			}
			for _, w := range c.words[1:] {
				if strings.Contains(w.text, "+s") || strings.HasPrefix(w.text, "4755") || strings.HasPrefix(w.text, "2755") ||
					strings.HasPrefix(w.text, "6755") || w.text == "777" || w.text == "0777" || strings.Contains(w.text, "cap_") ||
					w.text == "a+w" || w.text == "o+w" {
					return "it gives rights away: " + c.raw
				}
			}
			return ""
		})},
	}
}

// gitProgram finds git config with a key that names a program.
func gitProgram(_ *analysis, c *call) string {
	if c.name != "git" {
		return ""
	}
	sub, rest := gitSubcommand(c)
	if sub != "config" {
		return ""
	}
	var operands []string
	for i := 0; i < len(rest); i++ {
		switch w := rest[i]; {
		case w == "-f" || w == "--file" || w == "--blob" || w == "--type" || w == "--default" || w == "--comment" ||
			w == "--value" || w == "--url":
			i++
		case strings.HasPrefix(w, "--get") || w == "-l" || w == "--list" || strings.HasPrefix(w, "--unset") ||
			w == "--name-only":
			return ""
		case strings.HasPrefix(w, "-"):
		default:
			operands = append(operands, w)
		}
	}
	if len(operands) > 0 && (operands[0] == "set" || operands[0] == "edit") {
		operands = operands[1:]
	} else if len(operands) < 2 || operands[0] == "get" || operands[0] == "list" || operands[0] == "unset" {
		return ""
	}
	if len(operands) > 0 && gitProgramKey(operands[0]) {
		return "git would run a program from then on: " + c.raw
	}
	return ""
}

// gitProgramKey reports whether a key of git's configuration names a program or brings in other settings.
func gitProgramKey(key string) bool {
	key = strings.ToLower(key)
	return among(key, names("git program keys")...)
}
