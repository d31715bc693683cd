package program

// judges make further checks, after flags and operands were sorted, or read the words of a raw row by themselves. The
// table names them, some with an argument.
var judges map[string]func(c *call, arg string)

func init() { // the table is read by way of these functions
	judges = map[string]func(*call, string){
		"verbs": (*call).verb, "interpreter": judgeInterpreter, "shell": judgeShell,

		"runs": judgeRuns, "behind": judgeBehind, "somewhere": judgeSomewhere, "xargs": judgeXargs,
		"env": judgeEnv, "sudo": judgeSudo, "scripts": judgeScripts, "watch": judgeWatch, "flock": judgeFlock,
		"coreutils": judgeCoreutils, "later": judgeLater, "crontab": judgeCrontab, "tmux": judgeTmux, "screen": judgeScreen,
		"cmd": judgeCmd, "hides": judgeHides,

		"joined-script": judgeJoined, "printf": judgePrintf, "test": judgeTest, "cd": judgeCd, "source": judgeSource,
		"trap": judgeTrap, "command": judgeCommand, "kill": judgeKill,

		"copy": judgeCopy, "move": judgeMove, "recursive": judgeRecursive, "devices": judgeDevices, "dd": judgeDd,
		"split": judgeSplit, "rewrites": judgeRewrites, "pager": judgePager, "unpacks": judgeUnpacks, "tar": judgeTar,
		"zip": judgeZip, "tree": judgeTree, "diff": judgeDiff, "grep": judgeGrep, "rg": judgeRg, "find": judgeFind,
		"fd": judgeFd, "sed": judgeSed, "awk": judgeAwk, "jq": judgeJq,

		"git": judgeGit, "format": gitFormat, "branch": gitBranch, "config": gitConfig, "reaches": gitReaches,
		"clone": gitClone, "checkout": gitCheckout, "clean": gitClean, "keeps": judgeKeeps, "looks": judgeLooks, "init": gitInit, "moves": gitMoves,

		"date": judgeDate, "sleep": judgeSleep, "ps": judgePs,

		"urls": judgeURLs, "host-words": judgeHostWords, "mail-hosts": judgeMailHosts, "curl": judgeCurl, "ssh": judgeSSH,
		"copies": judgeCopies, "rsync": judgeRsync, "socat": judgeSocat,

		"docker": judgeDocker, "container": judgeContainer, "compose": judgeCompose, "cloud": judgeCloud, "sql": judgeSQL,
		"debugger": judgeDebugger, "vim": judgeVim, "hub": judgeHub,
	}
}
