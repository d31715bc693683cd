package program

import (
	"slices"
	"strings"
)

// networkRows are the programs that reach other machines.
func networkRows() map[string]spec {
	const ssh = `-46AaCfGgKkMNnqsTtVvXxYy -B:W -b:W -c:W -D:W -E:OUT -e:W -F:BAD -I:PROG -i:FILE -J:HOST -L:W -l:W -m:W -O:W -o:OPTION -p:N -Q:W -R:W -S:W -W:W -w:W -P:W`
	rows := map[string]spec{
		"curl": {class: write, does: "reaches the network", ops: "TEXT...", judge: judgeCurl, flags: `-#0123469afgGiIjklLnNpqRsSvVZ -A:TEXT -b:TEXT -B -c:OUT -C:N -d:DATA -D:OUT -e:TEXT -E:FILE -F:DATA -h?W -H:TEXT -K:BAD -m:N -M
			-o:OUT -O!! -J!! -P:BAD -Q:BAD -r:TEXT -t:TEXT -T:FILE -u:TEXT -U:TEXT -w:FORMAT -x:HOST -X:W -y:N -Y:N -z:TEXT --request=W
			--header=TEXT --user-agent=TEXT --silent --show-error --fail --fail-with-body --location --head --include --insecure --compressed
			--max-time=N --connect-timeout=N --retry=N --url=TEXT --get --verbose --version --help --http1.1 --http2 --ipv4 --ipv6
			--no-progress-meter --progress-bar --proxy=HOST --data=DATA --data-raw=TEXT --data-binary=DATA --data-ascii=DATA
			--data-urlencode=DATA --json=DATA --form=DATA --form-string=TEXT --upload-file=FILE --output=OUT --output-dir=OUT --remote-name!!
			--remote-name-all!! --remote-header-name!! --dump-header=OUT --cookie-jar=OUT --cookie=TEXT --config=BAD --trace=OUT
			--trace-ascii=OUT --stderr=OUT --etag-save=OUT --hsts=OUT --alt-svc=OUT --libcurl=OUT --create-dirs!! --cert=FILE --key=FILE
			--cacert=FILE --netrc --netrc-file=FILE --netrc-optional --unix-socket=FILE --engine=BAD --resolve=TEXT --connect-to=TEXT
			--user=TEXT --referer=TEXT --write-out=FORMAT`},
		"wget": {class: write, does: "reaches the network and writes files", ops: "TEXT...", judge: urls, flags: `-bcdEFHhkKLlmNnpqrSVvx46 -a:OUT -A:LIST -B:TEXT -D:LIST -e:BAD -i:FILE -I:LIST -o:OUT -O:OUT -P:OUT -Q:N -R:LIST -t:N -T:N -U:TEXT
			-w:N -X:LIST --output-document=OUT --output-file=OUT --append-output=OUT --directory-prefix=OUT --input-file=FILE --post-file=FILE
			--body-file=FILE --execute=BAD --config=BAD --use-askpass=PROG --save-cookies=OUT --spider --quiet --version --help`},
		"ssh":     {class: write, does: "runs a command on another machine", plain: true, ops: "TEXT...", flags: ssh, judge: judgeSsh},
		"mosh":    {class: write, does: "runs a command on another machine", plain: true, ops: "TEXT...", flags: "--ssh=RUN --server=PROG -p:N", judge: judgeSsh},
		"autossh": {class: write, does: "runs a command on another machine", plain: true, ops: "TEXT...", flags: ssh, judge: judgeSsh},
		"scp":     {class: write, does: "copies files to or from another machine", ops: "TEXT...", flags: "-346ABCOpqRrTv -c:W -D:PROG -F:BAD -i:FILE -J:HOST -l:N -o:OPTION -P:N -S:PROG -X:W", judge: copiesFar},
		"sftp":    {class: write, does: "copies files to or from another machine", ops: "TEXT...", flags: "-46AaCfNpqrv -B:N -b:FILE -c:W -D:PROG -F:BAD -i:FILE -J:HOST -l:N -o:OPTION -P:N -R:N -S:PROG -s:W -X:W", judge: copiesFar},
		"rsync": {class: write, does: "copies files", ops: "TEXT...", judge: judgeRsync, flags: `-0468aAbcCdDEfgHhiIJkKlLmnNoOpPqrRsStuUvVWxXyz -B:N -e:RUN -f:TEXT -M:TEXT -T:OUT --rsh=RUN --rsync-path=RUN --delete
			--delete-before --delete-during --delete-delay --delete-after --delete-excluded --remove-source-files --archive --verbose
			--compress --recursive --dry-run --progress --partial --exclude=GLOB --include=GLOB --exclude-from=FILE --include-from=FILE
			--files-from=FILE --stats --human-readable --backup --backup-dir=OUT --log-file=OUT --temp-dir=OUT --partial-dir=OUT
			--write-batch=OUT --read-batch=FILE --compare-dest=DIR --copy-dest=DIR --link-dest=DIR --password-file=FILE --early-input=FILE
			--checksum --times --perms --relative --version --help`},
		"nc":         {class: write, does: "reaches the network, or waits for somebody", ops: "TEXT...", flags: "-46bCDdFhklNnrStUuvZz -c:RUN -e:PROG -I:N -i:N -M:N -m:N -O:N -P:W -p:N -q:N -s:W -T:W -V:W -W:N -w:N -X:W -x:HOST", judge: firstHost},
		"ncat":       {class: write, does: "reaches the network, or waits for somebody", ops: "TEXT...", flags: "-46CklnuUvz -c:RUN -e:PROG --sh-exec=RUN --exec=PROG --lua-exec=BAD -o:OUT --output=OUT -p:N -w:N", judge: firstHost},
		"socat":      {class: write, does: "reaches the network, files and programs", raw: true, judge: judgeSocat},
		"openssl":    {class: write, does: "may write files, load engines or reach the network", raw: true, judge: judgeOpenssl},
		"gpg":        {class: write, does: "handles keys", ops: "TEXT...", flags: "-o:OUT --output=OUT", judge: asks("--version")},
		"ssh-keygen": {class: write, does: "handles keys", ops: "TEXT...", flags: "-f:OUT"},
		"mail":       {class: write, does: "sends mail", ops: "TEXT...", judge: mailHosts},
		"sendmail":   {class: write, does: "sends mail", ops: "TEXT...", judge: mailHosts},
		"mutt":       {class: write, does: "sends mail", ops: "TEXT...", judge: mailHosts},
	}
	rows["mailx"], rows["netcat"] = rows["mail"], rows["nc"]
	for name, does := range perLine(`
		ping        : reaches the network
		ping6       : reaches the network
		dig         : asks name servers
		nslookup    : asks name servers
		host        : asks name servers
		drill       : asks name servers
		resolvectl  : asks name servers
		whois       : reaches the network
		telnet      : reaches the network
		ftp         : reaches the network
		tftp        : reaches the network
		traceroute  : reaches the network
		tracepath   : reaches the network
		mtr         : reaches the network
		nmap        : reaches the network
		http        : reaches the network
		https       : reaches the network
		xh          : reaches the network
		aria2c      : reaches the network and writes files
		lynx        : reaches the network
		w3m         : reaches the network
		links       : reaches the network
		elinks      : reaches the network
		youtube-dl  : reaches the network and writes files
		yt-dlp      : reaches the network and writes files
		grpcurl     : reaches the network
		websocat    : reaches the network
		ngrok       : opens this machine to the network
		cloudflared : opens this machine to the network
		tailscale   : changes the network
		iperf3      : reaches the network
		arping      : reaches the network
		fping       : reaches the network
		rclone      : copies files to or from another machine
		lftp        : reaches the network
		smbclient   : reaches the network
	`) {
		rows[name] = spec{class: write, does: does, raw: true, judge: hostWords}
	}
	rows["tcpdump"] = spec{class: write, does: "listens to the network", ops: "TEXT...", flags: "-w:OUT -r:FILE -z:PROG -F:FILE -G:N -C:N -i:W -c:N -neqvxXAS"}
	rows["tshark"] = rows["tcpdump"]
	return rows
}

