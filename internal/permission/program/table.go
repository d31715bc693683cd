package program

import (
	"embed"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/permission"
)

// The classes, short.
const (
	write       = permission.ClassWrite
	destructive = permission.ClassDestructive
)

// tableFiles hold the table. A row begins at the margin; further lines of it are indented:
//
//	NAME, NAME : CLASS PROPERTY... ROLE... JUDGE... : what it does, continuing a sentence that begins with the name
//	    GROUP words...
//
// The class "-" is for a program that is unknown but for words that change something or need an exact rule. A program
// with subcommands has a row for each, "git log". A row in brackets is a set of flags for others.
//
// The roles of operands, in order; the one with ... takes any number: FILE and DIR are read, OUT is written, KILL is
// destroyed, HOST is reached, PATH is read where it holds a slash, TEXT and SQL are just text. Operands beyond the
// roles are refused.
//
// Properties:
//
//	tame         no flag that the program has writes, runs or reads elsewhere: patterns are harmless
//	plain        its flags end at the first operand
//	raw          a judge reads the words itself
//	dot          it reads the working folder when no operand names another
//	number       a number is a flag: -5
//	onedash      its long flags have one dash (-name), so that letters are never joined
//	joined       with onedash: a number may be joined to a letter all the same (xxd -l16)
//	apart        the value of a letter is the next word; only digits or letters are joined to it (tree)
//	whole        it takes no shortened long flags
//	changes      its words plainly say that it changes files or state
//	literal      only an exact rule may allow it
//	transparent  for allow rules the command that it runs stands for the whole
//	past         it prints the contents of files of the past
//	removes      it removes its operands, as rm does
//	pushes       it changes a remote repository, as git push does
//	atfile       a word @file stands for the words in the file
//	script       the words behind its first operand belong to a script
//	packages     it runs programs out of packages
//	as=NAME      it has the subcommands of this program
//
// Groups of flags; ? behind a name says that a value is attached or missing:
//
//	allow        flags without a value; letters may be joined: -al is -a and -l
//	N TEXT       the value is a number or a name; a text that may begin with a dash
//	FILE HOST    the value is a file that is read, a machine that is reached
//	CODE         the value is text in a language of the program
//	ask          with these flags it is not read-only; ask=N, ask=FILE, ask=OUT take a value
//	exact        neither, and only an exact rule may allow it; exact=OUT, exact=SCRIPT, exact=PROGRAM take a value
//	like         the flags of another row
//	drop         flags that replace the first operand: grep -e
//
// Other groups:
//
//	words        anywhere among the words, these need an exact rule: options by which a program runs another one,
//	             takes its settings from elsewhere, or reads and writes unexpected files. --name and -name, also
//	             shortened or with a value; -x alone or among letters; with * whatever begins with it; NAME= a word
//	             that begins with it; >-x names a file that is written, and needs no exact rule; * any word
//	destroys     with one of these words it destroys: the text behind the colon says what is lost
//	changes      with one of these flags, or with one of these words as its first operand, it changes something
//	after        behind one of these words comes a command
//	prints       with one of these flags it prints instead of unpacking
//	push         these words in this order send commits to a remote repository; | separates alternatives
//
//go:embed table/*.txt
var tableFiles embed.FS

// option is one flag of a row.
type option struct {
	name     string // with dashes
	role     string // of its value, "" when it takes none
	optional bool   // its value is attached or absent
	ask      bool   // with it the program is not read-only
	exact    bool   // and only an exact rule may allow it
}

// row is what the table knows about one program or subcommand.
type row struct {
	name     string           // the first of its names
	class    permission.Class // unless flags or operands change it; "" for a program of which only exact options are known
	does     string
	ops      []string // roles
	judges   []string // with their arguments: "runs=1"
	options  map[string]option
	words    []exactOption
	lists    map[string][]string // the groups that have nothing but words
	loss     string              // what is lost by the words of the group destroys
	pushes   []string
	property map[string]string

	bad []string // what is wrong with it, with file and line
}

// place is where the table has a row: in a file, from a byte on.
type place struct {
	*file
	at int
}

type file struct{ name, text string }

// table has the places of rows by their names. A row is read when it is first used: a line needs few of them.
var table = sync.OnceValue(func() map[string]place {
	places := make(map[string]place, 1500)
	files, err := tableFiles.ReadDir("table")
	if err != nil {
		panic(err) // it is part of the program
	}
	for _, f := range files {
		text, err := tableFiles.ReadFile(path.Join("table", f.Name()))
		if err != nil {
			panic(err)
		}
		index(places, &file{f.Name(), string(text)})
	}
	return places
})

// index notes where rows begin.
func index(places map[string]place, f *file) {
	text := f.text
	for at, next := 0, 0; at < len(text); at = next {
		next = len(text)
		if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		if text[at] == ' ' || text[at] == '\n' || text[at] == '#' {
			continue
		}
		names, _, _ := strings.Cut(text[at:next], " : ")
		for more := true; more; {
			var name string
			name, names, more = strings.Cut(names, ", ")
			places[name] = place{f, at}
		}
	}
}

var (
	rows  = map[string]*row{}
	rowMu sync.Mutex
)

