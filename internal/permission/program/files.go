package program

// fileRows are the programs that list and read files. The flags are those of GNU coreutils 9, which know more
// than those of macOS and BusyBox; where a letter means another thing there, it is not listed.
func fileRows() map[string]spec {
	return map[string]spec{
		"ls": {class: list, tame: true, dot: true, ops: "FILE...", flags: `-aAbBcCdDfFgGhHiIklLmnNopqQrRsStTuUvwxXZ1 -I:GLOB -w:N -T:N --all --almost-all --author --escape --block-size=N --ignore-backups
			--color?W --directory --dired --classify?W --file-type --format=W --full-time --group-directories-first --no-group
			--human-readable --si --dereference --dereference-command-line --dereference-command-line-symlink-to-dir --hide=GLOB --hyperlink?W
			--indicator-style=W --inode --ignore=GLOB --kibibytes --numeric-uid-gid --literal --hide-control-chars --show-control-chars
			--quote-name --quoting-style=W --reverse --recursive --size --sort=W --time=W --time-style=W --tabsize=N --width=N --context
			--zero --version --help`, judge: judgeLs},
		"cat":  {class: read, tame: true, ops: "FILE...", flags: "-AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs --show-nonprinting --version --help"},
		"tac":  {class: read, tame: true, ops: "FILE...", flags: "-br -s:TEXT --before --regex --separator=TEXT --version --help"},
		"head": {class: read, tame: true, ops: "FILE...", flags: "-qvz -n:N -c:N -# --lines=N --bytes=N --quiet --silent --verbose --zero-terminated --version --help"},
		"tail": {class: read, tame: true, ops: "FILE...", flags: `-fFqvzr -n:N -c:N -s:N -# --lines=N --bytes=N --follow?W --retry --max-unchanged-stats=N --pid=N --sleep-interval=N --quiet
			--silent --verbose --zero-terminated --version --help`},
		"nl": {class: read, tame: true, ops: "FILE...", flags: `-p -b:W -d:W -f:W -h:W -i:N -l:N -n:W -s:TEXT -v:N -w:N --body-numbering=W --section-delimiter=W --footer-numbering=W
			--header-numbering=W --line-increment=N --join-blank-lines=N --number-format=W --no-renumber --number-separator=TEXT
			--starting-line-number=N --number-width=N --version --help`},
		"wc":   {class: read, tame: true, ops: "FILE...", flags: "-clLmw --bytes --chars --lines --max-line-length --words --total=W --files0-from=FILE --version --help", judge: filesFrom("--files0-from")},
		"stat": {class: list, tame: true, ops: "FILE...", flags: "-fLt -c:FORMAT --dereference --file-system --format=FORMAT --printf=FORMAT --terse --cached=W --version --help"},
		"file": {
			class: read, ops: "FILE...", flags: `-bhiIkLnNprsvz0 -F:TEXT -e:W -P:W --brief --mime --mime-type --mime-encoding --extension --keep-going --dereference
			--no-dereference --separator=TEXT --no-pad --raw --exclude=W --uncompress! --print0 --no-buffer --preserve-date --special-files!
			--version --help --list --apple -m:BAD --magic-file=BAD -f:BAD --files-from=BAD -C!! --compile!! -S! --no-sandbox! -Z!`,
			judge: judgeFile,
		},
		"du": {class: list, tame: true, dot: true, ops: "FILE...", flags: `-aAbcDhHklLmPsSx0 -B:N -d:N -t:N -X:FILE -I:GLOB --null --all --apparent-size --block-size=N --bytes --total --dereference-args
			--max-depth=N --files0-from=FILE --human-readable --inodes --dereference --count-links --no-dereference --separate-dirs --si
			--summarize --threshold=N --time?W --time-style=W --exclude-from=FILE --exclude=GLOB --one-file-system --version --help`, judge: judgeDu},
		"df": {class: list, tame: true, ops: "FILE...", flags: `-ahHiklmPTv -B:N -t:W -x:W --all --block-size=N --human-readable --si --inodes --local --no-sync --output?W --portability --total
			--type=W --print-type --exclude-type=W --version --help`},
		"tree": {class: list, dot: true, ops: "DIR...", flags: `-adfilxQNqpugshDFvtcUrASnCXJ -L:N -I:GLOB -P:GLOB -H:TEXT -T:TEXT -o:OUT -R! --gitignore --gitfile=FILE --ignore-case --matchdirs
			--metafirst --prune --info --infofile=FILE --noreport --charset=W --filelimit=N --filesfirst --dirsfirst --sort?W --du --si
			--timefmt=FORMAT --inodes --device --nolinks --hintro=FILE --houtro=FILE --fromfile --fromtabfile --fflinks --version --help`, judge: followers("-l")},
		"eza": {class: list, dot: true, ops: "FILE...", flags: `-1aAbBdDfFgGhHiIlmnrRsSTuUxXZ -s:W -I:GLOB -L:N -t:W --oneline --grid --long --recurse --tree --across --classify?W --color=W
			--colour=W --icons?W --all --almost-all --list-dirs --level=N --reverse --sort=W --group-directories-first --git-ignore
			--ignore-glob=GLOB --only-dirs --only-files --binary --bytes --group --header --links --inode --modified --numeric --blocksize
			--time=W --accessed --created --time-style=W --no-permissions --no-filesize --no-user --no-time --version --help`},
		"bat": {class: read, ops: "FILE...", flags: `-pnAuf -l:W -r:N -H:N -m:W --plain --number --show-all --language=W --line-range=N --highlight-line=N --style=W --color=W
			--decorations=W --theme=W --tabs=N --wrap=W --terminal-width=N --file-name=TEXT --paging=W --force-colorization --unbuffered
			--list-languages --list-themes --version --help --pager=PROG`, judge: judgeBat},
		"readlink": {class: list, tame: true, ops: "FILE...", flags: `-femnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet --silent --verbose --zero --version
			--help`},
		"realpath": {class: list, tame: true, ops: "FILE...", flags: `-emLPqsz --canonicalize-existing --canonicalize-missing --logical --physical --quiet --relative-to=DIR --relative-base=DIR --strip
			--no-symlinks --zero --version --help`},
		"basename": {class: neutral, tame: true, ops: "TEXT...", flags: "-az -s:TEXT --multiple --suffix=TEXT --zero --version --help"},
		"dirname":  {class: neutral, tame: true, ops: "TEXT...", flags: "-z --zero --version --help"},
		"cmp":      {class: read, ops: "FILE FILE TEXT TEXT", tame: true, flags: "-bls -i:N -n:N --print-bytes --ignore-initial=N --verbose --bytes=N --quiet --silent --version --help -v"},
		"diff": {class: read, tame: true, ops: "FILE FILE", flags: `-abBcdeEfHinNpPqrsTtuvwyZ -# -C:N -U:N -D:TEXT -F:RE -I:RE -L:TEXT -S:FILE -W:N -x:GLOB -X:FILE --normal --brief
			--report-identical-files --context?N --unified?N --ed --rcs --side-by-side --width=N --left-column --suppress-common-lines
			--show-c-function --show-function-line=RE --label=TEXT --expand-tabs --initial-tab --tabsize=N --suppress-blank-empty --recursive
			--no-dereference --new-file --unidirectional-new-file --ignore-file-name-case --no-ignore-file-name-case --exclude=GLOB
			--exclude-from=FILE --starting-file=FILE --from-file=FILE --to-file=FILE --ignore-case --ignore-tab-expansion
			--ignore-trailing-space --ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-matching-lines=RE --text
			--strip-trailing-cr --ifdef=TEXT --line-format=FORMAT --old-line-format=FORMAT --new-line-format=FORMAT
			--unchanged-line-format=FORMAT --old-group-format=FORMAT --new-group-format=FORMAT --unchanged-group-format=FORMAT
			--changed-group-format=FORMAT --minimal --horizon-lines=N --speed-large-files --color?W --palette=W --version --help -l!
			--paginate!`, judge: judgeDiff},
		"colordiff": {class: read, ops: "FILE FILE", flags: "-abBdiNpqruwyZ -U:N --recursive --brief --color?W --version --help", judge: judgeDiff},
		"sdiff": {class: read, ops: "FILE FILE", flags: `-abBdEHilstWZ -I:RE -w:N --ignore-case --ignore-tab-expansion --ignore-trailing-space --ignore-space-change --ignore-all-space
			--ignore-blank-lines --text --strip-trailing-cr --width=N --left-column --suppress-common-lines --expand-tabs --minimal
			--speed-large-files --version --help -o:OUT --output=OUT --diff-program=PROG`},
		"diff3": {class: read, ops: "FILE FILE FILE", flags: `-AaeEimTxX3v -L:TEXT --show-all --ed --show-overlap --easy-only --overlap-only --label=TEXT --text --strip-trailing-cr
			--initial-tab --merge --version --help --diff-program=PROG`},
		"comm": {class: read, ops: "FILE FILE", tame: true, flags: "-123iz --check-order --nocheck-order --output-delimiter=TEXT --total --zero-terminated --version --help"},
		"xxd": {class: read, ops: "FILE OUT", flags: `-a -b -e -E -i -p -u -v -C -c:N -g:N -l:N -o:N -s:N -n:TEXT -R:W -autoskip -bits -capitalize -cols:N -ebcdic -groupsize:N -include
			-len:N -name:TEXT -postscript -plain -ps -revert -r -seek:N -upper -version -h -help -d`, long: true},
		"hexdump": {class: read, ops: "FILE...", tame: true, flags: `-bcCdovxX -e:FORMAT -f:FILE -L?W -n:N -s:N --one-byte-octal --one-byte-char --canonical --two-bytes-decimal --two-bytes-octal
			--two-bytes-hex --format=FORMAT --format-file=FILE --color?W --length=N --skip=N --no-squeezing --version --help -V -h`},
		"hd": {class: read, ops: "FILE...", tame: true, flags: "-bcCdovx -n:N -s:N"},
		"od": {class: read, ops: "FILE...", tame: true, flags: `-abcdfilosvx -A:W -j:N -N:N -S?N -t:W -w?N --endian=W --address-radix=W --skip-bytes=N --read-bytes=N --strings?N --format=W
			--output-duplicates --width?N --traditional --version --help`},
		"strings": {class: read, ops: "FILE...", tame: true, flags: `-adfouwvV -# -n:N -t:W -e:W -T:W -s:TEXT -U:W --all --data --print-file-name --bytes=N --radix=W --include-all-whitespace
			--encoding=W --unicode=W --target=W --output-separator=TEXT --version --help`},
		"base64": {class: read, ops: "FILE", tame: true, flags: "-di -w:N --decode --ignore-garbage --wrap=N --version --help"},
		"base32": {class: read, ops: "FILE", tame: true, flags: "-di -w:N --decode --ignore-garbage --wrap=N --version --help"},
		"basenc": {class: read, ops: "FILE", tame: true, flags: `-di -w:N --base64 --base64url --base32 --base32hex --base16 --base2msbf --base2lsbf --z85 --decode --ignore-garbage --wrap=N
			--version --help`},
		"zcat":    {class: read, ops: "FILE...", flags: "-fqvlLVh --force --quiet --verbose --version --help"},
		"bzcat":   {class: read, ops: "FILE...", flags: "-qs --quiet --small"},
		"xzcat":   {class: read, ops: "FILE...", flags: "-qfv --quiet --force"},
		"zstdcat": {class: read, ops: "FILE...", flags: "-qfv --quiet"},
		"nm": {class: read, ops: "FILE...", flags: `-aABCDgnoprSuvW -P -t:W -f:W --debug-syms --print-file-name --demangle?W --no-demangle --dynamic --defined-only --extern-only
			--numeric-sort --no-sort --portability --print-size --reverse-sort --size-sort --undefined-only --format=W --radix=W --version
			--help`},
		"objdump": {class: read, ops: "FILE...", flags: `-adDfhHiprRstTvVwxCz -b:W -E:W -j:W -m:W -M:W -P:W --archive-headers --file-headers --private-headers --headers --section-headers
			--all-headers --disassemble?W --disassemble-all --full-contents --syms --dynamic-syms --reloc --dynamic-reloc --demangle?W
			--section=W --architecture=W --disassembler-options=W --no-show-raw-insn --show-raw-insn --start-address=N --stop-address=N --wide
			--no-addresses --target=W --prefix-addresses --version --help`},
		"readelf": {class: read, ops: "FILE...", flags: `-aADdeghIlnrSstuVWcvH -p:W -R:W -x:W --all --file-header --program-headers --segments --section-headers --sections
			--section-groups --section-details --headers --symbols --syms --dyn-syms --notes --relocs --unwind --dynamic --version-info
			--arch-specific --archive-index --use-dynamic --hex-dump=W --string-dump=W --wide --histogram --demangle?W --version --help`},
		"size":       {class: read, ops: "FILE...", flags: "-ABdoxtV -G --format=W --radix=N --totals --common --version --help"},
		"otool":      {class: read, ops: "FILE...", flags: "-afhlLDtdorsvVxS"},
		"diffstat":   {class: read, ops: "FILE...", flags: "-bcfHKlmpqRStuvVw -n:N -N:N -p:N -w:N -o:OUT"},
		"shellcheck": {class: read, ops: "FILE...", flags: "-aV -s:W -f:W -S:W -e:W -i:W -C?W --shell=W --format=W --severity=W --exclude=W --include=W --color?W --version"},
		"pathchk":    {class: neutral, ops: "TEXT...", flags: "-pP --portability"},
		"namei":      {class: list, ops: "FILE...", flags: "-lmnovx --long --modes --nosymlinks --owners --vertical --mountpoints"},
		"lsattr":     {class: list, dot: true, ops: "FILE...", flags: "-adlpRvV"},
		"getfacl":    {class: list, ops: "FILE...", flags: "-acdenpRstLP --access --default --omit-header --recursive --numeric --absolute-names"},
	}
}

