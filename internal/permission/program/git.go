package program

// The flags of git 2.39 to 2.47, by what they belong to. git takes any long flag shortened, which this table
// does not. What a repository's configuration runs by itself is for the caller to look at; flags that ask for
// such a program are marked, also --remerge-diff (merge drivers) and --submodule (git in another repository).
const (
	gitDiffFlags = ` -a -b -B?N -c -C?N -D -G:RE -I:RE -l:N -m -M?N -O:FILE -p -r -R -s -S:TEXT -t -u -U:N -w -W -X?W -z -0123
		--patch --no-patch --unified=N --output-indicator-new=TEXT --output-indicator-old=TEXT --output-indicator-context=TEXT
		--raw --patch-with-raw --patch-with-stat --indent-heuristic --no-indent-heuristic --minimal --patience --histogram
		--anchored=TEXT --diff-algorithm=W --stat?W --stat-width=N --stat-name-width=N --stat-count=N --stat-graph-width=N
		--compact-summary --numstat --shortstat --dirstat?W --cumulative --dirstat-by-file?W --summary --name-only --name-status
		--submodule?BAD --color?W --no-color --color-moved?W --no-color-moved --color-moved-ws=W --no-color-moved-ws --word-diff?W
		--word-diff-regex=RE --color-words?RE --no-renames --rename-empty --no-rename-empty --check --ws-error-highlight=W
		--full-index --binary --abbrev?N --no-abbrev --break-rewrites?W --find-renames?N --find-copies?N --find-copies-harder
		--irreversible-delete --find-object=W --pickaxe-all --pickaxe-regex --skip-to=W --rotate-to=W --relative?W --no-relative
		--text --ignore-cr-at-eol --ignore-space-at-eol --ignore-space-change --ignore-all-space --ignore-blank-lines
		--ignore-matching-lines=RE --inter-hunk-context=N --function-context --exit-code --quiet --no-ext-diff --no-textconv
		--ignore-submodules?W --src-prefix=TEXT --dst-prefix=TEXT --no-prefix --default-prefix --line-prefix=TEXT
		--ita-invisible-in-index --ita-visible-in-index --base --ours --theirs --cc --combined-all-paths --remerge-diff!!
		--diff-merges=BAD --no-diff-merges --dd --diff-filter=W --max-depth=N
		--ext-diff!! --textconv!! --output=OUT `
	gitRevFlags = ` --all --branches?GLOB --tags?GLOB --remotes?GLOB --glob=GLOB --exclude=GLOB --exclude-hidden=W --reflog --single-worktree
		--not --ignore-missing --bisect --cherry-mark --cherry-pick --left-only --right-only --cherry -g --walk-reflogs --merge
		--boundary --max-count=N -n:N -# --skip=N --since=TEXT --after=TEXT --until=TEXT --before=TEXT --since-as-filter=TEXT
		--author=RE --committer=RE --grep-reflog=RE --grep=RE --all-match --invert-grep -i --regexp-ignore-case --basic-regexp -E
		--extended-regexp -F --fixed-strings -P --perl-regexp --remove-empty --merges --no-merges --min-parents?N --max-parents?N
		--no-min-parents --no-max-parents --first-parent --exclude-first-parent-only --simplify-by-decoration --show-pulls
		--full-history --dense --sparse --simplify-merges --ancestry-path?W --date-order --author-date-order --topo-order --reverse
		--no-walk?W --do-walk --pretty?FORMAT --format?FORMAT --abbrev-commit --no-abbrev-commit --oneline --encoding=W
		--expand-tabs?N --no-expand-tabs --notes?W --no-notes --show-notes?W --standard-notes --no-standard-notes --relative-date
		--date=W --parents --children --left-right --graph --no-graph --show-linear-break?TEXT --timestamp --abbrev?N --no-abbrev
		--color?W --no-color --show-signature!! --alternate-refs!! --stdin! `
	gitLogFlags = gitDiffFlags + gitRevFlags + ` -L:RANGE --follow --no-decorate --decorate?W --decorate-refs=GLOB --decorate-refs-exclude=GLOB
		--clear-decorations --source --mailmap --no-mailmap --use-mailmap --no-use-mailmap --full-diff --log-size -q --quiet --no-signed-off-by --no-show-signature -h --help! `
	gitListFlags = ` --contains?W --no-contains?W --merged?W --no-merged?W --points-at=W --sort=W --format=FORMAT --color?W --no-color
		--column?W --no-column -i --ignore-case --omit-empty `
)

