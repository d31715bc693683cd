package prompt

import "strings"

// Style is an output style: a text on how to answer.
type Style struct {
	Name, Text string
	KeepCoding bool // lathe's own instructions on how to work stay
}

// base is lathe's text where a style holds: its section on how to answer gives way to the style, that on how to work
// too unless the style keeps it. The text that protects the user always stays.
func (s Style) base(text string) string {
	if s.Text == "" {
		return text
	}
	text = without(text, "# How to answer")
	if !s.KeepCoding {
		text = without(text, "# How to work")
	}
	return text
}

// section is the style's own text.
func (s Style) section() string {
	if s.Text == "" {
		return ""
	}
	return "# Output style: " + oneLine(s.Name, 60) + "\n\n" + strings.TrimSpace(s.Text)
}

// honest stays of the section on how to answer.
const honest = "- Report honestly"

// without leaves out a section, but for the line on honesty.
func without(text, heading string) string {
	at := strings.Index(text, heading+"\n")
	if at < 0 {
		return text
	}
	section, rest := text[at:], ""
	if next := strings.Index(section[1:], "\n# "); next >= 0 {
		section, rest = section[:next+1], section[next+1:]
	}
	kept := ""
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, honest) {
			kept = heading + "\n\n" + line
		}
	}
	return strings.TrimSpace(text[:at] + kept + rest)
}
