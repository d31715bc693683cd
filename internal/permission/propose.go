package permission

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// maxProposed is how many rules one answer may keep, as in Claude Code.
const maxProposed = 5

// Propose lists the rules that would let a request like this one through, for "always" and "never": general
// enough to be useful, one for each part and access that needs approval. It is empty when no rule can say what
// was shown without saying more.
func (p *Policy) Propose(req Request) []string {
	p.mu.RLock()
	defer p.mu.RUnlock()
	c := p.look(req)
	if _, refused := c.guarded(Deny); refused {
		return nil
	}
	if texts := c.proposals(); c.sufficient(texts) {
		return texts
	}
	if texts := c.wholeLine(); c.sufficient(texts) {
		return texts
	}
	return nil
}

// sufficient reports whether rules cover the request when a person grants them.
func (c *call) sufficient(texts []string) bool {
	if len(texts) == 0 || len(texts) > maxProposed {
		return false
	}
	rules, errs := ParseRules(c.p.tools, texts, Allow, Source{Base: c.Dir})
	if len(errs) > 0 {
		return false
	}
	_, ok := c.allowed(slices.Concat(rules, c.p.grants), true)
	return ok
}

// wholeLine is the rule for a command to the letter.
func (c *call) wholeLine() []string {
	for _, a := range c.Accesses {
		if line := strings.TrimSpace(a.Target); a.Kind == Exec && sayable(line) {
			return []string{c.Tool + "(" + line + ")"}
		}
	}
	return nil
}

// sayable: the text means just itself in a rule.
func sayable(text string) bool {
	return text != "" && !strings.ContainsAny(text, "*\n\r\x00") && len(text) <= 500
}

