package program

import (
	"path"
	"slices"
	"strings"
)

// destructiveRows are the programs that change, remove and end things.
func destructiveRows() map[string]spec {
	return map[string]spec{
		"rm":    {class: destructive, does: "removes files", ops: "KILL...", flags: rmFlags, judge: removes},
		"rmdir": {class: destructive, does: "removes folders", ops: "KILL...", flags: rmdirFlags, judge: removes},
		"unlink": {
			class: destructive, does: "removes a file", ops: "KILL",
			flags: &flagSet{alone: "--version --help"}, judge: removes,
		},
		"shred": {class: destructive, does: "overwrites files", ops: "KILL...", flags: shredFlags, judge: removes},
		"srm": {
			class: destructive, does: "overwrites files", ops: "KILL...",
			flags: &flagSet{letters: "dfirRvsmz"}, judge: removes,
		},
		"trash": {
			class: destructive, does: "removes files", ops: "KILL...", flags: &flagSet{letters: "v"},
			judge: removes,
		},
		"trash-put": {
			class: destructive, does: "removes files", ops: "KILL...", flags: &flagSet{letters: "v"},
			judge: removes,
		},
		"rimraf":   {class: destructive, does: "removes files", ops: "KILL...", flags: nil, judge: removes},
		"del":      {class: destructive, does: "removes files", ops: "KILL...", judge: removes},
		"truncate": {class: destructive, does: "cuts files off", ops: "KILL...", flags: truncateFlags, judge: removes},
		"wipefs":   {class: destructive, does: "erases the signs of file systems", ops: "KILL...", flags: wipefsFlags},
		"mkfs": {class: destructive, does: "overwrites a file system", ops: "KILL...", flags: &flagSet{
			letters: "V",
			value:   "-t --type",
		}},
		"mke2fs": {
			class: destructive, does: "overwrites a file system", ops: "KILL...",
			flags: &flagSet{letters: "cFnqvS"},
		},
		"mkswap":     {class: destructive, does: "overwrites a disk", ops: "KILL...", flags: &flagSet{letters: "cf"}},
		"dd":         {class: destructive, does: "overwrites what it writes to", raw: true, judge: judgeDd},
		"badblocks":  {class: destructive, does: "may overwrite a disk", ops: "KILL...", flags: &flagSet{letters: "wnsv"}},
		"cryptsetup": {class: destructive, does: "changes encrypted disks", ops: "TEXT..."},
		"hdparm":     {class: destructive, does: "may change a disk", ops: "KILL..."},
		"mv":         {class: write, does: "moves files", ops: "FILE... OUT", flags: mvFlags, judge: judgeMv},
		"cp":         {class: write, does: "copies files", ops: "FILE... OUT", flags: cpFlags, judge: judgeTarget},
		"ln":         {class: write, does: "links files", ops: "FILE... OUT", flags: lnFlags, judge: judgeTarget},
		"install":    {class: write, does: "copies files", ops: "FILE... OUT", flags: installFlags, judge: judgeTarget},
		"touch":      {class: write, does: "creates files, or changes their times", ops: "OUT...", flags: touchFlags},
		"mkdir":      {class: write, does: "creates folders", ops: "OUT...", flags: mkdirFlags},
		"mkfifo":     {class: write, does: "creates a pipe", ops: "OUT...", flags: &flagSet{value: "-m --mode"}},
		"mknod":      {class: write, does: "creates a device", ops: "OUT TEXT...", flags: &flagSet{value: "-m --mode"}},
		"chmod": {
			class: write, does: "changes rights", ops: "TEXT OUT...", drop: "--reference", flags: chmodFlags,
			judge: judgeRecursive,
		},
		"chown": {
			class: write, does: "changes owners", ops: "TEXT OUT...", drop: "--reference", flags: chownFlags,
			judge: judgeRecursive,
		},
		"chgrp": {
			class: write, does: "changes groups", ops: "TEXT OUT...", drop: "--reference", flags: chgrpFlags,
			judge: judgeRecursive,
		},
		"chattr":        {class: write, does: "changes attributes", ops: "TEXT OUT...", flags: &flagSet{letters: "RVf"}},
		"setfacl":       {class: write, does: "changes rights", ops: "OUT...", flags: setfaclFlags},
		"xattr":         {class: write, does: "changes attributes", ops: "TEXT..."},
		"rename":        {class: write, does: "renames files, by code in some versions", ops: "TEXT TEXT OUT..."},
		"pkill":         {class: destructive, does: "ends processes", ops: "TEXT...", flags: &flagSet{number: true}},
		"killall":       {class: destructive, does: "ends processes", ops: "TEXT...", flags: &flagSet{number: true}},
		"killall5":      {class: destructive, does: "ends processes", ops: "TEXT..."},
		"skill":         {class: destructive, does: "ends processes", ops: "TEXT..."},
		"xkill":         {class: destructive, does: "ends a program", ops: "TEXT..."},
		"fuser":         {class: list, ops: "FILE...", flags: fuserFlags, judge: judgeFuser},
		"taskkill":      {class: destructive, does: "ends processes", ops: "TEXT..."},
		"renice":        {class: write, does: "changes how processes run", ops: "TEXT..."},
		"init":          {class: destructive, does: "changes the state of the machine", ops: "TEXT..."},
		"telinit":       {class: destructive, does: "changes the state of the machine", ops: "TEXT..."},
		"launchctl":     {class: write, does: "controls the services of the machine", raw: true, judge: judgeLaunchctl},
		"pm2":           {class: write, does: "controls processes", ops: "TEXT..."},
		"supervisorctl": {class: write, does: "controls processes", ops: "TEXT..."},
		"passwd":        {class: destructive, does: "changes a password", ops: "TEXT..."},
		"iptables": {
			class: write, does: "changes the firewall", ops: "TEXT...", judge: flushes("-F -X -D -P --flush"),
			flags: iptablesFlags,
		},
		"ip6tables": {
			class: write, does: "changes the firewall", ops: "TEXT...", judge: flushes("-F -X -D -P --flush"),
			flags: ip6tablesFlags,
		},
	}
}

