package program

// The flags of git 2.39 to 2.47, grouped by purpose. git accepts any abbreviated long flag, this table does not. The
// caller checks the programs that a repository's configuration runs by itself; flags that ask for such a program are
// marked, also --remerge-diff (merge drivers) and --submodule (git in another repository).
var (
	gitPatchFlags = &flagSet{
		letters: "abcDmprRstuwWz0123",
		alone: `--patch --no-patch --raw --patch-with-raw --patch-with-stat --indent-heuristic --no-indent-heuristic --minimal --patience
			--histogram --compact-summary --numstat --shortstat --cumulative --summary --name-only --name-status --no-color
			--no-color-moved --no-color-moved-ws --no-renames --rename-empty --no-rename-empty --check --full-index --binary --no-abbrev
			--find-copies-harder --irreversible-delete --pickaxe-all --pickaxe-regex --no-relative --text --ignore-cr-at-eol
			--ignore-space-at-eol --ignore-space-change --ignore-all-space --ignore-blank-lines --function-context --exit-code --quiet
			--no-ext-diff --no-textconv --no-prefix --default-prefix --ita-invisible-in-index --ita-visible-in-index --base --ours
			--theirs --cc --combined-all-paths --no-diff-merges --dd`,
		value: `-B? -C? -l -M? -U -X? --unified --diff-algorithm --stat? --stat-width --stat-name-width --stat-count --stat-graph-width
			--dirstat? --dirstat-by-file? --color? --color-moved? --color-moved-ws --word-diff? --ws-error-highlight --abbrev?
			--break-rewrites? --find-renames? --find-copies? --find-object --skip-to --rotate-to --relative? --inter-hunk-context
			--ignore-submodules? --diff-filter --max-depth`,
		text: `-G -I -S --output-indicator-new --output-indicator-old --output-indicator-context --anchored --word-diff-regex --color-words?
			--ignore-matching-lines --src-prefix --dst-prefix --line-prefix`,
		reads:       "-O",
		unsafeValue: "--submodule? --diff-merges",
		exact:       "--remerge-diff --ext-diff --textconv",
		writes:      "--output",
	}
	gitRevisionFlags = &flagSet{
		number:  true,
		letters: "giEFP",
		alone: `--all --reflog --single-worktree --not --ignore-missing --bisect --cherry-mark --cherry-pick --left-only --right-only
			--cherry --walk-reflogs --merge --boundary --all-match --invert-grep --regexp-ignore-case --basic-regexp --extended-regexp
			--fixed-strings --perl-regexp --remove-empty --merges --no-merges --no-min-parents --no-max-parents --first-parent
			--exclude-first-parent-only --simplify-by-decoration --show-pulls --full-history --dense --sparse --simplify-merges
			--date-order --author-date-order --topo-order --reverse --do-walk --abbrev-commit --no-abbrev-commit --oneline
			--no-expand-tabs --no-notes --standard-notes --no-standard-notes --relative-date --parents --children --left-right --graph
			--no-graph --timestamp --no-abbrev --no-color`,
		value: `-n --branches? --tags? --remotes? --glob --exclude --exclude-hidden --max-count --skip --min-parents? --max-parents?
			--ancestry-path? --no-walk? --encoding --expand-tabs? --notes? --show-notes? --date --abbrev? --color?`,
		text: `--since --after --until --before --since-as-filter --author --committer --grep-reflog --grep --pretty? --format?
			--show-linear-break?`,
		unsafe: "--stdin",
		exact:  "--show-signature --alternate-refs",
	}
	gitLogFlags = &flagSet{
		with:    []*flagSet{gitPatchFlags, gitRevisionFlags},
		letters: "qh",
		alone: `--follow --no-decorate --clear-decorations --source --mailmap --no-mailmap --use-mailmap --no-use-mailmap --full-diff
			--log-size --no-signed-off-by --no-show-signature`,
		value:  "-L --decorate? --decorate-refs --decorate-refs-exclude",
		unsafe: "--help",
	}
	gitRefListFlags = &flagSet{
		letters: "i",
		alone:   "--no-color --no-column --ignore-case --omit-empty",
		value:   "--contains? --no-contains? --merged? --no-merged? --points-at --sort --color? --column?",
		text:    "--format",
	}
)

