package program

import (
	"slices"
	"strings"
)

// hostOf finds the host in a URL or in user@host:path, "" when there is none.
func hostOf(s string) string {
	if _, rest, ok := strings.Cut(s, "://"); ok {
		host, _, _ := strings.Cut(rest, "/")
		host = afterUser(host)
		if end := strings.IndexByte(host, ']'); end > 0 && host[0] == '[' {
			return host[1:end]
		}
		host, _, _ = strings.Cut(host, ":")
		return host
	}
	host, _, ok := strings.Cut(s, ":")
	if !ok || strings.ContainsAny(host, "/ ") {
		return ""
	}
	return afterUser(host)
}

func afterUser(host string) string { return host[strings.LastIndexByte(host, '@')+1:] }

// judgeURLs takes the hosts from operands.
func judgeURLs(c *call, _ string) {
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

// judgeHostWords: every word that looks like a machine is one.
func judgeHostWords(c *call, _ string) {
	for _, w := range c.args {
		if h := hostOf(w.Text); h != "" {
			c.Hosts = append(c.Hosts, h)
		} else if strings.Contains(w.Text, ".") && !strings.HasPrefix(w.Text, "-") && !w.Unknown {
			c.Hosts = append(c.Hosts, strings.TrimPrefix(w.Text, "@"))
		}
	}
}

func judgeMailHosts(c *call, _ string) {
	for _, w := range c.ops {
		if _, h, ok := strings.Cut(w.Text, "@"); ok {
			c.Hosts = append(c.Hosts, h)
		}
	}
}

// curlData are the flags of curl whose value is sent: text, or the content of a file (@name, with --form <name too).
var curlData = []string{"-d", "-F", "--data", "--data-ascii", "--data-binary", "--data-urlencode", "--form", "--json"}

// judgeCurl: some values that begin with @ or < are files.
func judgeCurl(c *call, _ string) {
	c.Literal = c.Literal || c.has("-K", "--config")
	for _, f := range c.flags {
		v := f.value.Text
		switch {
		case f.name == "--url":
			c.host(f.value)
		case slices.Contains(curlData, f.name):
			if i := strings.IndexAny(v, "@<"); i >= 0 && (i == 0 || strings.HasPrefix(f.name, "--form") || f.name == "-F" ||
				strings.HasSuffix(f.name, "urlencode")) {
				file, _, _ := strings.Cut(v[i+1:], ";")
				c.Reads = append(c.Reads, file)
				c.Literal = true
			}
		case f.name == "-T" || f.name == "--upload-file":
			c.Literal = true
		case f.exact:
			c.Reason = "curl reaches the network and writes files"
		}
	}
	for _, w := range c.ops {
		c.host(w)
		if p, ok := strings.CutPrefix(strings.ToLower(w.Text), "file://"); ok {
			c.Reads = append(c.Reads, p)
		}
	}
}

// judgeSSH: ssh host words: the words, joined, are shell text for the other machine.
func judgeSSH(c *call, _ string) {
	c.sshOptions()
	if len(c.ops) == 0 {
		return
	}
	to := c.ops[0]
	if strings.Contains(to.Text, "://") {
		to.Text = hostOf(to.Text)
	}
	to.Text = afterUser(to.Text)
	c.host(to)
	if len(c.ops) > 1 {
		for _, w := range c.ops[1:] {
			c.ScriptHides = c.ScriptHides || w.Unknown
		}
		c.Script = append(c.Script, texts(c.ops[1:]))
		c.Reason = c.name + " runs a command on " + c.ops[0].Text
	}
}

// sshPrograms are the options by which ssh runs a program or takes settings from elsewhere.
var sshPrograms = strings.Fields("proxycommand localcommand knownhostscommand permitlocalcommand pkcs11provider " +
	"securitykeyprovider match include xauthlocation remotecommand")

// sshOptions finds the programs that -o names.
func (c *call) sshOptions() {
	for _, w := range c.values("-o") {
		name, value := w.Text, ""
		if i := strings.IndexAny(name, "= "); i >= 0 {
			name, value = name[:i], strings.Trim(name[i+1:], "= ")
		}
		if slices.Contains(sshPrograms, strings.ToLower(strings.TrimSpace(name))) {
			c.Literal = true
			c.Script = append(c.Script, value)
		}
	}
}

// judgeCopies: operands host:path are remote, others local; the last one is written.
func judgeCopies(c *call, _ string) {
	c.Whole = c.has("-r", "-a", "--recursive", "--archive")
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

func judgeRsync(c *call, _ string) {
	judgeCopies(c, "")
	if len(c.Hosts) > 0 && len(c.Writes) > 0 {
		c.Unpacks = c.Writes[0]
	} else if c.lands(); c.Lands != nil && c.Lands.Deep {
		c.Lands.Inside = true
	}
	removes := func(flag string) bool { return strings.HasPrefix(flag, "--del") || flag == "--remove-source-files" }
	if slices.ContainsFunc(c.strange, removes) || slices.ContainsFunc(c.flags, func(f given) bool {
		return removes(f.name)
	}) {
		c.destroy("rsync removes files")
		c.Kills = append(c.Kills, c.Writes...)
		c.likeRm(operands(c.args))
	}
}

// judgeSocat: addresses that run something.
func judgeSocat(c *call, _ string) {
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
