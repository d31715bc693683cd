package cost_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/cost"
	"github.com/lathe-dev/lathe/internal/store/session"
)

var (
	start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	price = llm.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}
)

// story is a log: bodies with the seconds that passed before each.
type story []struct {
	after int
	body  session.Body
}

func (s story) entries(yield func(int, session.Entry) bool) {
	at := start
	for i, e := range s {
		at = at.Add(time.Duration(e.after) * time.Second)
		if !yield(i, session.Entry{Time: at, Body: e.body}) {
			return
		}
	}
}

func (s story) read() cost.Session {
	return cost.Read(s.entries, func(string) llm.Price { return price })
}

func reply(model string, input, read, written, output int) session.Reply {
	return session.Reply{Model: model, Usage: &llm.Usage{
		Input: input, CacheRead: read, CacheWrite: written,
		Output: output,
	}}
}

func prefix(system, effort string, tools ...string) session.Prefix {
	p := session.Prefix{Model: "m", Price: price, System: system, Effort: effort, Tools: map[string]string{}}
	for _, t := range tools {
		name, hash, _ := strings.Cut(t, "=")
		p.Tools[name] = hash
	}
	return p
}

func TestEachMissHasItsCause(t *testing.T) {
	first := prefix("s", "", "Read=1", "Bash=1")
	for _, c := range []struct {
		name   string
		before story // between the two replies
		model  string
		want   []string
	}{
		{"nothing changed", nil, "m", []string{"the provider no longer had it"}},
		{"a pause", story{{301, session.User{}}}, "m", []string{"expired: nothing was sent for 5m1s"}},
		{"a compaction", story{{1, session.Compaction{Trigger: "auto"}}}, "m", []string{"compaction (auto)"}},
		{"a checkout", story{{1, session.Head{}}}, "m", []string{"the conversation went back"}},
		{"another model", nil, "n", []string{"model: m to n"}},
		{"tools", story{{1, prefix("s", "", "Read=2", "Grep=1")}}, "m", []string{"tools: +Grep, Read changed, -Bash"}},
		{"the system prompt", story{{1, prefix("t", "", "Read=1", "Bash=1")}}, "m", []string{"the system prompt changed"}},
		{"effort", story{{1, prefix("s", "high", "Read=1", "Bash=1")}}, "m", []string{"effort: default to high"}},
		{
			"two things",
			story{{1, prefix("s", "high", "Read=1", "Bash=1")}, {400, session.User{}}},
			"m",
			[]string{"effort: default to high", "expired: nothing was sent for 6m40s"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := append(story{{0, first}, {1, reply("m", 10, 0, 20_000, 100)}}, c.before...)
			got := append(log, story{{1, reply(c.model, 10, 0, 21_000, 100)}}...).read().Steps
			if len(got) != 2 || got[0].Miss != nil || got[1].Miss == nil {
				t.Fatalf("%+v", got)
			}
			if diff := cmp.Diff(c.want, got[1].Miss.Causes); diff != "" {
				t.Error(diff)
			}
			if m := got[1].Miss; m.Tokens != 20_000 || math.Abs(m.CostUSD-20_000*(3.75-0.3)/1e6) > 1e-9 {
				t.Errorf("%+v", m)
			}
		})
	}
}

func TestAHitIsNoMiss(t *testing.T) {
	for name, s := range map[string]story{
		"all from the cache":           {{0, reply("m", 10, 0, 20_000, 100)}, {2, reply("m", 10, 20_000, 500, 100)}},
		"less than a block is missing": {{0, reply("m", 10, 0, 20_000, 100)}, {2, reply("m", 10, 19_500, 900, 100)}},
		"shorter after a checkout": {
			{0, reply("m", 10, 0, 20_000, 100)},
			{2, session.Head{}},
			{2, reply("m", 10, 4_000, 500, 100)},
		},
		"an hour was paid for": {{0, session.Reply{Model: "m", Usage: &llm.Usage{
			CacheWrite:   20_000,
			CacheWrite1h: 20_000,
		}}}, {3000, reply("m", 10, 20_000, 500, 1)}},
		"a provider that caches nothing": {{0, reply("m", 20_000, 0, 0, 100)}, {2, reply("m", 21_000, 0, 0, 100)}},
		"automatic caching in blocks": {
			{0, reply("m", 20_000, 0, 0, 100)},
			{2, reply("m", 1_000, 19_968, 0, 100)},
			{2, reply("m", 1_000, 20_864, 0, 100)},
		},
	} {
		for _, step := range s.read().Steps {
			if step.Miss != nil {
				t.Errorf("%s: %+v", name, step.Miss)
			}
		}
	}
}

