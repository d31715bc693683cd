package program

import (
	"slices"
	"strings"
)

// textRows are the filters: they read files or their input and print something made of it.
func textRows() map[string]spec {
	return map[string]spec{
		"cut": {class: read, tame: true, ops: "FILE...", flags: `-nszw -b:LIST -c:LIST -d:TEXT -f:LIST --bytes=LIST --characters=LIST --delimiter=TEXT --fields=LIST --complement --only-delimited
			--output-delimiter=TEXT --zero-terminated --version --help`},
		"sort": {class: read, ops: "FILE...", flags: `-bcCdfghiMmnRrsuVz -k:KEY -t:TEXT -S:N --ignore-leading-blanks --check?W --dictionary-order --ignore-case --general-numeric-sort
			--human-numeric-sort --ignore-nonprinting --month-sort --merge --numeric-sort --random-sort --reverse --sort=W --stable --unique
			--version-sort --zero-terminated --key=KEY --field-separator=TEXT --buffer-size=N --parallel=N --batch-size=N --debug
			--random-source=FILE --version --help -o:OUT --output=OUT --compress-program=PROG -T:BAD --temporary-directory=BAD
			--files0-from=BAD`},
		"uniq": {class: read, tame: true, ops: "FILE OUT", flags: `-cdDiuz -f:N -s:N -w:N -# --count --repeated --all-repeated?W --skip-fields=N --group?W --ignore-case --skip-chars=N --unique
			--zero-terminated --check-chars=N --version --help`},
		"tr":    {class: neutral, tame: true, ops: "TEXT TEXT", flags: "-cCdstu --complement --delete --squeeze-repeats --truncate-set1 --version --help"},
		"paste": {class: read, tame: true, ops: "FILE...", flags: "-sz -d:TEXT --delimiters=TEXT --serial --zero-terminated --version --help"},
		"join": {class: read, tame: true, ops: "FILE FILE", flags: `-iz -1:N -2:N -a:N -e:TEXT -j:N -o:LIST -t:TEXT -v:N --ignore-case --check-order --nocheck-order --header --zero-terminated
			--version --help`},
		"column": {class: read, tame: true, ops: "FILE...", flags: `-deJLntx -c:N -C:W -E:LIST -H:LIST -i:N -l:N -N:LIST -O:LIST -o:TEXT -p:N -R:LIST -r:N -s:TEXT -T:LIST -W:LIST --table
			--table-columns=LIST --table-columns-limit=N --table-noheadings --table-right=LIST --table-hide=LIST --table-name=TEXT
			--table-truncate=LIST --table-wrap=LIST --table-empty-lines --keep-empty-lines --output-separator=TEXT --separator=TEXT
			--output-width=N --fillrows --json --version --help`},
		"fold": {class: read, tame: true, ops: "FILE...", flags: "-bs -w:N -# --bytes --spaces --width=N --version --help"},
		"fmt": {class: read, tame: true, ops: "FILE...", flags: `-cstu -g:N -p:TEXT -w:N -# --crown-margin --split-only --tagged-paragraph --uniform-spacing --prefix=TEXT --width=N --goal=N
			--version --help`},
		"pr": {class: read, tame: true, ops: "FILE...", flags: `-acdfFJmrtTv -D:FORMAT -e?N -h:TEXT -i?N -l:N -n?N -N:N -o:N -s?TEXT -S?TEXT -w:N -W:N -# --columns=N --across
			--show-control-chars --double-space --header=TEXT --length=N --merge --number-lines?N --omit-header --omit-pagination --width=N
			--page-width=N --version --help`},
		"expand":   {class: read, tame: true, ops: "FILE...", flags: "-i -t:N -# --initial --tabs=N --version --help"},
		"unexpand": {class: read, tame: true, ops: "FILE...", flags: "-a -t:N --all --first-only --tabs=N --version --help"},
		"rev":      {class: read, tame: true, ops: "FILE...", flags: "-0hV --zero --version --help"},
		"numfmt": {class: neutral, tame: true, ops: "TEXT...", flags: `-z -d:TEXT --debug --delimiter=TEXT --field=N --format=FORMAT --from=W --from-unit=N --grouping --header?N --invalid=W --padding=N
			--round=W --suffix=TEXT --to=W --to-unit=N --zero-terminated --version --help`},
		"shuf": {class: read, ops: "FILE", flags: `-erz -i:N -n:N --echo --input-range=N --head-count=N --repeat --zero-terminated --random-source=FILE --version --help -o:OUT
			--output=OUT`, judge: judgeShuf},
		"tsort":  {class: read, tame: true, ops: "FILE", flags: "--version --help"},
		"factor": {class: neutral, tame: true, ops: "TEXT...", flags: "-h --exponents --version --help"},
		"look":   {class: search, tame: true, ops: "TEXT FILE", flags: "-adf -t:TEXT --alternative --alphanum --ignore-case --terminate=TEXT"},
		"jq": {
			class: read, ops: "TEXT FILE...", flags: `-acCeghijMnrRsS -f:FILE -L:DIR --ascii-output --compact-output --color-output --monochrome-output --exit-status --from-file=FILE
			--null-input --join-output --raw-output --raw-output0 --raw-input --slurp --sort-keys --tab --indent=N --unbuffered --stream
			--stream-errors --seq --arg=TEXT --argjson=TEXT --args! --jsonargs! --rawfile=BAD --slurpfile=BAD --argfile=BAD --version --help
			-V`,
			drop: "-f --from-file", judge: judgeJq,
		},
		"yq": {class: read, ops: "TEXT FILE...", flags: `-CMNPejnrS0 -I:N -o:W -p:W --colors --no-colors --no-doc --prettyPrint --exit-status --tojson --null-input --unwrapScalar?W
			--indent=N --output-format=W --input-format=W --nul-output --xml-attribute-prefix=TEXT --yaml-output -y -Y --yaml-roundtrip
			--version --help -V -h -i!! --inplace!! --in-place!! -s:OUT --split-exp=OUT --from-file=BAD`, judge: judgeYq},
		"sed": {
			class: read, ops: "TEXT FILE...", flags: `-nErsuz -l:N -e:TEXT --quiet --silent --expression=TEXT --line-length=N --posix --regexp-extended --separate --null-data
			--unbuffered --debug --sandbox --version --help -f:BAD --file=BAD -i?BAD --in-place?BAD --follow-symlinks`,
			drop: "-e --expression", judge: judgeSed,
		},
		"awk": {class: read, plain: true, ops: "TEXT FILE...", flags: `-b --characters-as-bytes --csv -F:TEXT -v:TEXT --field-separator=TEXT --assign=TEXT --version --help --re-interval --posix -P -f:BAD --file=BAD -E:BAD --exec=BAD
			-i:BAD --include=BAD -l:BAD --load=BAD -o?OUT --pretty-print?OUT -p?OUT --profile?OUT -d?OUT --dump-variables?OUT -D?BAD
			--debug?BAD -e:BAD --source=BAD -W:BAD`, judge: judgeAwk},
		"split":    {class: write, does: "writes files", ops: "FILE TEXT", flags: "-dxuez -a:N -b:N -C:N -l:N -n:N -t:W --filter=RUN --version --help"},
		"csplit":   {class: write, does: "writes files", ops: "FILE TEXT...", flags: "-kqsz -b:W -f:W -n:N"},
		"tee":      {class: write, does: "writes files", ops: "OUT...", flags: "-aip --append --ignore-interrupts --output-error?W --version --help", judge: judgeTee},
		"iconv":    {class: read, ops: "FILE...", flags: "-cls -f:W -t:W --from-code=W --to-code=W --list --silent --verbose --version --help -o:OUT --output=OUT"},
		"dos2unix": {class: write, does: "rewrites files", ops: "OUT...", flags: ""},
		"unix2dos": {class: write, does: "rewrites files", ops: "OUT...", flags: ""},
		"sponge":   {class: write, does: "writes a file", ops: "OUT", flags: "-a"},
		"patch":    {class: write, does: "changes files", ops: "OUT FILE", flags: "-p:N -i:FILE -o:TO -r:TO -d:DIR --input=FILE --output=TO -RNlsEfub --reverse --forward --dry-run"},
		"ed":       {class: write, does: "edits files and runs commands", ops: "OUT"},
		"ex":       {class: write, does: "edits files and runs commands", ops: "OUT..."},
		"cal": {class: neutral, tame: true, ops: "TEXT...", flags: `-13AbBChjmnNswy -# -A:N -B:N -m:W -d:W --one --three --sunday --monday --julian --year --twelve --week?N --color?W --version
			--help`},
		"bc": {class: neutral, ops: "", flags: "-ilqswv --quiet --mathlib --version --help"},
		"xmllint": {class: read, ops: "FILE...", flags: `--noout --format --xpath=TEXT --html --recover --nonet --noent! --shell!! --output=OUT -o:OUT --version --huge --nowarning
			--pretty=N --c14n! --c14n11! --exc-c14n! --xinclude! --loaddtd! --dtdattr! --postvalid! --schema=BAD --dtdvalid=BAD --valid!`, long: true, judge: judgeXml},
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
	for _, word := range []string{"env", "ENV", "import", "include"} {
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
