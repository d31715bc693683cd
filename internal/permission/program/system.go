package program

// systemRows are the programs that report on the machine.
func systemRows() map[string]spec {
	return map[string]spec{
		"uname": {class: neutral, tame: true, flags: unameFlags},
		"arch": {
			class: neutral, tame: true, ops: "TEXT...", flags: &flagSet{alone: "--version --help"},
			judge: judgeArch,
		},
		"nproc":   {class: neutral, tame: true, flags: &flagSet{alone: "--all --version --help", value: "--ignore"}},
		"whoami":  {class: neutral, tame: true, flags: &flagSet{alone: "--version --help"}},
		"logname": {class: neutral, tame: true, flags: &flagSet{alone: "--version --help"}},
		"tty": {class: neutral, tame: true, flags: &flagSet{
			letters: "s",
			alone:   "--silent --quiet --version --help",
		}},
		"groups":   {class: neutral, tame: true, ops: "TEXT...", flags: &flagSet{alone: "--version --help"}},
		"id":       {class: neutral, tame: true, ops: "TEXT...", flags: idFlags},
		"who":      {class: list, tame: true, ops: "FILE TEXT", flags: whoFlags},
		"w":        {class: list, tame: true, ops: "TEXT", flags: wFlags},
		"users":    {class: list, tame: true, ops: "FILE", flags: &flagSet{alone: "--version --help"}},
		"last":     {class: list, ops: "TEXT...", flags: lastFlags},
		"hostname": {class: neutral, flags: hostnameFlags, judge: judgeHostname},
		"lsb_release": {class: neutral, flags: &flagSet{
			letters: "aicdrsv",
			alone:   "--all --id --codename --description --release --short",
		}},
		"uuidgen":    {class: neutral, flags: &flagSet{letters: "rt", alone: "--random --time"}},
		"nvidia-smi": {class: list, flags: &flagSet{letters: "Lq"}},
		"stty": {
			class: write, does: "sets up the terminal", ops: "TEXT...", flags: &flagSet{letters: "ag"},
			judge: asks("-a|-g|size|speed"),
		},
		"hostid": {class: neutral, flags: &flagSet{alone: "--version --help"}},
		"uptime": {class: neutral, tame: true, flags: &flagSet{
			letters: "psVh",
			alone:   "--pretty --since --version --help",
		}},
		"date":   {class: neutral, ops: "TEXT", flags: dateFlags, judge: judgeDate},
		"sleep":  {class: neutral, ops: "TEXT...", flags: &flagSet{alone: "--version --help"}, judge: judgeSleep},
		"seq":    {class: neutral, tame: true, ops: "TEXT...", flags: seqFlags},
		"yes":    {class: neutral, tame: true, ops: "TEXT...", flags: &flagSet{alone: "--version --help"}},
		"expr":   {class: neutral, raw: true, judge: textOnly},
		"free":   {class: list, tame: true, flags: freeFlags},
		"vmstat": {class: list, tame: true, ops: "TEXT TEXT", flags: vmstatFlags},
		"iostat": {class: list, ops: "TEXT...", flags: &flagSet{
			letters: "cdhkmNtxyzV", alone: "--human --pretty",
			value: "-p? -o",
		}},
		"mpstat":  {class: list, ops: "TEXT TEXT", flags: &flagSet{letters: "AunV", value: "-P -I -o"}},
		"lscpu":   {class: list, tame: true, flags: lscpuFlags},
		"lsblk":   {class: list, ops: "TEXT...", flags: lsblkFlags},
		"lspci":   {class: list, flags: &flagSet{letters: "bDkmnPtvx", value: "-d -s", unsafe: "-q -Q"}},
		"lsusb":   {class: list, flags: &flagSet{letters: "tv", value: "-d -s"}},
		"lsmod":   {class: list, flags: nil},
		"findmnt": {class: list, ops: "TEXT TEXT", flags: findmntFlags},
		"mount": {
			class: write, does: "changes what is mounted", ops: "TEXT...", flags: mountFlags,
			judge: judgeMount,
		},
		"umount":  {class: write, does: "changes what is mounted", ops: "TEXT..."},
		"ps":      {class: list, raw: true, judge: judgePs},
		"pgrep":   {class: list, ops: "TEXT", flags: pgrepFlags},
		"pidof":   {class: list, ops: "TEXT...", flags: &flagSet{letters: "csqwxz", value: "-o", text: "-S -d"}},
		"pstree":  {class: list, ops: "TEXT", flags: &flagSet{letters: "aAcCglnpsStTuUV", value: "-H -N"}},
		"top":     {class: list, raw: true, judge: judgeTop},
		"lsof":    {class: list, ops: "FILE...", flags: lsofFlags, judge: judgeLsof},
		"ss":      {class: list, ops: "TEXT...", flags: ssFlags, judge: judgeSs},
		"netstat": {class: list, ops: "TEXT...", flags: netstatFlags},
		"ip":      {class: write, does: "may change the network", raw: true, judge: judgeIp},
		"ifconfig": {
			class: write, does: "may change the network", ops: "TEXT...", flags: &flagSet{letters: "as"},
			judge: noOperands(list),
		},
		"route": {
			class: write, does: "may change the network", ops: "TEXT...", flags: &flagSet{letters: "neFC"},
			judge: noOperands(list),
		},
		"arp": {class: write, does: "may change the network", ops: "TEXT...", flags: &flagSet{
			letters: "aenv",
			value:   "-i",
		}, judge: noOperands(list)},
		"locale":  {class: neutral, tame: true, ops: "TEXT...", flags: localeFlags},
		"getconf": {class: neutral, ops: "TEXT TEXT", flags: &flagSet{letters: "a"}},
		"getent":  {class: read, raw: true, judge: judgeGetent},
		"man":     {class: read, ops: "TEXT...", flags: manFlags, judge: judgeMan},
		"info":    {class: write, does: "is interactive", ops: "TEXT..."},
		"tldr":    {class: write, does: "may fetch pages from the network", ops: "TEXT..."},
		"printenv": {
			class: read, ops: "TEXT...", flags: &flagSet{letters: "0", alone: "--null --version --help"},
			judge: judgePrintenv,
		},
		"tput":        {class: neutral, ops: "TEXT...", flags: &flagSet{letters: "V", value: "-T"}, judge: judgeTput},
		"infocmp":     {class: neutral, ops: "TEXT...", flags: &flagSet{letters: "1CIx"}},
		"clear":       {class: neutral, flags: &flagSet{letters: "x"}},
		"sysctl":      {class: list, ops: "TEXT...", flags: sysctlFlags, judge: judgeSysctl},
		"dmesg":       {class: read, flags: dmesgFlags},
		"journalctl":  {class: read, ops: "TEXT...", flags: journalctlFlags},
		"systemctl":   {class: write, does: "controls the services of the machine", raw: true, judge: judgeSystemctl},
		"service":     {class: destructive, does: "controls the services of the machine", ops: "TEXT..."},
		"loginctl":    {class: write, does: "controls sessions", ops: "TEXT..."},
		"timedatectl": {class: write, does: "may set the clock", ops: "TEXT...", flags: nil, judge: noOperands(list)},
		"hostnamectl": {
			class: write, does: "may set the name of the machine", ops: "TEXT...", flags: nil,
			judge: noOperands(list),
		},
		"sw_vers": {class: neutral, ops: "", flags: &flagSet{
			oneDash: true,
			alone:   "-productName -productVersion -buildVersion",
		}},
		"system_profiler": {class: list, ops: "TEXT...", flags: &flagSet{
			oneDash: true, alone: "-listDataTypes -json -xml",
			value: "-detailLevel",
		}},
		"ulimit": {class: neutral, ops: "", flags: &flagSet{letters: "aHSbcdefiklmnpqrstuvxPRT"}},
		"mktemp": {class: write, does: "creates a file", ops: "OUT", flags: mktempFlags},
	}
}

