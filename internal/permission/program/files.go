package program

// fileRows are the programs that list and read files. The flags are those of GNU coreutils 9, which know more
// than those of macOS and BusyBox; where a letter means another thing there, it is not listed.
func fileRows() map[string]spec {
	return map[string]spec{
		"ls":       {class: list, tame: true, dot: true, ops: "FILE...", flags: lsFlags, judge: judgeLs},
		"cat":      {class: read, tame: true, ops: "FILE...", flags: catFlags},
		"tac":      {class: read, tame: true, ops: "FILE...", flags: tacFlags},
		"head":     {class: read, tame: true, ops: "FILE...", flags: headFlags},
		"tail":     {class: read, tame: true, ops: "FILE...", flags: tailFlags},
		"nl":       {class: read, tame: true, ops: "FILE...", flags: nlFlags},
		"wc":       {class: read, tame: true, ops: "FILE...", judge: filesFrom("--files0-from"), flags: wcFlags},
		"stat":     {class: list, tame: true, ops: "FILE...", flags: statFlags},
		"file":     {class: read, ops: "FILE...", flags: fileFlags, judge: judgeFile},
		"du":       {class: list, tame: true, dot: true, ops: "FILE...", flags: duFlags, judge: judgeDu},
		"df":       {class: list, tame: true, ops: "FILE...", flags: dfFlags},
		"tree":     {class: list, dot: true, ops: "DIR...", judge: followers("-l"), flags: treeFlags},
		"eza":      {class: list, dot: true, ops: "FILE...", flags: ezaFlags},
		"bat":      {class: read, ops: "FILE...", flags: batFlags, judge: judgeBat},
		"readlink": {class: list, tame: true, ops: "FILE...", flags: readlinkFlags},
		"realpath": {class: list, tame: true, ops: "FILE...", flags: realpathFlags},
		"basename": {class: neutral, tame: true, ops: "TEXT...", flags: basenameFlags},
		"dirname": {class: neutral, tame: true, ops: "TEXT...", flags: &flagSet{
			letters: "z",
			alone:   "--zero --version --help",
		}},
		"cmp":       {class: read, ops: "FILE FILE TEXT TEXT", tame: true, flags: cmpFlags},
		"diff":      {class: read, tame: true, ops: "FILE FILE", flags: diffFlags, judge: judgeDiff},
		"colordiff": {class: read, ops: "FILE FILE", flags: colordiffFlags, judge: judgeDiff},
		"sdiff":     {class: read, ops: "FILE FILE", flags: sdiffFlags},
		"diff3":     {class: read, ops: "FILE FILE FILE", flags: diff3Flags},
		"comm":      {class: read, ops: "FILE FILE", tame: true, flags: commFlags},
		"xxd":       {class: read, plain: true, ops: "FILE OUT", flags: xxdFlags},
		"hexdump":   {class: read, ops: "FILE...", tame: true, flags: hexdumpFlags},
		"hd":        {class: read, ops: "FILE...", tame: true, flags: &flagSet{letters: "bcCdovx", value: "-n -s"}},
		"od":        {class: read, ops: "FILE...", tame: true, flags: odFlags},
		"strings":   {class: read, ops: "FILE...", tame: true, flags: stringsFlags},
		"base64":    {class: read, ops: "FILE", tame: true, flags: base64Flags},
		"base32":    {class: read, ops: "FILE", tame: true, flags: base32Flags},
		"basenc":    {class: read, ops: "FILE", tame: true, flags: basencFlags},
		"zcat": {class: read, ops: "FILE...", flags: &flagSet{
			letters: "fqvlLVh",
			alone:   "--force --quiet --verbose --version --help",
		}},
		"bzcat":   {class: read, ops: "FILE...", flags: &flagSet{letters: "qs", alone: "--quiet --small"}},
		"xzcat":   {class: read, ops: "FILE...", flags: &flagSet{letters: "qfv", alone: "--quiet --force"}},
		"zstdcat": {class: read, ops: "FILE...", flags: &flagSet{letters: "qfv", alone: "--quiet"}},
		"nm":      {class: read, ops: "FILE...", flags: nmFlags},
		"objdump": {class: read, ops: "FILE...", flags: objdumpFlags},
		"readelf": {class: read, ops: "FILE...", flags: readelfFlags},
		"size":    {class: read, ops: "FILE...", flags: sizeFlags},
		"otool":   {class: read, ops: "FILE...", flags: &flagSet{letters: "afhlLDtdorsvVxS"}},
		"diffstat": {class: read, ops: "FILE...", flags: &flagSet{
			letters: "bcfHKlmqRStuvV", value: "-p -w -n -N",
			writes: "-o",
		}},
		"shellcheck": {class: read, ops: "FILE...", flags: shellcheckFlags},
		"pathchk":    {class: neutral, ops: "TEXT...", flags: &flagSet{letters: "pP", alone: "--portability"}},
		"namei":      {class: list, ops: "FILE...", flags: nameiFlags},
		"lsattr":     {class: list, dot: true, ops: "FILE...", flags: &flagSet{letters: "adlpRvV"}},
		"getfacl":    {class: list, ops: "FILE...", flags: getfaclFlags, judge: followers("-L")},
	}
}

