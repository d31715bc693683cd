package program

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/permission"
)

// exactOption is one of the words of a row that need an exact rule.
type exactOption struct {
	text   string
	writes bool // its value is a file that is written
	prefix bool // whatever begins with it
}

func newExactOption(text string) (o exactOption) {
	text, o.writes = strings.CutPrefix(text, ">")
	o.text, o.prefix = strings.CutSuffix(text, "*")
	return o
}

// exactWords marks a use that has an option of the table, so that only an exact rule covers it.
func (c *call) exactWords(name string) {
	if c.Class.ReadOnly() {
		return
	}
	sub := ""
	if i := slices.IndexFunc(c.args, func(w Word) bool { return !strings.HasPrefix(w.Text, "-") }); i >= 0 {
		sub = c.args[i].Text
	}
	args := c.args
	switch {
	case c.row.has("script"):
		args = args[:beforeScript(args)]
	case sub == "compose" || name == "docker-compose":
		args = args[:beforeVerb(args)]
	}
	c.module(name)
	for _, r := range []*row{c.row, find(c.base() + " " + sub)} {
		if r == nil {
			continue
		}
		for i, w := range args {
			c.exactWord(r.words, i, w)
		}
	}
	switch name {
	case "make", "gmake":
		c.makeVariables()
	case "curl", "wget":
		c.oneAddress()
	case "patch":
		c.exact("patch changes what the patch says, and may run ed")
	case "mvn", "mvnw":
		for _, w := range args {
			if !strings.HasPrefix(w.Text, "-") && strings.Count(w.Text, ":") > 1 {
				c.exact("mvn runs a plugin from elsewhere")
			}
		}
	case "cmake":
		c.buildsElsewhere()
	case "go":
		if sub == "run" && slices.ContainsFunc(args, func(w Word) bool { return strings.Contains(w.Text, "@") }) {
			c.exact("go run fetches a program from elsewhere and runs it")
		}
	case "pip", "pip3", "pipx", "uv", "uvx", "poetry", "pdm", "npm", "npx", "pnpm", "yarn", "bun", "gem", "cargo":
		if slices.ContainsFunc(args, namesAddress) ||
			slices.Contains(fetching, sub) && slices.ContainsFunc(args, namesSource) {
			c.exact(name + " takes a package from an address")
		}
	case "git", "jq", "gojq", "jaq", "yq":
		c.strangers()
	case "kubectl", "helm":
		if slices.ContainsFunc(args, func(w Word) bool { return strings.Contains(w.Text, "://") }) {
			c.exact(name + " takes what another machine says")
		}
	}
}

// buildsElsewhere: a CMakeLists.txt or a build folder outside of the working folders is code that nobody named.
func (c *call) buildsElsewhere() {
	if c.env.World == nil {
		return
	}
	for _, w := range c.args {
		name := strings.TrimPrefix(strings.TrimPrefix(w.Text, "-S"), "-B")
		if _, value, ok := strings.Cut(name, "="); ok && strings.HasPrefix(name, "-") {
			name = value
		}
		at := absolute(name, c.env.Dir)
		if !strings.HasPrefix(name, "-") && !slices.ContainsFunc(c.env.World.Roots(),
			func(root string) bool { return at == root || strings.HasPrefix(at, root+"/") }) {
			c.exact("cmake builds outside of the working folders")
		}
	}
}

// namesAddress reports whether a word names a package by its address and not by its name.
func namesAddress(w Word) bool {
	return strings.Contains(w.Text, "://") || strings.HasPrefix(w.Text, "git+") || strings.HasPrefix(w.Text, "git@")
}

// fetching are the subcommands of package managers that name packages.
var fetching = strings.Fields("install i in add isntall ci update up upgrade link exec x create init dlx")

// namesSource reports whether a word names a package by another thing than its name and version: a repository, a
// folder or an archive outside.
func namesSource(w Word) bool {
	text := w.Text
	if strings.HasPrefix(text, "-") || text == "." || strings.HasPrefix(text, "./") {
		return false
	}
	if rest, scoped := strings.CutPrefix(text, "@"); scoped {
		_, text, _ = strings.Cut(rest, "/")
	}
	return strings.ContainsAny(text, "/:") || strings.HasPrefix(text, "~") || strings.HasSuffix(text, ".tgz")
}

// module counts the words of a module that python runs (-m pytest) like those of a program.
func (c *call) module(name string) {
	i := slices.IndexFunc(c.args, func(w Word) bool { return w.Text == "-m" })
	if name != "python" && name != "python3" || i < 0 || i+1 >= len(c.args) {
		return
	}
	use := Analyze(c.args[i+1:], c.env)
	c.Literal = c.Literal || use.Literal
	for _, to := range use.Writes {
		if !slices.Contains(c.Writes, to) {
			c.Writes = append(c.Writes, to)
		}
	}
}

// strangers: words of a pattern speak of the project. A file outside of it, or one that usually holds secrets, needs a
// rule that names it.
func (c *call) strangers() {
	if c.env.World == nil {
		return
	}
	for _, w := range c.args {
		_, value, attached := strings.Cut(w.Text, "=")
		switch {
		case !strings.HasPrefix(w.Text, "-"):
			value = w.Text
		case attached:
		case len(w.Text) > 2 && w.Text[1] != '-':
			value = w.Text[2:] // -F/path
		}
		if value != "" && (c.outside(value) || c.secret(value)) {
			c.refuse(c.name + " names a file outside of the working folders, or one with secrets: " + value)
			c.Beyond = true
			return
		}
	}
}

