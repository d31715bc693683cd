// Package theme says how things look in the terminal: one [Style] for each thing that is drawn.
//
// The words: a palette is a list of named colours; a theme is the styles made of a palette for the number
// of colours that the terminal shows. A state is how far a call has come: waiting, running, done, failed,
// denied. Each has its own symbol, so that no one needs colour to tell them apart.
//
// Promises: styles are made once, in [Load], and drawing with them is joining strings. With 16 colours a
// theme uses those the user chose in the terminal; without colours ([colorprofile.ASCII]) only bold,
// italic, underline and reverse are left, and without a terminal ([colorprofile.NoTTY]) nothing.
package theme

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/colorprofile"
)

// Theme is how everything looks. The names are of things, not of looks.
type Theme struct {
	Name string // as in Names, never "auto"
	Dark bool   // made for a dark background
	// Profile is how many colours it uses.
	Profile colorprofile.Profile
	// Bare: there are no styles at all, so characters must show the difference.
	Bare bool

	Text, Dim, Faint, Accent, Strong Style // faint is for lines and frames, dim for text that can be skipped
	Good, Warn, Bad, Info            Style
	User, Reasoning                  Style // messages of the user; the model's thoughts
	Border, BorderFocus, Title       Style
	Selected, Match, Key, Badge      Style // a chosen row; a hit of a search; the name of a key; a mode or tag
	Placeholder, Ghost               Style // the hint in an empty field; suggested text

	Heading1, Heading2, Heading3 Style
	Bold, Italic, Strike, Code   Style
	Link, Quote, Mark, Rule      Style // mark is the bullet or number of a list item
	CodeBlock, TableHead         Style

	Syntax Syntax
	Diff   Diff

	Pink Style // of agents; what else has a color is named after its meaning

	Waiting, Running, Done, Failed, Denied Style // the colours of the states; the symbols are in Symbol
}

// Syntax is how code looks.
type Syntax struct {
	Keyword, String, Number, Comment, Function, Type, Constant, Variable, Operator, Tag Style
}

// Diff is how changes look. Added and Removed are whole lines, the Words the changes within them; on
// palettes with backgrounds the line is filled to its end.
type Diff struct {
	Added, Removed, AddedWord, RemovedWord Style
	AddedMark, RemovedMark                 Style // the sign before the line
	Hunk, Number                           Style
	Fill                                   bool
}

// State is how far a call has come.
type State int

// States.
const (
	Waiting State = iota // for a decision, or for its turn
	Running
	Done
	Failed
	Denied
)

// String is the state in a word.
func (s State) String() string {
	return [...]string{"waiting", "running", "done", "failed", "denied"}[min(max(s, 0), Denied)]
}

// Symbol is the state in one cell.
func (s State) Symbol() string {
	return [...]string{"○", "◐", "✓", "✗", "⊘"}[min(max(s, 0), Denied)]
}

// State is the style of a state.
func (t *Theme) State(s State) Style {
	return [...]Style{t.Waiting, t.Running, t.Done, t.Failed, t.Denied}[min(max(s, 0), Denied)]
}

// Agent is the style of the theme nearest to a color that an agent's file may name; false: it is no color.
func (t *Theme) Agent(color string) (Style, bool) {
	switch color {
	case "red":
		return t.Bad, true
	case "blue":
		return t.Accent, true
	case "green":
		return t.Good, true
	case "yellow":
		return t.Warn, true
	case "purple":
		return t.Syntax.Keyword, true
	case "orange":
		return t.Syntax.Number, true
	case "pink":
		return t.Pink, true
	case "cyan":
		return t.Info, true
	}
	return Style{}, false
}

// Spinner is the frames of the activity spinner, one cell each.
var Spinner = [...]string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

// Names are the themes to choose from. The first, "auto", is dark or light as the background is.
func Names() []string {
	return []string{"auto", "dark", "light", "high-contrast", "colour-blind", "ansi", "none"}
}

// spellings are other ways to write a name.
var spellings = map[string]string{
	"": "auto", "default": "auto", "color-blind": "colour-blind", "colorblind": "colour-blind",
	"colourblind": "colour-blind",
	"daltonized":  "colour-blind", "contrast": "high-contrast", "highcontrast": "high-contrast", "16": "ansi",
	"no-color": "none", "no-colour": "none",
	"plain": "none",
}

// Load makes the theme of that name for a terminal with a dark background or not, which shows as many
// colours as the profile says. An unknown name is an error that lists the known ones.
func Load(name string, dark bool, p colorprofile.Profile) (*Theme, error) {
	t, _, err := load(name, dark, p)
	return t, err
}

// load is Load with the palette.
func load(name string, dark bool, p colorprofile.Profile) (*Theme, palette, error) {
	known := strings.ToLower(strings.TrimSpace(name))
	if s, ok := spellings[known]; ok {
		known = s
	}
	if !slices.Contains(Names(), known) {
		return nil, palette{}, fmt.Errorf("there is no theme %q; the themes are %s", name, strings.Join(Names(), ", "))
	}
	switch known {
	case "auto":
		known = "light"
		if dark {
			known = "dark"
		}
	case "ansi":
		p = min(p, colorprofile.ANSI)
	case "none":
		p = min(p, colorprofile.ASCII)
	}
	if known == "dark" || known == "light" {
		dark = known == "dark"
	}
	c := paletteOf(known, dark)
	t := build(c, p)
	t.Name, t.Dark, t.Profile = known, dark, p
	return t, c, nil
}