var sumFlags = &flagSet{
	letters: "bctwz",
	alone:   "--binary --check --text --zero --ignore-missing --quiet --status --strict --warn --tag --version --help",
}

var lsFlags = &flagSet{
	letters: "aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvxXZ1",
	alone: `--all --almost-all --author --escape --ignore-backups --directory --dired --file-type --full-time --group-directories-first
		--no-group --human-readable --si --dereference --dereference-command-line --dereference-command-line-symlink-to-dir --inode
		--kibibytes --numeric-uid-gid --literal --hide-control-chars --show-control-chars --quote-name --reverse --recursive --size
		--context --zero --version --help`,
	value: `-I -T -w --block-size --color? --classify? --format --hide --hyperlink? --indicator-style --ignore --quoting-style --sort
		--time --time-style --tabsize --width`,
}

var catFlags = &flagSet{
	letters: "AbeEnstTuv",
	alone: "--show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs --show-nonprinting " +
		"--version --help",
}

var tacFlags = &flagSet{
	letters: "br",
	alone:   "--before --regex --version --help",
	text:    "-s --separator",
}

var headFlags = &flagSet{
	number:  true,
	letters: "qvz",
	alone:   "--quiet --silent --verbose --zero-terminated --version --help",
	value:   "-n -c --lines --bytes",
}

var tailFlags = &flagSet{
	number:  true,
	letters: "fFqvzr",
	alone:   "--retry --quiet --silent --verbose --zero-terminated --version --help",
	value:   "-n -c -s --lines --bytes --follow? --max-unchanged-stats --pid --sleep-interval",
}

var nlFlags = &flagSet{
	letters: "p",
	alone:   "--no-renumber --version --help",
	value: `-b -d -f -h -i -l -n -v -w --body-numbering --section-delimiter --footer-numbering --header-numbering --line-increment
		--join-blank-lines --number-format --starting-line-number --number-width`,
	text: "-s --number-separator",
}

var wcFlags = &flagSet{
	letters: "clLmw",
	alone:   "--bytes --chars --lines --max-line-length --words --version --help",
	value:   "--total",
	reads:   "--files0-from",
}

var statFlags = &flagSet{
	letters: "fLt",
	alone:   "--dereference --file-system --terse --version --help",
	value:   "--cached",
	text:    "-c --format --printf",
}

var fileFlags = &flagSet{
	letters: "bhiIkLnNprsvz0",
	alone: `--brief --mime --mime-type --mime-encoding --extension --keep-going --dereference --no-dereference --no-pad --raw --print0
			--no-buffer --preserve-date --version --help --list --apple`,
	value:       "-e -P --exclude",
	text:        "-F --separator",
	unsafe:      "-S -Z --uncompress --special-files --no-sandbox",
	unsafeValue: "-m -f --magic-file --files-from",
	exact:       "-C --compile",
}

var duFlags = &flagSet{
	letters: "aAbcDhHklLmPsSx0",
	alone: `--null --all --apparent-size --bytes --total --dereference-args --human-readable --inodes --dereference --count-links
		--no-dereference --separate-dirs --si --summarize --one-file-system --version --help`,
	value: "-B -d -t -I --block-size --max-depth --threshold --time? --time-style --exclude",
	reads: "-X --files0-from --exclude-from",
}

var dfFlags = &flagSet{
	letters: "ahHiklmPTv",
	alone:   "--all --human-readable --si --inodes --local --no-sync --portability --total --print-type --version --help",
	value:   "-B -t -x --block-size --output? --type --exclude-type",
}

var treeFlags = &flagSet{
	apart:   true,
	letters: "adfilxQNqpugshDFvtcUrASnCXJ",
	alone: `--gitignore --ignore-case --matchdirs --metafirst --prune --info --noreport --filesfirst --dirsfirst --du --si --inodes
		--device --nolinks --fromfile --fromtabfile --fflinks --version --help`,
	value:  "-L -I -P --charset --filelimit --sort?",
	text:   "-H -T --timefmt",
	reads:  "--gitfile --infofile --hintro --houtro",
	unsafe: "-R",
	writes: "-o",
}

