package program

import (
	"slices"
	"strings"
)

// textRows are the filters: they read files or their input and print something made of it.
func textRows() map[string]spec {
	return map[string]spec{
		"cut":      {class: read, tame: true, ops: "FILE...", flags: cutFlags},
		"sort":     {class: read, ops: "FILE...", flags: sortFlags},
		"uniq":     {class: read, tame: true, ops: "FILE OUT", flags: uniqFlags},
		"tr":       {class: neutral, tame: true, ops: "TEXT TEXT", flags: trFlags},
		"paste":    {class: read, tame: true, ops: "FILE...", flags: pasteFlags},
		"join":     {class: read, tame: true, ops: "FILE FILE", flags: joinFlags},
		"column":   {class: read, tame: true, ops: "FILE...", flags: columnFlags},
		"fold":     {class: read, tame: true, ops: "FILE...", flags: foldFlags},
		"fmt":      {class: read, tame: true, ops: "FILE...", flags: fmtFlags},
		"pr":       {class: read, tame: true, ops: "FILE...", flags: prFlags},
		"expand":   {class: read, tame: true, ops: "FILE...", flags: expandFlags},
		"unexpand": {class: read, tame: true, ops: "FILE...", flags: unexpandFlags},
		"rev": {class: read, tame: true, ops: "FILE...", flags: &flagSet{
			letters: "0hV",
			alone:   "--zero --version --help",
		}},
		"numfmt": {class: neutral, tame: true, ops: "TEXT...", flags: numfmtFlags},
		"shuf":   {class: read, ops: "FILE", flags: shufFlags, judge: judgeShuf},
		"tsort":  {class: read, tame: true, ops: "FILE", flags: &flagSet{alone: "--version --help"}},
		"factor": {class: neutral, tame: true, ops: "TEXT...", flags: &flagSet{
			letters: "h",
			alone:   "--exponents --version --help",
		}},
		"look":  {class: search, tame: true, ops: "TEXT FILE", flags: lookFlags},
		"jq":    {class: read, ops: "TEXT FILE...", drop: "-f --from-file", flags: jqFlags, judge: judgeJq},
		"yq":    {class: read, ops: "TEXT FILE...", flags: yqFlags, judge: judgeYq},
		"sed":   {class: read, ops: "TEXT FILE...", drop: "-e --expression", flags: sedFlags, judge: judgeSed},
		"awk":   {class: read, plain: true, ops: "TEXT FILE...", flags: awkFlags, judge: judgeAwk},
		"split": {class: write, does: "writes files", ops: "FILE TEXT", flags: splitFlags, judge: judgeSplit},
		"csplit": {class: write, does: "writes files", ops: "FILE TEXT...", flags: &flagSet{
			letters: "kqsz",
			value:   "-b -f -n --prefix",
		}, judge: judgeSplit},
		"tee":      {class: write, does: "writes files", ops: "OUT...", flags: teeFlags, judge: judgeTee},
		"iconv":    {class: read, ops: "FILE...", flags: iconvFlags, judge: judgeIconv},
		"dos2unix": {class: write, does: "rewrites files", ops: "OUT...", flags: nil},
		"unix2dos": {class: write, does: "rewrites files", ops: "OUT...", flags: nil},
		"sponge":   {class: write, does: "writes a file", ops: "OUT", flags: &flagSet{letters: "a"}},
		"patch":    {class: write, does: "changes files", ops: "OUT FILE", flags: patchFlags},
		"ed":       {class: write, does: "edits files and runs commands", ops: "OUT"},
		"ex":       {class: write, does: "edits files and runs commands", ops: "OUT..."},
		"cal":      {class: neutral, tame: true, ops: "TEXT...", flags: calFlags},
		"bc": {class: neutral, ops: "", flags: &flagSet{
			letters: "ilqswv",
			alone:   "--quiet --mathlib --version --help",
		}},
		"xmllint": {class: read, ops: "FILE...", flags: xmllintFlags, judge: judgeXml},
	}
}

var cutFlags = &flagSet{
	letters: "nszw",
	alone:   "--complement --only-delimited --zero-terminated --version --help",
	value:   "-b -c -f --bytes --characters --fields",
	text:    "-d --delimiter --output-delimiter",
}