var rmFlags = &flagSet{
	letters: "dfiIPRrvWx",
	alone:   "--force --one-file-system --no-preserve-root --recursive --dir --verbose --version --help",
	value:   "--interactive? --preserve-root?",
}

var rmdirFlags = &flagSet{
	letters: "pv",
	alone:   "--ignore-fail-on-non-empty --parents --verbose --version --help",
}

var shredFlags = &flagSet{
	letters: "fuvxz",
	alone:   "--force --verbose --exact --zero",
	value:   "-n -s --iterations --size --remove?",
	reads:   "--random-source",
}

var truncateFlags = &flagSet{
	letters: "co",
	alone:   "--no-create --io-blocks --version --help",
	value:   "-s --size",
	reads:   "-r --reference",
}

var wipefsFlags = &flagSet{
	letters: "afinpqJ",
	alone:   "--all --force --no-act",
	value:   "-o -O -t -b? --backup? --offset --types",
}

var mvFlags = &flagSet{
	letters: "bfinTuvZ",
	alone: "--force --interactive --no-clobber --no-target-directory --verbose --strip-trailing-slashes --exchange " +
		"--version --help",
	value:  "--backup? --update?",
	text:   "-S --suffix",
	target: "-t --target-directory",
}

var cpFlags = &flagSet{
	letters: "abdfiHlLnpPrRsTuvxZ",
	alone: `--archive --force --interactive --link --dereference --no-clobber --no-dereference --parents --recursive --remove-destination
		--symbolic-link --no-target-directory --verbose --one-file-system --version --help`,
	value:  "--backup? --preserve? --no-preserve --reflink? --sparse --update?",
	text:   "-S --suffix",
	target: "-t --target-directory",
}

var lnFlags = &flagSet{
	letters: "bdFfiLnPrsTv",
	alone: "--directory --force --interactive --logical --no-dereference --physical --relative --symbolic " +
		"--no-target-directory --verbose",
	value:  "--backup?",
	text:   "-S --suffix",
	target: "-t --target-directory",
}

var installFlags = &flagSet{
	letters: "bcCdDpsTvZ",
	alone:   "--directory --strip --verbose",
	value:   "-g -m -o --mode --owner --group",
	text:    "-S",
	target:  "-t --target-directory",
	program: "--strip-program",
}