var ezaFlags = &flagSet{
	letters: "1aAbBdDfFgGhHilmnrRSTuUxXZ",
	alone: `--oneline --grid --long --recurse --tree --across --all --almost-all --list-dirs --reverse --group-directories-first
		--git-ignore --only-dirs --only-files --binary --bytes --group --header --links --inode --modified --numeric --blocksize
		--accessed --created --no-permissions --no-filesize --no-user --no-time --version --help`,
	value: "-I -s -L -t --classify? --color --colour --icons? --level --sort --ignore-glob --time --time-style",
}

var batFlags = &flagSet{
	letters: "pnAuf",
	alone: "--plain --number --show-all --force-colorization --unbuffered --list-languages --list-themes --version " +
		"--help",
	value: `-l -r -H -m --language --line-range --highlight-line --style --color --decorations --theme --tabs --wrap --terminal-width
		--paging`,
	text:    "--file-name",
	program: "--pager",
}

var readlinkFlags = &flagSet{
	letters: "femnqsvz",
	alone: "--canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet --silent --verbose " +
		"--zero --version --help",
}

var realpathFlags = &flagSet{
	letters: "emLPqsz",
	alone: "--canonicalize-existing --canonicalize-missing --logical --physical --quiet --strip --no-symlinks --zero " +
		"--version --help",
	reads: "--relative-to --relative-base",
}

var basenameFlags = &flagSet{
	letters: "az",
	alone:   "--multiple --zero --version --help",
	text:    "-s --suffix",
}

var cmpFlags = &flagSet{
	letters: "blsv",
	alone:   "--print-bytes --verbose --quiet --silent --version --help",
	value:   "-i -n --ignore-initial --bytes",
}

var diffFlags = &flagSet{
	number:  true,
	letters: "abBcdeEfHinNpPqrsTtuvwyZ",
	alone: `--normal --brief --report-identical-files --ed --rcs --side-by-side --left-column --suppress-common-lines --show-c-function
		--expand-tabs --initial-tab --suppress-blank-empty --recursive --no-dereference --new-file --unidirectional-new-file
		--ignore-file-name-case --no-ignore-file-name-case --ignore-case --ignore-tab-expansion --ignore-trailing-space
		--ignore-space-change --ignore-all-space --ignore-blank-lines --text --strip-trailing-cr --minimal --speed-large-files
		--version --help`,
	value: "-C -U -W -x --context? --unified? --width --tabsize --exclude --horizon-lines --color? --palette",
	text: `-D -F -I -L --show-function-line --label --ignore-matching-lines --ifdef --line-format --old-line-format --new-line-format
		--unchanged-line-format --old-group-format --new-group-format --unchanged-group-format --changed-group-format`,
	reads:  "-S -X --exclude-from --starting-file --from-file --to-file",
	unsafe: "-l --paginate",
}

var colordiffFlags = &flagSet{
	letters: "abBdiNpqruwyZ",
	alone:   "--recursive --brief --version --help",
	value:   "-U --color?",
}

var sdiffFlags = &flagSet{
	letters: "abBdEHilstWZ",
	alone: `--ignore-case --ignore-tab-expansion --ignore-trailing-space --ignore-space-change --ignore-all-space --ignore-blank-lines
		--text --strip-trailing-cr --left-column --suppress-common-lines --expand-tabs --minimal --speed-large-files --version --help`,
	value:   "-w --width",
	text:    "-I",
	writes:  "-o --output",
	program: "--diff-program",
}

var diff3Flags = &flagSet{
	letters: "AaeEimTxX3v",
	alone: "--show-all --ed --show-overlap --easy-only --overlap-only --text --strip-trailing-cr --initial-tab " +
		"--merge --version --help",
	text:    "-L --label",
	program: "--diff-program",
}

var commFlags = &flagSet{
	letters: "123iz",
	alone:   "--check-order --nocheck-order --total --zero-terminated --version --help",
	text:    "--output-delimiter",
}

var xxdFlags = &flagSet{
	oneDash: true, joined: true,
	alone: `-a -b -e -E -i -p -u -v -C -autoskip -bits -capitalize -ebcdic -include -postscript -plain -ps -revert -r -upper -version -h
		-help -d`,
	value: "-c -g -l -o -s -R -cols -groupsize -len -seek",
	text:  "-n -name",
}

var hexdumpFlags = &flagSet{
	letters: "bcCdovxXVh",
	alone: `--one-byte-octal --one-byte-char --canonical --two-bytes-decimal --two-bytes-octal --two-bytes-hex --no-squeezing --version
		--help`,
	value: "-L? -n -s --color? --length --skip",
	text:  "-e --format",
	reads: "-f --format-file",
}

var odFlags = &flagSet{
	letters: "abcdfilosvx",
	alone:   "--output-duplicates --traditional --version --help",
	value:   "-A -j -N -S? -t -w? --endian --address-radix --skip-bytes --read-bytes --strings? --format --width?",
}