func (c *call) proposals() []string {
	var out []string
	add := func(text string) {
		if text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	if c.Accesses == nil {
		add(c.toolRule())
	}
	explicit := c.speaksOfAll()
	for i, a := range c.Accesses {
		if a.Kind == Exec {
			for _, part := range a.Command.Parts {
				if !part.looks() {
					add(c.partProposal(part))
				}
			}
			continue
		}
		if ok, _ := c.granted(i); !ok && !(explicit && c.follows(i)) {
			add(c.accessProposal(a))
		}
	}
	return out
}

// speaksOfAll: each part of the command gets a rule of its own, so that what they read and reach goes
// without saying.
func (c *call) speaksOfAll() bool {
	for _, a := range c.Accesses {
		if a.Kind == Exec {
			return !slices.ContainsFunc(a.Command.Parts, func(p Part) bool { return !p.Covered && p.looks() })
		}
	}
	return false
}

func (c *call) accessProposal(a Access) string {
	switch a.Kind {
	case Write:
		return PathRule("Edit", a.Target)
	case Read:
		return c.readProposal(a)
	case Net:
		h := readHost(a.Target)
		if h.odd != "" || c.traits.Subject == SubjectCommand { // in a command only a rule for the program covers it
			return ""
		}
		return c.Tool + "(domain:" + h.name + ")"
	case Tool:
		return c.toolRule()
	}
	return ""
}

// readProposal covers the folder of a file, unless the folder is a wide one or the file a secret.
func (c *call) readProposal(a Access) string {
	file := slashed(a.Target)
	dir := path.Dir(file)
	home := slashed(c.p.Home)
	hidden := false
	if rel, ok := below(home, dir); ok {
		hidden = strings.HasPrefix(rel, ".")
	}
	wide := strings.Count(dir, "/") < 2 || dir == path.Dir(home) || dir == home || hidden
	if a.Node == Folder || a.Node == Special || wide || c.p.guard(a).effect != "" || a.Named != "" && a.Named != a.Target {
		return PathRule("Read", a.Target)
	}
	return strings.TrimSuffix(PathRule("Read", dir), ")") + "/**)"
}

// toolRule is the narrowest rule for a tool whose effects are not known.
func (c *call) toolRule() string {
	if c.traits.Subject != SubjectName {
		return c.Tool
	}
	for _, param := range c.traits.Params {
		if s := stringField(c.Input, param); s != "" && sayable(s) && !strings.ContainsAny(s, "()") {
			return c.Tool + "(" + s + ")"
		}
	}
	return c.Tool
}

// partProposal is the rule for one part of a command: its program and subcommand with anything after them,
// or, for programs that run others or destroy, its very text.
func (c *call) partProposal(part Part) string {
	exact := ""
	if sayable(part.Text) {
		exact = fmt.Sprintf("%s(%s)", c.Tool, part.Text)
	}
	if !part.Exact || part.Literal || part.Class == ClassDestructive || strings.ContainsAny(part.Text, "\n\r\x00") {
		return exact
	}
	prefix := prefixOf(part)
	if prefix == "" || !(pattern{prefix + " *"}).allows(part) {
		return exact
	}
	return fmt.Sprintf("%s(%s *)", c.Tool, prefix)
}

// prefixOf is the beginning of a part that says what it does; "" when only the whole does.
func prefixOf(part Part) string {
	words := strings.Fields(part.Text)
	if len(words) == 0 || part.Program == "" || slices.Contains(strings.Fields(neverGeneral), part.Program) {
		return ""
	}
	depth, ok := subcommands[part.Program]
	if !ok {
		depth = 1
		if len(words) > 2 && isSubcommand(words[1]) {
			depth = 2
		}
	}
	if runsScript(words) {
		depth = 3
	}
	if len(words) < depth {
		return ""
	}
	for _, w := range words[1:depth] {
		if !isSubcommand(w) {
			return ""
		}
	}
	prefix := strings.Join(words[:depth], " ")
	if slices.Contains(neverPrefixes, prefix) || strings.ContainsAny(prefix, "*()") {
		return ""
	}
	return prefix
}

// neverGeneral are programs of which a prefix says nothing about what would run, be lost or be sent.
const neverGeneral = "python python2 python3 pypy node nodejs deno bun ruby perl php lua luajit tclsh Rscript julia awk gawk mawk nawk osascript pwsh powershell " +
	"bash sh dash zsh ksh fish csh tcsh busybox toybox eval source . exec command builtin trap " +
	"rm rmdir unlink shred dd mkfs fdisk parted wipefs truncate " +
	"sudo doas su pkexec runuser chroot unshare nsenter env xargs parallel timeout nice nohup time stdbuf setsid ionice watch flock script expect entr " +
	"find fd ssh scp sftp rsync nc ncat socat telnet curl wget http xh ftp " +
	"docker podman kubectl helm vagrant npx bunx uvx pipx dlx " +
	"kill pkill killall chmod chown chgrp chattr setfacl mount umount systemctl service crontab at launchctl reboot shutdown halt poweroff " +
	"gh glab aws gcloud az psql mysql sqlite3 redis-cli mongosh vim vi nvim emacs nano ed ex open xdg-open tmux screen gdb lldb strace"

// subcommands tells how many words say what a program does.
var subcommands = map[string]int{
	"git": 2, "go": 2, "cargo": 2, "npm": 2, "pnpm": 2, "yarn": 2, "pip": 2, "pip3": 2, "uv": 2, "poetry": 2, "bundle": 2, "gem": 2, "composer": 2,
	"dotnet": 2, "swift": 2, "mix": 2, "terraform": 2, "tofu": 2, "brew": 2, "apt": 2, "apt-get": 2, "dnf": 2, "rustup": 2, "mvn": 2, "gradle": 2,
	"gradlew": 2, "mvnw": 2, "make": 2, "just": 2, "task": 2, "rake": 2, "bazel": 2, "nx": 2, "turbo": 2, "jj": 2, "hg": 2, "svn": 2,
	"mkdir": 1, "touch": 1, "cp": 1, "mv": 1, "ln": 1, "tar": 1, "zip": 1, "unzip": 1, "gzip": 1, "gunzip": 1, "sed": 1, "tee": 1, "patch": 1,
	"pytest": 1, "jest": 1, "vitest": 1, "eslint": 1, "prettier": 1, "tsc": 1, "ruff": 1, "mypy": 1, "black": 1, "gofmt": 1, "golangci-lint": 1, "gofumpt": 1,
	"cmake": 1, "ninja": 1, "gcc": 1, "g++": 1, "clang": 1, "rustc": 1, "javac": 1, "phpunit": 1, "rspec": 1,
}

// neverPrefixes would cover what cannot be taken back, or run what nobody named.
var neverPrefixes = []string{
	"git push", "git reset", "git clean", "git checkout", "git restore", "git rebase", "git filter-branch", "git config", "git rm", "git submodule",
	"git worktree", "git stash", "git branch", "git bisect", "git difftool", "git mergetool", "git gc", "git reflog", "git update-ref", "git clone",
	"go run", "go generate", "go tool", "go env", "go install", "cargo run", "cargo install", "npm exec", "npm x", "npm run", "npm publish", "npm config",
	"pnpm dlx", "pnpm exec", "pnpm run", "yarn dlx", "yarn exec", "yarn run", "uv run", "uv tool", "poetry run", "bundle exec", "dotnet run", "swift run",
	"mix run", "pip install", "pip3 install", "npm install", "pnpm install", "pnpm add", "yarn add", "gem install", "terraform apply", "terraform destroy",
	"tofu apply", "tofu destroy", "brew install", "apt install", "apt-get install", "dnf install", "mvn exec", "bazel run",
}

// runsScript: npm run build, where the third word says what is done.
func runsScript(words []string) bool {
	return len(words) > 2 && slices.Contains([]string{"npm", "pnpm", "yarn", "bun"}, path.Base(words[0])) && (words[1] == "run" || words[1] == "run-script")
}

// isSubcommand: a plain word, neither a flag nor a path nor an address.
func isSubcommand(w string) bool {
	for i, r := range w {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || i > 0 && (r >= '0' && r <= '9' || r == '-' || r == '_' || r == ':')) {
			return false
		}
	}
	return w != ""
}
