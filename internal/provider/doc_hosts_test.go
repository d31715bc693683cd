package provider

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm/hosts"
)

// The table of docs/providers.md has every host of the table of hosts, once, and no other.
func TestTheManualSaysOfEveryHostHowItWasTried(t *testing.T) {
	b, err := os.ReadFile("../../docs/providers.md")
	if err != nil {
		t.Fatal(err)
	}
	table, _, _ := strings.Cut(string(b), "\n## ")
	var named []string
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		for _, m := range regexp.MustCompile("`([a-z-]+)`").FindAllStringSubmatch(cells[1], -1) {
			named = append(named, m[1])
		}
	}
	slices.Sort(named)
	if want := slices.Sorted(slices.Values(hosts.Names())); !slices.Equal(named, want) {
		t.Errorf("the manual has\n%v, the table of hosts\n%v", named, want)
	}
}
