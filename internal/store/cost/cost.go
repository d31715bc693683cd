// Package cost reads the cost of each request from a session's log, and why a request missed the provider's
// cache.
//
// Providers keep the beginning of a prompt for some minutes and charge a tenth for reading it again. A request
// misses when less of the prompt before it comes from the cache than the request before it left there. The log
// names the cause: each entry that changes the beginning of the next request is in it.
package cost

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// How long a provider keeps a prompt after its last use (Anthropic: five minutes, or an hour where the request asks
// for it and pays more; docs.anthropic.com, "Prompt caching").
const (
	shortLifetime = 5 * time.Minute
	longLifetime  = time.Hour
)

// Step is one request: a reply, or a request beside the conversation.
type Step struct {
	N       int       `json:"n"` // from 1
	Time    time.Time `json:"time"`
	Model   string    `json:"model"`
	Input   int       `json:"input"` // tokens that were neither read from the cache nor written to it
	Read    int       `json:"cache_read"`
	Written int       `json:"cache_write"`
	Output  int       `json:"output"`
	CostUSD float64   `json:"cost_usd"`
	Purpose string    `json:"purpose,omitempty"` // of a request beside the conversation: "summary", "title", "permission"
	Miss    *Miss     `json:"miss,omitempty"`
}

// unknownModel represents the model of a summary in an old log, which names neither model nor tokens.
const unknownModel = "unknown"

// Prompt returns the tokens of the prompt.
func (s Step) Prompt() int { return s.Input + s.Read + s.Written }

// Miss is a request whose prompt was not in the cache.
type Miss struct {
	Tokens  int      `json:"tokens"`   // that should have come from the cache
	CostUSD float64  `json:"cost_usd"` // more than with the cache
	Causes  []string `json:"causes"`   // never empty
}

// Prices returns the prices of a model.
type Prices func(model string) llm.Price

// Session is the cost of a session.
type Session struct {
	Steps   []Step  `json:"steps"`
	CostUSD float64 `json:"cost_usd"` // the sum of the steps
	MissUSD float64 `json:"miss_usd"` // the part of it that cache misses cost

	cache Cache
	price llm.Price // of the last request's model
}

// Of reads the cost of a session from its log, all branches included. Each request counts at the prices logged with it,
// or at the catalogue's if that entry is damaged or missing.
func Of(log *session.Session) Session {
	all := log.Everything().Only("user", "call_end", "reply", "compaction", "side_request", "head", "prefix")
	return Read(all.Entries(0, all.Len()), func(model string) llm.Price { return llm.Lookup("", model).Price })
}

// Read does the same with entries in the order in which they were written. Other kinds than those of Of change
// nothing.
func Read(entries iter.Seq2[int, session.Entry], prices Prices) Session {
	r := reader{prices: prices}
	for _, e := range entries {
		r.take(e)
	}
	for _, s := range r.out.Steps {
		r.out.CostUSD += s.CostUSD
		if s.Miss != nil {
			r.out.MissUSD += s.Miss.CostUSD
		}
	}
	r.out.cache = r.cache
	return r.out
}

// reader follows a log.
type reader struct {
	prices Prices
	cache  Cache
	out    Session

	prefix *session.Prefix
	last   *Step     // the last reply
	seen   time.Time // when the newest entry was written
	idle   time.Duration
	causes []string // of changes since the last reply
	caches bool     // the provider has reported a cached token
}

func (r *reader) take(e session.Entry) {
	if b, ok := e.Body.(session.SideRequest); ok { // no use of the conversation's cache
		r.add(Step{
			Time: e.Time, Model: b.Model, Input: b.Usage.Input, Read: b.Usage.CacheRead, Written: b.Usage.CacheWrite,
			Output:  b.Usage.Output,
			CostUSD: b.CostUSD, Purpose: b.Purpose,
		})
		return
	}
	if _, ok := e.Body.(session.Compaction); !ok { // nor is that of a compaction
		if !r.seen.IsZero() {
			r.idle = max(r.idle, e.Time.Sub(r.seen))
		}
		r.seen = e.Time
	}
	switch b := e.Body.(type) {
	case session.Reply:
		r.reply(e.Time, b)
	case session.Compaction:
		r.cause("compaction (" + b.Trigger + ")")
		if b.CostUSD > 0 { // an old log
			r.add(Step{Time: e.Time, Model: unknownModel, CostUSD: b.CostUSD, Purpose: session.PurposeSummary})
		}
	case session.Head:
		r.cause("the conversation went back")
	case session.Prefix:
		r.changed(b)
	}
}

func (r *reader) cause(text string) {
	if !slices.Contains(r.causes, text) {
		r.causes = append(r.causes, text)
	}
}

// changed names the parts of a prefix that differ from the one before.
func (r *reader) changed(now session.Prefix) {
	was := r.prefix
	r.prefix = &now
	if was == nil {
		return
	}
	if was.System != now.System {
		r.cause("the system prompt changed")
	}
	if was.Effort != now.Effort {
		r.cause("effort: " + orDefault(was.Effort) + " to " + orDefault(now.Effort))
	}
	if !maps.Equal(was.Tools, now.Tools) {
		r.cause("tools: " + strings.Join(toolChanges(was.Tools, now.Tools), ", "))
	}
}