// outside reports whether a word is plainly a path outside of the working folders and /tmp.
func (c *call) outside(name string) bool {
	if !strings.HasPrefix(name, "/") && name != ".." && !strings.HasPrefix(name, "../") && !strings.Contains(name, "/../") {
		return false
	}
	at := absolute(name, c.env.Dir)
	return !slices.ContainsFunc(append([]string{"/tmp", "/dev/null"}, c.env.World.Roots()...),
		func(root string) bool { return at == root || strings.HasPrefix(at, root+"/") })
}

func (c *call) secret(name string) bool {
	found, _, template := permission.SecretPath(strings.TrimPrefix(name, "./"))
	return found != "" && !template
}

// beforeScript is the number of words before the script's own. A word behind a flag may be that flag's value.
func beforeScript(args []Word) int {
	for i, w := range args {
		if !strings.HasPrefix(w.Text, "-") && (i == 0 || args[i-1].Text == "-jar" || !strings.HasPrefix(args[i-1].Text,
			"-") || strings.Contains(w.Text, ".") && i+1 < len(args) && !strings.HasPrefix(args[i+1].Text, "-")) {
			return i
		}
	}
	return len(args)
}

// composeVerbs are the subcommands of docker compose. The options before them are its own.
var composeVerbs = strings.Fields(`attach build commit config cp create down events exec export images kill logs ls
	pause port ps pull push restart rm run scale start stats stop top unpause up version wait watch`)

func beforeVerb(args []Word) int {
	if i := slices.IndexFunc(args, func(w Word) bool { return slices.Contains(composeVerbs, w.Text) }); i >= 0 {
		return i
	}
	return len(args)
}

func (c *call) exactWord(options []exactOption, i int, w Word) {
	oneDash, whole := c.row.has("onedash"), c.row.has("whole")
	for _, o := range options {
		value, attached, ok := o.found(w.Text, oneDash, whole)
		if !ok {
			continue
		}
		if !attached && i+1 < len(c.args) {
			value = c.args[i+1].Text
		}
		if !o.writes && (value != "-" || !slices.Contains([]string{"git", "gh", "glab"}, c.base())) {
			c.Literal = true
			return
		}
		if !o.writes {
			continue // what comes out of a here-document or a pipe is in the line
		}
		if value != "" && !slices.Contains(c.Writes, value) {
			c.Writes = append(c.Writes, filepath.ToSlash(value))
		}
	}
}

// found reports whether a word is the option, with its value where that is a part of the word.
func (o exactOption) found(word string, oneDash, whole bool) (value string, attached, ok bool) {
	if word != "" && word[0] != '-' && o.text != "" && word[0] != o.text[0] {
		return "", false, false // nothing else can begin an option
	}
	if oneDash && whole && strings.HasPrefix(word, "--") && !strings.HasPrefix(o.text, "--") {
		word = word[1:] // both are the same to programs in Go
	}
	switch name, rest, has := strings.Cut(word, "="); {
	case o.prefix:
		return rest, has, strings.HasPrefix(word, o.text)
	case o.text == "+" || strings.HasSuffix(o.text, "="):
		return "", false, strings.HasPrefix(word, o.text)
	case o.text == "--":
		return "", false, word == "--"
	case strings.HasPrefix(o.text, "--"):
		return rest, has, name == o.text || !whole && len(name) > 3 && strings.HasPrefix(o.text, name)
	case len(o.text) > 2:
		return rest, has, name == o.text || name == "-"+o.text
	}
	if len(word) < 2 || word[0] != '-' || word[1] == '-' {
		return "", false, false
	}
	at := strings.IndexByte(word[1:], o.text[1])
	if at < 0 || oneDash && (at > 0 || whole && len(word) > 2 && word[2] != '=') {
		return "", false, false
	}
	value = strings.TrimPrefix(word[1+at+1:], "=")
	return value, value != "", true
}

// makeVariables: the value of a variable is text that make expands and hands to a shell. Numbers and words for yes
// and no are harmless.
func (c *call) makeVariables() {
	for _, w := range c.args {
		name, value, ok := strings.Cut(w.Text, "=")
		if !ok || strings.HasPrefix(name, "-") {
			continue
		}
		switch strings.ToLower(value) {
		case "", "yes", "no", "true", "false", "on", "off", "y", "n", "debug", "release":
		default:
			if !isNumber(value) {
				c.exact("make hands the value of " + name + " to a shell")
			}
		}
	}
}

// plainAddress is one address on one machine, without anything that curl or wget would take for more.
var plainAddress = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(https?://)?[A-Za-z0-9.-]+(:[0-9]+)?([/?#][^{}\[\]\\\s|^` + "`" + `]*)?$`)
})

// oneAddress: a pattern such as "curl https://a/*" speaks of one machine, so there has to be one address and no
// header that comes from a file or names another machine.
func (c *call) oneAddress() {
	if len(c.ops) != 1 || !plainAddress().MatchString(c.ops[0].Text) {
		c.Literal = true
	}
	for _, f := range c.flags {
		v := strings.TrimSpace(f.value.Text)
		switch f.name {
		case "-H", "--header", "--proxy-header":
			lower := strings.ToLower(v)
			c.Literal = c.Literal || strings.HasPrefix(v, "@") || strings.HasPrefix(lower, "host") || strings.HasPrefix(lower,
				":")
		case "-b", "--cookie":
			c.Literal = c.Literal || !strings.Contains(v, "=")
		case "-w", "--write-out":
			c.Literal = c.Literal || strings.HasPrefix(v, "@") || strings.Contains(v, "%output")
		}
		if slices.Contains(curlData, f.name) {
			c.Literal = c.Literal || strings.HasPrefix(v, "@") || strings.Contains(v, "=@") || strings.Contains(v, "=<") ||
				strings.HasPrefix(v, "<")
		}
	}
	c.Literal = c.Literal || len(c.strange) > 0
}
