package program

import (
	"slices"
	"strings"
)

// networkRows are the programs that reach other machines.
func networkRows() map[string]spec {
	rows := map[string]spec{
		"curl": {class: write, does: "reaches the network", ops: "TEXT...", flags: curlFlags, judge: judgeCurl},
		"wget": {
			class: write, does: "reaches the network and writes files", ops: "TEXT...", flags: wgetFlags,
			judge: urls,
		},
		"ssh": {
			class: write, does: "runs a command on another machine", plain: true, ops: "TEXT...", flags: sshFlags,
			judge: judgeSsh,
		},
		"mosh": {
			class: write, does: "runs a command on another machine", plain: true, ops: "TEXT...",
			flags: moshFlags, judge: judgeSsh,
		},
		"autossh": {
			class: write, does: "runs a command on another machine", plain: true, ops: "TEXT...", flags: sshFlags,
			judge: judgeSsh,
		},
		"scp": {
			class: write, does: "copies files to or from another machine", ops: "TEXT...", flags: scpFlags,
			judge: copiesFar,
		},
		"sftp": {
			class: write, does: "copies files to or from another machine", ops: "TEXT...", flags: sftpFlags,
			judge: copiesFar,
		},
		"rsync": {class: write, does: "copies files", ops: "TEXT...", flags: rsyncFlags, judge: judgeRsync},
		"nc": {
			class: write, does: "reaches the network, or waits for somebody", ops: "TEXT...", flags: ncFlags,
			judge: firstHost,
		},
		"ncat": {
			class: write, does: "reaches the network, or waits for somebody", ops: "TEXT...", flags: ncatFlags,
			judge: firstHost,
		},
		"socat": {class: write, does: "reaches the network, files and programs", raw: true, judge: judgeSocat},
		"openssl": {
			class: write, does: "may write files, load engines or reach the network", raw: true,
			judge: judgeOpenssl,
		},
		"gpg": {
			class: write, does: "handles keys", ops: "TEXT...", flags: &flagSet{writes: "-o --output"},
			judge: asks("--version"),
		},
		"ssh-keygen": {class: write, does: "handles keys", ops: "TEXT...", flags: &flagSet{writes: "-f"}},
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
	rows["tcpdump"] = spec{class: write, does: "listens to the network", ops: "TEXT...", flags: tcpdumpFlags}
	rows["tshark"] = rows["tcpdump"]
	return rows
}

var sshFlags = &flagSet{
	letters:     "46 Aa C f G g Kk M N n q s Tt Vv Xx Yy",
	value:       "-B -b -c -D -e -L -l -m -O -o -p -Q -R -S -W -w -P",
	reads:       "-i",
	hosts:       "-J",
	unsafeValue: "-F",
	writes:      "-E",
	program:     "-I",
}

var curlFlags = &flagSet{
	letters: "0123 46 9 a f i I j k l L n N p q R s S v V Z g G # B M", // 0 to 3: of HTTP, TLS and SSL; 4, 6: of IP
	alone: `--silent --show-error --fail --fail-with-body --location --head --include --insecure --compressed --get --verbose --version
		--help --http1.1 --http2 --ipv4 --ipv6 --no-progress-meter --progress-bar --netrc --netrc-optional`,
	value: `-C -d -F -h? -m -X -y -Y --request --max-time --connect-timeout --retry --data --data-binary --data-ascii --data-urlencode
		--json --form`,
	text: `-A -b -e -H -r -t -u -U -w -z --header --user-agent --url --data-raw --form-string --cookie --resolve --connect-to --user
		--referer --write-out`,
	reads:       "-E -T --upload-file --cert --key --cacert --netrc-file --unix-socket",
	hosts:       "-x --proxy",
	unsafeValue: "-K -P -Q --config --engine",
	exact:       "-O -J --remote-name --remote-name-all --remote-header-name --create-dirs",
	writes: `-c -D -o --output --output-dir --dump-header --cookie-jar --trace --trace-ascii --stderr --etag-save --hsts --alt-svc
		--libcurl`,
}

var wgetFlags = &flagSet{
	letters:     "46 b c d q v V h E F H k K L l m N n p r S x",
	alone:       "--spider --quiet --version --help",
	value:       "-A -D -I -Q -R -t -T -w -X",
	text:        "-B -U",
	reads:       "-i --input-file --post-file --body-file",
	unsafeValue: "-e --execute --config",
	writes:      "-a -o -O -P --output-document --output-file --append-output --directory-prefix --save-cookies",
	program:     "--use-askpass",
}

var moshFlags = &flagSet{
	value:   "-p",
	script:  "--ssh",
	program: "--server",
}

var scpFlags = &flagSet{
	letters:     "346 A B C O p q R r T v",
	value:       "-c -l -o -P -X",
	reads:       "-i",
	hosts:       "-J",
	unsafeValue: "-F",
	program:     "-D -S",
}

var sftpFlags = &flagSet{
	letters:     "46 A a C f N p q r v",
	value:       "-B -c -l -o -P -R -s -X",
	reads:       "-b -i",
	hosts:       "-J",
	unsafeValue: "-F",
	program:     "-D -S",
}

var rsyncFlags = &flagSet{
	letters: "46 a r d R l L k K p A X E o g D t U O J H W S n x u c C I b i P z y 0 8 s V v q h m N",
	alone: `--delete --delete-before --delete-during --delete-delay --delete-after --delete-excluded --remove-source-files --archive
		--verbose --compress --recursive --dry-run --progress --partial --stats --human-readable --backup --checksum --times --perms
		--relative --version --help`,
	value: "-B --exclude --include",
	text:  "-f -M",
	reads: "--exclude-from --include-from --files-from --read-batch --compare-dest --copy-dest --link-dest " +
		"--password-file --early-input",
	writes: "-T --backup-dir --log-file --temp-dir --partial-dir --write-batch",
	script: "-e --rsh --rsync-path",
}

var ncFlags = &flagSet{
	letters: "46 b C D d F h k l N n r S t U u v Z z",
	value:   "-I -i -M -m -O -P -p -q -s -T -V -W -w -X",
	hosts:   "-x",
	script:  "-c",
	program: "-e",
}

var ncatFlags = &flagSet{
	letters:     "46CklnuUvz",
	value:       "-p -w",
	unsafeValue: "--lua-exec",
	writes:      "-o --output",
	script:      "-c --sh-exec",
	program:     "-e --exec",
}

var tcpdumpFlags = &flagSet{
	letters: "neqvxXAS",
	value:   "-G -C -i -c",
	reads:   "-r -F",
	writes:  "-w",
	program: "-z",
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

// curlData are the flags of curl whose value is sent: text, or the content of a file (@name, with --form <name too).
var curlData = []string{"-d", "-F", "--data", "--data-ascii", "--data-binary", "--data-urlencode", "--form", "--json"}

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
		case contains(curlData, f.name):
			if i := strings.IndexAny(v, "@<"); i >= 0 && (i == 0 || strings.HasPrefix(f.name, "--form") || f.name == "-F" ||
				strings.HasSuffix(f.name, "urlencode")) {
				file, _, _ := strings.Cut(v[i+1:], ";")
				c.Reads = append(c.Reads, file)
				c.exact("curl sends the file " + file)
			}
		case f.name == "-T" || f.name == "--upload-file":
			c.exact("curl sends the file " + v)
		}
	}
	if slices.ContainsFunc(c.flags, func(f given) bool { return f.exact }) {
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
		if f.name != "-o" || !f.filled {
			continue
		}
		name, value := f.value.Text, ""
		if i := strings.IndexAny(name, "= "); i >= 0 {
			name, value = name[:i], strings.Trim(name[i+1:], "= ")
		}
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "proxycommand", "localcommand", "knownhostscommand", "permitlocalcommand", "pkcs11provider",
			"securitykeyprovider", "match", "include", "xauthlocation", "remotecommand":
			c.exact("ssh -o " + name + " runs a program")
			c.Literal = true
			c.Script = append(c.Script, value)
		}
	}
}

// copiesFar: operands host:path are remote, others local; the last one is written.
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
			c.likeRm(operands(c.args))
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

// judgeOpenssl: its version, the digest of a file, and the contents of a certificate.
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
	sub := &call{name: "openssl " + c.args[0].Text, args: c.args[1:], env: c.env}
	switch c.args[0].Text {
	case "dgst", "sha256", "sha1", "md5", "sha512":
		sub.row = opensslDigest
	case "x509", "req", "crl":
		sub.row = opensslCertificate
	default:
		return
	}
	sub.run()
	c.Use = sub.Use
}

var (
	opensslDigest = spec{class: read, ops: "FILE...", flags: &flagSet{
		oneDash: true,
		alone:   "-sha1 -sha224 -sha256 -sha384 -sha512 -md5 -hex -binary -c -r",
	}}
	opensslCertificate = spec{class: read, flags: &flagSet{
		oneDash: true,
		alone: `-noout -text -subject -issuer -dates -startdate -enddate -fingerprint -serial -hash -sha256 -sha1 -purpose -email -ocsp_uri
			-pubkey -modulus`,
		value: "-inform -checkend -nameopt",
		reads: "-in",
	}}
)
