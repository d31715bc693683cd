package program

import (
	"strings"
)

// wrapperRows are the programs that run another one which their words name.
func wrapperRows() map[string]spec {
	rows := map[string]spec{
		"timeout":  {class: neutral, plain: true, ops: "TEXT...", judge: command(1, true), flags: timeoutFlags},
		"gtimeout": {class: neutral, plain: true, ops: "TEXT...", judge: command(1, true), flags: gtimeoutFlags},
		"time":     {class: neutral, plain: true, ops: "TEXT...", judge: command(0, true), flags: timeFlags},
		"nice":     {class: neutral, plain: true, ops: "TEXT...", flags: niceFlags, judge: judgeNice},
		"nohup": {
			class: neutral, plain: true, ops: "TEXT...", flags: &flagSet{alone: "--version --help"},
			judge: command(0, true),
		},
		"stdbuf": {class: neutral, plain: true, ops: "TEXT...", judge: command(0, true), flags: stdbufFlags},
		"xargs":  {class: neutral, plain: true, ops: "TEXT...", flags: xargsFlags, judge: judgeXargs},
		"env": {
			class: write, does: "shows or changes the environment", plain: true, ops: "TEXT...",
			flags: envFlags, judge: judgeEnv,
		},
		"sudo": {
			class: destructive, does: "runs with the rights of another user", plain: true,
			ops: "TEXT...", flags: sudoFlags, judge: judgeSudo,
		},
		"doas": {
			class: destructive, does: "runs with the rights of another user", plain: true,
			ops: "TEXT...", flags: doasFlags, judge: judgeSudo,
		},
		"su": {
			class: destructive, does: "runs with the rights of another user", ops: "TEXT...",
			flags: suFlags,
		},
		"runuser": {
			class: destructive, does: "runs with the rights of another user", plain: true,
			ops: "TEXT...", flags: runuserFlags, judge: judgeRunuser,
		},
		"pkexec": {
			class: destructive, does: "runs with the rights of another user", plain: true,
			ops: "TEXT...", judge: command(0, false), flags: pkexecFlags,
		},
		"setsid":  wrapper("runs a program outside of the session", setsidFlags, 0),
		"ionice":  wrapper("runs a program, or changes how one runs", ioniceFlags, 0),
		"chrt":    wrapper("runs a program, or changes how one runs", chrtFlags, 1),
		"taskset": wrapper("runs a program, or changes how one runs", tasksetFlags, 1),
		"numactl": wrapper("runs a program", numactlFlags, 0),
		"unshare": wrapper("runs a program in other namespaces", unshareFlags, 0),
		"nsenter": wrapper("runs a program in other namespaces", nsenterFlags, 0),
		"chroot": wrapper("runs a program with another root", &flagSet{
			alone: "--skip-chdir",
			value: "--groups --userspec",
		}, 1),
		"setpriv":           wrapper("runs a program with other rights", setprivFlags, 0),
		"capsh":             {class: write, does: "runs a shell with other rights", ops: "TEXT..."},
		"bwrap":             {class: write, does: "runs a program in a sandbox of its own", raw: true, judge: behindFlags},
		"firejail":          {class: write, does: "runs a program in a sandbox of its own", raw: true, judge: behindFlags},
		"systemd-run":       {class: write, does: "runs a program outside of the session", raw: true, judge: behindFlags},
		"systemd-inhibit":   {class: write, does: "runs a program", raw: true, judge: behindFlags},
		"start-stop-daemon": {class: write, does: "starts or stops programs", ops: "TEXT...", flags: startStopDaemonFlags},
		"strace":            {class: write, does: "runs a program under observation", raw: true, judge: behindFlags},
		"ltrace":            {class: write, does: "runs a program under observation", raw: true, judge: behindFlags},
		"dtruss":            {class: write, does: "runs a program under observation", raw: true, judge: behindFlags},
		"perf": {
			class: write, does: "runs a program under observation", raw: true,
			judge: execAfter("record|stat|trace|top|sched|mem|c2c|lock|kvm|bench"),
		},
		"valgrind": {class: write, does: "runs a program under observation", raw: true, judge: behindFlags},
		"rr":       {class: write, does: "runs a program under observation", raw: true, judge: behindFlags},
		"hyperfine": {
			class: write, does: "runs programs", raw: true,
			judge: scripts("-p --prepare -s --setup -c --cleanup --conclude", "-w --warmup -m --min-runs -M --max-runs -r "+
				"--runs -S --shell -P -D -L --style --export-json --export-markdown --export-csv -n -N -i -u -x"),
		},
		"proot":            {class: write, does: "runs a program with another root", raw: true, judge: behindFlags},
		"fakeroot":         {class: write, does: "runs a program", raw: true, judge: behindFlags},
		"torsocks":         {class: write, does: "runs a program over another network", raw: true, judge: behindFlags},
		"proxychains4":     {class: write, does: "runs a program over another network", raw: true, judge: behindFlags},
		"catchsegv":        {class: write, does: "runs a program", raw: true, judge: behindFlags},
		"caffeinate":       {class: write, does: "runs a program", raw: true, judge: behindFlags},
		"chronic":          {class: write, does: "runs a program", raw: true, judge: behindFlags},
		"unbuffer":         {class: write, does: "runs a program", raw: true, judge: behindFlags},
		"faketime":         {class: write, does: "runs a program", raw: true, judge: behindFlags},
		"dbus-run-session": {class: write, does: "runs a program", raw: true, judge: behindFlags},
		"xvfb-run":         {class: write, does: "runs a program", raw: true, judge: behindFlags},
		"ssh-agent": {
			class: write, does: "runs a program, or stays in the background", raw: true,
			judge: behindFlags,
		},
		"dotenv":    {class: write, does: "runs a program", raw: true, judge: behindFlags},
		"op":        {class: write, does: "handles secrets", raw: true, judge: execAfter("run")},
		"aws-vault": {class: write, does: "handles secrets", raw: true, judge: execAfter("exec")},
		"doppler":   {class: write, does: "handles secrets", raw: true, judge: execAfter("run")},
		"cross-env": {
			class: write, does: "runs a program with other variables", plain: true, ops: "TEXT...",
			judge: judgeEnv,
		},
		"concurrently": {
			class: write, does: "runs programs", raw: true,
			judge: scripts("", "-n --names -c --prefix-colors -p --prefix -s --success -m --max-processes"),
		},
		"nodemon":   {class: write, does: "runs a program again and again", ops: "TEXT...", flags: nodemonFlags},
		"watchexec": {class: write, does: "runs a program again and again", raw: true, judge: behindFlags},
		"entr": {
			class: write, does: "runs a program again and again", plain: true, ops: "TEXT...",
			flags: entrFlags, judge: judgeEntr,
		},
		"watch": {
			class: write, does: "runs a program again and again", plain: true, ops: "TEXT...",
			flags: watchFlags, judge: judgeWatch,
		},
		"parallel": {class: write, does: "runs programs", raw: true, judge: behindFlags},
		"flock": {
			class: write, does: "runs a program while it holds a lock", plain: true, ops: "TEXT...",
			flags: flockFlags, judge: judgeFlock,
		},
		"script":    {class: write, does: "runs a shell and records it", ops: "OUT TEXT...", flags: scriptFlags},
		"busybox":   {class: write, does: "has other programs in it", raw: true, judge: judgeApplet},
		"toybox":    {class: write, does: "has other programs in it", raw: true, judge: judgeApplet},
		"coreutils": {class: write, does: "has other programs in it", raw: true, judge: judgeCoreutils},
		"at":        {class: write, does: "runs text later", ops: "TEXT...", flags: atFlags, judge: judgeLater},
		"batch":     {class: write, does: "runs text later", ops: "TEXT...", judge: judgeLater},
		"crontab": {
			class: write, does: "runs commands again and again from now on", ops: "FILE",
			flags: crontabFlags, judge: judgeCrontab,
		},
		"tmux":   {class: write, does: "runs commands outside of this session", raw: true, judge: judgeTmux},
		"screen": {class: write, does: "runs commands outside of this session", raw: true, judge: judgeScreen},
		"zellij": {
			class: write, does: "runs commands outside of this session", raw: true,
			judge: execAfter("run"),
		},
		"nix-collect-garbage": {class: destructive, does: "removes old generations", ops: "TEXT..."},
		"cmd":                 {class: write, does: "runs a command", raw: true, judge: judgeCmd},
		"powershell":          {class: write, does: "runs code", raw: true, judge: judgePowershell},
		"pwsh":                {class: write, does: "runs code", raw: true, judge: judgePowershell},
		"wsl":                 {class: write, does: "runs a command in another system", raw: true, judge: behindFlags},
		"open":                {class: write, does: "starts another program", ops: "TEXT..."},
		"xdg-open":            {class: write, does: "starts another program", ops: "TEXT..."},
		"start":               {class: write, does: "starts another program", ops: "TEXT..."},
		"explorer":            {class: write, does: "starts another program", ops: "TEXT..."},
	}
	for _, name := range strings.Fields(otherWrappers) {
		rows[name] = spec{class: write, does: "runs a program", raw: true, judge: behindWords}
	}
	return rows
}