// sumRows are the programs that compute checksums. With -c they open whatever files a list names, and tell only
// whether they fit.
func sumRows() map[string]spec {
	const sums = "-bctwz --binary --check --text --zero --ignore-missing --quiet --status --strict --warn --tag --version --help"
	return map[string]spec{
		"md5sum":    {class: read, ops: "FILE...", tame: true, flags: sums},
		"sha1sum":   {class: read, ops: "FILE...", tame: true, flags: sums},
		"sha224sum": {class: read, ops: "FILE...", tame: true, flags: sums},
		"sha256sum": {class: read, ops: "FILE...", tame: true, flags: sums},
		"sha384sum": {class: read, ops: "FILE...", tame: true, flags: sums},
		"sha512sum": {class: read, ops: "FILE...", tame: true, flags: sums},
		"b2sum":     {class: read, ops: "FILE...", tame: true, flags: sums + " -l:N --length=N"},
		"shasum": {class: read, ops: "FILE...", tame: true, flags: `-bctUpqsw01 -a:N --algorithm=N --binary --check --text --UNIVERSAL --quiet --status --strict --warn --tag --ignore-missing
			--version --help`},
		"cksum": {class: read, ops: "FILE...", tame: true, flags: "-a:W -l:N --algorithm=W --base64 --raw --untagged --tag --zero --debug --version --help"},
		"sum":   {class: read, ops: "FILE...", tame: true, flags: "-rs --sysv --version --help"},
		"md5":   {class: read, ops: "FILE...", tame: true, flags: "-pqrtx -s:TEXT"},
	}
}

