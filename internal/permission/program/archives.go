package program

import "strings"

// archiveRows: archives may be listed; packing and unpacking writes.
func archiveRows() map[string]spec {
	rows := map[string]spec{
		"tar": {class: write, does: "packs or unpacks files", raw: true, judge: judgeTar},
		"unzip": {
			class: write, does: "unpacks files", ops: "FILE TEXT...",
			judge: unpacks("-d", printsWith("-l -v -Z -t -p -z -c", "-l -v -Z -t -p -z -c -q -C")), flags: unzipFlags,
		},
		"zipinfo": {class: list, ops: "FILE TEXT...", flags: &flagSet{letters: "12CMTZhlmstvz"}},
		"zip":     {class: write, does: "packs files", ops: "OUT FILE...", flags: zipFlags, judge: judgeZip},
		"7z": {class: write, does: "packs or unpacks files", ops: "TEXT FILE TEXT...", flags: &flagSet{
			oneDash: true,
			alone:   "-slt -ba -bd",
		}, judge: judgeSeven},
		"gzip": {
			class: write, does: "packs or unpacks files in place", ops: "FILE...", flags: gzipFlags,
			judge: printsWith("-c -l -t --stdout --to-stdout --list --test", ""),
		},
		"gunzip": {
			class: write, does: "unpacks files in place", ops: "FILE...", flags: gzipFlags,
			judge: printsWith("-c -l -t --stdout --to-stdout --list --test", ""),
		},
		"bzip2": {class: write, does: "packs or unpacks files in place", ops: "FILE...", judge: lastMode("-c --stdout",
			"-t --test"), flags: bzip2Flags},
		"xz": {
			class: write, does: "packs or unpacks files in place", ops: "FILE...",
			judge: lastMode("-c --stdout --to-stdout", "-l -t --list --test"), flags: xzFlags,
		},
		"zstd": {class: write, does: "packs or unpacks files", ops: "FILE...", judge: lastMode("-c --stdout",
			"-l -t --list --test"), flags: zstdFlags},
		"cpio": {
			class: write, does: "packs or unpacks files", ops: "TEXT...", judge: unpacks("-D", nil),
			flags: cpioFlags,
		},
		"unrar": {class: write, does: "unpacks files", ops: "TEXT FILE OUT...", judge: unpacks("", nil)},
		"jar":   {class: write, does: "packs or unpacks files", raw: true, judge: asks("--version")},
		"less":  {class: read, ops: "FILE...", flags: lessFlags, judge: judgePager},
		"more": {
			class: read, ops: "FILE...", flags: &flagSet{number: true, letters: "dflcpsu", value: "-n"},
			judge: judgePager,
		},
		"most": {class: write, does: "is interactive", ops: "FILE..."},
		"dpkg": {
			class: write, does: "installs packages", ops: "TEXT...",
			judge: printsWith("-l -L -s -S --list --listfiles --status --search --print-architecture --version",
				"-l -L -s -S --list --listfiles --status --search --print-architecture --version"), flags: dpkgFlags,
		},
		"dpkg-query": {class: list, ops: "TEXT...", flags: dpkgQueryFlags},
		"apt-cache":  {class: list, ops: "TEXT...", flags: aptCacheFlags, judge: aptCache},
		"apt":        {class: write, does: "installs packages", ops: "TEXT...", flags: aptFlags, judge: judgeApt},
		"apt-get": {class: write, does: "installs packages", ops: "TEXT...", flags: &flagSet{
			letters:     "yq",
			unsafeValue: "-o -c",
		}},
		"rpm": {class: write, does: "installs packages", ops: "TEXT...", judge: printsWith("-q --query --version",
			"-q -a -i -l -f -R -v -c -d --all --info --list --file --query --queryformat --qf --version"), flags: rpmFlags},
	}
	rows["bsdtar"], rows["gtar"] = rows["tar"], rows["tar"]
	rows["7za"], rows["7zz"] = rows["7z"], rows["7z"]
	return rows
}

var gzipFlags = &flagSet{
	letters: "cdfhklLnNqrtvV123456789",
	alone: `--stdout --to-stdout --decompress --uncompress --force --keep --list --quiet --recursive --test --verbose --version --help
		--best --fast --no-name --name --rsyncable`,
	text: "-S",
}

var unzipFlags = &flagSet{
	letters: "lvZtpzqcaCDjKLMnoUVWX:^",
	text:    "-x -P",
	writes:  "-d",
}

var zipFlags = &flagSet{
	letters: "0123456789AcDdeFfgjklmoqrSuvwXyz@",
	value:   "-i -x -n -t",
	text:    "-P",
	exact:   "-T",
	writes:  "-O -b --out",
	script:  "--unzip-command",
}

var bzip2Flags = &flagSet{
	letters: "cdfkLqstvVz123456789",
	alone:   "--stdout --decompress --force --keep --quiet --test --verbose",
}

