package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestColumnsAreAlignedEscapedAndCut(t *testing.T) {
	rows := func() [][]string {
		return [][]string{{"ID", "TITLE"}, {"漢字", "a\nb\x1b[2J"}, {"x", strings.Repeat("long ", 20)}}
	}
	want := "ID    TITLE\n漢字  a↵b␛[2J\nx     " + strings.TrimRight(strings.Repeat("long ", 20), " ") + "\n"
	if diff := cmp.Diff(want, columns(rows(), 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for line := range strings.Lines(columns(rows(), 40)) {
		if len([]rune(line)) > 40 {
			t.Errorf("longer than the terminal: %q", line)
		}
	}
	if !strings.Contains(columns(rows(), 40), "…") {
		t.Error("nothing shows that the line was cut")
	}
}

func TestShownPrefixesAreUnique(t *testing.T) {
	for _, tt := range []struct {
		ids  string
		want int
	}{
		{"01a1fbf6-2a75-771f", 8},
		{"01a1fbf6-2a75-771f 02a1fbf6-2a75-771f", 8},
		{"01a1fbf6-2a75-771f 01a1fbf6-2a64-715b", 12},
		{"01a1fbf6-2a75-771f 01a1fbf6-2a64-715b 01a1fbf6-2a64-715c", 18},
	} {
		if got := prefixLen(strings.Fields(tt.ids)); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.ids, got, tt.want)
		}
	}
}

func TestTimesAreToldAsPeopleSayThem(t *testing.T) {
	now := time.Date(2026, 3, 20, 12, 0, 0, 0, time.Local)
	for ago, want := range map[time.Duration]string{
		0: "just now", 59 * time.Second: "just now", 61 * time.Second: "1 min ago", 59 * time.Minute: "59 min ago",
		time.Hour: "1 h ago", 23 * time.Hour: "23 h ago", 24 * time.Hour: "1 day ago", 13 * 24 * time.Hour: "13 days ago",
		20 * 24 * time.Hour: "2026-02-28", -time.Hour: "2026-03-20 13:00",
	} {
		if got := relative(now.Add(-ago), now); got != want {
			t.Errorf("%v: %q, want %q", ago, got, want)
		}
	}
	if got := relative(time.Time{}, now); got != "-" {
		t.Errorf("unknown: %q", got)
	}
}

func TestSizesAndPricesAreShort(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 bytes", 1: "1 byte", 999: "999 bytes", 1500: "1.5 kB",
		2_500_000: "2.5 MB", 3e9: "3.0 GB",
	} {
		if got := bytesOf(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	for usd, want := range map[float64]string{0: "-", 0.001: "<$0.01", 0.126: "$0.13", 12: "$12.00"} {
		if got := dollars(usd); got != want {
			t.Errorf("%g: %q, want %q", usd, got, want)
		}
	}
}