var stringsFlags = &flagSet{
	number:  true,
	letters: "adfouwvV",
	alone:   "--all --data --print-file-name --include-all-whitespace --version --help",
	value:   "-n -t -e -T -U --bytes --radix --encoding --unicode --target",
	text:    "-s --output-separator",
}

var base64Flags = &flagSet{
	letters: "di",
	alone:   "--decode --ignore-garbage --version --help",
	value:   "-w --wrap",
}

var base32Flags = &flagSet{
	letters: "di",
	alone:   "--decode --ignore-garbage --version --help",
	value:   "-w --wrap",
}

var basencFlags = &flagSet{
	letters: "di",
	alone: "--base64 --base64url --base32 --base32hex --base16 --base2msbf --base2lsbf --z85 --decode " +
		"--ignore-garbage --version --help",
	value: "-w --wrap",
}

var nmFlags = &flagSet{
	letters: "aABCDgnoprSuvWP",
	alone: `--debug-syms --print-file-name --no-demangle --dynamic --defined-only --extern-only --numeric-sort --no-sort --portability
		--print-size --reverse-sort --size-sort --undefined-only --version --help`,
	value: "-t -f --demangle? --format --radix",
}

var objdumpFlags = &flagSet{
	letters: "adDfhHiprRstTvVwxCz",
	alone: `--archive-headers --file-headers --private-headers --headers --section-headers --all-headers --disassemble-all
		--full-contents --syms --dynamic-syms --reloc --dynamic-reloc --no-show-raw-insn --show-raw-insn --wide --no-addresses
		--prefix-addresses --version --help`,
	value: `-b -E -j -m -M -P --disassemble? --demangle? --section --architecture --disassembler-options --start-address --stop-address
		--target`,
}

var readelfFlags = &flagSet{
	letters: "aADdeghIlnrSstuVWcvH",
	alone: `--all --file-header --program-headers --segments --section-headers --sections --section-groups --section-details --headers
		--symbols --syms --dyn-syms --notes --relocs --unwind --dynamic --version-info --arch-specific --archive-index --use-dynamic
		--wide --histogram --version --help`,
	value: "-p -R -x --hex-dump --string-dump --demangle?",
}

var sizeFlags = &flagSet{
	letters: "ABdoxtVG",
	alone:   "--totals --common --version --help",
	value:   "--format --radix",
}

var shellcheckFlags = &flagSet{
	letters: "aV",
	alone:   "--version",
	value:   "-s -f -S -e -i -C? --shell --format --severity --exclude --include --color?",
}

var nameiFlags = &flagSet{
	letters: "lmnovx",
	alone:   "--long --modes --nosymlinks --owners --vertical --mountpoints",
}

var getfaclFlags = &flagSet{
	letters: "acdenpRstLP",
	alone:   "--access --default --omit-header --recursive --numeric --absolute-names",
}

var shasumFlags = &flagSet{
	letters: "bctUpqsw01",
	alone: "--binary --check --text --UNIVERSAL --quiet --status --strict --warn --tag --ignore-missing" +
		" --version --help",
	value: "-a --algorithm",
}

var cksumFlags = &flagSet{
	alone: "--base64 --raw --untagged --tag --zero --debug --version --help",
	value: "-a -l --algorithm",
}

// sumRows are the programs that compute checksums. With -c they open all files that a list names, and print only
// whether they match.
func sumRows() map[string]spec {
	return map[string]spec{
		"md5sum":    {class: read, ops: "FILE...", tame: true, flags: sumFlags},
		"sha1sum":   {class: read, ops: "FILE...", tame: true, flags: sumFlags},
		"sha224sum": {class: read, ops: "FILE...", tame: true, flags: sumFlags},
		"sha256sum": {class: read, ops: "FILE...", tame: true, flags: sumFlags},
		"sha384sum": {class: read, ops: "FILE...", tame: true, flags: sumFlags},
		"sha512sum": {class: read, ops: "FILE...", tame: true, flags: sumFlags},
		"b2sum": {class: read, ops: "FILE...", tame: true, flags: &flagSet{
			with:  []*flagSet{sumFlags},
			value: "-l --length",
		}},
		"shasum": {class: read, ops: "FILE...", tame: true, flags: shasumFlags},
		"cksum":  {class: read, ops: "FILE...", tame: true, flags: cksumFlags},
		"sum":    {class: read, ops: "FILE...", tame: true, flags: &flagSet{letters: "rs", alone: "--sysv --version --help"}},
		"md5":    {class: read, ops: "FILE...", tame: true, flags: &flagSet{letters: "pqrtx", text: "-s"}},
	}
}

// filesFrom refuses the flag whose file lists the files to read: the list was not checked.
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

// judgeBat: outside a terminal bat pages only on request.
func judgeBat(c *call) {
	if f, ok := c.get("--paging"); ok && f.value.Text != "never" && f.value.Text != "auto" {
		c.refuse("bat starts a pager")
	}
}