var sortFlags = &flagSet{
	letters: "bcCdfghiMmnRrsuVz",
	alone: `--ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort --human-numeric-sort --ignore-nonprinting
		--month-sort --merge --numeric-sort --random-sort --reverse --stable --unique --version-sort --zero-terminated --debug
		--version --help`,
	value:       "-k -S --check? --sort --key --buffer-size --parallel --batch-size",
	text:        "-t --field-separator",
	reads:       "--random-source",
	unsafeValue: "-T --temporary-directory --files0-from",
	writes:      "-o --output",
	program:     "--compress-program",
}

var uniqFlags = &flagSet{
	number:  true,
	letters: "cdDiuz",
	alone:   "--count --repeated --ignore-case --unique --zero-terminated --version --help",
	value:   "-f -s -w --all-repeated? --skip-fields --group? --skip-chars --check-chars",
}

var trFlags = &flagSet{
	letters: "cCdstu",
	alone:   "--complement --delete --squeeze-repeats --truncate-set1 --version --help",
}

var pasteFlags = &flagSet{
	letters: "sz",
	alone:   "--serial --zero-terminated --version --help",
	text:    "-d --delimiters",
}

var joinFlags = &flagSet{
	letters: "iz",
	alone:   "--ignore-case --check-order --nocheck-order --header --zero-terminated --version --help",
	value:   "-1 -2 -a -j -o -v",
	text:    "-e -t",
}

var columnFlags = &flagSet{
	letters: "deJLntx",
	alone:   "--table --table-noheadings --table-empty-lines --keep-empty-lines --fillrows --json --version --help",
	value: `-c -C -E -H -i -l -N -O -p -R -r -T -W --table-columns --table-columns-limit --table-right --table-hide --table-truncate
		--table-wrap --output-width`,
	text: "-o -s --table-name --output-separator --separator",
}

var foldFlags = &flagSet{
	number:  true,
	letters: "bs",
	alone:   "--bytes --spaces --version --help",
	value:   "-w --width",
}

var fmtFlags = &flagSet{
	number:  true,
	letters: "cstu",
	alone:   "--crown-margin --split-only --tagged-paragraph --uniform-spacing --version --help",
	value:   "-g -w --width --goal",
	text:    "-p --prefix",
}

var prFlags = &flagSet{
	number:  true,
	letters: "acdfFJmrtTv",
	alone:   "--across --show-control-chars --double-space --merge --omit-header --omit-pagination --version --help",
	value:   "-e? -i? -l -n? -N -o -w -W --columns --length --number-lines? --width --page-width",
	text:    "-D -h -s? -S? --header",
}

var expandFlags = &flagSet{
	number:  true,
	letters: "i",
	alone:   "--initial --version --help",
	value:   "-t --tabs",
}

var unexpandFlags = &flagSet{
	letters: "a",
	alone:   "--all --first-only --version --help",
	value:   "-t --tabs",
}

var numfmtFlags = &flagSet{
	letters: "z",
	alone:   "--debug --grouping --zero-terminated --version --help",
	value:   "--field --from --from-unit --header? --invalid --padding --round --to --to-unit",
	text:    "-d --delimiter --format --suffix",
}

var shufFlags = &flagSet{
	letters: "erz",
	alone:   "--echo --repeat --zero-terminated --version --help",
	value:   "-i -n --input-range --head-count",
	reads:   "--random-source",
	writes:  "-o --output",
}

var lookFlags = &flagSet{
	letters: "adf",
	alone:   "--alternative --alphanum --ignore-case",
	text:    "-t --terminate",
}

var jqFlags = &flagSet{
	letters: "acCeghijMnrRsSV",
	alone: `--ascii-output --compact-output --color-output --monochrome-output --exit-status --null-input --join-output --raw-output
			--raw-output0 --raw-input --slurp --sort-keys --tab --unbuffered --stream --stream-errors --seq --version --help`,
	value:       "--indent",
	text:        "--arg --argjson",
	reads:       "-f -L --from-file",
	unsafe:      "--args --jsonargs",
	unsafeValue: "--rawfile --slurpfile --argfile",
}