// gitRows: the read-only subcommands, and the effects of the others.
func gitRows() map[string]spec {
	rows := map[string]spec{
		"git": {class: neutral, raw: true, judge: judgeGit},

		"git status": {
			class: read, ops: "TEXT...", adds: "--ignore-submodules=dirty", judge: gitSubmodules(nil),
			flags: gitStatusFlags,
		},
		"git log":         {class: read, ops: "TEXT...", flags: gitLogFlags, judge: gitFormat},
		"git whatchanged": {class: read, ops: "TEXT...", flags: gitLogFlags, judge: gitFormat},
		"git show":        {class: read, ops: "TEXT...", flags: gitLogFlags, judge: gitFormat},
		"git reflog":      {class: read, ops: "TEXT...", flags: gitLogFlags, judge: gitReflog},
		"git diff": {
			class: read, ops: "TEXT...", adds: "--ignore-submodules=dirty",
			judge: gitSubmodules(gitDiff), flags: gitDiffFlags,
		},
		"git diff-tree": {class: read, ops: "TEXT...", flags: gitDiffTreeFlags, judge: gitFormat},
		"git diff-index": {class: read, ops: "TEXT...", flags: &flagSet{
			with:  []*flagSet{gitPatchFlags},
			alone: "--cached --merge-base",
		}, adds: "--ignore-submodules=dirty", judge: gitSubmodules(nil)},
		"git diff-files": {class: read, ops: "TEXT...", flags: &flagSet{
			with:    []*flagSet{gitPatchFlags},
			letters: "q",
		}, adds: "--ignore-submodules=dirty", judge: gitSubmodules(nil)},
		"git range-diff":   {class: read, ops: "TEXT...", flags: gitRangeDiffFlags},
		"git blame":        {class: read, ops: "TEXT...", flags: gitBlameFlags},
		"git grep":         {class: search, ops: "TEXT...", flags: gitGrepFlags, judge: gitGrep},
		"git shortlog":     {class: read, ops: "TEXT...", flags: gitShortlogFlags, judge: gitShortlog},
		"git rev-parse":    {class: neutral, ops: "TEXT...", flags: gitRevParseFlags},
		"git rev-list":     {class: read, ops: "TEXT...", flags: gitRevListFlags, judge: gitFormat},
		"git ls-files":     {class: list, ops: "TEXT...", flags: gitLsFilesFlags},
		"git ls-tree":      {class: list, ops: "TEXT...", flags: gitLsTreeFlags},
		"git cat-file":     {class: read, ops: "TEXT...", flags: gitCatFileFlags, judge: gitObjects},
		"git describe":     {class: read, ops: "TEXT...", flags: gitDescribeFlags, judge: gitDescribe},
		"git name-rev":     {class: read, ops: "TEXT...", flags: gitNameRevFlags},
		"git merge-base":   {class: read, ops: "TEXT...", flags: gitMergeBaseFlags},
		"git for-each-ref": {class: list, ops: "TEXT...", flags: gitForEachRefFlags, judge: gitFormat},
		"git show-ref":     {class: list, ops: "TEXT...", flags: gitShowRefFlags},
		"git show-branch":  {class: list, ops: "TEXT...", flags: gitShowBranchFlags},
		"git branch":       {class: list, ops: "TEXT...", flags: gitBranchFlags, judge: gitBranch},
		"git tag":          {class: list, ops: "TEXT...", flags: gitTagFlags, judge: gitTag},
		"git remote": {
			class: list, ops: "TEXT...", flags: &flagSet{letters: "v", alone: "--verbose"},
			judge: gitRemote,
		},
		"git remote get-url": {class: list, ops: "TEXT", flags: &flagSet{alone: "--push --all"}, judge: gitURL},
		"git stash list":     {class: list, ops: "TEXT...", flags: gitLogFlags, judge: gitFormat},
		"git stash show":     {class: read, ops: "TEXT...", flags: gitStashShowFlags},
		"git worktree list": {class: list, flags: &flagSet{
			letters: "vz", alone: "--verbose --porcelain",
			value: "--expire",
		}},
		"git notes list":       {class: list, ops: "TEXT"},
		"git notes show":       {class: read, ops: "TEXT"},
		"git submodule status": {class: list, ops: "TEXT...", flags: &flagSet{letters: "q", alone: "--cached --quiet"}},
		"git config":           {class: read, ops: "TEXT", flags: gitConfigFlags, judge: gitConfig},
		"git config get":       {class: read, ops: "TEXT", flags: gitConfigGetFlags, judge: gitValues},
		"git config list":      {class: read, flags: gitConfigListFlags, judge: gitValues},
		"git check-ignore":     {class: list, ops: "TEXT...", flags: gitCheckIgnoreFlags},
		"git check-attr": {class: list, ops: "TEXT...", flags: &flagSet{
			letters: "az",
			alone:   "--all --cached --stdin", value: "--source",
		}},
		"git check-mailmap":    {class: list, ops: "TEXT...", flags: &flagSet{alone: "--stdin"}},
		"git check-ref-format": {class: neutral, ops: "TEXT...", flags: gitCheckRefFormatFlags},
		"git count-objects":    {class: list, flags: &flagSet{letters: "vH", alone: "--verbose --human-readable"}},
		"git cherry": {class: list, ops: "TEXT...", flags: &flagSet{
			letters: "v", alone: "--verbose",
			value: "--abbrev?",
		}},
		"git var":          {class: neutral, ops: "TEXT", flags: &flagSet{letters: "l"}, judge: gitVar},
		"git version":      {class: neutral, flags: &flagSet{alone: "--build-options"}},
		"git symbolic-ref": {class: list, ops: "TEXT", flags: gitSymbolicRefFlags},
		"git fsck":         {class: read, ops: "TEXT...", flags: gitFsckFlags},
		"git verify-pack": {class: read, ops: "FILE...", flags: &flagSet{
			letters: "vs",
			alone:   "--verbose --stat-only",
		}},
		"git hash-object":       {class: read, ops: "FILE...", flags: gitHashObjectFlags},
		"git patch-id":          {class: neutral, flags: &flagSet{alone: "--stable --unstable --verbatim"}},
		"git stripspace":        {class: neutral, flags: &flagSet{letters: "sc", alone: "--strip-comments --comment-lines"}},
		"git bisect log":        {class: list},
		"git bundle list-heads": {class: read, ops: "FILE TEXT..."},
		"git merge-tree":        {class: write, does: "writes objects", ops: "TEXT..."},
		"git ls-remote": {
			class: write, does: "reaches a remote machine", ops: "TEXT...", flags: gitLsRemoteFlags,
			judge: gitLsRemote,
		},
		"git help": {
			class: write, does: "may open a pager or a browser", ops: "TEXT...",
			judge: asks("-a|-g|-c|--all|--guides|--config|-av|--all --verbose|-a --no-verbose"),
		},
	}
	for name, r := range gitWriting() {
		rows["git "+name] = r
	}
	return rows
}