// filesFrom refuses the flag whose file names the files to read: nobody looked at what stands in it.
func filesFrom(flag string) func(*call) {
	return func(c *call) {
		if c.has(flag) {
			c.refuse("the flag " + flag + " of " + c.name + " takes the names of more files from a file")
		}
	}
}

// judgeLs: a recursive list that follows links shows folders beyond them.
func judgeLs(c *call) {
	if c.has("-R", "--recursive") {
		followers("-L", "--dereference")(c)
	}
}

func judgeDu(c *call) {
	filesFrom("--files0-from")(c)
	followers("-L", "--dereference")(c)
}

// followers refuses the flags by which a list of all files follows links.
func followers(flags ...string) func(*call) {
	return func(c *call) {
		if c.has(flags...) {
			c.refuse(followsLinks + c.name)
		}
	}
}

// judgeFile: with -z it unpacks by starting other programs, and -s reads devices.
func judgeFile(c *call) {
	if c.has("-z", "-s") {
		c.refuse("with -z or -s file is not read-only")
	}
}

// judgeBat: outside a terminal bat does not page, unless told so.
func judgeBat(c *call) {
	if f, ok := c.get("--paging"); ok && f.value.Text != "never" && f.value.Text != "auto" {
		c.refuse("bat starts a pager")
	}
}
