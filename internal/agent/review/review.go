// Package review has agents look for defects in a change, each from one aspect, and other agents check what was found.
//
// The words: an aspect is what a reviewer looks for; a finding is a defect at a line; evidence is a quotation from a
// file that shows it.
//
// Promises: a finding whose evidence is not in its file is dropped, whatever an agent says; findings of several
// reviewers about one defect are one; every dropped finding is counted with its reason.
package review

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Severity is how bad a defect is.
type Severity string

// The severities, the worst first.
const (
	Critical Severity = "critical"
	High     Severity = "high"
	Medium   Severity = "medium"
	Low      Severity = "low"
)

var severities = []Severity{Critical, High, Medium, Low}

// Finding is a defect.
type Finding struct {
	File       string   `json:"file"`
	Line       int      `json:"line"` // of the evidence, from 1
	Severity   Severity `json:"severity"`
	Confidence float64  `json:"confidence"` // 0 to 1, of the agent that checked it
	Title      string   `json:"title"`
	Detail     string   `json:"detail"`
	Evidence   string   `json:"evidence"` // the quoted line
	Trace      string   `json:"trace"`    // how it comes about, by who checked it
	Aspects    []string `json:"aspects"`  // of the reviewers that found it
}

// Dropped is a finding that was not confirmed.
type Dropped struct {
	Finding
	Why string `json:"why"`
}

// Report is the outcome.
type Report struct {
	Findings []Finding `json:"findings"`
	Dropped  []Dropped `json:"dropped,omitempty"`
	Left     int       `json:"left_out,omitempty"` // findings beyond the limit
	Problems []string  `json:"problems,omitempty"` // agents that gave no answer
}

// Aspect is what a reviewer looks for.
type Aspect struct{ Name, Focus string }

var (
	correctness = Aspect{"correctness", "Wrong results, crashes, missing cases, errors that are ignored, races, leaks."}
	security    = Aspect{"security", "Input that reaches a command, query, path or page unchecked; missing checks of who may " +
		"do something; secrets in code or logs; weak randomness or cryptography; unsafe defaults."}
	contracts = Aspect{"contracts", "Callers, tests, documents and data that the change breaks or leaves behind; promises " +
		"of comments and types that no longer hold."}
	tests       = Aspect{"tests", "Behaviour of the change that no test holds, and tests that cannot fail."}
	performance = Aspect{"performance", "Work that grows faster than its input; needless copies; requests or locks " +
		"in loops."}
	simplicity = Aspect{"simplicity", "Code that exists already, is not used, or can be much shorter with the same " +
		"effect."}
)

// Levels are how thorough a review may be, each with its aspects.
var Levels = map[string][]Aspect{
	"low": {correctness}, "medium": {correctness, security, contracts},
	"high": {correctness, security, contracts, tests, performance},
	"max":  {correctness, security, contracts, tests, performance, simplicity},
}

// Security are the aspects of a security review.
func Security() []Aspect {
	return []Aspect{
		{"input", "Input of users, files and the network that reaches a shell, SQL, a path, a template or a parser " +
			"unchecked."},
		{"access", "Missing or wrong checks of identity and rights; confused deputies; sessions and tokens."},
		{"secrets", "Secrets in code, logs, errors or URLs; weak randomness, hashing and encryption; disabled verification."},
	}
}

// Reviewer reviews. All fields are required.
type Reviewer struct {
	// Ask has an agent with read-only tools and a context of its own answer a prompt.
	Ask  func(ctx context.Context, title, prompt string) (string, error)
	Read func(file string) ([]byte, error) // a file that the change names
	Tell func(string)                      // progress, in one line
}

// atOnce is how many agents work at the same time.
const atOnce = 4

// Run reviews a change: a diff, or files by name.
func (r *Reviewer) Run(ctx context.Context, change string, aspects []Aspect, most int) (Report, error) {
	var rep Report
	found := make([][]Finding, len(aspects))
	failed := make([]error, len(aspects))
	each(ctx, len(aspects), func(i int) {
		found[i], failed[i] = r.look(ctx, change, aspects[i])
	})
	if err := ctx.Err(); err != nil {
		return rep, err
	}
	for i, err := range failed {
		if err != nil {
			rep.Problems = append(rep.Problems, "the reviewer for "+aspects[i].Name+": "+err.Error())
		}
	}
	if len(rep.Problems) == len(aspects) {
		return rep, errors.New(strings.Join(rep.Problems, "; "))
	}
	all := merged(slices.Concat(found...))
	r.Tell(fmt.Sprintf("%d findings to check", len(all)))
	why := make([]string, len(all))
	each(ctx, len(all), func(i int) { why[i] = r.check(ctx, change, &all[i]) })
	if err := ctx.Err(); err != nil {
		return rep, err
	}
	for i, f := range all {
		if why[i] != "" {
			rep.Dropped = append(rep.Dropped, Dropped{f, why[i]})
			continue
		}
		rep.Findings = append(rep.Findings, f)
	}
	rep.Findings = merged(rep.Findings) // the evidence may have moved some to the same line
	slices.SortStableFunc(rep.Findings, worst)
	if most > 0 && len(rep.Findings) > most {
		rep.Left, rep.Findings = len(rep.Findings)-most, rep.Findings[:most]
	}
	return rep, nil
}