var xzFlags = &flagSet{
	letters: "0123456789cdefhHklqtTvVz",
	alone:   "--stdout --to-stdout --decompress --list --test --keep --quiet --verbose --robot",
}

var zstdFlags = &flagSet{
	number:  true,
	letters: "cdfhklqtvV",
	alone:   "--stdout --decompress --list --test",
	unsafe:  "--rm",
	writes:  "-o",
}

var cpioFlags = &flagSet{
	alone:   "--to-stdout",
	reads:   "-I -F",
	writes:  "-O",
	program: "--rsh-command",
}

var lessFlags = &flagSet{
	number:  true,
	letters: "aAcCdeEfFgGiIJKLmMnNqQrRsSuUwWX~",
	alone: `--chop-long-lines --line-numbers --LINE-NUMBERS --raw-control-chars --RAW-CONTROL-CHARS --no-init --quit-if-one-screen
		--version`,
	unsafeValue: "-k -t -T --lesskey-file --lesskey-src --tag",
	writes:      "-o -O --log-file --LOG-FILE",
}

var dpkgFlags = &flagSet{
	letters: "lLsSV",
	alone:   "--list --listfiles --status --search --print-architecture --version --verify",
}

var dpkgQueryFlags = &flagSet{
	letters: "lLsSWp",
	alone:   "--show --list --listfiles --status --search --version",
	text:    "-f --showformat",
}

var aptCacheFlags = &flagSet{
	letters:     "anqif",
	alone:       "--installed --names-only --no-all-versions --full",
	unsafeValue: "-c -o",
}

var aptFlags = &flagSet{
	letters:     "aqV",
	alone:       "--installed --upgradable --all-versions --version",
	unsafeValue: "-c -o",
}

var rpmFlags = &flagSet{
	letters:     "qailfRvcd",
	alone:       "--all --info --list --file --query --version",
	text:        "--queryformat --qf",
	unsafeValue: "-D -E --define --eval",
	script:      "--pipe",
}

// printsWith: with one of the flags, and no flag but the known ones, it prints instead of writing files. An
// empty list of known flags means all of the row.
func printsWith(printing, known string) func(*call) {
	prints, knows := strings.Fields(printing), strings.Fields(known)
	return func(c *call) {
		if !c.has(prints...) || len(c.strange) > 0 || len(c.unsure) > 0 || len(c.Writes) > 0 || c.Literal {
			return
		}
		for _, f := range c.flags {
			if f.unsafe || len(knows) > 0 && !contains(knows, f.name) {
				return
			}
		}
		for _, w := range c.ops {
			if w.Unknown {
				return
			}
		}
		c.Class, c.Reason = read, ""
	}
}