// urls takes the hosts from operands.
func urls(c *call) {
	asks("--version|-V|--help")(c)
	for _, w := range c.ops {
		c.host(w)
	}
}

func (c *call) host(w Word) {
	h := hostOf(w.Text)
	if h == "" {
		h, _, _ = strings.Cut(w.Text, "/")
	}
	if h != "" && !w.Unknown {
		c.Hosts = append(c.Hosts, h)
	}
}

// judgeCurl: some values that begin with @ or < are files.
func judgeCurl(c *call) {
	asks("--version|-V|--help|-h")(c)
	if c.Class.ReadOnly() {
		return
	}
	if c.has("-K", "--config") {
		c.Literal = true
	}
	for _, f := range c.flags {
		v := f.value.Text
		switch {
		case f.name == "--url":
			c.host(f.value)
		case f.kind == "DATA":
			if i := strings.IndexAny(v, "@<"); i >= 0 && (i == 0 || strings.HasPrefix(f.name, "--form") || f.name == "-F" || strings.HasSuffix(f.name, "urlencode")) {
				file, _, _ := strings.Cut(v[i+1:], ";")
				c.Reads = append(c.Reads, file)
				c.exact("curl sends the file " + file)
			}
		case f.name == "-T" || f.name == "--upload-file":
			c.exact("curl sends the file " + v)
		}
	}
	if slices.ContainsFunc(c.flags, func(f given) bool { return f.hard }) {
		c.Reason = "curl reaches the network and writes files"
	}
	for _, w := range c.ops {
		c.host(w)
		if p, ok := strings.CutPrefix(strings.ToLower(w.Text), "file://"); ok {
			c.Reads = append(c.Reads, p)
		}
	}
}