var unameFlags = &flagSet{
	letters: "amnoprsvi",
	alone: `--all --kernel-name --nodename --kernel-release --kernel-version --machine --processor --hardware-platform --operating-system
		--version --help`,
}

var idFlags = &flagSet{
	letters: "aGgnruzZ",
	alone:   "--context --group --groups --name --real --user --zero --version --help",
}

var whoFlags = &flagSet{
	letters: "abdHlmpqrstTuw",
	alone: `--all --boot --dead --heading --ips --login --lookup --process --count --runlevel --short --time --mesg --message --users
		--version --help`,
}

var wFlags = &flagSet{
	letters: "hsfouiV",
	alone:   "--no-header --short --from --old-style --no-current --ip-addr --version --help",
}

var lastFlags = &flagSet{
	number:  true,
	letters: "adFiRwx",
	alone:   "--fullnames --hostlast",
	value:   "-n --limit",
	text:    "-s -t -p --since --until",
}

var hostnameFlags = &flagSet{
	letters: "AadfiIsyV",
	alone:   "--alias --all-fqdns --all-ip-addresses --domain --fqdn --long --ip-address --short --version --help",
}

var dateFlags = &flagSet{
	letters:     "uR",
	alone:       "--debug --resolution --rfc-email --rfc-2822 --utc --universal --version --help",
	value:       "-I? --iso-8601? --rfc-3339",
	text:        "-d --date",
	reads:       "-r --reference",
	unsafeValue: "-f --set --file",
	exact:       "-s",
}

var seqFlags = &flagSet{
	number:  true,
	letters: "w",
	alone:   "--equal-width --version --help",
	text:    "-f -s --format --separator",
}