var timeoutFlags = &flagSet{
	letters: "vfp",
	alone:   "--foreground --preserve-status --verbose --version --help",
	value:   "-k -s --kill-after --signal",
}

var gtimeoutFlags = &flagSet{
	letters: "vfp",
	alone:   "--foreground --preserve-status --verbose",
	value:   "-k -s --kill-after --signal",
}

var timeFlags = &flagSet{
	letters: "pvqlh",
	alone:   "--portability --verbose --quiet --version --help",
	text:    "-f --format",
	unsafe:  "-a --append",
	writes:  "-o --output",
}

var niceFlags = &flagSet{
	number: true,
	alone:  "--version --help",
	value:  "-n --adjustment",
}

var stdbufFlags = &flagSet{
	alone: "--version --help",
	value: "-i -o -e --input --output --error",
}

var xargsFlags = &flagSet{
	letters: "0rtx",
	alone:   "--null --no-run-if-empty --show-limits --exit --verbose --version --help",
	value:   "-L -l? -n -P -R -S -s --max-lines? --max-args --max-procs --max-chars --process-slot-var",
	text:    "-d -E -e? -I -i? -J --delimiter --eof? --replace?",
	reads:   "-a --arg-file",
	unsafe:  "-p -o --interactive --open-tty",
}

var envFlags = &flagSet{
	letters: "i0v",
	alone:   "--ignore-environment --null --debug",
	value:   "-u -a --unset --block-signal? --default-signal? --ignore-signal? --argv0",
	text:    "-S -P --split-string",
	reads:   "-C --chdir",
}