// judgeSsh: ssh host words: the words, joined, are shell text for the other machine.
func judgeSsh(c *call) {
	if len(c.args) == 1 && c.args[0].Text == "-V" && !c.args[0].Unknown {
		c.Class, c.Reason = neutral, ""
		return
	}
	c.sshOptions()
	ops := c.ops
	for i, w := range ops {
		if i == 0 {
			c.host(Word{Text: afterUser(w.Text), Unknown: w.Unknown})
		}
	}
	if len(ops) > 1 {
		for _, w := range ops[1:] {
			c.ScriptHides = c.ScriptHides || w.Unknown
		}
		c.Script = append(c.Script, texts(ops[1:]))
		c.Reason = c.name + " runs a command on " + ops[0].Text
	}
}

func afterUser(s string) string {
	if strings.Contains(s, "://") {
		return hostOf(s)
	}
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		s = s[i+1:]
	}
	return s
}

// sshOptions finds the programs that -o names.
func (c *call) sshOptions() {
	for _, f := range c.flags {
		if f.kind != "OPTION" {
			continue
		}
		name, value := f.value.Text, ""
		if i := strings.IndexAny(name, "= "); i >= 0 {
			name, value = name[:i], strings.Trim(name[i+1:], "= ")
		}
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "proxycommand", "localcommand", "knownhostscommand", "permitlocalcommand", "pkcs11provider", "securitykeyprovider", "match", "include", "xauthlocation", "remotecommand":
			c.exact("ssh -o " + name + " runs a program")
			c.Literal = true
			c.Script = append(c.Script, value)
		}
	}
}

// copiesFar: operands host:path are far, others near; the last one is written.
func copiesFar(c *call) {
	if c.has("-r", "-a", "--recursive", "--archive") {
		c.copyTree(c.has("-L", "--copy-links"))
	}
	c.sshOptions()
	for i, w := range c.ops {
		if h := hostOf(w.Text); h != "" {
			c.Hosts = append(c.Hosts, h)
		} else if i == len(c.ops)-1 {
			c.Writes = append(c.Writes, w.Text)
		} else {
			c.Reads = append(c.Reads, w.Text)
		}
	}
}