// find returns the row of a name, nil when there is none.
func find(name string) *row {
	p, ok := table()[name]
	if !ok {
		return nil
	}
	rowMu.Lock()
	r := rows[name]
	rowMu.Unlock()
	if r != nil {
		return r
	}
	r = readRow(p)
	rowMu.Lock()
	defer rowMu.Unlock()
	rows[name] = r
	return r
}

// known reports whether the table tells more about a program than which of its words need an exact rule.
func known(name string) bool {
	r := find(name)
	return r != nil && r.class != ""
}

// gnu are names of GNU's programs where others have the plain name.
var gnu = strings.Fields("gls gcat gfind gsed gawk ggrep gdate grm genv gnice gxargs gstdbuf gnohup gchroot gtee " +
	"gcp gmv gln gchmod gchown gdd gshred gtruncate")

// Plain is the name that rules know a program by: gfind, as GNU's find is called beside another one, is find.
func Plain(name string) string {
	if slices.Contains(gnu, name) {
		return name[1:]
	}
	return name
}

func (r *row) has(property string) bool {
	_, ok := r.property[property]
	return ok
}

var properties = strings.Fields("tame plain raw dot number onedash joined apart whole changes literal transparent " +
	"past removes pushes atfile script packages as")

// readRow reads a row. What is wrong is kept for the test of the table.
func readRow(p place) *row {
	r := &row{options: map[string]option{}, lists: map[string][]string{}, property: map[string]string{}}
	text := p.text[p.at:]
	for n := 0; text != ""; n++ {
		var l string
		l, text, _ = strings.Cut(text, "\n")
		var err error
		switch {
		case n == 0:
			var names, rest string
			names, rest, _ = strings.Cut(l, " : ")
			r.name, _, _ = strings.Cut(names, ", ")
			err = r.head(rest)
		case l == "" || l[0] == '#':
		case l[0] != ' ':
			return r // the next row
		default:
			key, words, _ := strings.Cut(strings.TrimSpace(l), " ")
			err = r.group(key, strings.TrimSpace(words))
		}
		if err != nil {
			line := strings.Count(p.text[:p.at], "\n") + n + 1
			r.bad = append(r.bad, fmt.Sprintf("%s:%d: %s: %v", p.name, line, r.name, err))
		}
	}
	return r
}

// head reads the class, the properties, the roles and the judges.
func (r *row) head(text string) error {
	text, r.does, _ = strings.Cut(text, " : ")
	words := strings.Fields(text)
	if len(words) == 0 {
		return fmt.Errorf("it has no class")
	}
	if words[0] != "-" {
		r.class = permission.Class(words[0])
		if !slices.Contains(permission.Classes, r.class) {
			return fmt.Errorf("%q is not a class", words[0])
		}
	}
	for _, w := range words[1:] {
		name, value, _ := strings.Cut(w, "=")
		switch {
		case strings.ToUpper(w) == w:
			if !slices.Contains(roles, strings.TrimSuffix(w, "...")) {
				return fmt.Errorf("%q is not a role", w)
			}
			r.ops = append(r.ops, w)
		case slices.Contains(properties, name):
			r.property[name] = value
		case judges[name] != nil:
			r.judges = append(r.judges, w)
		default:
			return fmt.Errorf("%q is neither a property nor a judge", w)
		}
	}
	return nil
}

var roles = strings.Fields("FILE DIR OUT KILL HOST PATH TEXT SQL")

// valueRoles are those of the values of flags.
var valueRoles = strings.Fields("N TEXT CODE FILE HOST OUT SCRIPT PROGRAM")

// group reads an indented line.
func (r *row) group(key, text string) error {
	words := strings.Fields(text)
	switch key {
	case "like":
		other := find(text)
		if other == nil {
			return fmt.Errorf("there is no row %q", text)
		}
		maps.Copy(r.options, other.options)
		r.words = append(r.words, other.words...)
		if other.has("number") {
			r.property["number"] = ""
		}
	case "words":
		for _, w := range words {
			r.words = append(r.words, newExactOption(w))
		}
	case "push":
		r.pushes = append(r.pushes, text)
	case "destroys":
		list, loss, ok := strings.Cut(text, " : ")
		if !ok {
			return fmt.Errorf("it does not say what is lost")
		}
		r.lists[key], r.loss = strings.Fields(list), loss
	case "drop", "changes", "after", "prints":
		r.lists[key] = append(r.lists[key], words...)
	default:
		return r.flags(key, words)
	}
	return nil
}

// flags reads a group of flags.
func (r *row) flags(key string, words []string) error {
	how, role, valued := strings.Cut(key, "=")
	if slices.Contains(valueRoles, key) {
		how, role, valued = "allow", key, true
	}
	if how != "allow" && how != "ask" && how != "exact" || valued && !slices.Contains(valueRoles, role) {
		return fmt.Errorf("%q is not a group", key)
	}
	for _, w := range words {
		if len(w) < 2 || w[0] != '-' && w[0] != '+' {
			return fmt.Errorf("%q is not a flag", w)
		}
		o := option{role: role, ask: how != "allow", exact: how == "exact"}
		o.name, o.optional = strings.CutSuffix(w, "?")
		if o.role == "" && w[0] == '-' && w[1] != '-' && !r.has("onedash") {
			for _, letter := range o.name[1:] {
				o.name = "-" + string(letter)
				r.options[o.name] = o
			}
			continue
		}
		r.options[o.name] = o
	}
	return nil
}
