package program

import (
	"slices"
	"strings"
)

// searchRows are the programs that find files, text in files, and programs.
func searchRows() map[string]spec {
	return map[string]spec{
		"grep": {
			class: search, tame: true, ops: "TEXT FILE...", flags: grepFlags, drop: "-e -f --regexp --file",
			judge: judgeGrep,
		},
		"egrep": {
			class: search, tame: true, ops: "TEXT FILE...", flags: grepFlags, drop: "-e -f --regexp --file",
			judge: judgeGrep,
		},
		"fgrep": {
			class: search, tame: true, ops: "TEXT FILE...", flags: grepFlags, drop: "-e -f --regexp --file",
			judge: judgeGrep,
		},
		"zgrep": {class: search, ops: "TEXT FILE...", flags: zgrepFlags, drop: "-e"},
		"rg": {
			class: search, ops: "TEXT FILE...", dot: true, drop: "-e --regexp -f --file --files --type-list",
			flags: rgFlags, judge: judgeRg,
		},
		"ag":      {class: search, ops: "TEXT FILE...", drop: "-g", dot: true, flags: agFlags, judge: judgeAg},
		"ack":     {class: search, ops: "TEXT FILE...", dot: true, flags: ackFlags, judge: judgeAck},
		"fd":      {class: search, ops: "TEXT DIR...", dot: true, flags: fdFlags, judge: judgeFd},
		"find":    {class: search, raw: true, judge: judgeFind},
		"locate":  {class: search, tame: true, ops: "TEXT...", flags: locateFlags},
		"which":   {class: list, tame: true, ops: "TEXT...", flags: &flagSet{letters: "as", alone: "--all --version --help"}},
		"whereis": {class: list, ops: "TEXT...", flags: &flagSet{letters: "bmsul", alone: "--help --version"}},
		"whatis": {class: read, tame: true, ops: "TEXT...", flags: &flagSet{
			letters: "dlrsw",
			alone:   "--long --regex --wildcard",
		}},
		"apropos": {class: read, tame: true, ops: "TEXT...", flags: &flagSet{
			letters: "adelrw",
			alone:   "--exact --and --long --regex --wildcard",
		}},
		"ctags": {
			class: write, does: "writes a tags file", ops: "FILE...", flags: &flagSet{
				letters: "aReu", reads: "-L",
				writes: "-f -o --output",
			},
			judge: asks(
				"--version|--help|--list-languages|--list-kinds|--list-kinds-full|--list-maps|--list-features|--list-fields|--list-extras"),
		},
		"fzf":   {class: write, does: "is interactive and may run programs", ops: "TEXT..."},
		"tokei": {class: list, dot: true, ops: "DIR...", flags: tokeiFlags},
		"cloc":  {class: write, does: "may run version control and unpack archives", ops: "DIR..."},
	}
}

var grepFlags = &flagSet{
	number:  true,
	letters: "abcEFGhHiIlLnopPqrRsTUuvVwxyZz",
	alone: `--extended-regexp --fixed-strings --basic-regexp --perl-regexp --ignore-case --no-ignore-case --word-regexp --line-regexp
		--null-data --no-messages --invert-match --byte-offset --line-number --line-buffered --with-filename --no-filename
		--only-matching --quiet --silent --text --recursive --dereference-recursive --files-without-match --files-with-matches
		--count --initial-tab --null --no-group-separator --binary --version --help`,
	value: `-A -B -C -D -d -m --max-count --binary-files --directories --devices --include --exclude --exclude-dir --before-context
		--after-context --context --color? --colour?`,
	text:  "-e --regexp --label --group-separator",
	reads: "-f --file --exclude-from",
}

var zgrepFlags = &flagSet{
	number:  true,
	letters: "abcEFGhHiIlLnoPqsvwxVz",
	alone: `--ignore-case --line-number --count --with-filename --no-filename --files-with-matches --only-matching --invert-match
		--word-regexp --fixed-strings --extended-regexp`,
	value: "-A -B -C -m --color?",
	text:  "-e",
}

