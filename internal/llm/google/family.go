package google

import (
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// family describes the models whose ids have a prefix in common. Sources: Gemini API, pages on thinking, thought
// signatures and function calling.
type family struct {
	prefix string
	// budget is the range of thinkingBudget; off says that 0 is allowed, too. levels are the values of thinkingLevel,
	// lowest first. With neither the model takes no thinkingConfig.
	budget [2]int
	off    bool
	levels []string
	signed bool // a call of the running turn needs a thoughtSignature
	nested bool // a result may hold media
}

// families are searched from the top.
func families() []family {
	return []family{
		{prefix: "gemini-3-pro-image"},
		{prefix: "gemini-3.1-flash-image"},
		{prefix: "gemini-2.5-flash-image"},
		{prefix: "gemini-3-pro", levels: []string{"low", "high"}, signed: true, nested: true},
		{prefix: "gemini-3.1-pro", levels: []string{"low", "medium", "high"}, signed: true, nested: true},
		{prefix: "gemini-3", levels: []string{"minimal", "low", "medium", "high"}, signed: true, nested: true},
		{prefix: "gemini-2.5-pro", budget: [2]int{128, 32768}},
		{prefix: "gemini-2.5-flash-lite", budget: [2]int{512, 24576}, off: true},
		{prefix: "gemini-2.5-flash", budget: [2]int{1, 24576}, off: true},
		{prefix: "gemini-flash-lite-latest", budget: [2]int{512, 24576}, off: true},
		{prefix: "gemini-flash-latest", budget: [2]int{1, 24576}, off: true},
	}
}

func familyOf(id string) family {
	id = strings.ToLower(id[strings.LastIndexByte(id, '/')+1:])
	for _, f := range families() {
		if strings.HasPrefix(id, f.prefix) && !strings.Contains(id, "-tts") && !strings.Contains(id, "-live") &&
			!strings.Contains(id, "native-audio") {
			return f
		}
	}
	return family{}
}

func (f family) thinks() bool { return f.budget[1] > 0 || len(f.levels) > 0 }

// budgets are the tokens of the efforts, those of Google's own translation of reasoning_effort and above.
func budgetOf(e llm.Effort) int {
	switch e {
	case "low":
		return 1024
	case "medium":
		return 8192
	case "high":
		return 24576
	}
	return 1 << 20 // the most that the family takes
}

// budgetFor returns thinkingBudget for an effort.
func (f family) budgetFor(e llm.Effort) int {
	if e == "off" && f.off {
		return 0
	}
	if e == "off" {
		return f.budget[0]
	}
	return min(max(budgetOf(e), f.budget[0]), f.budget[1])
}

// level returns thinkingLevel for an effort: the highest one that is not above it, or the lowest.
func (f family) level(e llm.Effort) string {
	order := "off minimal low medium high xhigh max"
	fit := f.levels[0]
	for _, l := range f.levels {
		if strings.Index(order, l) <= strings.Index(order, string(e)) {
			fit = l
		}
	}
	return fit
}

// described returns the family of a model for which the user says how it thinks.
func (f family) described(t llm.ThinkingMode) family {
	switch {
	case t == llm.ThinkingNone:
		f.budget, f.levels = [2]int{}, nil
	case f.thinks():
	case t == llm.ThinkingBudget:
		f.budget, f.off = [2]int{1, 24576}, true
	default:
		f.levels = []string{"low", "medium", "high"}
	}
	return f
}
