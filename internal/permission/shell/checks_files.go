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
		{
			Name: "secret-read", Effect: permission.Ask,
			Sentence: "Reads a file that holds keys, passwords or tokens, or the history of shells.",
			Fires:    "cat ~/.ssh/id_ed25519", Spares: "cat notes.txt",
			find: func(a *analysis) []string {
				out := reaching("it reads secrets", permission.Read, secret)(a)
				return append(out, each(secretWord)(a)...)
			},
		},
		{
			Name: "agent-secret", Effect: permission.Deny,
			Sentence: "Reads the keys that lathe keeps for itself.",
			Fires:    "cat ~/.config/lathe/auth.json", Spares: "cat auth.json",
			find: func(a *analysis) []string {
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
			},
		},
		{
			Name: "process-secret", Effect: permission.Ask,
			Sentence: "Reads the environment or memory of a process below /proc.",
			Fires:    "strings /proc/1/environ", Spares: "cat /proc/cpuinfo",
			find: func(a *analysis) []string {
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
			},
		},
		{
			Name: "git-credentials", Effect: permission.Deny,
			Sentence: "git credential prints the passwords that git keeps.",
			Fires:    "git credential fill", Spares: "git status",
			find: each(func(_ *analysis, c *call) string {
				if c.name == "git" {
					if sub, _ := gitSubcommand(c); sub == "credential" || strings.HasPrefix(sub, "credential-") {
						return "it prints or changes the passwords that git keeps: " + c.raw
					}
				}
				if strings.HasPrefix(c.name, "git-credential") {
					return "it prints or changes the passwords that git keeps: " + c.raw
				}
				return ""
			}),
		},
		{
			Name: "git-program", Effect: permission.Deny,
			Sentence: "git config is given a key that names a program which git runs from then on.",
			Fires:    "git config core.hooksPath ./hooks", Spares: "git config user.name",
			find: each(gitProgram),
		},
	}
}

func writeChecks() []check {
	return []check{
		{
			Name: "protected-write", Effect: permission.Deny,
			Sentence: "Writes what other programs run or obey: git hooks and settings, shell start-up files, settings of " +
				"agents and editors, keys; also where an option, a prefix or a variable names the place.",
			Fires: "echo x > .git/hooks/pre-commit", Spares: "echo x > docs/hooks.md",
			find: func(a *analysis) []string {
				out := reaching("it writes a protected path", permission.Write, protected)(a)
				out = append(out, each(protectedWord)(a)...)
				return append(out, each(protectedDestination)(a)...)
			},
		},
		{
			Name: "settings-write", Effect: permission.Ask,
			Sentence: "Writes a file that chooses programs or options for build tools, package managers, hooks or editors.",
			Fires:    "echo x >> .npmrc", Spares: "echo x >> notes.txt",
			find: func(a *analysis) []string {
				return reaching("it writes settings that programs obey", permission.Write, settings)(a)
			},
		},
		{
			Name: "bare-repository", Effect: permission.Deny,
			Sentence: "Makes HEAD, objects and refs in a folder, which git then takes for a repository whose settings it obeys.",
			Fires:    "mkdir -p objects refs && echo 'ref: x' > HEAD", Spares: "mkdir -p src docs",
			find: func(a *analysis) []string {
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
			},
		},
		{
			Name: "device-write", Effect: permission.Deny,
			Sentence: "Writes to a device: a disk, memory or the terminal's own.",
			Fires:    "echo x > /dev/sda", Spares: "echo x > /dev/null",
			find: func(a *analysis) []string {
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
			},
		},
		{
			Name: "history", Effect: permission.Ask,
			Sentence: "Changes or clears the history of the shell, or the records of who did what.",
			Fires:    "history -c", Spares: "echo history",
			find: each(func(_ *analysis, c *call) string {
				if c.name == "history" || c.name == "fc" || c.name == "auditctl" || c.name == "journalctl" && strings.Contains(
					c.raw, "--vacuum") {
					return "it changes or shows the history: " + c.raw
				}
				return ""
			}),
		},
		{
			Name: "set-user-id", Effect: permission.Ask,
			Sentence: "Gives a file the rights of its owner, or everybody the right to write.",
			Fires:    "chmod u+s a", Spares: "chmod +x a",
			find: each(func(_ *analysis, c *call) string {
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
			}),
		},
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
	return among(key, "core.hookspath", "core.fsmonitor", "core.pager", "core.editor", "core.sshcommand", "core.askpass",
		"core.gitproxy", "core.alternaterefscommand",
		"core.attributesfile", "core.worktree", "diff.external", "sequence.editor", "gpg.*", "credential.*", "alias.*",
		"pager.*", "include.path", "includeif.*", "protocol.*", "uploadpack.*",
		"init.templatedir", "web.browser", "browser.*", "interactive.difffilter", "sendemail.*", "url.*", "http.proxy",
		"safe.*", "hook.*", "trailer.*") ||
		among(key, "*.command", "*.textconv", "*.clean", "*.smudge", "*.process", "*.driver", "*.cmd", "*.path", "*.helper",
			"*.program", "*.insteadof", "*.uploadpack", "*.receivepack", "*.vcs", "*.proxy")
}