var gitStatusFlags = &flagSet{
	letters: "bsvz",
	alone: "--short --branch --show-stash --long --verbose --no-column --ahead-behind --no-ahead-behind --renames " +
		"--no-renames --null",
	value: "-u? --porcelain? --untracked-files? --ignore-submodules? --ignored? --column? --find-renames?",
}

var gitDiffFlags = &flagSet{
	with:    []*flagSet{gitPatchFlags},
	letters: "hq",
	alone:   "--cached --staged --merge-base --no-index",
}

var gitDiffTreeFlags = &flagSet{
	with:    []*flagSet{gitPatchFlags, gitRevisionFlags},
	letters: "v",
	alone:   "--root --no-commit-id --always --merge-base",
}

var gitRangeDiffFlags = &flagSet{
	with:  []*flagSet{gitPatchFlags},
	alone: "--no-dual-color --dual-color --left-only --right-only --no-notes",
	value: "--creation-factor --notes?",
}

var gitBlameFlags = &flagSet{
	letters: "bcefklnpstwh",
	alone: `--root --show-stats --first-parent --porcelain --line-porcelain --incremental --score-debug --show-name --show-number
		--show-email --color-lines --color-by-age --minimal --progress --no-progress`,
	value: "-C? -M? -L --reverse --encoding? --date --ignore-rev --abbrev",
	text:  "--since",
	reads: "-S --contents --ignore-revs-file",
}