// each runs f for 0 to n-1, some at a time, until the context ends.
func each(ctx context.Context, n int, f func(i int)) {
	var wg sync.WaitGroup
	free := make(chan struct{}, atOnce)
	for i := range n {
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			continue
		}
		wg.Go(func() {
			defer func() { <-free }()
			f(i)
		})
	}
	wg.Wait()
}

func worst(a, b Finding) int {
	return cmp.Or(cmp.Compare(slices.Index(severities, a.Severity), slices.Index(severities, b.Severity)),
		cmp.Compare(b.Confidence, a.Confidence), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
}

//go:embed look.md
var lookPrompt string

// look has one reviewer find defects.
func (r *Reviewer) look(ctx context.Context, change string, a Aspect) ([]Finding, error) {
	var said struct{ Findings []Finding }
	text := fmt.Sprintf(lookPrompt, a.Name, a.Focus, strings.ReplaceAll(change, "</change", "< /change"))
	if err := r.ask(ctx, "review "+a.Name, text, &said); err != nil {
		return nil, err
	}
	for i := range said.Findings {
		f := &said.Findings[i]
		f.Aspects, f.Confidence, f.Trace = []string{a.Name}, 0, ""
		if !slices.Contains(severities, f.Severity) {
			f.Severity = Medium
		}
	}
	return said.Findings, nil
}

//go:embed check.md
var checkPrompt string

// check has another agent confirm a finding, and returns why it is dropped.
func (r *Reviewer) check(ctx context.Context, change string, f *Finding) (why string) {
	var said struct {
		Confirmed             bool
		Confidence            float64
		File, Evidence, Trace string
	}
	claim, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err.Error()
	}
	text := fmt.Sprintf(checkPrompt, claim, strings.ReplaceAll(change, "</change", "< /change"))
	if err := r.ask(ctx, "check: "+f.Title, text, &said); err != nil {
		return "it was not checked: " + err.Error()
	}
	if f.Trace = said.Trace; !said.Confirmed {
		return cmp.Or(said.Trace, "the agent that checked it did not confirm it")
	}
	if strings.TrimSpace(said.Trace) == "" {
		return "how it comes about was not shown"
	}
	f.Confidence = min(max(said.Confidence, 0), 1)
	shown, evidence := cmp.Or(said.File, f.File), cmp.Or(said.Evidence, f.Evidence)
	line, err := r.lineOf(shown, evidence, f.Line)
	if err != nil {
		return err.Error()
	}
	f.Evidence = strings.TrimSpace(evidence)
	if shown == f.File {
		f.Line = line
	}
	return ""
}

// lineOf finds a quotation in a file: the place nearest to a line.
func (r *Reviewer) lineOf(file, quoted string, near int) (int, error) {
	text, err := r.Read(file)
	if err != nil {
		return 0, fmt.Errorf("the file of the evidence cannot be read: %w", err)
	}
	want, best := plain(quoted), 0
	for i, line := range strings.Split(string(text), "\n") {
		if want != "" && strings.Contains(plain(line), want) && (best == 0 || far(i+1, near) < far(best, near)) {
			best = i + 1
		}
	}
	if best == 0 {
		return 0, fmt.Errorf("the evidence is not in %s", file)
	}
	return best, nil
}

func plain(s string) string { return strings.Join(strings.Fields(s), " ") }

func far(a, b int) int { return max(a-b, b-a) }

// merged joins findings about the same defect: the same evidence, or similar words at nearly the same line.
func merged(all []Finding) (out []Finding) {
	for _, f := range all {
		i := slices.IndexFunc(out, func(o Finding) bool { return same(o, f) })
		if i < 0 {
			out = append(out, f)
			continue
		}
		o := &out[i]
		for _, a := range f.Aspects {
			if !slices.Contains(o.Aspects, a) {
				o.Aspects = append(o.Aspects, a)
			}
		}
		if worst(f, *o) < 0 {
			f.Aspects = o.Aspects
			*o = f
		}
	}
	return out
}

// nearby is how many lines may lie between two reports of one defect.
const nearby = 3

func same(a, b Finding) bool {
	if a.File != b.File || far(a.Line, b.Line) > nearby {
		return false
	}
	return a.Line == b.Line && plain(a.Evidence) == plain(b.Evidence) || alike(a.Title, b.Title)
}

// alike reports that two titles share at least half of the words of the shorter one.
func alike(a, b string) bool {
	x, y := strings.Fields(strings.ToLower(a)), strings.Fields(strings.ToLower(b))
	n := 0
	for _, w := range x {
		if slices.Contains(y, w) {
			n++
		}
	}
	return n > 0 && n*2 >= min(len(x), len(y))
}

// ask reads the JSON object of an answer, and asks once more for one that cannot be read.
func (r *Reviewer) ask(ctx context.Context, title, prompt string, into any) error {
	for try := 0; ; try++ {
		text, err := r.Ask(ctx, title, prompt)
		if err != nil {
			return err
		}
		from, to := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
		if err = errors.New("there is no JSON object in the answer"); from >= 0 && to > from {
			if err = json.Unmarshal([]byte(text[from:to+1]), into); err == nil {
				return nil
			}
		}
		if try > 0 {
			return fmt.Errorf("the answer cannot be read: %w", err)
		}
		prompt += "\n\nThe last answer could not be read (" + err.Error() + "). Answer with the JSON object alone."
	}
}