var touchFlags = &flagSet{
	letters: "acfhm",
	alone:   "--no-create --no-dereference",
	value:   "--time",
	text:    "-d -t --date",
	reads:   "-r --reference",
}

var mkdirFlags = &flagSet{
	letters: "pvZ",
	alone:   "--parents --verbose",
	value:   "-m --mode",
}

var chmodFlags = &flagSet{
	letters: "cfvRhHLP",
	alone:   "--changes --silent --quiet --verbose --no-preserve-root --preserve-root --recursive",
	reads:   "--reference",
}

var chownFlags = &flagSet{
	letters: "cfhvRHLP",
	alone: "--changes --silent --quiet --verbose --dereference --no-dereference --no-preserve-root --preserve-root " +
		"--recursive",
	value: "--from",
	reads: "--reference",
}

var chgrpFlags = &flagSet{
	letters: "cfhvRHLP",
	alone: "--changes --silent --quiet --verbose --dereference --no-dereference --no-preserve-root --preserve-root " +
		"--recursive",
	reads: "--reference",
}

var setfaclFlags = &flagSet{
	letters: "bkndRLP",
	alone:   "--recursive",
	value:   "-m -x --set --modify --remove",
	reads:   "-M -X --restore",
}

var fuserFlags = &flagSet{
	letters: "av46uV",
	alone:   "--all --verbose --user",
	value:   "-n",
	reads:   "-m",
	unsafe:  "-i -M",
	exact:   "-k --kill",
}

var iptablesFlags = &flagSet{
	unsafe:      "-F -X -Z --flush",
	unsafeValue: "-D -P",
}

var ip6tablesFlags = &flagSet{
	unsafe:      "-F -X -Z --flush",
	unsafeValue: "-D -P",
}

// disasterRows are the programs that change disks, users, the kernel, or end the machine.
func disasterRows() map[string]spec {
	rows := map[string]spec{}
	for name, does := range perLine(`
		fdisk        : changes the partitions of a disk
		sfdisk       : changes the partitions of a disk
		cfdisk       : changes the partitions of a disk
		gdisk        : changes the partitions of a disk
		sgdisk       : changes the partitions of a disk
		parted       : changes the partitions of a disk
		diskutil     : changes disks
		diskpart     : changes disks
		format       : overwrites a disk
		blkdiscard   : erases a disk
		zpool        : changes storage pools
		zfs          : changes file systems
		btrfs        : changes a file system
		mdadm        : changes disk arrays
		lvremove     : removes a volume
		vgremove     : removes a volume group
		pvremove     : removes a volume
		lvreduce     : shrinks a volume
		resize2fs    : resizes a file system
		tune2fs      : changes a file system
		swapoff      : takes swap away
		fsck         : may change a file system
		e2fsck       : may change a file system
		debugfs      : may change a file system
		losetup      : changes devices
		reboot       : restarts the machine
		shutdown     : shuts the machine down
		halt         : shuts the machine down
		poweroff     : shuts the machine down
		userdel      : removes a user
		deluser      : removes a user
		groupdel     : removes a group
		delgroup     : removes a group
		usermod      : changes a user
		visudo       : changes who may do what
		chsh         : changes a login shell
		chpasswd     : changes passwords
		nft          : changes the firewall
		ufw          : changes the firewall
		firewall-cmd : changes the firewall
		pfctl        : changes the firewall
		grub-install : changes how the machine starts
		update-grub  : changes how the machine starts
		efibootmgr   : changes how the machine starts
		insmod       : loads code into the kernel
		rmmod        : takes code from the kernel
		modprobe     : loads code into the kernel
		kexec        : starts another kernel
		dropdb       : removes a database
		dropuser     : removes a database user
		rabbitmqctl  : controls a message broker
		swapon       : adds swap
		dmsetup      : changes devices
		nvme         : may erase a disk
		sg_format    : erases a disk
		flashrom     : overwrites firmware
		fwupdmgr     : overwrites firmware
	`) {
		rows[name] = spec{class: destructive, does: does, ops: "TEXT...", judge: devices}
	}
	return rows
}

