package program

import (
	"slices"
	"strings"
)

// searchRows are the programs that find files, text in files, and programs.
func searchRows() map[string]spec {
	const grep = `-abcEFGhHiIlLnopPqrRsTUuvVwxyZz -# -A:N -B:N -C:N -D:W -d:W -e:RE -f:FILE -m:N --extended-regexp --fixed-strings
		--basic-regexp --perl-regexp --regexp=RE --file=FILE --ignore-case --no-ignore-case --word-regexp --line-regexp --null-data
		--no-messages --invert-match --max-count=N --byte-offset --line-number --line-buffered --with-filename --no-filename
		--label=TEXT --only-matching --quiet --silent --binary-files=W --text --directories=W --devices=W --recursive
		--dereference-recursive --include=GLOB --exclude=GLOB --exclude-from=FILE --exclude-dir=GLOB --files-without-match
		--files-with-matches --count --initial-tab --null --before-context=N --after-context=N --context=N --group-separator=TEXT
		--no-group-separator --color?W --colour?W --binary --version --help`
	const zgrep = `-abcEFGhHiIlLnoPqsvwxVz -# -A:N -B:N -C:N -e:RE -m:N --ignore-case --line-number --count --with-filename --no-filename
		--files-with-matches --only-matching --invert-match --word-regexp --fixed-strings --extended-regexp --color?W`
	return map[string]spec{
		"grep":  {class: search, tame: true, ops: "TEXT FILE...", flags: grep, drop: "-e -f --regexp --file", judge: judgeGrep},
		"egrep": {class: search, tame: true, ops: "TEXT FILE...", flags: grep, drop: "-e -f --regexp --file", judge: judgeGrep},
		"fgrep": {class: search, tame: true, ops: "TEXT FILE...", flags: grep, drop: "-e -f --regexp --file", judge: judgeGrep},
		"zgrep": {class: search, ops: "TEXT FILE...", flags: zgrep, drop: "-e"},
		"rg": {class: search, ops: "TEXT FILE...", dot: true, drop: "-e --regexp -f --file --files --type-list", flags: `-abcFhHiIlLnNopPqsSuUvVwx0. -A:N -B:N -C:N -d:N -e:RE -E:W -f:FILE -g:GLOB -j:N -m:N -M:N -r:TEXT -t:W -T:W --after-context=N
			--auto-hybrid-regex --before-context=N --binary --block-buffered --byte-offset --case-sensitive --color=W --colors=W --column
			--context=N --context-separator=TEXT --no-context-separator --count --count-matches --crlf --debug --trace --dfa-size-limit=N
			--encoding=W --engine=W --field-context-separator=TEXT --field-match-separator=TEXT --file=FILE --files --files-with-matches
			--files-without-match --fixed-strings --follow --glob=GLOB --glob-case-insensitive --heading --help --hidden --iglob=GLOB
			--ignore-case --ignore-file=FILE --ignore-file-case-insensitive --include-zero --invert-match --json --line-buffered --line-number
			--line-regexp --max-columns=N --max-columns-preview --max-count=N --max-depth=N --maxdepth=N --max-filesize=N --mmap --multiline
			--multiline-dotall --no-config --no-filename --no-heading --no-hidden --no-ignore --no-ignore-dot --no-ignore-exclude
			--no-ignore-files --no-ignore-global --no-ignore-messages --no-ignore-parent --no-ignore-vcs --no-line-number --no-messages
			--no-mmap --no-pcre2-unicode --no-require-git --no-unicode --null --null-data --one-file-system --only-matching
			--path-separator=TEXT --passthru --pcre2 --pcre2-version --pretty --quiet --regex-size-limit=N --regexp=RE --replace=TEXT
			--smart-case --sort=W --sortr=W --stats --stop-on-nonmatch --text --threads=N --trim --type=W --type-not=W --type-add=W
			--type-clear=W --type-list --unrestricted --version --vimgrep --with-filename --word-regexp --ignore --ignore-dot --ignore-exclude
			--ignore-files --ignore-global --ignore-messages --ignore-parent --ignore-vcs --messages --no-column --no-encoding
			--no-fixed-strings --no-line-buffered --no-multiline --no-pcre2 --no-stats --no-trim --no-text --no-sort-files --sort-files
			--no-pre --no-search-zip --no-binary --no-follow --no-json --no-crlf -z!! --search-zip!! --pre=PROG --pre-glob=GLOB
			--hostname-bin=PROG --hyperlink-format=BAD --generate=W`, judge: judgeRg},
		"ag": {class: search, ops: "TEXT FILE...", dot: true, flags: `-acDFfghHilLnopPQrRsSuUvVwWt0 -# -A:N -B:N -C:N -G:RE -m:N --ackmate --after=N --before=N --context=N --color --nocolor --column
			--count --filename --nofilename --files-with-matches --files-without-matches --group --nogroup --hidden --ignore=GLOB
			--ignore-dir=GLOB --ignore-case --case-sensitive --smart-case --invert-match --literal --fixed-strings --max-count=N --numbers
			--nonumbers --only-matching --depth=N --vimgrep --word-regexp --unrestricted --all-types --all-text --stats --silent --version
			--help --list-file-types --search-binary -z!! --search-zip!! --pager=PROG --path-to-ignore=FILE`, judge: judgeAg},
		"ack": {class: search, ops: "TEXT FILE...", dot: true, flags: `-chHilLnoQrRsvwx1 -A:N -B:N -C:N -g:RE -m:N -t:W --noenv --ignore-case --literal --word-regexp --count --files-with-matches
			--files-without-matches --no-filename --with-filename --color --nocolor --group --nogroup --heading --noheading --help --version
			--type=W --ignore-dir=W --ignore-file=W --pager=PROG --output=BAD --ackrc=BAD`, judge: judgeAck},
		"fd": {class: search, ops: "TEXT DIR...", dot: true, flags: `-aFgHhiIlLpqs0uV1 -# -c:W -d:N -e:W -E:GLOB -j:N -S:N -t:W -o:W --absolute-path --fixed-strings --glob --hidden --no-ignore
			--no-ignore-vcs --no-ignore-parent --ignore-case --case-sensitive --list-details --follow --full-path --quiet --print0
			--unrestricted --version --help --color=W --max-depth=N --min-depth=N --exact-depth=N --extension=W --exclude=GLOB --threads=N
			--size=N --type=W --owner=W --changed-within=TEXT --changed-before=TEXT --newer=TEXT --older=TEXT --max-results=N --regex
			--and=TEXT --path-separator=TEXT --strip-cwd-prefix?W --one-file-system --prune --search-path=DIR --ignore-file=FILE --show-errors
			--format=FORMAT --hyperlink?W --base-directory=BAD -x:BAD -X:BAD --exec=BAD --exec-batch=BAD`, judge: judgeFd},
		"find":    {class: search, raw: true, judge: judgeFind},
		"locate":  {class: search, tame: true, ops: "TEXT...", flags: "-AbceihLlPqrSw0 -l:N -n:N --all --basename --count --existing --ignore-case --limit=N --null --quiet --regex --version --help"},
		"which":   {class: list, tame: true, ops: "TEXT...", flags: "-as --all --version --help"},
		"whereis": {class: list, ops: "TEXT...", flags: "-bmsul --help --version"},
		"whatis":  {class: read, tame: true, ops: "TEXT...", flags: "-dlrsw --long --regex --wildcard"},
		"apropos": {class: read, tame: true, ops: "TEXT...", flags: "-adelrw --exact --and --long --regex --wildcard"},
		"ctags":   {class: write, does: "writes a tags file", ops: "FILE..."},
		"fzf":     {class: write, does: "is interactive and may run programs", ops: "TEXT..."},
		"tokei":   {class: list, dot: true, ops: "DIR...", flags: "-fChV -e:GLOB -o:W -s:W -t:W --files --exclude=GLOB --output=W --sort=W --type=W --hidden --no-ignore --compact --version --help"},
		"cloc":    {class: write, does: "may run version control and unpack archives", ops: "DIR..."},
	}
}

// judgeFd finds what -x and -X run. Everything behind them belongs to the command, up to a lone semicolon.
func judgeFd(c *call) {
	followers("-L", "--follow")(c)
	for i, w := range c.args {
		name, value, attached := strings.Cut(w.Text, "=")
		short := strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--")
		letter := execLetter(grammarOf(c.row.flags, false), w.Text)
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

// execLetter finds -x or -X in a cluster of short flags; letters behind one that takes a value are that value.
func execLetter(g *grammar, cluster string) int {
	for i := 1; i < len(cluster); i++ {
		if cluster[i] == 'x' || cluster[i] == 'X' {
			return i
		}
		if g.options["-"+cluster[i:i+1]].kind != "" {
			break
		}
	}
	return -1
}

// runs adds an inner command that gets the names of files, and says why it is not read-only.
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