// lastMode is for packers where the last mode given counts: xz -t -d unpacks in place, xz -d -t tests. Output to
// the standard output stays so, whatever follows.
func lastMode(stdout, testing string) func(*call) {
	return func(c *call) {
		if c.has(strings.Fields(stdout)...) || !c.has("-d", "-z", "--decompress", "--uncompress", "--compress") {
			printsWith(stdout+" "+testing, "")(c)
		}
	}
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

// tarFlags are those of GNU tar; the first word may lack its dash.
var tarFlags = &flagSet{
	letters: "tvzjJaZhpsPSkmUWwBiRlnOA",
	alone: `--list --verbose --gzip --bzip2 --xz --zstd --lzma --auto-compress --wildcards --full-time --numeric-owner --force-local
		--to-stdout --absolute-names --overwrite --keep-old-files --version --help --no-recursion`,
	value: "-b -H --exclude --strip-components --strip --checkpoint-action --checkpoint?",
	text:  "-K -N -V --transform --xform",
	reads: "-f -C -T -X --file --directory --exclude-from --files-from",
	unsafe: "-c -x -r -u -d --create --extract --get --append --update --delete --diff --compare --concatenate " +
		"--remove-files",
	unsafeValue: "-g -L",
	writes:      "--index-file --volno-file --listed-incremental --one-top-level?",
	script:      "-F --to-command --info-script --new-volume-script",
	program:     "-I --use-compress-program --rsh-command --rmt-command",
}

// unpacks: unless it only prints, it fills the folder that a flag names, else the current one.
func unpacks(flag string, judge func(*call)) func(*call) {
	return func(c *call) {
		if judge != nil {
			judge(c)
		}
		if c.Class.ReadOnly() {
			return
		}
		c.Unpacks = "."
		if f, ok := c.get(flag); ok {
			c.Unpacks = f.value.Text
		}
		c.Writes = append(c.Writes, c.Unpacks)
	}
}

// judgeTar: only listing is read-only.
func judgeTar(c *call) {
	args := c.args
	if len(args) > 0 && !args[0].Unknown && !args[0].Glob && args[0].Text != "" && args[0].Text[0] != '-' {
		args = oldStyle(args)
	}
	look := &call{name: c.name, env: c.env, args: args, row: spec{class: list, ops: "TEXT...", flags: tarFlags}}
	look.run()
	c.Use = look.Use
	for _, f := range look.flags {
		if action, ok := strings.CutPrefix(f.value.Text, "exec="); ok && f.name == "--checkpoint-action" {
			c.Script = append(c.Script, action)
		}
		switch {
		case f.name == "--checkpoint-action" && f.value.Text != "dot" && f.value.Text != "echo":
			c.exact("tar --checkpoint-action runs a program")
		case (f.name == "-f" || f.name == "--file") && strings.Contains(f.value.Text, ":") && !look.has("--force-local"):
			if host, _, _ := strings.Cut(f.value.Text, ":"); !strings.Contains(host, "/") {
				c.Hosts = append(c.Hosts, host)
				c.exact("tar reaches another machine, " + f.value.Text)
			}
		}
	}
	if look.has("--version", "--help") && len(look.flags) == 1 && len(look.ops) == 0 {
		return
	}
	c.tarMode(look)
}

func (c *call) tarMode(look *call) {
	switch {
	case look.has("-x", "--extract", "--get"):
		c.Class, c.Reason = write, "tar unpacks files"
		dir := "."
		if f, ok := look.get("-C", "--directory"); ok {
			dir = f.value.Text
		}
		c.Writes = append(c.Writes, dir)
		c.Unpacks = dir
	case look.has("-c", "-r", "-u", "-A", "--create", "--append", "--update", "--delete", "--concatenate"):
		c.Class, c.Reason = write, "tar packs files"
		if f, ok := look.get("-f", "--file"); ok && f.value.Text != "-" {
			c.Writes = append(c.Writes, f.value.Text)
		}
		for _, w := range look.ops {
			c.Reads = append(c.Reads, w.Text)
		}
		if !look.has("--no-recursion") {
			c.copyTree(look.has("-h", "--dereference"))
		}
	case !look.has("-t", "--list"):
		c.refuse("tar is not asked to list")
	}
	if look.has("-g", "--listed-incremental", "--remove-files") {
		c.Literal = true
	}
	if look.has("--remove-files") {
		c.likeRm(operands(c.args))
	}
}

// oldStyle rewrites tar tvf a.tar as tar -t -v -f a.tar: values follow in the order of their letters.
func oldStyle(args []Word) []Word {
	g := tarFlags.grammar()
	rest := args[1:]
	var out []Word
	for _, l := range args[0].Text {
		out = append(out, Word{Text: "-" + string(l)})
		if o := g.options["-"+string(l)]; o.takes != takesNothing && !o.optional && len(rest) > 0 {
			out = append(out, rest[0])
			rest = rest[1:]
		}
	}
	return append(out, rest...)
}

func judgeZip(c *call) {
	if c.has("-r", "-R") {
		c.copyTree(true)
	}
	for i, w := range c.args { // the name of this flag has two letters
		if w.Text == "-TT" && i+1 < len(c.args) {
			c.script(c.args[i+1])
		}
	}
	if c.has("-m", "-d") {
		c.destroy("zip removes files after packing them, or from the archive")
		c.likeRm(operands(c.args))
	}
}

// judgeSeven: 7z l lists.
func judgeSeven(c *call) {
	if len(c.ops) == 2 && c.ops[0].Text == "l" && !c.ops[0].Unknown && !c.ops[1].Unknown && len(c.strange) == 0 &&
		len(c.unsure) == 0 {
		c.Class, c.Reason = list, ""
	}
}

// judgePager: outside of a terminal a pager prints; its +command would run when it is in one.
func judgePager(c *call) {
	for _, w := range c.ops {
		if strings.HasPrefix(w.Text, "+") {
			c.exact(c.name + " runs " + w.Text)
			c.script(Word{Text: strings.TrimLeft(w.Text, "+!"), Unknown: w.Unknown})
		}
	}
}

func aptCache(c *call) {
	if len(c.ops) == 0 {
		return
	}
	switch c.ops[0].Text {
	case "search", "show", "showpkg", "policy", "depends", "rdepends", "madison", "pkgnames", "stats":
	default:
		c.refuse("apt-cache " + c.ops[0].Text + " is not known to be read-only")
	}
}

func judgeApt(c *call) {
	if len(c.ops) == 0 || len(c.strange) > 0 || len(c.unsure) > 0 || c.has("-c", "-o") {
		return
	}
	switch c.ops[0].Text {
	case "list", "search", "show", "policy", "depends", "rdepends":
		c.Class, c.Reason = list, ""
		for _, w := range c.ops[1:] {
			if strings.Contains(w.Text, "/") {
				c.reads(w) // a package in a file
			}
		}
	case "remove", "purge", "autoremove", "autopurge":
		c.destroy("apt " + texts(c.ops) + " removes packages")
	}
}