func TestAutomaticCachesMissToo(t *testing.T) {
	got := story{
		{0, reply("m", 20_000, 0, 0, 1)},
		{1, reply("m", 1_000, 20_000, 0, 1)},
		{400, reply("m", 22_000, 0, 0, 1)},
	}.read()
	if m := got.Steps[2].Miss; m == nil || m.Tokens != 21_000 || math.Abs(m.CostUSD-21_000*(3-0.3)/1e6) > 1e-9 {
		t.Errorf("%+v", m)
	}
	if math.Abs(got.MissUSD-got.Steps[2].Miss.CostUSD) > 1e-12 {
		t.Errorf("$%f", got.MissUSD)
	}
}

func TestARequestBesideTheConversationIsAStepAndNoUseOfItsCache(t *testing.T) {
	beside := session.SideRequest{
		Purpose: session.PurposeSummary, Model: "small",
		Usage: llm.Usage{Input: 700, CacheRead: 50, Output: 30}, CostUSD: 0.25,
	}
	got := story{
		{0, reply("m", 10, 0, 20_000, 100)},
		{200, beside},
		{0, session.Compaction{Trigger: "manual"}},
		{200, reply("m", 10, 0, 21_000, 100)},
	}.read()
	want := cost.Step{
		N: 2, Time: start.Add(200 * time.Second), Model: "small", Input: 700, Read: 50, Output: 30,
		CostUSD: 0.25, Purpose: "summary",
	}
	if len(got.Steps) != 3 {
		t.Fatalf("%+v", got)
	}
	if diff := cmp.Diff(want, got.Steps[1]); diff != "" {
		t.Error(diff)
	}
	if m := got.Steps[2].Miss; m == nil || !slices.Equal(m.Causes, []string{
		"compaction (manual)",
		"expired: nothing was sent for 6m40s",
	}) {
		t.Errorf("%+v", m)
	}
	if row := got.Steps[1].Row("15:04"); row[2] != "small (summary)" || row[3] != "700" {
		t.Errorf("%q", row)
	}
}

func TestTheSummaryOfAnOldLogHasAPriceOnly(t *testing.T) {
	got := story{{0, reply("m", 0, 0, 1000, 100)}, {1, session.Compaction{Trigger: "manual", CostUSD: 0.25}}}.read()
	want := (1000*3.75+100*15)/1e6 + 0.25
	if len(got.Steps) != 2 || math.Abs(got.CostUSD-want) > 1e-9 {
		t.Fatalf("%+v", got)
	}
	if row := got.Steps[1].Row("15:04"); row[2] != "unknown (summary)" || row[3] != "-" || row[7] != "$0.2500" {
		t.Errorf("%q", row)
	}
}

func TestTheNextRequestIsPricedWarmAndCold(t *testing.T) {
	s := story{{0, reply("m", 0, 0, 100_000, 1_000)}, {60, session.Compaction{CostUSD: 1}}}.read()
	n, ok := s.Next(start.Add(4 * time.Minute))
	if !ok || n.Tokens != 101_000 || n.Left != time.Minute || math.Abs(n.ColdUSD-101_000*3.75/1e6) > 1e-9 ||
		math.Abs(n.WarmUSD-101_000*0.3/1e6) > 1e-9 {
		t.Errorf("%+v %v", n, ok)
	}
	if n, _ := s.Next(start.Add(6 * time.Minute)); n.Left >= 0 {
		t.Errorf("%+v", n)
	}
	if _, ok := (cost.Session{}).Next(start); ok {
		t.Error("a session without a request has a next one")
	}
}

func TestACacheOfAnHourCostsMoreToWriteAnew(t *testing.T) {
	var c cost.Cache
	c.Request(llm.Usage{CacheWrite: 1000, CacheWrite1h: 1000}, start)
	c.Request(llm.Usage{CacheRead: 99_000, CacheWrite: 1000, CacheWrite1h: 1000}, start.Add(time.Minute))
	n, ok := c.Next(llm.Price{Input: 3, CacheRead: 0.3, CacheWrite: 3.75}, start.Add(31*time.Minute))
	if !ok || n.Left != 30*time.Minute || n.Lifetime != time.Hour || math.Abs(n.ColdUSD-0.6) > 1e-9 ||
		math.Abs(n.WarmUSD-0.03) > 1e-9 {
		t.Errorf("%+v %v", n, ok)
	}
}