var freeFlags = &flagSet{
	letters: "bkmghlotvwLV",
	alone: `--bytes --kilo --mega --giga --tera --kibi --mebi --gibi --tebi --human --si --lohi --line --total --committed --wide
		--version --help`,
	value: "-c -s --count --seconds",
}

var vmstatFlags = &flagSet{
	letters: "adDfmnstwyV",
	alone:   "--active --stats --disk --timestamp --wide --version --help",
	value:   "-p -S --unit",
}

var lscpuFlags = &flagSet{
	letters: "abcxyJBhV",
	alone:   "--all --online --bytes --offline --json --hex --physical --version --help",
	value:   "-e? -C? -p? --extended? --parse? --caches?",
}

var lsblkFlags = &flagSet{
	letters: "aAbDdfiJlmMnOpPrsStTzVhN",
	alone: `--all --bytes --discard --nodeps --fs --ascii --json --list --perms --noheadings --output-all --paths --pairs --raw --inverse
		--scsi --topology --zoned --version --help`,
	value: "-e -I -o -E -w -x --output --tree?",
}

var findmntFlags = &flagSet{
	letters: "AabcDefiJklmnPrsuvVhU",
	alone:   "--df --json --list --noheadings --version --help",
	value:   "-o -t --output --types",
	text:    "-S",
	reads:   "-T --target",
}

var mountFlags = &flagSet{
	letters: "alvhV",
	alone:   "--version --help",
	value:   "-t",
}

var pgrepFlags = &flagSet{
	letters: "acfilnovwxVhAL",
	alone: "--count --list-name --list-full --inverse --lightweight --full --ignore-case --newest --oldest --exact " +
		"--version --help",
	value: "-g -G -P -s -t -u -U --pgroup --group --older --parent --session --terminal --euid --uid --runstates",
	text:  "-d --delimiter",
	reads: "-F --pidfile",
}

var lsofFlags = &flagSet{
	letters: "abChlnNoOPRstUvVwX",
	value:   "-d -F? -g? -p -u -T? +c +L?",
	text:    "-c -i?",
	unsafe:  "-r",
}

var ssFlags = &flagSet{
	letters: "HOnraleotmipsbEdwxSuZz0V46h",
	alone: `--no-header --oneline --numeric --resolve --all --listening --options --extended --memory --processes --info --summary --tcp
		--udp --unix --raw --ipv4 --ipv6 --version --help`,
	value:       "-A -f --family --query",
	unsafeValue: "-F --filter",
	exact:       "-K --kill",
	writes:      "-D --diag",
}

var netstatFlags = &flagSet{
	letters: "acCeFgilMnNoprstuvVWwx46",
	alone: `--all --numeric --listening --programs --tcp --udp --unix --raw --route --interfaces --statistics --extend --wide --version
		--help`,
}

var localeFlags = &flagSet{
	letters: "amkc",
	alone:   "--all-locales --charmaps --category-name --keyword-name --verbose --version --help",
}

var manFlags = &flagSet{
	letters: "afkwW",
	alone: "--whatis --apropos --where --path --where-cat --all --regex --wildcard --names-only --no-subpages " +
		"--ascii --version --help",
	value:       "-s -S -m -L --sections --locale --encoding",
	unsafe:      "-l -K --local-file",
	unsafeValue: "-C -M -p -T? -X? -r --config-file --manpath --preprocessor --troff-device? --gxditview? --prompt",
	program:     "-P -H? --pager --html?",
}

var sysctlFlags = &flagSet{
	letters:     "aAnNeqbX",
	alone:       "--all --values --names --ignore --quiet --version --help",
	text:        "--pattern",
	unsafeValue: "-p? --load?",
	exact:       "-w --write --system",
}

var dmesgFlags = &flagSet{
	letters:     "deHhkLPrTtuxSw",
	alone:       "--human --kernel --ctime --notime --decode --version --help --follow",
	value:       "-l -f --level --color? --facility",
	reads:       "-F --file",
	unsafeValue: "-n",
	exact:       "-C -c -D -E --clear --read-clear",
}

var journalctlFlags = &flagSet{
	letters: "aefkmNqrxl",
	alone: "--no-pager --reverse --dmesg --follow --catalog --utc --all --full --quiet --list-boots --disk-usage " +
		"--version --help",
	value:       "-b? -n? -o -p -t -u -F --unit --user-unit --lines? --output --priority --boot? --identifier",
	text:        "-S -U -g --since --until --grep",
	reads:       "-D --directory --file",
	unsafe:      "--sync",
	unsafeValue: "--vacuum-size? --vacuum-time? --vacuum-files?",
	exact:       "--rotate --flush",
}

var mktempFlags = &flagSet{
	letters: "dqtu",
	alone:   "--directory --dry-run",
	text:    "--suffix",
	reads:   "-p --tmpdir?",
}