// removes: the reason names the removed files.
func removes(c *call) {
	if c.has("--version", "--help") && len(c.ops) == 0 && len(c.strange) == 0 {
		c.Class, c.Reason = neutral, ""
		return
	}
	if len(c.Kills) > 0 {
		c.Reason = c.name + " " + c.row.does + ": " + strings.Join(c.Kills, " ")
	}
}

// devices: operands that are absolute paths are overwritten.
func devices(c *call) {
	for _, w := range c.ops {
		if strings.HasPrefix(w.Text, "/") {
			c.Kills = append(c.Kills, w.Text)
		}
	}
}

// judgeDd: dd takes name=value words.
func judgeDd(c *call) {
	for _, w := range c.args {
		if v, ok := strings.CutPrefix(w.Text, "if="); ok {
			c.Reads = append(c.Reads, v)
		}
		if v, ok := strings.CutPrefix(w.Text, "of="); ok {
			c.Writes, c.Kills = append(c.Writes, v), append(c.Kills, v)
			c.Reason = "dd overwrites " + v
		}
	}
}

// judgeMv: the sources are written and removed, too.
func judgeMv(c *call) {
	judgeTarget(c)
	if len(c.Writes) == 1 && strings.HasPrefix(path.Clean(c.Writes[0]), "/dev/") {
		c.destroy("mv loses what it moves to " + c.Writes[0])
	}
	c.Writes = append(c.Writes, c.Reads...)
	c.Kills = append(c.Kills, c.Reads...)
}

// judgeTarget: with -t, and with install -d, all operands have the same role.
func judgeTarget(c *call) {
	defer c.lands()
	if c.name == "cp" && c.has("-r", "-R", "-a", "--recursive", "--archive") {
		c.copyTree(c.has("-L", "--dereference"))
	}
	if f, ok := c.get("-t", "--target-directory"); ok {
		c.Reads, c.Writes = nil, []string{f.value.Text}
		for _, w := range c.ops {
			c.Reads = append(c.Reads, w.Text)
		}
	}
	if c.name == "install" && c.has("-d", "--directory") {
		c.Writes, c.Reads = append(c.Writes, c.Reads...), nil
	}
}

// lands notes the sources and the target of a copy, move or link.
func (c *call) lands() {
	if len(c.Reads) == 0 || len(c.Writes) == 0 {
		return
	}
	target := c.Writes[len(c.Writes)-1]
	inside := len(c.Reads) > 1 || c.has("-t", "--target-directory") || strings.HasSuffix(target, "/") || target == "." ||
		target == ".." || strings.HasSuffix(target, "/.")
	c.Lands = &Landing{
		Sources: slices.Clone(c.Reads), Target: target, Inside: inside && !c.has("-T", "--no-target-directory"),
		Deep: c.name == "mv" || c.has("-r", "-R", "-a", "--recursive", "--archive"),
	}
}

// judgeRecursive: changing rights of a whole tree is hard to take back.
func judgeRecursive(c *call) {
	if c.has("-R", "--recursive") {
		c.destroy(c.name + " -R " + c.row.does + " of everything in " + strings.Join(c.Writes, " "))
		c.Kills = append(c.Kills, c.Writes...)
	}
}

func judgeFuser(c *call) {
	if c.has("-k", "--kill") {
		c.destroy("fuser -k ends processes")
	}
}

func judgeLaunchctl(c *call) {
	if len(c.args) > 0 && !c.args[0].Unknown {
		switch c.args[0].Text {
		case "list", "print", "version", "help":
			c.Class, c.Reason = list, ""
			for _, w := range c.args {
				if w.Unknown || w.Glob {
					c.refuse("only running it tells which words launchctl gets")
				}
			}
		case "remove", "unload", "kill", "stop", "bootout", "disable", "reboot":
			c.destroy("launchctl " + texts(c.args) + " ends services")
		}
	}
}

// flushes: with one of the flags, rules go.
func flushes(flags string) func(*call) {
	return func(c *call) {
		if c.has(strings.Fields(flags)...) {
			c.destroy(c.name + " removes rules of the firewall")
		}
	}
}
