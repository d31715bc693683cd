package bench

import (
	_ "embed"
	"html/template"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
)

// Interval is a value with the bounds of its 95 % confidence interval.
type Interval struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Setting is an agent with a model.
type Setting struct {
	Agent   string           `json:"agent"`
	Model   string           `json:"model,omitempty"`
	Trials  int              `json:"trials"`
	Errors  int              `json:"errors"`
	Reward  Interval         `json:"reward"`
	Pass    map[int]Interval `json:"pass"` // pass@k by k
	CostUSD Interval         `json:"cost_usd"`
	Steps   Interval         `json:"steps"`
	Seconds Interval         `json:"seconds"`
	Total   float64          `json:"total_cost_usd"`
}

// Comparison is the difference of a setting to the first, over the tasks that both have.
type Comparison struct {
	Agent  string   `json:"agent"`
	Model  string   `json:"model,omitempty"`
	Tasks  int      `json:"tasks"`
	Reward Interval `json:"reward"`
	Better int      `json:"better"` // tasks
	Worse  int      `json:"worse"`
}

// Report is what a run came to.
type Report struct {
	Suite      string       `json:"suite"`
	Settings   []Setting    `json:"settings"`
	Comparison []Comparison `json:"comparison,omitempty"`
	Trials     []Score      `json:"trials"`
	Skipped    []string     `json:"skipped,omitempty"`
}

// draws is the number of samples of a bootstrap.
const draws = 2000

// PassAt estimates the probability that one of k attempts passes, from n of which c passed: 1 - C(n-c,k)/C(n,k), the
// unbiased form of Chen et al., "Evaluating Large Language Models Trained on Code", 2021.
func PassAt(n, c, k int) float64 {
	if n-c < k {
		return 1
	}
	fail := 1.0
	for i := n - c + 1; i <= n; i++ {
		fail *= 1 - float64(k)/float64(i)
	}
	return 1 - fail
}

// bootstrap draws whole tasks, since the attempts at one are not independent, and takes the middle 95 % of the means.
func bootstrap(clusters []float64) Interval {
	n := len(clusters)
	if n == 0 {
		return Interval{}
	}
	r := rand.New(rand.NewPCG(1, 2)) // the same report each time
	means := make([]float64, draws)
	for d := range means {
		sum := 0.0
		for range n {
			sum += clusters[r.IntN(n)]
		}
		means[d] = sum / float64(n)
	}
	slices.Sort(means)
	return Interval{mean(clusters), means[draws*25/1000], means[draws*975/1000]}
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / math.Max(1, float64(len(v)))
}

type settingKey struct{ agent, model string }

// NewReport makes the report of trials. A trial with an error counts in Errors and in no other figure.
func NewReport(suite string, scores []Score, ks []int) *Report {
	rep := &Report{Suite: suite, Trials: scores}
	by := map[settingKey]map[string][]Score{}
	var order []settingKey
	errs := map[settingKey]int{}
	for _, s := range scores {
		k := settingKey{s.Agent, s.Model}
		if by[k] == nil {
			by[k], order = map[string][]Score{}, append(order, k)
		}
		if s.Error != "" {
			errs[k]++
			continue
		}
		by[k][s.Task] = append(by[k][s.Task], s)
	}
	for _, k := range order {
		rep.Settings = append(rep.Settings, setting(k, by[k], errs[k], ks))
	}
	for _, k := range order[min(1, len(order)):] {
		rep.Comparison = append(rep.Comparison, compare(k, by[order[0]], by[k]))
	}
	return rep
}

func setting(k settingKey, tasks map[string][]Score, errs int, ks []int) Setting {
	s := Setting{Agent: k.agent, Model: k.model, Errors: errs, Trials: errs, Pass: map[int]Interval{}}
	names := slices.Sorted(maps.Keys(tasks))
	over := func(f func(Score) float64) Interval {
		var means []float64
		for _, n := range names {
			var v []float64
			for _, x := range tasks[n] {
				v = append(v, f(x))
			}
			means = append(means, mean(v))
		}
		return bootstrap(means)
	}
	s.Reward = over(func(x Score) float64 { return x.Reward })
	s.CostUSD = over(func(x Score) float64 { return x.CostUSD })
	s.Steps = over(func(x Score) float64 { return float64(x.Steps) })
	s.Seconds = over(func(x Score) float64 { return x.Seconds })
	for _, at := range ks {
		var v []float64
		for _, n := range names {
			passed := 0
			for _, x := range tasks[n] {
				if x.Reward >= 1 {
					passed++
				}
			}
			if len(tasks[n]) >= at {
				v = append(v, PassAt(len(tasks[n]), passed, at))
			}
		}
		if len(v) > 0 {
			s.Pass[at] = bootstrap(v)
		}
	}
	for _, n := range names {
		s.Trials += len(tasks[n])
		for _, x := range tasks[n] {
			s.Total += x.CostUSD
		}
	}
	return s
}

// compare pairs the tasks of two settings.
func compare(k settingKey, first, other map[string][]Score) Comparison {
	c := Comparison{Agent: k.agent, Model: k.model}
	var differences []float64
	of := func(scores []Score) float64 {
		var v []float64
		for _, s := range scores {
			v = append(v, s.Reward)
		}
		return mean(v)
	}
	for _, name := range slices.Sorted(maps.Keys(first)) {
		if len(other[name]) == 0 {
			continue
		}
		d := of(other[name]) - of(first[name])
		differences = append(differences, d)
		if d > 0 {
			c.Better++
		}
		if d < 0 {
			c.Worse++
		}
	}
	c.Tasks, c.Reward = len(differences), bootstrap(differences)
	return c
}

//go:embed report.html
var page string

var pageTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"percent": func(i Interval) [3]float64 { return [3]float64{i.Value * 100, i.Low * 100, i.High * 100} },
}).Parse(page))

// HTML writes the report as one page.
func (r *Report) HTML(w io.Writer) error { return pageTemplate.Execute(w, r) }
