package program

// gitWriting are the subcommands of git that do more than look.
func gitWriting() map[string]spec {
	does := func(what string, flags string) spec {
		return spec{class: write, does: what, ops: "TEXT...", flags: flags}
	}
	destroys := func(what string, flags string) spec {
		return spec{class: destructive, does: what, ops: "TEXT...", flags: flags}
	}
	reaches := func(what string, flags string) spec {
		return spec{class: write, does: what, ops: "TEXT...", flags: flags, judge: gitReaches}
	}
	push := reaches("sends commits to a remote machine", `--receive-pack=PROG --exec=PROG -fdnqvu46 -o:TEXT --force --force-with-lease?W --delete --prune --mirror --all --tags --repo=TEXT`)
	push.class = destructive
	push.does = "changes a remote repository"
	checkout := does("switches the working files", `-bBflqtm -b:W -B:W --force --orphan=W --detach --ours --theirs --merge --patch -p --conflict=W --pathspec-from-file=FILE`)
	checkout.judge = gitCheckout
	stash := does("moves changes out of the working files", "")
	stash.judge = gitStash
	return map[string]spec{
		"add": does("adds to the index", "-p -i -e -u -A -f -n -v"), "commit": does("records a commit", "-m:TEXT -F:FILE -C:W -c:W -t:FILE -S?W -u?W -aqvnse --file=FILE --template=FILE"),
		"am": does("applies patches and commits", "--exec=RUN"), "apply": does("changes files", "-p:N"), "merge": does("merges into the branch", "-m:TEXT -F:FILE -s:W -X:W -S?W"),
		"mv": does("moves files", ""), "cherry-pick": does("records commits", ""), "revert": does("records commits", ""), "init": does("creates a repository", "--template=BAD"),
		"replace": does("replaces objects", ""), "update-index": does("changes the index", ""), "write-tree": does("writes objects", ""), "commit-tree": does("writes objects", ""),
		"read-tree": does("changes the index", ""), "mktree": does("writes objects", ""), "mktag": does("writes objects", ""), "fast-import": does("writes objects and branches", ""),
		"fast-export": does("may write files", ""), "format-patch": does("writes files", "-o:TO --output-directory=TO --output=OUT --stdout"), "archive": does("packs files, by programs of the configuration", "-o:OUT --output=OUT --exec=PROG --remote=HOST"),
		"bundle": does("writes a file", ""), "repack": does("rewrites the object store", ""), "pack-refs": does("rewrites branches' files", ""), "pack-objects": does("writes packs", ""),
		"maintenance": does("may rewrite the object store and the machine's timers", ""), "notes": does("writes notes", ""), "bisect": does("checks out commits", ""),
		"worktree": {class: write, does: "changes the worktrees", raw: true, judge: gitWorktree}, "sparse-checkout": does("changes which files there are", ""), "switch": {class: write, does: "switches the working files", ops: "TEXT...", flags: "-f -c:W -C:W -d -q --force --discard-changes --detach --create=W --force-create=W --orphan=W", judge: gitSwitch},
		"submodule": does("changes submodules, or runs what the repository says", ""), "subtree": does("merges another repository", ""), "lfs": does("fetches or changes large files", ""),
		"instaweb": does("starts a web server", ""), "daemon": does("serves the repository", ""), "gui": does("starts a program", ""), "citool": does("starts a program", ""), "difftool": does("runs a program", "-x:RUN --extcmd=RUN -t:W --tool=W -y -d"),
		"mergetool": does("runs a program", ""), "rebase": does("rewrites commits", "-x:RUN --exec=RUN -i -s:W -X:W --onto=W"), "interpret-trailers": does("may run programs of the configuration", ""),
		"verify-commit": does("runs the program that checks signatures", ""), "verify-tag": does("runs the program that checks signatures", ""), "send-email": does("sends mail", "--smtp-server=PROG --sendmail-cmd=RUN --to-cmd=RUN --cc-cmd=RUN"),
		"imap-send": does("sends mail", ""), "request-pull": does("reaches a remote machine", ""), "credential": does("handles stored passwords", ""), "credential-store": does("handles stored passwords", ""), "credential-cache": does("handles stored passwords", ""),
		"svn": does("reaches a remote machine", ""), "p4": does("reaches a remote machine", ""), "hook": does("runs hooks", ""), "rerere": does("changes recorded merges", ""), "multi-pack-index": does("writes packs", ""), "commit-graph": does("writes the commit graph", ""),
		"checkout-index": does("writes files", "-fa"), "update-server-info": does("writes files", ""), "unpack-objects": does("writes objects", ""), "update-ref": {class: write, does: "changes references", ops: "TEXT...", flags: "-d --no-deref -m:TEXT --stdin -z --create-reflog", judge: gitUpdateRef},
		"fetch": reaches("fetches from a remote machine", "--upload-pack=PROG -o:TEXT -apPtfknquv46 --all --prune --tags --depth=N"), "pull": reaches("fetches and merges", "--upload-pack=PROG -o:TEXT"), "clone": reaches("fetches a repository", "-u:PROG --upload-pack=PROG -c:BAD --config=BAD -o:W -b:W --template=BAD --reference=DIR --separate-git-dir=BAD --depth=N"),
		"push": push, "checkout": checkout, "stash": stash,
		"reset":   {class: write, does: "moves the branch or the index", ops: "TEXT...", flags: "-pqN --hard --soft --mixed --merge --keep", judge: gitReset},
		"clean":   {class: destructive, does: "removes files that git does not know", ops: "TEXT...", flags: "-dfiqxXn -e:GLOB --force --dry-run --exclude=GLOB --quiet", judge: gitClean},
		"restore": {class: destructive, does: "overwrites changes in the working files", ops: "TEXT...", flags: "-s:W --source=W -SWpqm --staged --worktree --ours --theirs", judge: gitRestore}, "rm": {class: destructive, does: "removes files", ops: "KILL...", flags: "-fnrq --cached --force --dry-run --ignore-unmatch --quiet"},
		"filter-branch": destroys("rewrites the history", "--env-filter=RUN --tree-filter=RUN --index-filter=RUN --msg-filter=RUN --commit-filter=RUN --tag-name-filter=RUN --parent-filter=RUN --setup=RUN -f -d:DIR --subdirectory-filter=DIR"),
		"filter-repo":   destroys("rewrites the history", ""), "gc": {class: write, does: "rewrites the object store", ops: "", flags: "-q --aggressive --auto --prune?W --no-prune --force", judge: gitGC},
		"prune": destroys("removes objects", ""), "prune-packed": does("removes objects that are packed", ""), "reflog expire": destroys("removes what is needed to recover work", ""), "reflog delete": destroys("removes what is needed to recover work", ""),
		"remote add": does("changes the remotes", ""), "remote remove": does("changes the remotes", ""), "remote update": reaches("fetches from remote machines", ""), "remote show": reaches("reaches a remote machine", ""), "remote prune": reaches("removes branches", ""),
		"bisect run": {class: write, does: "runs a program", raw: true, judge: wrapsExact}, "submodule foreach": {class: write, does: "runs a command in each submodule", raw: true, judge: gitForeach},
	}
}