var gitGrepFlags = &flagSet{
	number:  true,
	letters: "aEFGHhIilLnoPpqrvWwcz",
	alone: `--cached --untracked --exclude-standard --no-exclude-standard --invert-match --ignore-case --word-regexp --text --recursive
		--no-recursive --extended-regexp --basic-regexp --fixed-strings --perl-regexp --line-number --column --full-name
		--files-with-matches --name-only --files-without-match --null --only-matching --count --no-color --break --heading
		--show-function --function-context --and --or --not --all-match --quiet --no-textconv`,
	value:   "-A -B -C -m --max-depth --color? --context --after-context --before-context --threads --max-count",
	text:    "-e",
	reads:   "-f",
	unsafe:  "--no-index --recurse-submodules",
	exact:   "--textconv --ext-grep",
	program: "-O? --open-files-in-pager?",
}

var gitShortlogFlags = &flagSet{
	with:    []*flagSet{gitRevisionFlags},
	letters: "nsec",
	alone:   "--numbered --summary --email --committer",
	value:   "-w? --group",
	writes:  "--output",
}

var gitRevParseFlags = &flagSet{
	letters: "qh",
	alone: `--all --symbolic --symbolic-full-name --verify --quiet --not --revs-only --no-revs --flags --no-flags --show-toplevel
		--show-prefix --show-cdup --show-superproject-working-tree --git-dir --git-common-dir --absolute-git-dir --is-inside-git-dir
		--is-inside-work-tree --is-bare-repository --is-shallow-repository --shared-index-path --show-ref-format --local-env-vars
		--sq --end-of-options`,
	value: `--branches? --tags? --remotes? --glob --exclude --disambiguate --abbrev? --abbrev-ref? --short? --default --prefix --git-path
		--path-format --show-object-format?`,
	text: "--since --until --after --before",
}

var gitRevListFlags = &flagSet{
	with: []*flagSet{gitRevisionFlags},
	alone: `--count --objects --objects-edge --objects-edge-aggressive --unpacked --no-filter --header --no-commit-header --commit-header
		--in-commit-order --indexed-objects --use-bitmap-index --quiet --object-names --no-object-names`,
	value: "--filter --disk-usage? --missing",
}

var gitLsFilesFlags = &flagSet{
	letters: "cdfikmorstuvz",
	alone: `--cached --deleted --modified --others --ignored --stage --directory --no-empty-directory --unmerged --killed --resolve-undo
		--exclude-standard --error-unmatch --full-name --debug --eol --deduplicate --sparse`,
	value:  "-x --exclude --exclude-per-directory --with-tree --abbrev?",
	text:   "--format",
	reads:  "-X --exclude-from",
	unsafe: "--recurse-submodules",
}

var gitLsTreeFlags = &flagSet{
	letters: "dlrtz",
	alone:   "--long --name-only --name-status --object-only --full-name --full-tree",
	value:   "--abbrev?",
	text:    "--format",
}

var gitCatFileFlags = &flagSet{
	letters: "eptsZz",
	alone: "--batch-all-objects --unordered --buffer --follow-symlinks --allow-unknown-type --no-mailmap " +
		"--use-mailmap --mailmap",
	value: "--path",
	text:  "--batch? --batch-check? --batch-command?",
	exact: "--filters --textconv",
}

var gitDescribeFlags = &flagSet{
	alone: "--all --tags --contains --exact-match --debug --long --always --first-parent",
	value: "--abbrev? --candidates --match --exclude --dirty? --broken?",
}

var gitNameRevFlags = &flagSet{
	alone: "--tags --no-refs --all --name-only --no-undefined --always",
	value: "--refs --exclude",
}

var gitMergeBaseFlags = &flagSet{
	letters: "a",
	alone:   "--all --octopus --is-ancestor --independent --fork-point",
}

