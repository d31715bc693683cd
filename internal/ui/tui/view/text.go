package view

import (
	"strconv"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/term"
)

// tabStop is the distance of tab stops.
const tabStop = 4

// untab replaces the tabs of one line of escaped text by spaces.
func untab(s string, stop int) string {
	if !strings.Contains(s, "\t") {
		return s
	}
	var b strings.Builder
	col := 0
	for s != "" {
		if s[0] == '\t' {
			n := stop - col%stop
			b.WriteString(strings.Repeat(" ", n))
			col, s = col+n, s[1:]
			continue
		}
		n, cells := term.Cluster(s, 0)
		b.WriteString(s[:n])
		col, s = col+cells, s[n:]
	}
	return b.String()
}

// shown is one line of foreign text as it can be shown.
func shown(s string) string { return untab(term.Escape(strings.ReplaceAll(s, "\n", " ")), tabStop) }

// lines cuts text into lines; a newline at the end does not begin another one.
func lines(s string) []string {
	s = strings.TrimSuffix(s, "\n")
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

// count is a number of things: "1 line", "2 lines".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	switch {
	case strings.HasSuffix(what, "ch"), strings.HasSuffix(what, "s"):
		what += "es"
	case strings.HasSuffix(what, "ry"):
		what = strings.TrimSuffix(what, "y") + "ies"
	default:
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}

// Duration is a time span in a few characters: 340ms, 1.2s, 12s, 3m 4s, 2h 5m.
func Duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Truncate(100*time.Millisecond).Seconds(), 'f', 1, 64) + "s"
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + "s"
	case d < time.Hour:
		return two(int(d.Minutes()), "m", int(d.Seconds())%60, "s")
	}
	return two(int(d.Hours()), "h", int(d.Minutes())%60, "m")
}

func two(n int, unit string, m int, small string) string {
	if m == 0 {
		return strconv.Itoa(n) + unit
	}
	return strconv.Itoa(n) + unit + " " + strconv.Itoa(m) + small
}

// size is a number of bytes in a few characters.
func size(n int) string {
	switch {
	case n < 1000:
		return strconv.Itoa(n) + " B"
	case n < 1000*1000:
		return strconv.FormatFloat(float64(n)/1e3, 'f', 1, 64) + " kB"
	}
	return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + " MB"
}
