package program

import (
	"iter"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/permission"
)

// The classes, for tables that are easy to read.
const (
	neutral     = permission.ClassNeutral
	list        = permission.ClassList
	search      = permission.ClassSearch
	read        = permission.ClassRead
	write       = permission.ClassWrite
	destructive = permission.ClassDestructive
)

var (
	table     map[string]spec
	roleWords map[string][]string // the words of lists that rows have
	tableOnce sync.Once
)

// rows is the whole table, built when the first command is analyzed.
func rows() map[string]spec {
	tableOnce.Do(func() {
		table = make(map[string]spec, 800)
		for _, family := range families() {
			for name, r := range family {
				table[name] = r
			}
		}
		for name, of := range aliases() {
			table[name] = table[of]
		}
		roleWords = map[string][]string{}
		split := func(lists ...string) {
			for _, list := range lists {
				if _, ok := roleWords[list]; !ok {
					roleWords[list] = strings.Fields(list)
				}
			}
		}
		for _, r := range table {
			split(r.ops, r.drop)
		}
		split(gitPatch, findAlone, findValue, findFile)
		for _, how := range gitContents {
			split(how.with, how.without)
		}
	})
	return table
}

// fields are the words of a list; they must not be changed.
func fields(list string) []string {
	if words, ok := roleWords[list]; ok {
		return words
	}
	return strings.Fields(list)
}

// perLine reads lines of the form "name : description".
func perLine(text string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for line := range strings.Lines(text) {
			name, does, ok := strings.Cut(line, " : ")
			if ok && !yield(strings.TrimSpace(name), strings.TrimSpace(does)) {
				return
			}
		}
	}
}

func families() []map[string]spec {
	return []map[string]spec{
		fileRows(), sumRows(), textRows(), searchRows(), systemRows(), builtinRows(), gitRows(), goRows(),
		languageRows(), wrapperRows(), shellRows(), destructiveRows(), disasterRows(), builderRows(), checkerRows(),
		networkRows(), archiveRows(), serviceRows(),
	}
}

// aliases are names under which a program is installed too.
var aliases = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"gls": "ls", "gcat": "cat", "gfind": "find", "gsed": "sed", "ggrep": "grep", "gdate": "date", "grm": "rm",
		"genv": "env", "gnice": "nice", "gxargs": "xargs", "gstdbuf": "stdbuf", "gnohup": "nohup", "gchroot": "chroot",
		"gtee": "tee",
		"gcp":  "cp", "gmv": "mv", "gln": "ln", "gchmod": "chmod", "gchown": "chown", "gdd": "dd", "gshred": "shred",
		"gtruncate": "truncate",
		"fdfind":    "fd", "podman": "docker", "nerdctl": "docker", "tofu": "terraform", "mariadb": "mysql", "oc": "kubectl",
		"batcat": "bat", "exa": "eza", "gawk": "awk", "mawk": "awk", "nawk": "awk",
	}
})

// Plain is the name that rules know a program by: gfind, as GNU's find is called beside another one, is find.
func Plain(name string) string {
	if strings.HasPrefix(name, "g") && aliases()[name] == name[1:] {
		return name[1:]
	}
	return name
}
