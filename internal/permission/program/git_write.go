package program

// gitWriting are the subcommands of git that are not read-only.
func gitWriting() map[string]spec {
	does := func(what string, flags *flagSet) spec {
		return spec{class: write, does: what, ops: "TEXT...", flags: flags}
	}
	destroys := func(what string, flags *flagSet) spec {
		return spec{class: destructive, does: what, ops: "TEXT...", flags: flags}
	}
	reaches := func(what string, flags *flagSet) spec {
		return spec{class: write, does: what, ops: "TEXT...", flags: flags, judge: gitReaches}
	}
	push := reaches("sends commits to a remote machine", gitPushFlags)
	push.class = destructive
	push.does = "changes a remote repository"
	checkout := does("switches the working files", gitCheckoutFlags)
	checkout.judge = gitCheckout
	stash := does("moves changes out of the working files", nil)
	stash.judge = gitStash
	clone := reaches("fetches a repository", gitCloneFlags)
	remote := clone.judge
	clone.judge = func(c *call) { remote(c); gitClone(c) }
	rows := map[string]spec{
		"add":    does("adds to the index", &flagSet{letters: "pieuAfnv"}),
		"commit": does("records a commit", gitCommitFlags),
		"am": {
			class: write, does: "applies patches and commits", ops: "TEXT...",
			flags: &flagSet{script: "--exec"}, judge: gitApplies,
		},
		"apply": {
			class: write, does: "changes files", ops: "TEXT...", flags: &flagSet{value: "-p"},
			judge: gitApplies,
		},
		"merge": does("merges into the branch", &flagSet{value: "-s -X -S?", text: "-m", reads: "-F"}),
		"init": {
			class: write, does: "creates a repository", ops: "TEXT...",
			flags: &flagSet{unsafeValue: "--template"}, judge: gitInit,
		},
		"format-patch": {
			class: write, does: "writes files", ops: "TEXT...", flags: gitFormatPatchFlags,
			adds: "--no-signature", judge: gitFormatPatch,
		},
		"archive":  does("packs files, by programs of the configuration", gitArchiveFlags),
		"worktree": {class: write, does: "changes the worktrees", raw: true, judge: gitWorktree},
		"switch": {
			class: write, does: "switches the working files", ops: "TEXT...", flags: gitSwitchFlags,
			judge: gitSwitch,
		},
		"difftool": does("runs a program", &flagSet{letters: "yd", value: "-t --tool", script: "-x --extcmd"}),
		"rebase":   does("rewrites commits", &flagSet{letters: "i", value: "-s -X --onto", script: "-x --exec"}),
		"send-email": does("sends mail", &flagSet{
			script:  "--sendmail-cmd --to-cmd --cc-cmd",
			program: "--smtp-server",
		}),
		"checkout-index": {class: write, does: "writes files", ops: "TEXT...", flags: &flagSet{
			letters: "fa",
			text:    "--prefix",
		}, judge: gitPrefix},
		"mv": {
			class: write, does: "moves files", ops: "TEXT...", flags: &flagSet{letters: "fknv"},
			judge: gitMoves,
		},
		"bundle": {
			class: write, does: "writes a file", ops: "TEXT...", flags: &flagSet{letters: "q"},
			judge: gitBundle,
		},
		"fast-export": does("may write files", &flagSet{
			writes: "--export-marks",
			reads:  "--import-marks --import-marks-if-exists",
		}),
		"bugreport": does("writes a report", &flagSet{target: "-o --output-directory"}),
		"diagnose":  does("writes an archive", &flagSet{target: "-o --output-directory"}),
		"update-ref": {
			class: write, does: "changes references", ops: "TEXT...", flags: gitUpdateRefFlags,
			judge: gitUpdateRef,
		},
		"fetch":    reaches("fetches from a remote machine", gitFetchFlags),
		"pull":     reaches("fetches and merges", &flagSet{text: "-o", program: "--upload-pack"}),
		"clone":    clone,
		"push":     push,
		"checkout": checkout,
		"stash":    stash,
		"reset": {
			class: write, does: "moves the branch or the index", ops: "TEXT...", flags: gitResetFlags,
			judge: gitReset,
		},
		"clean": {
			class: destructive, does: "removes files that git does not know", ops: "TEXT...",
			flags: gitCleanFlags, judge: gitClean,
		},
		"restore": {
			class: destructive, does: "overwrites changes in the working files", ops: "TEXT...",
			flags: gitRestoreFlags, judge: gitRestore,
		},
		"rm":                {class: destructive, does: "removes files", ops: "KILL...", flags: gitRmFlags},
		"filter-branch":     destroys("rewrites the history", gitFilterBranchFlags),
		"filter-repo":       destroys("rewrites the history", nil),
		"gc":                {class: write, does: "rewrites the object store", ops: "", flags: gitGcFlags, judge: gitGC},
		"prune":             destroys("removes objects", nil),
		"reflog expire":     destroys("removes what is needed to recover work", nil),
		"reflog delete":     destroys("removes what is needed to recover work", nil),
		"remote update":     reaches("fetches from remote machines", nil),
		"remote show":       reaches("reaches a remote machine", nil),
		"remote prune":      reaches("removes branches", nil),
		"bisect run":        {class: write, does: "runs a program", raw: true, judge: wrapsExact},
		"submodule foreach": {class: write, does: "runs a command in each submodule", raw: true, judge: gitForeach},
	}
	for verb, what := range perLine(`
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
		rows[verb] = does(what, nil)
	}
	return rows
}

// gitPrefix: checkout-index puts files below a prefix.
func gitPrefix(c *call) {
	if f, ok := c.get("--prefix"); ok {
		c.Writes, c.Unpacks = append(c.Writes, f.value.Text), f.value.Text
	}
}

// gitMoves: the last operand is the target.
func gitMoves(c *call) {
	for i, w := range c.ops {
		if i < len(c.ops)-1 || i == 0 {
			c.Reads = append(c.Reads, w.Text)
		}
		c.Writes = append(c.Writes, w.Text)
	}
	if c.lands(); c.Lands != nil {
		c.Lands.Deep = true
	}
}

func gitBundle(c *call) {
	if len(c.ops) > 1 && c.ops[0].Text == "create" && c.ops[1].Text != "-" {
		c.Writes = append(c.Writes, c.ops[1].Text)
	}
}

// gitInit: a template fills the new repository, also one that is there already, with hooks and settings.
func gitInit(c *call) {
	f, ok := c.get("--template")
	if !ok || f.value.Text == "" {
		return
	}
	dir := "."
	if len(c.ops) > 0 {
		dir = c.ops[0].Text
	}
	c.Lands = &Landing{Sources: []string{f.value.Text + "/."}, Target: dir + "/.git", Deep: true}
}

var gitPushFlags = &flagSet{
	letters: "fdnqvu46",
	alone:   "--force --delete --prune --mirror --all --tags",
	value:   "--force-with-lease?",
	text:    "-o --repo",
	program: "--receive-pack --exec",
}

var gitCheckoutFlags = &flagSet{
	letters: "flqtmp",
	alone:   "--force --detach --ours --theirs --merge --patch",
	value:   "-b -B --orphan --conflict",
	reads:   "--pathspec-from-file",
}

var gitCommitFlags = &flagSet{
	letters: "aqvnse",
	value:   "-C -c -S? -u?",
	text:    "-m",
	reads:   "-F -t --file --template",
}

var gitArchiveFlags = &flagSet{
	hosts:   "--remote",
	writes:  "-o --output",
	program: "--exec",
}

var gitSwitchFlags = &flagSet{
	letters: "fdq",
	alone:   "--force --discard-changes --detach",
	value:   "-c -C --create --force-create --orphan",
}

var gitUpdateRefFlags = &flagSet{
	letters: "dz",
	alone:   "--no-deref --stdin --create-reflog",
	text:    "-m",
}

var gitFetchFlags = &flagSet{
	letters: "apPtfknquv46",
	alone:   "--all --prune --tags",
	value:   "--depth",
	text:    "-o",
	program: "--upload-pack",
}

var gitCloneFlags = &flagSet{
	value:       "-o -b --depth",
	reads:       "--reference",
	unsafeValue: "-c --config --template --separate-git-dir",
	program:     "-u --upload-pack",
}

var gitResetFlags = &flagSet{
	letters: "pqN",
	alone:   "--hard --soft --mixed --merge --keep",
}

var gitCleanFlags = &flagSet{
	letters: "dfiqxXn",
	alone:   "--force --dry-run --quiet",
	value:   "-e --exclude",
}

var gitRestoreFlags = &flagSet{
	letters: "SWpqm",
	alone:   "--staged --worktree --ours --theirs",
	value:   "-s --source",
}

var gitRmFlags = &flagSet{
	letters: "fnrq",
	alone:   "--cached --force --dry-run --ignore-unmatch --quiet",
}

var gitFilterBranchFlags = &flagSet{
	letters: "f",
	reads:   "-d --subdirectory-filter",
	script: "--env-filter --tree-filter --index-filter --msg-filter --commit-filter --tag-name-filter --parent-filter " +
		"--setup",
}

var gitGcFlags = &flagSet{
	letters: "q",
	alone:   "--aggressive --auto --no-prune --force",
	value:   "--prune?",
}

var gitFormatPatchFlags = &flagSet{
	with:    []*flagSet{gitPatchFlags, gitRevisionFlags},
	letters: "nNkqs",
	alone: `--stdout --numbered --no-numbered --keep-subject --signoff --zero-commit --quiet --no-signature --no-attach --no-thread
		--no-cover-letter --no-base --no-to --no-cc`,
	value:  "-v --reroll-count --start-number --subject-prefix --filename-max-length --creation-factor",
	unsafe: "--cover-letter --progress --ignore-if-in-upstream",
	unsafeValue: "--rfc? --attach? --inline? --signature --in-reply-to --to --cc --from? --thread? --interdiff " +
		"--range-diff --base --suffix --encode-email-headers",
	target: "-o --output-directory",
	exact:  "--signature-file --to-cmd --cc-cmd",
	writes: "--output",
}

// gitFormatPatch: to its output it writes no file. The safe form goes without a signature, which settings of the
// project may take from any file.
func gitFormatPatch(c *call) {
	if !c.has("--stdout") {
		return
	}
	c.Class, c.Reason = read, ""
	c.doubts()
	for _, f := range c.flags {
		if f.unsafe {
			c.refuse(flagReason(c.name, f))
		}
	}
}