// gitRows: the read-only subcommands, and what the others do.
func gitRows() map[string]spec {
	rows := map[string]spec{
		"git": {class: neutral, raw: true, judge: judgeGit},

		"git status": {class: read, ops: "TEXT...", flags: `-bsuvz -u?W --short --branch --show-stash --porcelain?W --long --verbose --untracked-files?W --ignore-submodules?W --ignored?W
			--column?W --no-column --ahead-behind --no-ahead-behind --renames --no-renames --find-renames?N --null`, adds: "--ignore-submodules=dirty", judge: gitSubmodules(nil)},
		"git log":         {class: read, ops: "TEXT...", flags: gitLogFlags, judge: gitFormat},
		"git whatchanged": {class: read, ops: "TEXT...", flags: gitLogFlags, judge: gitFormat},
		"git show":        {class: read, ops: "TEXT...", flags: gitLogFlags, judge: gitFormat},
		"git reflog":      {class: read, ops: "TEXT...", flags: gitLogFlags, judge: gitReflog},
		"git diff":        {class: read, ops: "TEXT...", flags: gitDiffFlags + ` --cached --staged --merge-base -h -q --no-index`, adds: "--ignore-submodules=dirty", judge: gitSubmodules(gitDiff)},
		"git diff-tree":   {class: read, ops: "TEXT...", flags: gitDiffFlags + gitRevFlags + ` -v --root --no-commit-id --always --merge-base`, judge: gitFormat},
		"git diff-index":  {class: read, ops: "TEXT...", flags: gitDiffFlags + ` --cached --merge-base`, adds: "--ignore-submodules=dirty", judge: gitSubmodules(nil)},
		"git diff-files":  {class: read, ops: "TEXT...", flags: gitDiffFlags + ` -q`, adds: "--ignore-submodules=dirty", judge: gitSubmodules(nil)},
		"git range-diff":  {class: read, ops: "TEXT...", flags: gitDiffFlags + ` --creation-factor=N --no-dual-color --dual-color --left-only --right-only --notes?W --no-notes`},
		"git blame": {class: read, ops: "TEXT...", flags: `-bcCefklMnpstw -C?N -M?N -L:RANGE -S:FILE --root --show-stats --reverse=W --first-parent --porcelain --line-porcelain
			--incremental --encoding?W --contents=FILE --date=W --score-debug --show-name --show-number --show-email --ignore-rev=W
			--ignore-revs-file=FILE --color-lines --color-by-age --abbrev=N --since=TEXT --minimal --progress --no-progress -h`},
		"git grep": {class: search, ops: "TEXT...", flags: `-aEFGHhIilLnoPpqrvWwcz -# -A:N -B:N -C:N -e:RE -f:FILE -m:N --cached --untracked --exclude-standard --no-exclude-standard
			--invert-match --ignore-case --word-regexp --text --max-depth=N --recursive --no-recursive --extended-regexp --basic-regexp
			--fixed-strings --perl-regexp --line-number --column --full-name --files-with-matches --name-only --files-without-match --null
			--only-matching --count --color?W --no-color --break --heading --show-function --function-context --context=N --after-context=N
			--before-context=N --threads=N --and --or --not --all-match --quiet --max-count=N --no-textconv -O?PROG --open-files-in-pager?PROG
			--textconv!! --ext-grep!! --no-index! --recurse-submodules!`, judge: gitGrep},
		"git shortlog": {class: read, ops: "TEXT...", flags: gitRevFlags + ` -nsec -w?W --numbered --summary --email --committer --group=W`, judge: gitShortlog},
		"git rev-parse": {class: neutral, ops: "TEXT...", flags: `-q -h --all --branches?GLOB --tags?GLOB --remotes?GLOB --glob=GLOB --exclude=GLOB --disambiguate=W --abbrev?N --abbrev-ref?W
			--symbolic --symbolic-full-name --short?N --verify --quiet --default=W --not --revs-only --no-revs --flags --no-flags --prefix=W
			--show-toplevel --show-prefix --show-cdup --show-superproject-working-tree --git-dir --git-common-dir --absolute-git-dir
			--git-path=W --is-inside-git-dir --is-inside-work-tree --is-bare-repository --is-shallow-repository --shared-index-path
			--path-format=W --show-object-format?W --show-ref-format --local-env-vars --since=TEXT --until=TEXT --after=TEXT --before=TEXT
			--sq --end-of-options`},
		"git rev-list": {class: read, ops: "TEXT...", flags: gitRevFlags + ` --count --objects --objects-edge --objects-edge-aggressive --unpacked --filter=W --no-filter
			--header --no-commit-header --commit-header --disk-usage?W --in-commit-order --indexed-objects --use-bitmap-index --quiet --missing=W --object-names --no-object-names`, judge: gitFormat},
		"git ls-files": {class: list, ops: "TEXT...", flags: `-cdfikmorstuvz -X:FILE -x:GLOB --cached --deleted --modified --others --ignored --stage --directory --no-empty-directory
			--unmerged --killed --resolve-undo --exclude=GLOB --exclude-from=FILE --exclude-per-directory=W --exclude-standard --error-unmatch
			--with-tree=W --full-name --abbrev?N --debug --eol --deduplicate --sparse --format=FORMAT --recurse-submodules!`},
		"git ls-tree": {class: list, ops: "TEXT...", flags: "-dlrtz --long --name-only --name-status --object-only --abbrev?N --full-name --full-tree --format=FORMAT"},
		"git cat-file": {class: read, ops: "TEXT...", flags: `-eptsZz --batch?FORMAT --batch-check?FORMAT --batch-command?FORMAT --batch-all-objects --unordered --buffer --follow-symlinks
			--allow-unknown-type --no-mailmap --use-mailmap --mailmap --path=W --filters!! --textconv!!`, judge: gitObjects},
		"git describe": {class: read, ops: "TEXT...", flags: `--all --tags --contains --abbrev?N --candidates=N --exact-match --debug --long --match=GLOB --exclude=GLOB --always --first-parent
			--dirty?W --broken?W`, judge: gitDescribe},
		"git name-rev":     {class: read, ops: "TEXT...", flags: "--tags --refs=GLOB --no-refs --exclude=GLOB --all --name-only --no-undefined --always"},
		"git merge-base":   {class: read, ops: "TEXT...", flags: "-a --all --octopus --is-ancestor --independent --fork-point"},
		"git for-each-ref": {class: list, ops: "TEXT...", flags: gitListFlags + `--count=N --shell -s -p --perl --python --tcl --exclude=GLOB --include-root-refs`, judge: gitFormat},
		"git show-ref":     {class: list, ops: "TEXT...", flags: "-dhqs --head --heads --branches --tags --dereference --hash?N --verify --exists --abbrev?N --quiet --exclude-existing?GLOB"},
		"git show-branch": {class: list, ops: "TEXT...", flags: `-art --all --remotes --topics --current --topo-order --date-order --sparse --more?N --list --merge-base --independent --no-name
			--sha1-name --color?W --no-color -g?N --reflog?W`},
		"git branch": {class: list, ops: "TEXT...", flags: gitListFlags + `-arvlq --all --remotes --remote --verbose --list --show-current --abbrev?N --no-abbrev --quiet
			-d! -D! -m! -M! -c! -C! -f! -u:BAD -t?BAD --delete! --move! --copy! --force! --track?BAD --no-track! --set-upstream-to=BAD --set-upstream! --unset-upstream! --edit-description! --create-reflog! --recurse-submodules!`, judge: gitBranch},
		"git tag": {class: list, ops: "TEXT...", flags: gitListFlags + `-l -n?N --list
			-a! -s! -f! -d! -v!! -u:BAD -m:BAD -F:BAD -e! --annotate! --sign! --no-sign! --force! --delete! --verify!! --local-user=BAD --message=BAD --file=BAD --edit! --create-reflog! --cleanup=BAD --trailer=BAD`, judge: gitTag},
		"git remote":           {class: list, ops: "TEXT...", flags: "-v --verbose", judge: gitRemote},
		"git remote get-url":   {class: list, ops: "TEXT", flags: "--push --all", judge: gitURL},
		"git stash list":       {class: list, ops: "TEXT...", flags: gitLogFlags, judge: gitFormat},
		"git stash show":       {class: read, ops: "TEXT...", flags: gitDiffFlags + " -u --include-untracked --only-untracked --no-include-untracked"},
		"git worktree list":    {class: list, flags: "-vz --verbose --porcelain --expire=W"},
		"git notes list":       {class: list, ops: "TEXT"},
		"git notes show":       {class: read, ops: "TEXT"},
		"git submodule status": {class: list, ops: "TEXT...", flags: "--cached --quiet -q"},
		"git config": {class: read, ops: "TEXT", flags: `-lz --get=KEY --get-all=KEY --get-regexp=KEY --get-urlmatch=KEY --list --global --system --local --worktree --show-origin
			--show-scope --null --name-only --includes --no-includes --type=W --bool --int --bool-or-int --path --expiry-date --default=W
			--get-color=W --get-colorbool=W --fixed-value -f:BAD --file=BAD --blob=BAD --add! --replace-all! --unset! --unset-all!
			--rename-section! --remove-section! -e! --edit!`, judge: gitConfig},
		"git config get": {class: read, ops: "TEXT", flags: `--all --regexp --value=W --fixed-value --url=W --global --system --local --worktree --show-origin --show-scope --null -z
			--name-only --show-names --includes --no-includes --type=W --default=W`, judge: gitValues},
		"git config list":      {class: read, flags: "--global --system --local --worktree --show-origin --show-scope --null -z --name-only --includes --no-includes --type=W", judge: gitValues},
		"git check-ignore":     {class: list, ops: "TEXT...", flags: "-nqvz --no-index --quiet --verbose --non-matching --stdin"},
		"git check-attr":       {class: list, ops: "TEXT...", flags: "-az --all --cached --stdin --source=W"},
		"git check-mailmap":    {class: list, ops: "TEXT...", flags: "--stdin"},
		"git check-ref-format": {class: neutral, ops: "TEXT...", flags: "--branch --allow-onelevel --no-allow-onelevel --refspec-pattern --normalize"},
		"git count-objects":    {class: list, flags: "-vH --verbose --human-readable"},
		"git cherry":           {class: list, ops: "TEXT...", flags: "-v --verbose --abbrev?N"},
		"git var":              {class: neutral, ops: "TEXT", flags: "-l", judge: gitVar},
		"git version":          {class: neutral, flags: "--build-options"},
		"git symbolic-ref":     {class: list, ops: "TEXT", flags: "-q --quiet --short --recurse --no-recurse -d! --delete! -m:BAD"},
		"git fsck": {class: read, ops: "TEXT...", flags: `-v --verbose --unreachable --dangling --no-dangling --root --tags --cache --no-reflogs --full --no-full --connectivity-only
			--strict --progress --no-progress --name-objects --lost-found!`},
		"git verify-pack":       {class: read, ops: "FILE...", flags: "-vs --verbose --stat-only"},
		"git hash-object":       {class: read, ops: "FILE...", flags: "-t:W --stdin --no-filters --path=W --literally -w! --stdin-paths!"},
		"git patch-id":          {class: neutral, flags: "--stable --unstable --verbatim"},
		"git stripspace":        {class: neutral, flags: "-sc --strip-comments --comment-lines"},
		"git bisect log":        {class: list},
		"git bundle list-heads": {class: read, ops: "FILE TEXT..."},
		"git merge-tree":        {class: write, does: "writes objects", ops: "TEXT..."},
		"git ls-remote": {class: write, does: "reaches a remote machine", ops: "TEXT...", flags: `-hqt --heads --branches --tags --refs --quiet --symref --get-url --exit-code --sort=W --upload-pack=PROG --exec=PROG -o:TEXT
			--server-option=TEXT`, judge: gitReaches},
		"git help": {class: write, does: "may open a pager or a browser", ops: "TEXT...", judge: asks("-a|-g|-c|--all|--guides|--config|-av|--all --verbose|-a --no-verbose")},
	}
	for name, r := range gitWriting() {
		rows["git "+name] = r
	}
	return rows
}
