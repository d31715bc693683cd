package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/store/session"
)

func sessionVerifyCommand(p *program, o *Options) *cobra.Command {
	var all, asJSON bool
	c := &cobra.Command{
		Use: "verify [ID...]", Short: "Check sessions for damage", ValidArgsFunction: completeIDs(o),
		Long: `Read sessions from end to end: every line's checksum and JSON, and every blob. Without an ID, those of this folder.
Nothing is changed. The exit code is 1 when a session is damaged.`,
		RunE: func(c *cobra.Command, args []string) error {
			if all && len(args) > 0 {
				return usage("give one of them", "--all and ids exclude each other")
			}
			s, err := openSessions(o)
			if err != nil {
				return err
			}
			found, err := s.toVerify(args, all)
			if err != nil {
				return err
			}
			return p.verify(c, s, found, asJSON)
		},
	}
	c.Flags().BoolVarP(&all, "all", "a", false, "the sessions of all folders")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per session")
	return c
}

func (s sessions) toVerify(names []string, all bool) ([]session.Info, error) {
	var out []session.Info
	for _, name := range names {
		info, err := s.find(name)
		if err != nil {
			return nil, err
		}
		out = append(out, info)
	}
	if len(names) > 0 {
		return out, nil
	}
	found, err := s.list(all, 0)
	for _, i := range found {
		out = append(out, i.Info)
	}
	return out, err
}

// verified is a report as machines see it.
type verified struct {
	ID      string    `json:"id"`
	OK      bool      `json:"ok"`
	Path    string    `json:"path"`
	Bytes   int64     `json:"bytes"`
	Lines   int       `json:"lines"`
	Entries int       `json:"entries"`
	Blobs   int       `json:"blobs"`
	Damage  []damaged `json:"damage,omitempty"`
	Missing []string  `json:"missing_blobs,omitempty"`
	Changed []string  `json:"changed_blobs,omitempty"`
	Torn    int64     `json:"torn_bytes,omitempty"`
	Aside   []string  `json:"set_aside,omitempty"`
	Error   string    `json:"error,omitempty"`
}

// damaged is a session.Damage.
type damaged struct {
	Line   int    `json:"line"`
	Offset int64  `json:"offset"`
	Size   int64  `json:"size"`
	Text   string `json:"text"`
}

func (p *program) verify(c *cobra.Command, s sessions, found []session.Info, asJSON bool) error {
	bad := 0
	for _, i := range found {
		if err := c.Context().Err(); err != nil {
			return err
		}
		r, err := s.store.Verify(i.ID)
		if err != nil || !r.OK() {
			bad++
		}
		if asJSON {
			err = writeJSON(p.out, verifiedOf(i, r, err))
		} else {
			_, err = fmt.Fprint(p.out, term.Escape(verifyText(i, r, err)))
		}
		if err != nil {
			return err
		}
	}
	switch {
	case bad > 0:
		return &Error{
			Code: exitFailed, Msg: fmt.Sprintf("%d of %s damaged", bad, plural(len(found), "session")),
			Quiet: asJSON,
		}
	case len(found) == 0 && !asJSON:
		fmt.Fprintln(p.err, "There are no sessions in this folder; --all checks those of all folders.")
	}
	return nil
}

func verifiedOf(i session.Info, r session.Report, err error) verified {
	v := verified{
		ID: i.ID, OK: err == nil && r.OK(), Path: i.Path, Bytes: r.Bytes, Lines: r.Lines, Entries: r.Entries, Blobs: r.Blobs,
		Missing: r.Missing, Changed: r.Changed, Torn: r.Torn, Aside: r.Aside,
	}
	for _, d := range r.Damage {
		v.Damage = append(v.Damage, damaged(d))
	}
	if err != nil {
		v.Error = err.Error()
	}
	return v
}

// maxDamage is how many damaged lines are listed one by one.
const maxDamage = 20

// verifyText is one line for a sound session; else the damage, its place, and the user's next step.
func verifyText(i session.Info, r session.Report, err error) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, "  "+format+"\n", args...) }
	if err != nil {
		fmt.Fprintf(&b, "unreadable  %s\n", i.ID)
		line("%s", err)
		line("next: make %s readable, or restore it from a backup", i.Path)
		return b.String()
	}
	state := "ok      "
	if !r.OK() {
		state = "damaged "
	}
	fmt.Fprintf(&b, "%s  %s  %s, %s, %s\n", state, i.ID, entries(r.Entries), plural(r.Blobs, "blob"), bytesOf(r.Bytes))
	for n, d := range r.Damage {
		if n == maxDamage {
			line("... and %d more", len(r.Damage)-maxDamage)
			break
		}
		line("%s: line %d, byte %d: %s", r.Path, d.Line, d.Offset, d.Text)
	}
	for _, f := range r.Missing {
		line("the blob %s is missing", f)
	}
	for _, f := range r.Changed {
		line("the blob %s was changed after it was written", f)
	}
	if r.Torn > 0 {
		line("the last line was cut off after %d bytes, before it was reported as written; "+
			"the next --resume sets it aside", r.Torn)
	}
	for _, f := range r.Aside {
		line("a cut off line was set aside earlier: %s", f)
	}
	if !r.OK() {
		line("next: lathe --resume %s goes on with the sound part; lathe session export %s --format jsonl -o FILE saves it",
			i.ID, i.ID)
	}
	return b.String()
}

func bytesOf(n int64) string {
	switch {
	case n < 1000:
		return plural(int(n), "byte")
	case n < 1000*1000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	case n < 1000*1000*1000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}

func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}
