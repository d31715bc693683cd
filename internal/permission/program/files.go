package program

import (
	"path"
	"slices"
	"strings"
)

// judgeDd: dd takes name=value words.
func judgeDd(c *call, _ string) {
	for _, w := range c.args {
		if v, ok := strings.CutPrefix(w.Text, "if="); ok {
			c.Reads = append(c.Reads, v)
		}
		if v, ok := strings.CutPrefix(w.Text, "of="); ok {
			c.Writes, c.Kills = append(c.Writes, v), append(c.Kills, v)
		}
	}
}

// judgeCopy: with -t, and with install -d, all operands have the same role.
func judgeCopy(c *call, _ string) {
	if c.row.name == "cp" && c.has("-r", "-R", "-a", "--recursive", "--archive") {
		c.Whole = true
	}
	if f, ok := c.get("-t", "--target-directory"); ok {
		c.Reads, c.Writes = nil, []string{f.value.Text}
		for _, w := range c.ops {
			c.Reads = append(c.Reads, w.Text)
		}
	}
	if c.name == "install" && c.has("-d", "--directory") {
		c.Writes, c.Reads = append(c.Writes, c.Reads...), nil
	}
	c.lands()
}

// judgeMove: the sources are written and removed, too.
func judgeMove(c *call, _ string) {
	judgeCopy(c, "")
	if len(c.Writes) == 1 && strings.HasPrefix(path.Clean(c.Writes[0]), "/dev/") {
		c.destroy("mv loses what it moves to " + c.Writes[0])
	}
	c.Writes = append(c.Writes, c.Reads...)
	c.Kills = append(c.Kills, c.Reads...)
}

// lands notes the sources and the target of a copy, move or link.
func (c *call) lands() {
	if len(c.Reads) == 0 || len(c.Writes) == 0 {
		return
	}
	target := c.Writes[len(c.Writes)-1]
	inside := len(c.Reads) > 1 || c.has("-t", "--target-directory") || strings.HasSuffix(target, "/") || target == "." ||
		target == ".." || strings.HasSuffix(target, "/.")
	c.Lands = &Landing{
		Sources: slices.Clone(c.Reads), Target: target, Inside: inside && !c.has("-T", "--no-target-directory"),
		Deep: c.row.name == "mv" || c.has("-r", "-R", "-a", "--recursive", "--archive"),
	}
}

// judgeRecursive: changing the rights of a whole tree is hard to take back.
func judgeRecursive(c *call, _ string) {
	if c.has("-R", "--recursive") {
		c.destroy(c.name + " -R " + c.row.does + " of everything in " + strings.Join(c.Writes, " "))
		c.Kills = append(c.Kills, c.Writes...)
	}
}

// judgeDevices: operands that are absolute paths are overwritten.
func judgeDevices(c *call, _ string) {
	for _, w := range c.ops {
		if strings.HasPrefix(w.Text, "/") {
			c.Kills = append(c.Kills, w.Text)
		}
	}
}

// judgeSplit: the files that it writes have a prefix in common.
func judgeSplit(c *call, _ string) {
	if f, ok := c.get("-f", "--prefix"); ok {
		c.Writes = append(c.Writes, f.value.Text+"00")
	} else if c.name == "split" && len(c.ops) > 1 {
		c.Writes = append(c.Writes, c.ops[1].Text+"aa")
	}
}

// judgeRewrites: with a flag it changes the files that it reads.
func judgeRewrites(c *call, flag string) {
	if c.has(flag) {
		c.Writes = append(c.Writes, c.Reads...)
	}
}

// judgePager: outside of a terminal a pager prints; its +command would run when it is in one.
func judgePager(c *call, _ string) {
	for _, w := range c.ops {
		if strings.HasPrefix(w.Text, "+") {
			c.exact(c.name + " runs " + w.Text)
			c.script(Word{Text: strings.TrimLeft(w.Text, "+!"), Unknown: w.Unknown})
		}
	}
}

// judgeUnpacks: unless it only prints, it fills the folder that a flag names, else the current one.
func judgeUnpacks(c *call, flag string) {
	prints := c.row.lists["prints"]
	if c.has(prints...) && len(c.strange)+len(c.unsure) == 0 && !slices.ContainsFunc(c.flags, func(f given) bool {
		return !slices.Contains(prints, f.name) && f.name != "-q"
	}) {
		return
	}
	c.Unpacks, c.Changes = ".", true
	if f, ok := c.get(flag); ok {
		c.Unpacks = f.value.Text
	}
	c.Writes = append(c.Writes, c.Unpacks)
}