func orDefault(effort string) string {
	if effort == "" {
		return "default"
	}
	return effort
}

func toolChanges(was, now map[string]string) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if hash, ok := was[name]; !ok {
			out = append(out, "+"+name)
		} else if hash != now[name] {
			out = append(out, name+" changed")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if _, ok := now[name]; !ok {
			out = append(out, "-"+name)
		}
	}
	return out
}

func (r *reader) add(s Step) *Step {
	s.N = len(r.out.Steps) + 1
	r.out.Steps = append(r.out.Steps, s)
	return &r.out.Steps[len(r.out.Steps)-1]
}

func (r *reader) reply(at time.Time, b session.Reply) {
	if b.Usage == nil || *b.Usage == (llm.Usage{}) {
		return // interrupted before its usage was reported
	}
	u := *b.Usage
	price := r.price(b.Model)
	s := Step{
		Time: at, Model: b.Model, Input: u.Input, Read: u.CacheRead, Written: u.CacheWrite, Output: u.Output,
		CostUSD: price.Cost(u),
	}
	if r.last != nil && r.last.Model != b.Model {
		r.cause("model: " + r.last.Model + " to " + b.Model)
	}
	s.Miss = r.miss(s, price)
	r.cache.Request(u, at)
	r.out.price = price
	r.caches = r.caches || u.CacheRead+u.CacheWrite > 0
	last := *r.add(s)
	r.last, r.causes, r.idle = &last, nil, 0
}

// price returns the price of a model: the log's, else that of Prices.
func (r *reader) price(model string) llm.Price {
	if r.prefix != nil && r.prefix.Model == model {
		return r.prefix.Price
	}
	return r.prices(model)
}

// tolerance is how many tokens may be missing without a cause: providers cache in blocks, and the newest message is
// marked again each time.
const tolerance = 1024

// miss compares a request with the one before it.
func (r *reader) miss(s Step, price llm.Price) *Miss {
	if r.last == nil || !r.caches {
		return nil
	}
	had := min(r.cached(), s.Prompt())
	short := had - s.Read
	if short <= max(tolerance, had/20) {
		return nil
	}
	causes := r.causes
	if r.idle > r.cache.life() {
		causes = append(causes, fmt.Sprintf("expired: nothing was sent for %s", r.idle.Round(time.Second)))
	}
	if len(causes) == 0 {
		causes = []string{"the provider no longer had it"}
	}
	paid := price.Input
	if s.Written > 0 {
		paid = max(price.CacheWrite, price.Input)
	}
	return &Miss{Tokens: short, CostUSD: float64(short) * max(0, paid-price.CacheRead) / 1e6, Causes: causes}
}

// cached is the tokens that the last request left in the cache: those it read and wrote, or all of its prompt where the
// provider caches without being asked and reports no writes.
func (r *reader) cached() int {
	if r.last.Written == 0 && r.last.Input > 0 {
		return r.last.Prompt()
	}
	return r.last.Read + r.last.Written
}

// Totals are sums over steps.
type Totals struct {
	Steps   int     `json:"steps"`
	Input   int     `json:"input"`
	Read    int     `json:"cache_read"`
	Written int     `json:"cache_write"`
	Output  int     `json:"output"`
	CostUSD float64 `json:"cost_usd"`
	Misses  int     `json:"misses"`
	MissUSD float64 `json:"miss_usd"`
}

// Add counts a step.
func (t *Totals) Add(s Step) {
	t.Steps++
	t.Input += s.Input
	t.Read += s.Read
	t.Written += s.Written
	t.Output += s.Output
	t.CostUSD += s.CostUSD
	if s.Miss != nil {
		t.Misses++
		t.MissUSD += s.Miss.CostUSD
	}
}

// Header names the columns of Row.
var Header = []string{"step", "time", "model", "fresh", "cached", "written", "output", "cost", "cache miss"}

// Row returns a step as the cells of a table; clock is the layout of its time.
func (s Step) Row(clock string) []string {
	model := s.Model
	if s.Purpose != "" {
		model += " (" + s.Purpose + ")"
	}
	row := []string{
		strconv.Itoa(s.N), s.Time.Local().Format(clock), model, strconv.Itoa(s.Input), strconv.Itoa(s.Read),
		strconv.Itoa(s.Written),
		strconv.Itoa(s.Output), fmt.Sprintf("$%.4f", s.CostUSD), "",
	}
	if s.Prompt()+s.Output == 0 {
		row[3], row[4], row[5], row[6] = "-", "-", "-", "-"
	}
	if s.Miss != nil {
		row[8] = fmt.Sprintf("%d tokens, $%.4f: %s", s.Miss.Tokens, s.Miss.CostUSD, strings.Join(s.Miss.Causes, "; "))
	}
	return row
}