// Must is Load for a name that is known to exist; it panics otherwise.
func Must(name string, dark bool, p colorprofile.Profile) *Theme {
	t, err := Load(name, dark, p)
	if err != nil {
		panic(err)
	}
	return t
}

// build makes the styles of a palette.
func build(c palette, p colorprofile.Profile) *Theme {
	k := brush{p}
	t := &Theme{Bare: p <= colorprofile.NoTTY}
	k.interfaceStyles(t, c)
	k.textStyles(t, c)
	k.codeStyles(t, c)
	return t
}

func (k brush) interfaceStyles(t *Theme, c palette) {
	t.Text, t.Dim, t.Faint = k.fg(c.text), k.fg(c.dim, "2"), k.fg(c.faint, "2")
	t.Pink = k.fg(c.pink)
	t.Accent, t.Strong = k.fg(c.accent), k.fg(c.text, "1")
	t.Good, t.Warn, t.Bad, t.Info = k.fg(c.good), k.fg(c.warn), k.fg(c.bad), k.fg(c.info)
	t.User, t.Reasoning = k.fg(c.user, "1"), k.fg(c.dim, "2", "3")
	t.Border, t.BorderFocus, t.Title = k.fg(c.faint, "2"), k.fg(c.accent), k.fg(c.accent, "1")
	t.Selected = k.on(c.text, c.selected, "7")
	t.Match = k.on(c.matchText, c.match, "7")
	t.Key, t.Badge = k.fg(c.accent), k.fg(c.accent, "1")
	t.Placeholder, t.Ghost = k.fg(c.faint, "2"), k.fg(c.faint, "2")
	t.Waiting, t.Running, t.Done = k.fg(c.warn), k.fg(c.info), k.fg(c.good)
	t.Failed, t.Denied = k.fg(c.bad), k.fg(c.warn)
}

func (k brush) textStyles(t *Theme, c palette) {
	t.Heading1, t.Heading2, t.Heading3 = k.fg(c.heading, "1", "4"), k.fg(c.heading, "1"), k.fg(c.text, "1")
	t.Bold, t.Italic, t.Strike = k.fg(hue{}, "1"), k.fg(hue{}, "3"), k.fg(hue{}, "9")
	t.Code = k.fg(c.code)
	t.Link, t.Quote = k.fg(c.link, "4"), k.fg(c.dim, "3")
	t.Mark, t.Rule = k.fg(c.accent), k.fg(c.faint, "2")
	t.TableHead = k.fg(c.text, "1")
}

func (k brush) codeStyles(t *Theme, c palette) {
	t.Syntax = Syntax{
		Keyword: k.fg(c.keyword), String: k.fg(c.str), Number: k.fg(c.number), Comment: k.fg(c.comment, "2"),
		Function: k.fg(c.function), Type: k.fg(c.typ), Constant: k.fg(c.number), Variable: k.fg(c.variable),
		Operator: k.fg(c.operator), Tag: k.fg(c.keyword),
	}
	d := &t.Diff
	d.AddedMark, d.RemovedMark = k.fg(c.good), k.fg(c.bad)
	d.Hunk, d.Number = k.fg(c.dim, "2"), k.fg(c.faint, "2")
	if d.Fill = c.addedLine.background(k.p) != ""; d.Fill {
		d.Added, d.Removed = k.on(hue{}, c.addedLine), k.on(hue{}, c.removedLine)
		d.AddedWord, d.RemovedWord = k.on(c.wordText, c.addedWord, "1"), k.on(c.wordText, c.removedWord, "1")
		return
	}
	d.Added, d.Removed = k.fg(c.good), k.fg(c.bad)
	d.AddedWord, d.RemovedWord = k.fg(c.good, "7"), k.fg(c.bad, "7")
}

// brush makes styles for one profile.
type brush struct{ p colorprofile.Profile }

// faintness is the attribute that represents a dim colour where there are no colours; it is left out
// where the colour itself says it.
const faintness = "2"

// fg is text in a colour, with SGR attributes.
func (k brush) fg(h hue, attributes ...string) Style { return k.style(h.foreground(k.p), attributes) }

// on is text on a background; without one, the attributes show it.
func (k brush) on(h, behind hue, attributes ...string) Style {
	bg := behind.background(k.p)
	if bg == "" {
		return k.style("", attributes)
	}
	params := []string{bg}
	if f := h.foreground(k.p); f != "" {
		params = append(params, f)
	}
	for _, a := range attributes {
		if a != "7" {
			params = append(params, a)
		}
	}
	return sgr(strings.Join(params, ";"))
}

func (k brush) style(color string, attributes []string) Style {
	if k.p <= colorprofile.NoTTY {
		return Style{}
	}
	var params []string
	for _, a := range attributes {
		if a != faintness || color == "" {
			params = append(params, a)
		}
	}
	if color != "" {
		params = append(params, color)
	}
	return sgr(strings.Join(params, ";"))
}
