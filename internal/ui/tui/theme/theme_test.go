package theme

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
)

var profiles = []colorprofile.Profile{
	colorprofile.NoTTY, colorprofile.ASCII, colorprofile.ANSI, colorprofile.ANSI256,
	colorprofile.TrueColor,
}

// styles are all styles of a theme by name.
func styles(t *Theme) map[string]Style {
	out := map[string]Style{}
	var walk func(v reflect.Value, path string)
	walk = func(v reflect.Value, path string) {
		for i := range v.NumField() {
			f, name := v.Field(i), path+v.Type().Field(i).Name
			if s, ok := f.Interface().(Style); ok {
				out[name] = s
			} else if f.Kind() == reflect.Struct {
				walk(f, name+".")
			}
		}
	}
	walk(reflect.ValueOf(*t), "")
	return out
}

func TestEveryThemeLoadsForEveryTerminal(t *testing.T) {
	sequence := regexp.MustCompile(`^(\x1b\[[0-9;]+m)?$`)
	for _, name := range Names() {
		for _, dark := range []bool{true, false} {
			for _, p := range profiles {
				th, err := Load(name, dark, p)
				if err != nil {
					t.Fatal(err)
				}
				for role, s := range styles(th) {
					if !sequence.MatchString(s.Prefix) || (s.Prefix == "") != (s.Suffix == "") {
						t.Errorf("%s, %v: %s is %q, %q", name, p, role, s.Prefix, s.Suffix)
					}
				}
			}
		}
	}
}

func TestThemesUseNoMoreColoursThanThereAre(t *testing.T) {
	forbidden := map[colorprofile.Profile]string{
		colorprofile.NoTTY:   `\x1b`,
		colorprofile.ASCII:   `[;\[](3[0-8]|4[0-8]|9[0-7]|10[0-7])[;m]`,
		colorprofile.ANSI:    `[;\[][34]8[;m]`,
		colorprofile.ANSI256: `[;\[][34]8;2;`,
	}
	for p, pattern := range forbidden {
		re := regexp.MustCompile(pattern)
		for _, name := range Names() {
			for role, s := range styles(Must(name, true, p)) {
				if re.MatchString(s.Prefix) {
					t.Errorf("%s, %v: %s is %q", name, p, role, s.Prefix)
				}
			}
		}
	}
	for role, s := range styles(Must("ansi", true, colorprofile.TrueColor)) {
		if regexp.MustCompile(forbidden[colorprofile.ANSI]).MatchString(s.Prefix) {
			t.Errorf("ansi: %s is %q", role, s.Prefix)
		}
	}
	for role, s := range styles(Must("none", true, colorprofile.TrueColor)) {
		if regexp.MustCompile(forbidden[colorprofile.ASCII]).MatchString(s.Prefix) {
			t.Errorf("none: %s is %q", role, s.Prefix)
		}
	}
}

func TestAutoIsDarkOrLightAsTheBackgroundIs(t *testing.T) {
	for dark, want := range map[bool]string{true: "dark", false: "light"} {
		for _, name := range []string{"auto", "", "Default"} {
			if th := Must(name, dark, colorprofile.TrueColor); th.Name != want || th.Dark != dark {
				t.Errorf("%q on dark=%v is %s", name, dark, th.Name)
			}
		}
	}
	if th := Must("light", true, colorprofile.TrueColor); th.Dark {
		t.Error("light was asked for and is dark")
	}
}

func TestAnUnknownThemeSaysWhichThereAre(t *testing.T) {
	_, err := Load("solarized", true, colorprofile.TrueColor)
	for _, want := range append(Names(), "solarized") {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	for _, name := range []string{"color-blind", "Colorblind", "no-color", " dark "} {
		if _, err := Load(name, true, colorprofile.TrueColor); err != nil {
			t.Error(err)
		}
	}
}

func TestStatesHaveSymbolsOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for s := Waiting; s <= Denied; s++ {
		if seen[s.Symbol()] || seen[s.String()] {
			t.Errorf("%v: %s is taken", s, s.Symbol())
		}
		seen[s.Symbol()], seen[s.String()] = true, true
	}
}

func TestStylesAreCombined(t *testing.T) {
	bold, red := sgr("1"), sgr("31")
	if got := bold.With(red); got != (Style{"\x1b[1;31m", "\x1b[m"}) {
		t.Errorf("%q", got)
	}
	if got := bold.With(Style{}); got != bold {
		t.Errorf("%q", got)
	}
	if got := (Style{}).With(red).Render("x"); got != "\x1b[31mx\x1b[m" {
		t.Errorf("%q", got)
	}
	if got := red.Render(""); got != "" {
		t.Errorf("%q", got)
	}
}

// luminance and contrast are those of WCAG 2.2, "relative luminance" and "contrast ratio".
func luminance(hex string) float64 {
	r, g, b, ok := parseHex(hex)
	if !ok {
		panic(hex)
	}
	channel := func(c uint8) float64 {
		v := float64(c) / 255
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*channel(r) + 0.7152*channel(g) + 0.0722*channel(b)
}

func contrast(a, b string) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func TestTextCanBeRead(t *testing.T) {
	for _, c := range []struct {
		name       string
		p          palette
		background string
		text, dim  float64 // the least contrast of text that must be read, and of text that can be skipped
	}{
		{"dark", darkPalette(), "#1e1e1e", 4.5, 2.5},
		{"light", lightPalette(), "#ffffff", 4.5, 2.4},
		{"high contrast, dark", contrastDark(), "#000000", 7, 7},
		{"high contrast, light", contrastLight(), "#ffffff", 7, 7},
		{"colour-blind, dark", colourBlind(true), "#1e1e1e", 4.5, 2.5},
		{"colour-blind, light", colourBlind(false), "#ffffff", 4.5, 2.4},
	} {
		v := reflect.ValueOf(c.p)
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			hex := v.Field(i).FieldByName("hex").String()
			least := c.text
			switch name {
			case "addedLine", "removedLine", "addedWord", "removedWord", "selected", "match", "matchText", "wordText":
				continue
			case "faint", "comment":
				least = c.dim
			}
			if hex == "" {
				continue
			}
			if got := contrast(hex, c.background); got < least {
				t.Errorf("%s: %s %s has a contrast of %.1f, not %.1f", c.name, name, hex, got, least)
			}
		}
		for _, pair := range [][2]hue{
			{c.p.wordText, c.p.addedWord},
			{c.p.wordText, c.p.removedWord},
			{c.p.matchText, c.p.match},
		} {
			if got := contrast(pair[0].hex, pair[1].hex); got < c.text {
				t.Errorf("%s: %s on %s has a contrast of %.1f", c.name, pair[0].hex, pair[1].hex, got)
			}
		}
	}
}

func TestGoodAndBadDifferForThoseWhoConfuseRedAndGreen(t *testing.T) {
	for _, dark := range []bool{true, false} {
		p := colourBlind(dark)
		for _, pair := range [][2]hue{{p.good, p.bad}, {p.addedLine, p.removedLine}, {p.addedWord, p.removedWord}} {
			_, _, good, _ := parseHex(pair[0].hex)
			_, _, bad, _ := parseHex(pair[1].hex)
			if int(good)-int(bad) < 25 { // they see blue as others do
				t.Errorf("%v differ too little in blue", pair)
			}
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		Must("dark", true, colorprofile.ANSI256)
	}
}

func ExampleStyle_Render() {
	fmt.Printf("%q\n", Must("ansi", true, colorprofile.ANSI).Bad.Render("no"))
	// Output: "\x1b[31mno\x1b[m"
}
