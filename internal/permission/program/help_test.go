package program

import (
	"context"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// helpful are programs whose --help lists their flags one a line, with their values, and does nothing else.
const helpful = `ls cat tac head tail nl wc stat du df sort uniq cut tr paste join comm fold fmt pr expand unexpand numfmt shuf tsort
	split csplit tee od cksum md5sum sha1sum sha256sum sha512sum b2sum base64 base32 basename dirname readlink realpath touch mkdir rmdir
	rm cp mv ln chmod chown chgrp install truncate shred mktemp date env nice nohup timeout stdbuf id who uname nproc seq yes sleep
	factor grep egrep fgrep diff cmp sdiff diff3 find xargs gzip tar column rev look hexdump lscpu lsblk findmnt uptime free ps pgrep pkill
	tree file strings nm objdump readelf size patch iconv getfacl rg fd bat jq curl wget rsync bc cal dmesg flock setsid taskset ionice
	getent locale sed gawk watch vmstat pidof column dd`

// helpName is another name under which a system has the program.
var helpName = map[string]string{"fd": "fdfind", "bat": "batcat"}

// helpDiffers are flags of which the table says something else than --help, with the reason.
var helpDiffers = map[string]string{
	"ls -p":             "its line names the flag that it stands for",
	"date -s":           "with any -s the clock may be set, so it is refused whatever follows",
	"xargs --max-lines": "--help leaves out that the number is optional",
	"column -n":         "BSD's takes no value; the name counts as a file that is read",
	"tree --sort":       "it takes the next word too, which then counts as a folder that is read",
	"file -P":           "--help leaves out that it takes name=value",
	"curl -h":           "the category is optional",
	"curl --help":       "the same",
	"wget -n":           "its letters are joined to others: -nH",
}

// TestTheTableAgreesWithTheHelpOfThePrograms compares whether flags take values: one that the table takes for a flag
// without a value would have its value taken for an operand, and the other way about.
func TestTheTableAgreesWithTheHelpOfThePrograms(t *testing.T) {
	compared := 0
	for name := range strings.FieldsSeq(helpful) {
		file, err := exec.LookPath(name)
		if err != nil && helpName[name] != "" {
			file, err = exec.LookPath(helpName[name])
		}
		if err != nil {
			t.Logf("%s is not compared: it is not installed", name)
			continue
		}
		n := 0
		g := find(name)
		for _, h := range helpOf(t, file) {
			o, ok := g.options[h.name]
			if !ok {
				continue // the table refuses it
			}
			n++
			reason := helpDiffers[name+" "+h.name]
			if differs(o, h) && reason == "" {
				t.Errorf("%s %s: the table has value=%v optional=%v, --help value=%v optional=%v: %s", name, h.name,
					o.role != "", o.optional, h.value, h.optional, h.line)
			}
		}
		if n == 0 {
			t.Logf("%s is not compared: its --help names no flag of the table", name)
		}
		compared += n
	}
	if compared == 0 {
		t.Skip("none of the programs is installed with a --help that lists flags")
	}
	t.Logf("%d flags compared", compared)
}

// differs reports whether a word behind the flag would be its value for one and an operand for the other.
func differs(o option, h helpFlag) bool {
	takes, shown := o.role != "" && !o.optional, h.value && !h.optional
	return takes != shown && !(o.optional && h.alsoNone)
}

// helpFlag is a flag as --help shows it.
type helpFlag struct {
	name            string
	value, optional bool
	alsoNone        bool // another line shows it without a value
	line            string
}

var helpLine = regexp.MustCompile(`^ {1,8}(-\S.*?)(?:  +.*|\t.*)?$`)

// helpOf reads the flags out of the lines of --help that begin with one. A short flag has the value of the long one
// that stands beside it; where that may be missing, it is left out: whether its value must be attached is not said.
func helpOf(t *testing.T, file string) []helpFlag {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, file, "--help")
	cmd.Dir, cmd.Env = t.TempDir(), []string{
		"PATH=/usr/bin:/bin", "HOME=/nonexistent", "LC_ALL=C", "TERM=dumb",
		"COLUMNS=200",
	}
	text, _ := cmd.CombinedOutput()
	var out []helpFlag
	for line := range strings.Lines(string(text)) {
		m := helpLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		tokens := strings.Split(m[1], ", ")
		long, longs, shorts := helpFlag{}, 0, 0
		for _, token := range tokens {
			if h, ok := helpToken(token); ok && strings.HasPrefix(h.name, "--") {
				long = h
				longs++
			} else if ok {
				shorts++
			}
		}
		for _, token := range tokens {
			h, ok := helpToken(token)
			h.line = strings.TrimSpace(line)
			switch {
			case !ok:
			case strings.HasPrefix(h.name, "--"):
				if longs == 1 {
					out = append(out, h)
				}
			case longs == 1 && shorts == 1 && !long.optional:
				h.value = h.value || long.value
				out = append(out, h)
			}
		}
	}
	none := map[string]bool{}
	for _, h := range out {
		none[h.name] = none[h.name] || !h.value
	}
	for i := range out {
		out[i].alsoNone = none[out[i].name]
	}
	return out
}

var (
	longToken  = regexp.MustCompile(`^(--[a-z0-9][a-z0-9-]*)(\[=[^\]]+\]|=\S+| <[^>]+>| [A-Z]\S*)?$`)
	shortToken = regexp.MustCompile(`^(-[A-Za-z0-9])( ?<[^>]+>| ?[A-Z]+)?$`)
)

func helpToken(token string) (helpFlag, bool) {
	for _, form := range []*regexp.Regexp{longToken, shortToken} {
		if m := form.FindStringSubmatch(token); m != nil {
			return helpFlag{name: m[1], value: m[2] != "", optional: strings.HasPrefix(m[2], "[")}, true
		}
	}
	return helpFlag{}, false
}
