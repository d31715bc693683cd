package llm

import (
	"slices"
	"strconv"
	"strings"
)

// effortOrder is every level but "off", lowest first.
var effortOrder = []Effort{"low", "medium", "high", "xhigh", "max"}

// FitEffort returns the level to send for e: e itself, else the highest supported level below it, else the
// lowest. It is "" for a model without levels and for e empty, unknown or "off".
func (m ModelInfo) FitEffort(e Effort) Effort {
	want := slices.Index(effortOrder, e)
	if want < 0 || len(m.Efforts) == 0 {
		return ""
	}
	fit := m.Efforts[0]
	for _, have := range m.Efforts {
		if slices.Index(effortOrder, have) <= want {
			fit = have
		}
	}
	return fit
}

// addThinking sets the thinking mode and levels of a model: of Anthropic's models by their version (models
// overview, November 2026), of OpenAI's by name; reasoning models of other hosts decide themselves and take
// no level.
func addThinking(m *ModelInfo, host string, reasons bool) {
	id := plainID(afterVendor(m.ID))
	if strings.HasPrefix(id, "claude-") {
		m.Thinking, m.Efforts = claudeThinking(id, reasons)
		return
	}
	if !reasons {
		return
	}
	m.Thinking = ThinkingAdaptive
	if strings.HasPrefix(id, "grok-") { // xAI, "Reasoning": the others refuse the parameter
		switch {
		case strings.HasPrefix(id, "grok-4.3"):
			m.Efforts = effortOrder[:3]
		case strings.HasPrefix(id, "grok-3-mini"):
			m.Efforts = []Effort{"low", "high"}
		}
		return
	}
	if host == "openai" || strings.HasPrefix(m.ID, "openai/") || strings.HasPrefix(id, "gpt-") {
		m.Efforts = openAIEfforts(id)
	} else if host == "openrouter" || strings.HasPrefix(id, "gemini-") {
		m.Efforts = effortOrder[:3]
	}
}

func claudeThinking(id string, reasons bool) (ThinkingMode, []Effort) {
	major, minor := claudeVersion(id)
	switch {
	case major >= 5 || major == 4 && minor >= 7:
		return ThinkingAdaptive, effortOrder
	case major == 4 && minor == 6:
		return ThinkingAdaptive, []Effort{"low", "medium", "high", "max"}
	case reasons:
		return ThinkingBudget, []Effort{"low", "medium", "high", "max"} // as budgets
	}
	return ThinkingNone, nil
}

// claudeVersion parses 4, 5 of "claude-sonnet-4-5", 3, 7 of "claude-3-7-sonnet" and 5, 0 of "claude-opus-5".
func claudeVersion(id string) (major, minor int) {
	var nums []int
	for _, f := range strings.Split(id, "-") {
		if n, err := strconv.Atoi(f); err == nil && n < 100 {
			nums = append(nums, n)
		} else if len(nums) > 0 {
			break
		}
	}
	switch len(nums) {
	case 0:
		return 0, 0
	case 1:
		return nums[0], 0
	}
	return nums[0], nums[1]
}

// openAIEfforts are the levels of reasoning_effort (OpenAI, reasoning guide).
func openAIEfforts(id string) []Effort {
	switch {
	case strings.Contains(id, "-chat"), strings.Contains(id, "deep-research"), strings.HasPrefix(id, "o1-mini"),
		strings.HasPrefix(id, "o1-preview"):
		return nil
	case id == "gpt-5-pro":
		return []Effort{"high"}
	case strings.HasPrefix(id, "gpt-5.1-codex-max"):
		return effortOrder[:4]
	}
	if v, ok := strings.CutPrefix(id, "gpt-5."); ok && len(v) > 0 && v[0] >= '2' && v[0] <= '9' {
		return effortOrder[:4]
	}
	return effortOrder[:3]
}

// guess returns an entry for a model that the catalogue does not have.
func guess(provider, id string) ModelInfo {
	plain := plainID(afterVendor(id))
	m := ModelInfo{Name: id, ContextWindow: guessWindowOAI, MaxOutput: guessOutputOAI}
	if provider == "anthropic" {
		m.ContextWindow, m.MaxOutput, m.Images = guessWindow, guessOutput, true
	}
	if major, _ := claudeVersion(plain); strings.HasPrefix(plain, "claude-") && major >= 4 {
		m.Thinking, m.Efforts = claudeThinking(plain, true)
	}
	return m
}