var rgFlags = &flagSet{
	letters: "abcFhHiIlLnNopPqsSuUvVwx0.",
	alone: `--auto-hybrid-regex --binary --block-buffered --byte-offset --case-sensitive --column --no-context-separator --count
		--count-matches --crlf --debug --trace --files --files-with-matches --files-without-match --fixed-strings --follow
		--glob-case-insensitive --heading --help --hidden --ignore-case --ignore-file-case-insensitive --include-zero --invert-match
		--json --line-buffered --line-number --line-regexp --max-columns-preview --mmap --multiline --multiline-dotall --no-config
		--no-filename --no-heading --no-hidden --no-ignore --no-ignore-dot --no-ignore-exclude --no-ignore-files --no-ignore-global
		--no-ignore-messages --no-ignore-parent --no-ignore-vcs --no-line-number --no-messages --no-mmap --no-pcre2-unicode
		--no-require-git --no-unicode --null --null-data --one-file-system --only-matching --passthru --pcre2 --pcre2-version
		--pretty --quiet --smart-case --stats --stop-on-nonmatch --text --trim --type-list --unrestricted --version --vimgrep
		--with-filename --word-regexp --ignore --ignore-dot --ignore-exclude --ignore-files --ignore-global --ignore-messages
		--ignore-parent --ignore-vcs --messages --no-column --no-encoding --no-fixed-strings --no-line-buffered --no-multiline
		--no-pcre2 --no-stats --no-trim --no-text --no-sort-files --sort-files --no-pre --no-search-zip --no-binary --no-follow
		--no-json --no-crlf`,
	value: `-A -B -C -d -E -g -j -m -M -t -T --after-context --before-context --color --colors --context --dfa-size-limit --encoding
		--engine --glob --iglob --max-columns --max-count --max-depth --maxdepth --max-filesize --regex-size-limit --sort --sortr
		--threads --type --type-not --type-add --type-clear --pre-glob --generate`,
	text: "-e -r --context-separator --field-context-separator --field-match-separator --path-separator " +
		"--regexp --replace",
	reads:       "-f --file --ignore-file",
	unsafeValue: "--hyperlink-format",
	exact:       "-z --search-zip",
	program:     "--pre --hostname-bin",
}

var agFlags = &flagSet{
	number:  true,
	letters: "acDFfhHilLnoPQrRsSuUvVwt0",
	alone: `--ackmate --color --nocolor --column --count --filename --nofilename --files-with-matches --files-without-matches --group
		--nogroup --hidden --ignore-case --case-sensitive --smart-case --invert-match --literal --fixed-strings --numbers --nonumbers
		--only-matching --vimgrep --word-regexp --unrestricted --all-types --all-text --stats --silent --version --help
		--list-file-types --search-binary`,
	value:   "-A? -B? -C? -m -W --after? --before? --context? --ignore --ignore-dir --max-count --depth",
	text:    "-g -G",
	reads:   "-p --path-to-ignore",
	exact:   "-z --search-zip",
	program: "--pager",
}

var ackFlags = &flagSet{
	letters: "cghHilLnoQrRsvw1",
	alone: `--noenv --ignore-case --literal --word-regexp --count --files-with-matches --files-without-matches --no-filename
		--with-filename --color --nocolor --group --nogroup --heading --noheading --help --version`,
	value:       "-A? -B? -C? -m -t --type --ignore-dir --ignore-file",
	unsafeValue: "--output --ackrc",
	program:     "--pager",
}

var fdFlags = &flagSet{
	number:  true,
	letters: "aFgHhiIlLpqs0uV1",
	alone: `--absolute-path --fixed-strings --glob --hidden --no-ignore --no-ignore-vcs --no-ignore-parent --ignore-case --case-sensitive
		--list-details --follow --full-path --quiet --print0 --unrestricted --version --help --regex --one-file-system --prune
		--show-errors`,
	value: `-c -d -e -E -j -S -t -o --color --max-depth --min-depth --exact-depth --extension --exclude --threads --size --type --owner
		--max-results --strip-cwd-prefix? --hyperlink?`,
	text:        "--changed-within --changed-before --newer --older --and --path-separator --format",
	reads:       "--search-path --ignore-file",
	unsafeValue: "-x -X --base-directory --exec --exec-batch",
}

var locateFlags = &flagSet{
	letters: "AbceihLPqrSw0",
	alone:   "--all --basename --count --existing --ignore-case --null --quiet --regex --version --help",
	value:   "-l -n --limit",
}

var tokeiFlags = &flagSet{
	letters: "fChV",
	alone:   "--files --hidden --no-ignore --compact --version --help",
	value:   "-e -o -s -t --exclude --output --sort --type",
}

// judgeFd finds the commands of -x and -X: all words after them, up to a lone semicolon.
func judgeFd(c *call) {
	followers("-L", "--follow")(c)
	for i, w := range c.args {
		name, value, attached := strings.Cut(w.Text, "=")
		short := strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--")
		letter := execLetter(c.row.flags.grammar(), w.Text)
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
		c.runs(inner, "fd runs a program for what it finds")
		return
	}
}

// execLetter finds -x or -X in a cluster of short flags; letters after one that takes a value are that value.
func execLetter(g *grammar, cluster string) int {
	for i := 1; i < len(cluster); i++ {
		if cluster[i] == 'x' || cluster[i] == 'X' {
			return i
		}
		if g.options["-"+cluster[i:i+1]].takes != takesNothing {
			break
		}
	}
	return -1
}

// runs adds an inner command that gets the names of files, with the reason why the use is not read-only.
func (c *call) runs(inner []Word, reason string) {
	c.exact(reason)
	if end := slices.IndexFunc(inner, func(w Word) bool { return w.Text == ";" && !w.Unknown }); end >= 0 {
		inner = inner[:end]
	}
	if len(inner) == 0 {
		c.ScriptHides = true
		return
	}
	c.Inner = append(c.Inner, slices.Concat(inner, []Word{{Unknown: true}}))
}
