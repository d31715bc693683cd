package keys

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	uv "github.com/charmbracelet/ultraviolet"
)

// modifiers are in the order in which a stroke names them.
var modifiers = []struct {
	name string
	bits uv.KeyMod
}{
	{"ctrl", uv.ModCtrl},
	{"alt", uv.ModAlt | uv.ModMeta},
	{"shift", uv.ModShift},
	{"hyper", uv.ModHyper},
	{"super", uv.ModSuper},
}

// Stroke is the name of a key as settings write it: "ctrl+k", "shift+tab", "K" is "shift+k". It is "" for
// keys without a name: a modifier alone, text of several characters.
func Stroke(k uv.KeyPressEvent) string {
	names := strokes(k)
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// strokes lists the names under which a key may be bound, the usual one first. Terminals differ in how they
// report a key on the second level (ctrl+_ is also ctrl+shift+-), and keyboards that do not write Latin
// letters, where a binding means the key at the place of that letter (kitty's base layout key).
func strokes(k uv.KeyPressEvent) []string {
	mod := k.Mod &^ (uv.ModCapsLock | uv.ModNumLock | uv.ModScrollLock)
	if k.Text != "" && mod&^uv.ModShift == 0 {
		return typed(k.Text)
	}
	if k.Code == uv.KeyExtended || k.Code == 0 || isModifier(k.Code) {
		return nil
	}
	names := []string{named(mod, keyName(k.Code))}
	if second := k.ShiftedCode; mod&uv.ModShift != 0 && second > ' ' && !unicode.IsLetter(second) {
		names = append(names, named(mod&^uv.ModShift, string(second)))
	}
	if k.BaseCode > ' ' && k.Code > unicode.MaxASCII && k.Code < uv.KeyExtended {
		names = append(names, named(mod, keyName(k.BaseCode)))
	}
	return names
}

func typed(text string) []string {
	r, n := utf8.DecodeRuneInString(text)
	switch {
	case n < len(text):
		return nil
	case r == ' ':
		return []string{"space"}
	case unicode.IsUpper(r):
		return []string{"shift+" + string(unicode.ToLower(r))}
	}
	return []string{text}
}

// keyName is the name of a key without its modifiers. Letters are small.
func keyName(code rune) string {
	if code == '@' {
		return "@"
	}
	return strings.ToLower(uv.Key{Code: code}.Keystroke())
}

func named(mod uv.KeyMod, name string) string {
	if name == "@" && mod == uv.ModCtrl {
		name = "space" // one and the same byte in most terminals
	}
	var b strings.Builder
	for _, m := range modifiers {
		if mod&m.bits != 0 {
			b.WriteString(m.name + "+")
		}
	}
	return b.String() + name
}

func isModifier(code rune) bool {
	return code >= uv.KeyLeftShift && code <= uv.KeyIsoLevel5Shift || code == uv.KeyCapsLock ||
		code == uv.KeyScrollLock || code == uv.KeyNumLock
}

// special are the keys that have a name of several letters.
var special = []string{
	"enter", "tab", "esc", "space", "backspace", "delete", "insert", "up", "down", "left", "right",
	"home", "end", "pgup", "pgdown", "begin", "menu", "pause", "printscreen",
}

// otherNames are accepted for keys and modifiers: the names in other programs and on keyboards.
var otherNames = [][2]string{
	{"escape", "esc"},
	{"return", "enter"},
	{"del", "delete"},
	{"ins", "insert"},
	{"pageup", "pgup"},
	{"page_up", "pgup"},
	{"pagedown", "pgdown"},
	{"page_down", "pgdown"},
	{"pgdn", "pgdown"},
	{"bs", "backspace"},
	{"spacebar", "space"},
	{"↑", "up"},
	{"↓", "down"},
	{"←", "left"},
	{"→", "right"},
	{"plus", "+"},
	{"minus", "-"},
	{"control", "ctrl"},
	{"opt", "alt"},
	{"option", "alt"},
	{"meta", "alt"},
	{"cmd", "super"},
	{"command", "super"},
	{"win", "super"},
}

func canonical(name string) string {
	for _, o := range otherNames {
		if o[0] == name {
			return o[1]
		}
	}
	return name
}

// parseChord reads a chord as settings write it into the names of its strokes.
func parseChord(s, leader string) ([]string, error) {
	fields := strings.Fields(strings.ReplaceAll(s, "<leader>", " <leader> "))
	if len(fields) == 0 {
		return nil, errors.New(`the key is empty; write one such as "ctrl+k" or "ctrl+x ctrl+e"`)
	}
	var out []string
	for _, f := range fields {
		if f == "<leader>" {
			f = leader
		}
		name, err := parseStroke(f)
		if err != nil {
			return nil, err
		}
		out = append(out, name)
	}
	return out, nil
}

// parseStroke reads one stroke into its name.
func parseStroke(s string) (string, error) {
	head, key := "", s
	if i := strings.LastIndexByte(strings.TrimSuffix(s, "+"), '+'); i >= 0 && s != "+" {
		head, key = s[:i], s[i+1:]
	}
	var mod uv.KeyMod
	for m := range strings.SplitSeq(strings.ToLower(head), "+") {
		bits, ok := modifier(canonical(m))
		if head != "" && !ok {
			return "", fmt.Errorf("%q has an unknown modifier %q; use ctrl, alt, shift or super", s, m)
		}
		mod |= bits
	}
	return parseKey(s, mod, key)
}

func modifier(name string) (uv.KeyMod, bool) {
	for _, m := range modifiers {
		if m.name == name {
			return m.bits & (uv.ModCtrl | uv.ModAlt | uv.ModShift | uv.ModHyper | uv.ModSuper), true
		}
	}
	return 0, false
}

func parseKey(s string, mod uv.KeyMod, key string) (string, error) {
	r, n := utf8.DecodeRuneInString(key)
	if n == len(key) && r > ' ' && canonical(key) == key {
		if mod == 0 && unicode.IsUpper(r) {
			mod = uv.ModShift // K alone is shift+k; in ctrl+K it is only a way of writing
		}
		if mod == uv.ModShift && !unicode.IsLetter(r) {
			return "", fmt.Errorf("%q depends on the keyboard; write the character that the key types, as \"?\"", s)
		}
		return named(mod, string(unicode.ToLower(r))), nil
	}
	name := canonical(strings.ToLower(key))
	if name == "+" || name == "-" || slices.Contains(special, name) || functionKey(name) {
		return named(mod, name), nil
	}
	return "", fmt.Errorf("%q names no key; use a character, f1 to f24, or %s", s, strings.Join(special, " "))
}

func functionKey(name string) bool {
	n, err := strconv.Atoi(strings.TrimPrefix(name, "f"))
	return err == nil && name[0] == 'f' && n >= 1 && n <= 24
}

// types reports whether a stroke types text.
func types(stroke string) bool {
	stroke = strings.TrimPrefix(stroke, "shift+")
	return stroke == "space" || utf8.RuneCountInString(stroke) == 1
}