var yqFlags = &flagSet{
	letters: "CMNPejnrS0yYVh",
	alone: `--colors --no-colors --no-doc --prettyPrint --exit-status --tojson --null-input --nul-output --yaml-output --yaml-roundtrip
		--version --help`,
	value:       "-I -o -p --unwrapScalar? --indent --output-format --input-format",
	text:        "--xml-attribute-prefix",
	unsafeValue: "--from-file",
	exact:       "-i --inplace --in-place",
	writes:      "-s --split-exp",
}

var sedFlags = &flagSet{
	letters: "nErsuz",
	alone: `--quiet --silent --posix --regexp-extended --separate --null-data --unbuffered --debug --sandbox --version --help
			--follow-symlinks`,
	value:       "-l --line-length",
	text:        "-e --expression",
	unsafeValue: "-f -i? --file --in-place?",
}

var awkFlags = &flagSet{
	letters:     "bP",
	alone:       "--characters-as-bytes --csv --version --help --re-interval --posix",
	text:        "-F -v --field-separator --assign",
	unsafeValue: "-f -E -i -l -D? -e -W --file --exec --include --load --debug? --source",
	writes:      "-o? -p? -d? --pretty-print? --profile? --dump-variables?",
}

var splitFlags = &flagSet{
	letters: "dxuez",
	alone:   "--version --help",
	value:   "-a -b -C -l -n -t",
	script:  "--filter",
}

// judgeSplit: the files that it writes have a prefix in common.
func judgeSplit(c *call) {
	if f, ok := c.get("-f", "--prefix"); ok {
		c.Writes = append(c.Writes, f.value.Text+"00")
	} else if c.name == "split" && len(c.ops) > 1 {
		c.Writes = append(c.Writes, c.ops[1].Text+"aa")
	}
}

var teeFlags = &flagSet{
	letters: "aip",
	alone:   "--append --ignore-interrupts --version --help",
	value:   "--output-error?",
}

var iconvFlags = &flagSet{
	letters: "cls",
	alone:   "--list --silent --verbose --version --help",
	value:   "-f -t --from-code --to-code",
	writes:  "-o --output",
}

var patchFlags = &flagSet{
	letters: "RNlsEfub",
	alone:   "--reverse --forward --dry-run",
	value:   "-p",
	reads:   "-i -d --input",
	target:  "-o -r --output",
}

var calFlags = &flagSet{
	number:  true,
	letters: "13bChjnNswy",
	alone:   "--one --three --sunday --monday --julian --year --twelve --version --help",
	value:   "-A -B -m -d --week? --color?",
}

var xmllintFlags = &flagSet{
	oneDash:     true,
	alone:       "-noout -format -html -recover -nonet -version -huge -nowarning",
	value:       "-pretty",
	text:        "-xpath",
	unsafe:      "-noent -c14n -c14n11 -exc-c14n -xinclude -loaddtd -dtdattr -postvalid -valid",
	unsafeValue: "-schema -dtdvalid",
	exact:       "-shell",
	writes:      "-output -o",
}

// judgeIconv: the name of a character set with a slash is a file with a table of characters, unless it only asks for
// odd characters to be replaced.
func judgeIconv(c *call) {
	for _, f := range c.flags {
		name := f.value.Text
		for _, suffix := range []string{"//TRANSLIT//IGNORE", "//IGNORE", "//TRANSLIT", "//"} {
			name = strings.TrimSuffix(name, suffix)
		}
		if f.takes == takesValue && (strings.Contains(name, "/") || f.value.Unknown || f.value.Glob) {
			c.refuse("iconv reads a table of characters from " + f.value.Text)
		}
	}
}

// judgeShuf: with -e its operands are text.
func judgeShuf(c *call) {
	if c.has("-e", "--echo") {
		c.Reads = nil
	}
}

// judgeTee: without operands, and to /dev/null, it writes nothing but its output.
func judgeTee(c *call) {
	for _, w := range c.ops {
		if w.Text != "/dev/null" || w.Unknown {
			return
		}
	}
	if len(c.strange) == 0 && len(c.unsure) == 0 {
		c.Class, c.Reason, c.Writes = neutral, "", nil
	}
}