// judgeTar takes the words of tar, whose first one may lack its dash: tar tvf a.tar is tar -t -v -f a.tar.
func judgeTar(c *call, _ string) {
	words := c.args
	if len(c.args) > 0 && !c.args[0].Unknown && !c.args[0].Glob && c.args[0].Text != "" && c.args[0].Text[0] != '-' {
		c.args = c.oldStyle()
	}
	c.ops = nil
	c.parse()
	c.doubts()
	for _, f := range c.flags {
		c.value(f)
		if action, ok := strings.CutPrefix(f.value.Text, "exec="); ok && f.name == "--checkpoint-action" {
			c.Script = append(c.Script, action)
		}
		if (f.name == "-f" || f.name == "--file") && !c.has("--force-local") {
			if host, _, ok := strings.Cut(f.value.Text, ":"); ok && !strings.Contains(host, "/") {
				c.Hosts = append(c.Hosts, host)
				c.exact("tar reaches another machine, " + f.value.Text)
			}
		}
	}
	switch {
	case c.has("-x", "--extract", "--get"):
		dir := "."
		if f, ok := c.get("-C", "--directory"); ok {
			dir = f.value.Text
		}
		c.Writes, c.Unpacks, c.Changes = append(c.Writes, dir), dir, true
	case c.has("-c", "-r", "-u", "-A", "--create", "--append", "--update", "--delete", "--concatenate"):
		c.Changes = true
		if f, ok := c.get("-f", "--file"); ok && f.value.Text != "-" {
			c.Writes = append(c.Writes, f.value.Text)
		}
		for _, w := range c.ops {
			c.Reads = append(c.Reads, w.Text)
		}
		c.Whole = !c.has("--no-recursion")
	}
	if c.has("--remove-files") {
		c.likeRm(operands(words))
	}
}

// oldStyle gives the letters of the first word dashes; their values follow in the same order.
func (c *call) oldStyle() []Word {
	rest := c.args[1:]
	var out []Word
	for _, l := range c.args[0].Text {
		out = append(out, Word{Text: "-" + string(l)})
		if o := c.row.options["-"+string(l)]; o.role != "" && !o.optional && len(rest) > 0 {
			out = append(out, rest[0])
			rest = rest[1:]
		}
	}
	return append(out, rest...)
}

func judgeZip(c *call, _ string) {
	if c.has("-r", "-R") {
		c.Whole = true
	}
	for i, w := range c.args { // the name of this flag has two letters
		if w.Text == "-TT" && i+1 < len(c.args) {
			c.script(c.args[i+1])
		}
	}
	if c.has("-m", "-d") {
		c.likeRm(operands(c.args))
	}
}

// judgeTree: it reads folders with everything in them.
func judgeTree(c *call, _ string) { c.Whole = true }

// judgeDiff: with -r it compares all files of two folders.
func judgeDiff(c *call, _ string) { c.Whole = c.has("-r", "--recursive") }

// judgeGrep: a recursive search without a folder reads the current one.
func judgeGrep(c *call, _ string) {
	deep := c.has("-r", "--recursive", "-R", "--dereference-recursive")
	for _, how := range c.values("-d", "--directories") {
		deep = deep || how.Text != "skip" && how.Text != "read"
	}
	if !deep {
		return
	}
	if len(c.Reads) == len(c.values("-f", "--file", "--exclude-from")) {
		c.Reads = append(c.Reads, ".")
	}
	c.Whole = true
}

// judgeRg: ripgrep searches folders in any case.
func judgeRg(c *call, _ string) {
	follow := c.has("-L", "--follow")
	switch {
	case c.has("--version", "-V", "--help", "-h"):
	case c.has("--files", "--type-list"):
		if follow {
			c.refuse("a link may lead out of the folders that rg lists")
		}
	default:
		c.Whole = true
	}
}