var sudoFlags = &flagSet{
	letters: "AbEeHiKklnPSsvVB",
	alone: `--non-interactive --login --shell --stdin --set-home --background --validate --list --edit --reset-timestamp
		--remove-timestamp --askpass`,
	value: "-C -g -h -r -t -T -U -u --user --group --host --preserve-env? --close-from --role --type --other-user " +
		"--command-timeout",
	text:  "-p --prompt",
	reads: "-D -R --chdir --chroot",
}

var doasFlags = &flagSet{
	letters: "Lns",
	value:   "-a -u",
	reads:   "-C",
}

var suFlags = &flagSet{
	letters: "lmpPfh",
	alone:   "--login --preserve-environment --pty",
	value:   "-g -G -w",
	script:  "-c --command --session-command",
	program: "-s --shell",
}

var runuserFlags = &flagSet{
	letters: "lmpPf",
	alone:   "--login",
	value:   "-g -G -u --user",
	script:  "-c --command --session-command",
	program: "-s --shell",
}

var pkexecFlags = &flagSet{
	alone: "--disable-internal-agent --keep-cwd",
	value: "--user",
}

var setsidFlags = &flagSet{
	letters: "cfw",
	alone:   "--ctty --fork --wait --version --help",
}

var ioniceFlags = &flagSet{
	letters: "t",
	alone:   "--ignore --version --help",
	value:   "-c -n -p -P -u --class --classdata",
}