func judgeRsync(c *call) {
	asks("--version|--help")(c)
	if c.Class.ReadOnly() {
		return
	}
	copiesFar(c)
	if len(c.Hosts) > 0 && len(c.Writes) > 0 {
		c.Unpacks = c.Writes[0]
	} else if c.lands(); c.Lands != nil && c.Lands.Deep {
		c.Lands.Inside = true
	}
	for _, s := range slices.Concat(c.strange, flagNames(c.flags)) {
		if strings.HasPrefix(s, "--del") || s == "--remove-source-files" {
			c.destroy("rsync " + s + " removes files")
			c.Kills = append(c.Kills, c.Writes...)
			return
		}
	}
}

func flagNames(flags []given) []string {
	var out []string
	for _, f := range flags {
		out = append(out, f.name)
	}
	return out
}

func firstHost(c *call) {
	if len(c.ops) > 0 && !c.ops[0].Unknown {
		c.Hosts = append(c.Hosts, c.ops[0].Text)
	}
}

// hostWords: every word that looks like a machine is one.
func hostWords(c *call) {
	asks("--version|-V")(c)
	if c.Class.ReadOnly() {
		return
	}
	for _, w := range c.args {
		if h := hostOf(w.Text); h != "" {
			c.Hosts = append(c.Hosts, h)
		} else if strings.Contains(w.Text, ".") && !strings.HasPrefix(w.Text, "-") && !w.Unknown {
			c.Hosts = append(c.Hosts, strings.TrimPrefix(w.Text, "@"))
		}
	}
}

func mailHosts(c *call) {
	for _, w := range c.ops {
		if _, h, ok := strings.Cut(w.Text, "@"); ok {
			c.Hosts = append(c.Hosts, h)
		}
	}
}

// judgeSocat: addresses that run something.
func judgeSocat(c *call) {
	c.Literal = true
	for _, w := range c.args {
		kind, rest, _ := strings.Cut(w.Text, ":")
		switch k := strings.ToUpper(kind); {
		case k == "EXEC" || k == "SYSTEM" || k == "SHELL":
			text, _, _ := strings.Cut(rest, ",")
			c.script(Word{Text: text, Unknown: w.Unknown})
		case strings.HasPrefix(k, "TCP") || strings.HasPrefix(k, "UDP") || strings.HasPrefix(k, "OPENSSL"):
			host, _, _ := strings.Cut(rest, ":")
			c.Hosts = append(c.Hosts, host)
		}
	}
}

// judgeOpenssl: its version, the digest of a file, and what stands in a certificate.
func judgeOpenssl(c *call) {
	asks("version|version -a|version -v|list|help|ciphers|ciphers -v")(c)
	if c.Class.ReadOnly() || len(c.args) == 0 {
		return
	}
	for _, w := range c.args {
		if w.Unknown || w.Glob {
			return
		}
	}
	look := &call{name: "openssl " + c.args[0].Text, args: c.args[1:], env: c.env}
	switch c.args[0].Text {
	case "dgst", "sha256", "sha1", "md5", "sha512":
		look.row = spec{class: read, long: true, ops: "FILE...", flags: "-sha1 -sha224 -sha256 -sha384 -sha512 -md5 -hex -binary -c -r"}
	case "x509", "req", "crl":
		look.row = spec{class: read, long: true, flags: `-in=FILE -noout -text -subject -issuer -dates -startdate -enddate -fingerprint -serial -hash -sha256 -sha1 -inform=W -purpose
			-email -ocsp_uri -checkend=N -pubkey -modulus -nameopt=W`}
	default:
		return
	}
	look.run()
	if c.Use = look.Use; c.Class.ReadOnly() && len(c.Reads) == 0 {
		return
	}
}