// judgeJq: --arg and --argjson take a name and a value; a program can read modules and the environment.
func judgeJq(c *call) {
	extra := 0
	for _, f := range c.flags {
		if f.name == "--arg" || f.name == "--argjson" {
			extra++
		}
	}
	if extra > 0 {
		c.Class, c.Reason = c.row.class, ""
		jqArgs(c)
		return
	}
	jqProgram(c)
}

// jqArgs sorts the words anew, with two values for each --arg.
func jqArgs(c *call) {
	var args []Word
	for i := 0; i < len(c.args); i++ {
		w := c.args[i]
		if (w.Text == "--arg" || w.Text == "--argjson") && !w.Unknown && i+2 < len(c.args) {
			if v := c.args[i+2]; c.args[i+1].Unknown || c.args[i+1].Glob || v.Glob || v.Unknown && !v.Quoted {
				c.refuse("only running it tells which words jq gets")
			}
			i += 2
			continue
		}
		args = append(args, w)
	}
	again := &call{name: c.name, row: c.row, env: c.env, args: args}
	again.row.judge = jqProgram
	again.run()
	if c.Class.ReadOnly() {
		c.Use = again.Use
	} else {
		reason := c.Reason
		c.Use = again.Use
		c.refuse(reason)
	}
}

func jqProgram(c *call) {
	if c.has("-f", "--from-file") {
		c.refuse("jq runs a program from a file")
		return
	}
	if len(c.ops) == 0 {
		return
	}
	p := c.ops[0]
	if p.Unknown {
		c.refuse("only running it tells which program jq runs")
	}
	for _, word := range []string{"env", "ENV", "import", "include", "modulemeta"} {
		if holdsWord(p.Text, word) {
			c.refuse("the jq program uses " + word)
		}
	}
}

// holdsWord reports whether text has word with no letter on either side, and not as the name of a field (.env).
func holdsWord(text, word string) bool {
	for rest := text; ; {
		i := strings.Index(rest, word)
		if i < 0 {
			return false
		}
		before := i > 0 && (isLetter(rest[i-1]) || rest[i-1] == '.')
		end := i + len(word)
		after := end < len(rest) && isLetter(rest[end])
		if !before && !after {
			return true
		}
		rest = rest[i+1:]
	}
}

func isLetter(b byte) bool {
	return b == '_' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
}

// judgeYq: yq programs can load files and read the environment.
func judgeYq(c *call) {
	if len(c.ops) == 0 {
		return
	}
	p := c.ops[0]
	if len(c.ops) > 1 && contains([]string{"e", "eval", "ea", "eval-all"}, p.Text) {
		p = c.ops[1]
	}
	if p.Unknown {
		c.refuse("only running it tells which program yq runs")
	}
	if word := yqReaches(p.Text); word != "" {
		c.refuse("the yq program uses " + word)
	}
	for _, w := range c.ops {
		if !w.Unknown && !slices.Contains(c.Reads, w.Text) {
			c.Reads = append(c.Reads, w.Text) // a lone operand may be the file
		}
	}
}

// yqReaches finds a word by which a program reads other files or variables, or runs something: load and env in
// any compound (strload, load_xml, propsload), whatever version of yq spells it.
func yqReaches(text string) string {
	for i := 0; i < len(text); {
		from := i
		for i < len(text) && isLetter(text[i]) {
			i++
		}
		word := strings.ToLower(text[from:i])
		if from == i {
			i++
			continue
		}
		if from > 0 && text[from-1] == '.' {
			continue // the name of a field
		}
		for _, part := range []string{"load", "env", "eval", "import", "include", "system", "exec"} {
			if strings.Contains(word, part) {
				return word
			}
		}
	}
	return ""
}

func judgeXml(c *call) {
	if !c.has("--nonet") {
		for _, w := range c.ops {
			if strings.Contains(w.Text, "://") {
				c.refuse("xmllint fetches " + w.Text)
			}
		}
	}
}