var chrtFlags = &flagSet{
	letters: "abdfimoprRv",
	alone:   "--batch --idle --fifo --rr --other --max --version --help",
	value:   "-T -P -D",
}

var tasksetFlags = &flagSet{
	letters: "acp",
	alone:   "--all-tasks --cpu-list --pid --version --help",
}

var numactlFlags = &flagSet{
	letters: "ahHls",
	alone:   "--localalloc --hardware --show",
	value:   "-C -N -m -i -p --cpunodebind --membind --physcpubind --interleave",
}

var unshareFlags = &flagSet{
	letters: "rfmunipUCTc",
	alone:   "--map-root-user --fork",
	value:   "-S -G --map-user --map-group --kill-child?",
	reads:   "-R -w --mount? --pid? --net? --ipc? --uts? --user? --cgroup? --mount-proc? --root --wd",
}

var nsenterFlags = &flagSet{
	letters: "aFZe",
	alone:   "--all --no-fork",
	value:   "-t -S -G --target",
	reads:   "-m? -u? -i? -n? -p? -U? -C? -T? -r? -w? --mount? --net? --pid? --user?",
}

var setprivFlags = &flagSet{
	letters: "d",
	alone:   "--clear-groups --keep-groups --init-groups --no-new-privs",
	value:   "--reuid --regid --groups --bounding-set --inh-caps",
}

var startStopDaemonFlags = &flagSet{
	letters: "SKbmtqvC",
	alone:   "--start --stop --background --oknodo",
	value:   "-n -u -c --name",
	reads:   "-p -d --pidfile",
	program: "-x -a --exec --startas",
}

var nodemonFlags = &flagSet{
	value:  "-w -e --watch --ext",
	script: "-x --exec",
}

var entrFlags = &flagSet{
	letters: "acdnprsz",
}

var watchFlags = &flagSet{
	letters: "bcCdeghprtwx",
	alone:   "--beep --color --no-color --errexit --chgexit --no-title --exec --precise --no-wrap",
	value:   "-n -q --differences? --equexit --interval",
}

var flockFlags = &flagSet{
	letters: "seonuxF",
	alone:   "--shared --exclusive --unlock --nonblock --close --no-fork --verbose",
	value:   "-E -w --timeout --conflict-exit-code",
	script:  "-c --command",
}

var scriptFlags = &flagSet{
	letters: "aefqt",
	alone:   "--quiet --return --flush --append --force",
	value:   "-E -m -o",
	writes:  "-I -O -B -T",
	script:  "-c --command",
}

var atFlags = &flagSet{
	letters: "mMvlbVc",
	value:   "-q -t",
	reads:   "-f",
	unsafe:  "-d -r",
}

var crontabFlags = &flagSet{
	letters: "lirse",
	value:   "-u -x",
}

// otherWrappers run a program named somewhere after their own flags and words.
const otherWrappers = `cpulimit prlimit runcon setarch linux32 linux64 i386 x86_64 eatmydata choom uclampset softlimit daemonize ld.so
	ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 ld-linux.so.2 ld-musl-x86_64.so.1 rlwrap sshpass sem torify dbus-launch i3-msg swaymsg xterm
	gnome-terminal konsole alacritty kitty foot tini dumb-init gosu su-exec s6-setuidgid s6-env chpst envdir envuidgid setuidgid setlock
	pidproxy pgrphack lxc lxc-attach incus adb sandbox-exec machinectl with-contenv retry ifne pipexec ccache distcc scl
	nsjail minijail0 systemd-cat systemd-nspawn toolbox distrobox flatpak-spawn sg newgrp`