// judgeFind reads the words of find: options, folders, then the expression.
func judgeFind(c *call, _ string) {
	i, paths := 0, 0
	for ; i < len(c.args); i++ {
		w := c.args[i]
		if findStarts(w) {
			break
		}
		switch {
		case w.Text == "-D" || w.Text == "-O" || w.Text == "-L":
			c.refuse("the flag " + w.Text + " of find is not known to be read-only")
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
		o, ok := c.row.options[w.Text]
		if !ok && strings.HasPrefix(w.Text, "-newer") && len(w.Text) == 8 {
			o, ok = option{role: "FILE"}, true
		}
		switch {
		case w.Unknown || w.Glob:
			c.findWord(w)
		case strings.HasPrefix(w.Text, "-exec"), strings.HasPrefix(w.Text, "-ok"):
			i = c.findCommand(i)
		case !ok && !strings.Contains(" ! ( ) , ", " "+w.Text+" "):
			c.refuse("the word " + w.Text + " of find is not known to be read-only")
		case o.role == "":
			c.value(given{option: o})
			if w.Text == "-delete" {
				c.destroy("find -delete removes what it finds")
				c.Kills = append(c.Kills, c.Reads...)
				c.likeRm(c.Reads)
			}
		case i+1 == len(c.args):
			c.refuse("find lacks a word after " + w.Text)
		default:
			i++
			c.findWord(c.args[i])
			c.value(given{option: o, value: c.args[i], filled: !strings.HasSuffix(w.Text, "t") || o.name != ""})
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
	case w.Glob && c.mayBeFlag(w.Text):
		c.refuse("the unquoted pattern " + w.Text + " may become an action of find")
	case w.Unknown:
		c.unclear("words", "gets")
	}
}

// findCommand takes the command behind -exec at args[i], up to ; or {} +, and gives back the last index used. A word
// with {} is known only at run time.
func (c *call) findCommand(i int) int {
	c.exact("find " + c.args[i].Text + " runs a program for what it finds")
	end := i + 1
	var inner []Word
	for ; end < len(c.args) && c.args[end].Text != ";" && (c.args[end].Text != "+" || c.args[end-1].Text != "{}"); end++ {
		w := c.args[end]
		if strings.Contains(w.Text, "{}") {
			w = Word{Text: w.Text, Unknown: true, Quoted: true}
		}
		inner = append(inner, w)
	}
	if len(inner) == 0 {
		c.ScriptHides = true
	} else {
		c.Inner = append(c.Inner, inner)
	}
	return end
}

// judgeFd finds the commands of -x and -X: all words after them, up to a lone semicolon.
func judgeFd(c *call, _ string) {
	for i, w := range c.args {
		name, value, attached := strings.Cut(w.Text, "=")
		short := strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--")
		letter := c.execLetter(w.Text)
		long := strings.HasPrefix(name, "--exec") || len(name) > 4 && strings.HasPrefix("--exec-batch", name)
		if !(long || short && letter > 0) || w.Unknown {
			continue
		}
		var inner []Word
		if long && attached {
			inner = append(inner, Word{Text: value, Quoted: true})
		} else if short && letter+1 < len(w.Text) {
			inner = append(inner, Word{Text: strings.TrimPrefix(w.Text[letter+1:], "="), Quoted: true})
		}
		inner = append(inner, c.args[i+1:]...)
		c.exact("fd runs a program for what it finds")
		if end := slices.IndexFunc(inner, func(w Word) bool { return w.Text == ";" && !w.Unknown }); end >= 0 {
			inner = inner[:end]
		}
		if len(inner) == 0 {
			c.ScriptHides = true
			return
		}
		c.Inner = append(c.Inner, slices.Concat(inner, []Word{{Unknown: true}}))
		return
	}
}

// execLetter finds -x or -X in a cluster of short flags; letters after one that takes a value are that value.
func (c *call) execLetter(cluster string) int {
	for i := 1; i < len(cluster); i++ {
		if cluster[i] == 'x' || cluster[i] == 'X' {
			return i
		}
		if c.row.options["-"+cluster[i:i+1]].role != "" {
			break
		}
	}
	return -1
}

// judgeLooks: with this option a program that would change files only says what it would change.
func judgeLooks(c *call, option string) {
	c.Changes = c.Changes && !slices.ContainsFunc(c.args, func(w Word) bool { return w.Text == option })
}

// judgeKeeps: with this option a program that would remove files leaves them where they are.
func judgeKeeps(c *call, option string) {
	if c.has(option) && c.Class == destructive {
		c.Class, c.Reason, c.Kills = write, c.name+" "+option+" changes the index", nil
	}
}
