package program

import (
	"slices"
	"strings"
)

// The words of find, from its manual (findutils 4.9, BSD). A word that is not here is not known to be read-only.
const (
	findAlone = `-daystart -depth -d -ignore_readdir_race -noignore_readdir_race -mount -xdev -warn -nowarn -noleaf
		-empty -executable -readable -writable -nouser -nogroup -true -false -print -print0 -ls -prune -quit -not -a -and -o -or ! ( ) ,
		-help --help -version --version`
	findValue = `-maxdepth -mindepth -regextype -amin -atime -cmin -ctime -mmin -mtime -fstype -gid -group -uid -user -ilname -lname -iname
		-name -inum -ipath -path -iregex -regex -iwholename -wholename -links -perm -size -type -xtype -used -printf -context`
	findFile = `-newer -anewer -cnewer -samefile`
)

// followsLinks is why a list of all files asks that may leave the folders by a link.
const followsLinks = "a link may lead out of the folders that are listed by "

// judgeFind reads the words of find: options, folders, then the expression.
func judgeFind(c *call) {
	c.Class = search
	alone, value, file := fields(findAlone), fields(findValue), fields(findFile)
	paths, i := 0, 0
	for ; i < len(c.args); i++ {
		w := c.args[i]
		if findStarts(w) {
			break
		}
		switch {
		case w.Text == "-D" || w.Text == "-O":
			c.refuse("the flag " + w.Text + " of find is not known to be read-only")
		case w.Text == "-L":
			c.refuse(followsLinks + c.name)
		case w.Text == "-H" || w.Text == "-P" || w.Text == "--" || strings.HasPrefix(w.Text, "-O"):
		default:
			c.findWord(w)
			c.reads(w)
			paths++
		}
	}
	if paths == 0 {
		c.Reads = append(c.Reads, ".")
	}
	for ; i < len(c.args); i++ {
		w := c.args[i]
		switch {
		case w.Unknown || w.Glob:
			c.findWord(w)
		case w.Text == "-follow":
			c.refuse(followsLinks + c.name)
		case slices.Contains(alone, w.Text):
		case slices.Contains(value, w.Text), slices.Contains(file, w.Text), strings.HasPrefix(w.Text, "-newer") &&
			len(w.Text) == 8:
			i++
			if i == len(c.args) {
				c.refuse("find lacks a word after " + w.Text)
				break
			}
			c.findWord(c.args[i])
			if slices.Contains(file, w.Text) || strings.HasPrefix(w.Text, "-newer") && !strings.HasSuffix(w.Text, "t") {
				c.reads(c.args[i])
			}
		default:
			i = c.findAction(i)
		}
	}
}

// findStarts reports whether a word begins the expression.
func findStarts(w Word) bool {
	if w.Unknown || w.Glob {
		return false
	}
	switch w.Text {
	case "!", "(", ")", ",":
		return true
	case "-H", "-L", "-P", "--", "-D", "-O":
		return false
	}
	return strings.HasPrefix(w.Text, "-") && len(w.Text) > 1 && !strings.HasPrefix(w.Text, "-O")
}

// findWord refuses a word that may turn out to be an action.
func (c *call) findWord(w Word) {
	switch {
	case w.Unknown && !w.Quoted:
		c.refuse("only running it tells which words find gets")
	case w.Glob && mayBeFlag(w.Text, &grammar{}):
		c.refuse("the unquoted pattern " + w.Text + " may become an action of find")
	case w.Unknown:
		c.refuse("only running it tells which words find gets")
	}
}

// findAction takes the action at args[i], and gives back the last index used.
func (c *call) findAction(i int) int {
	w := c.args[i]
	switch w.Text {
	case "-exec", "-execdir", "-ok", "-okdir":
		end := i + 1
		for end < len(c.args) && c.args[end].Text != ";" && !(c.args[end].Text == "+" && c.args[end-1].Text == "{}") {
			end++
		}
		inner := c.findCommand(c.args[i+1 : min(end, len(c.args))])
		c.exact("find " + w.Text + " runs a program for what it finds")
		if len(inner) == 0 {
			c.ScriptHides = true
		} else {
			c.Inner = append(c.Inner, inner)
		}
		return end
	case "-delete":
		c.destroy("find -delete removes what it finds")
		c.Literal = true
		c.Kills = append(c.Kills, c.Reads...)
		c.likeRm(c.Reads)
	case "-fprint", "-fprint0", "-fls", "-fprintf":
		c.exact("find " + w.Text + " writes a file")
		if i+1 < len(c.args) {
			c.Writes = append(c.Writes, c.args[i+1].Text)
		}
		return i + 1
	case "-files0-from":
		c.refuse("find -files0-from takes the names of folders from a file")
		return i + 1
	default:
		c.refuse("the word " + w.Text + " of find is not known to be read-only")
	}
	return i
}

// findCommand replaces words that hold {} with unknown ones.
func (c *call) findCommand(words []Word) []Word {
	out := make([]Word, len(words))
	for i, w := range words {
		if strings.Contains(w.Text, "{}") {
			w = Word{Text: w.Text, Unknown: true, Quoted: true}
		}
		out[i] = w
	}
	return out
}
