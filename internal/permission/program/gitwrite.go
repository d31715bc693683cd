package program

// gitWriting are the subcommands of git that are not read-only.
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
	rows := map[string]spec{
		"add":               does("adds to the index", "-p -i -e -u -A -f -n -v"),
		"commit":            does("records a commit", "-m:TEXT -F:FILE -C:W -c:W -t:FILE -S?W -u?W -aqvnse --file=FILE --template=FILE"),
		"am":                {class: write, does: "applies patches and commits", ops: "TEXT...", flags: "--exec=RUN", judge: unpacks("", nil)},
		"apply":             {class: write, does: "changes files", ops: "TEXT...", flags: "-p:N", judge: unpacks("", nil)},
		"merge":             does("merges into the branch", "-m:TEXT -F:FILE -s:W -X:W -S?W"),
		"init":              does("creates a repository", "--template=BAD"),
		"format-patch":      does("writes files", "-o:TO --output-directory=TO --output=OUT --stdout"),
		"archive":           does("packs files, by programs of the configuration", "-o:OUT --output=OUT --exec=PROG --remote=HOST"),
		"worktree":          {class: write, does: "changes the worktrees", raw: true, judge: gitWorktree},
		"switch":            {class: write, does: "switches the working files", ops: "TEXT...", flags: "-f -c:W -C:W -d -q --force --discard-changes --detach --create=W --force-create=W --orphan=W", judge: gitSwitch},
		"difftool":          does("runs a program", "-x:RUN --extcmd=RUN -t:W --tool=W -y -d"),
		"rebase":            does("rewrites commits", "-x:RUN --exec=RUN -i -s:W -X:W --onto=W"),
		"send-email":        does("sends mail", "--smtp-server=PROG --sendmail-cmd=RUN --to-cmd=RUN --cc-cmd=RUN"),
		"checkout-index":    does("writes files", "-fa"),
		"update-ref":        {class: write, does: "changes references", ops: "TEXT...", flags: "-d --no-deref -m:TEXT --stdin -z --create-reflog", judge: gitUpdateRef},
		"fetch":             reaches("fetches from a remote machine", "--upload-pack=PROG -o:TEXT -apPtfknquv46 --all --prune --tags --depth=N"),
		"pull":              reaches("fetches and merges", "--upload-pack=PROG -o:TEXT"),
		"clone":             reaches("fetches a repository", "-u:PROG --upload-pack=PROG -c:BAD --config=BAD -o:W -b:W --template=BAD --reference=DIR --separate-git-dir=BAD --depth=N"),
		"push":              push,
		"checkout":          checkout,
		"stash":             stash,
		"reset":             {class: write, does: "moves the branch or the index", ops: "TEXT...", flags: "-pqN --hard --soft --mixed --merge --keep", judge: gitReset},
		"clean":             {class: destructive, does: "removes files that git does not know", ops: "TEXT...", flags: "-dfiqxXn -e:GLOB --force --dry-run --exclude=GLOB --quiet", judge: gitClean},
		"restore":           {class: destructive, does: "overwrites changes in the working files", ops: "TEXT...", flags: "-s:W --source=W -SWpqm --staged --worktree --ours --theirs", judge: gitRestore},
		"rm":                {class: destructive, does: "removes files", ops: "KILL...", flags: "-fnrq --cached --force --dry-run --ignore-unmatch --quiet"},
		"filter-branch":     destroys("rewrites the history", "--env-filter=RUN --tree-filter=RUN --index-filter=RUN --msg-filter=RUN --commit-filter=RUN --tag-name-filter=RUN --parent-filter=RUN --setup=RUN -f -d:DIR --subdirectory-filter=DIR"),
		"filter-repo":       destroys("rewrites the history", ""),
		"gc":                {class: write, does: "rewrites the object store", ops: "", flags: "-q --aggressive --auto --prune?W --no-prune --force", judge: gitGC},
		"prune":             destroys("removes objects", ""),
		"reflog expire":     destroys("removes what is needed to recover work", ""),
		"reflog delete":     destroys("removes what is needed to recover work", ""),
		"remote update":     reaches("fetches from remote machines", ""),
		"remote show":       reaches("reaches a remote machine", ""),
		"remote prune":      reaches("removes branches", ""),
		"bisect run":        {class: write, does: "runs a program", raw: true, judge: wrapsExact},
		"submodule foreach": {class: write, does: "runs a command in each submodule", raw: true, judge: gitForeach},
	}
	for verb, what := range perLine(`
		mv                 : moves files
		cherry-pick        : records commits
		revert             : records commits
		replace            : replaces objects
		update-index       : changes the index
		write-tree         : writes objects
		commit-tree        : writes objects
		read-tree          : changes the index
		mktree             : writes objects
		mktag              : writes objects
		fast-import        : writes objects and branches
		fast-export        : may write files
		bundle             : writes a file
		repack             : rewrites the object store
		pack-refs          : rewrites branches' files
		pack-objects       : writes packs
		maintenance        : may rewrite the object store and the machine's timers
		notes              : writes notes
		bisect             : checks out commits
		sparse-checkout    : changes which files there are
		submodule          : changes submodules, or runs what the repository says
		subtree            : merges another repository
		lfs                : fetches or changes large files
		instaweb           : starts a web server
		daemon             : serves the repository
		gui                : starts a program
		citool             : starts a program
		mergetool          : runs a program
		interpret-trailers : may run programs of the configuration
		verify-commit      : runs the program that checks signatures
		verify-tag         : runs the program that checks signatures
		imap-send          : sends mail
		request-pull       : reaches a remote machine
		credential         : handles stored passwords
		credential-store   : handles stored passwords
		credential-cache   : handles stored passwords
		svn                : reaches a remote machine
		p4                 : reaches a remote machine
		hook               : runs hooks
		rerere             : changes recorded merges
		multi-pack-index   : writes packs
		commit-graph       : writes the commit graph
		update-server-info : writes files
		unpack-objects     : writes objects
		prune-packed       : removes objects that are packed
		remote add         : changes the remotes
		remote remove      : changes the remotes
	`) {
		rows[verb] = does(what, "")
	}
	return rows
}