var gitForEachRefFlags = &flagSet{
	with:    []*flagSet{gitRefListFlags},
	letters: "sp",
	alone:   "--shell --perl --python --tcl --include-root-refs",
	value:   "--count --exclude",
}

var gitShowRefFlags = &flagSet{
	letters: "dhqs",
	alone:   "--head --heads --branches --tags --dereference --verify --exists --quiet",
	value:   "--hash? --abbrev? --exclude-existing?",
}

var gitShowBranchFlags = &flagSet{
	letters: "art",
	alone: `--all --remotes --topics --current --topo-order --date-order --sparse --list --merge-base --independent --no-name --sha1-name
		--no-color`,
	value: "-g? --more? --color? --reflog?",
}

var gitBranchFlags = &flagSet{
	with:    []*flagSet{gitRefListFlags},
	letters: "arvlq",
	alone:   "--all --remotes --remote --verbose --list --show-current --no-abbrev --quiet",
	value:   "--abbrev?",
	unsafe: `-d -D -m -M -c -C -f --delete --move --copy --force --no-track --set-upstream --unset-upstream --edit-description
		--create-reflog --recurse-submodules`,
	unsafeValue: "-u -t? --track? --set-upstream-to",
}

var gitTagFlags = &flagSet{
	with:        []*flagSet{gitRefListFlags},
	letters:     "l",
	alone:       "--list",
	value:       "-n?",
	unsafe:      "-a -s -f -d -e --annotate --sign --no-sign --force --delete --edit --create-reflog",
	unsafeValue: "-u -m -F --local-user --message --file --cleanup --trailer",
	exact:       "-v --verify",
}

var gitStashShowFlags = &flagSet{
	with:  []*flagSet{gitPatchFlags},
	alone: "--include-untracked --only-untracked --no-include-untracked",
}

var gitConfigFlags = &flagSet{
	letters: "lz",
	alone: `--list --global --system --local --worktree --show-origin --show-scope --null --name-only --includes --no-includes --bool
		--int --bool-or-int --path --expiry-date --fixed-value`,
	value:       "--get --get-all --get-regexp --get-urlmatch --type --default --get-color --get-colorbool",
	unsafe:      "-e --add --replace-all --unset --unset-all --rename-section --remove-section --edit",
	unsafeValue: "-f --file --blob",
}

var gitConfigGetFlags = &flagSet{
	letters: "z",
	alone: `--all --regexp --fixed-value --global --system --local --worktree --show-origin --show-scope --null --name-only --show-names
		--includes --no-includes`,
	value: "--value --url --type --default",
}

var gitConfigListFlags = &flagSet{
	letters: "z",
	alone:   "--global --system --local --worktree --show-origin --show-scope --null --name-only --includes --no-includes",
	value:   "--type",
}

var gitCheckIgnoreFlags = &flagSet{
	letters: "nqvz",
	alone:   "--no-index --quiet --verbose --non-matching --stdin",
}

var gitCheckRefFormatFlags = &flagSet{
	alone: "--branch --allow-onelevel --no-allow-onelevel --refspec-pattern --normalize",
}

var gitSymbolicRefFlags = &flagSet{
	letters:     "q",
	alone:       "--quiet --short --recurse --no-recurse",
	unsafe:      "-d --delete",
	unsafeValue: "-m",
}

var gitFsckFlags = &flagSet{
	letters: "v",
	alone: `--verbose --unreachable --dangling --no-dangling --root --tags --cache --no-reflogs --full --no-full --connectivity-only
		--strict --progress --no-progress --name-objects`,
	unsafe: "--lost-found",
}

var gitHashObjectFlags = &flagSet{
	alone:  "--stdin --no-filters --literally",
	value:  "-t --path",
	unsafe: "-w --stdin-paths",
}

var gitLsRemoteFlags = &flagSet{
	letters: "hqt",
	alone:   "--heads --branches --tags --refs --quiet --symref --get-url --exit-code",
	value:   "--sort",
	text:    "-o --server-option",
	program: "--upload-pack --exec",
}
