package theme

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/charmbracelet/colorprofile"
)

// file is a theme of the user's or a plugin's: another one with other colours.
type file struct {
	Base      string            `json:"base"` // a name of Names; "": auto
	Overrides map[string]string `json:"overrides"`
}

// Read makes a theme of a file: {"base": "dark", "overrides": {"accent": "#88c0d0"}}, in the form of Claude Code's
// themes. The names of colours are lathe's, or Claude Code's where there is such a colour; others are ignored. Where
// the terminal shows 16 colours, those of the base hold.
func Read(name string, data []byte, dark bool, p colorprofile.Profile) (*Theme, error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("the theme %s is no JSON in the form of a theme: %w", name, err)
	}
	t, c, err := load(f.Base, dark, p)
	if err != nil {
		return nil, fmt.Errorf("the theme %s: base: %w", name, err)
	}
	for what, text := range f.Overrides {
		h := c.named(what)
		if h == nil {
			continue
		}
		hex, err := hexOf(text)
		if err != nil {
			return nil, fmt.Errorf("the theme %s: %s: %w", name, what, err)
		}
		h.hex = hex
	}
	made := build(c, t.Profile)
	made.Name, made.Dark, made.Profile = name, t.Dark, t.Profile
	return made, nil
}

// hexOf reads "#rrggbb" or "rgb(r, g, b)".
func hexOf(text string) (string, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	var r, g, b uint8
	if n, err := fmt.Sscanf(strings.ReplaceAll(text, " ", ""), "rgb(%d,%d,%d)", &r, &g, &b); err == nil && n == 3 {
		return fmt.Sprintf("#%02x%02x%02x", r, g, b), nil
	}
	if _, _, _, ok := parseHex(text); !ok {
		return "", fmt.Errorf("%q is no colour; write #rrggbb or rgb(r, g, b)", text)
	}
	return text, nil
}

// named is the colour of a name, of lathe's or Claude Code's; nil: there is none.
func (c *palette) named(name string) *hue {
	switch name {
	case "text":
		return &c.text
	case "dim", "inactive", "subtle":
		return &c.dim
	case "faint", "promptBorder", "secondaryBorder":
		return &c.faint
	case "accent", "claude":
		return &c.accent
	case "user", "briefLabelYou":
		return &c.user
	case "good", "success":
		return &c.good
	case "warn", "warning":
		return &c.warn
	case "bad", "error":
		return &c.bad
	case "info", "suggestion":
		return &c.info
	case "selected", "selectionBg":
		return &c.selected
	case "match":
		return &c.match
	case "matchText":
		return &c.matchText
	}
	return c.namedInText(name)
}

// namedInText is named for the colours of replies, code and differences.
func (c *palette) namedInText(name string) *hue {
	switch name {
	case "heading":
		return &c.heading
	case "code":
		return &c.code
	case "link":
		return &c.link
	case "keyword":
		return &c.keyword
	case "string":
		return &c.str
	case "number":
		return &c.number
	case "comment":
		return &c.comment
	case "function":
		return &c.function
	case "type":
		return &c.typ
	case "variable":
		return &c.variable
	case "operator":
		return &c.operator
	case "addedLine", "diffAdded":
		return &c.addedLine
	case "removedLine", "diffRemoved":
		return &c.removedLine
	case "addedWord", "diffAddedWord":
		return &c.addedWord
	case "removedWord", "diffRemovedWord":
		return &c.removedWord
	case "wordText":
		return &c.wordText
	}
	return nil
}
