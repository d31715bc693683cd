package event

import (
	"io"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

// Values masks secrets in what tools and commands return, wherever they occur: known values, and with WithKeys also
// keys that show by their form who issued them. Of the other shapes that a Masker knows it takes none, since files
// would lose their text. Nil masks nothing. It is safe for concurrent use.
type Values struct {
	all  []string // longest first
	text *strings.Replacer
	keys bool
}

// NewValues returns Values of those candidates that are distinct enough: eight characters or more with letters and
// digits, and no path. Of a URL the password counts.
func NewValues(candidates ...string) *Values {
	var all []string
	for _, c := range candidates {
		if u, err := url.Parse(c); err == nil && u.Host != "" {
			c, _ = u.User.Password()
		}
		if telltale(c) {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	all = slices.Compact(all)
	return &Values{all: all, text: replacer(all)}
}

// WithKeys returns Values that also mask keys of known issuers and private keys, or do not.
func (v *Values) WithKeys(on bool) *Values {
	with := *v
	with.keys = on
	return &with
}

// telltale reports whether a text is unlikely to occur as anything but the secret.
func telltale(s string) bool {
	const least = 8
	if len(s) < least || strings.ContainsAny(s[:1], "/.~") {
		return false
	}
	return strings.ContainsAny(s, "0123456789") && strings.ContainsFunc(s,
		func(r rune) bool { return 'a' <= r|0x20 && r|0x20 <= 'z' })
}

// Mask returns text without the secrets.
func (v *Values) Mask(text string) string {
	if v.in(text) {
		text = v.text.Replace(text)
	}
	if v != nil && v.keys {
		text = maskKeys(text)
	}
	return text
}

func (v *Values) in(text string) bool {
	return v != nil && slices.ContainsFunc(v.all, func(s string) bool { return strings.Contains(text, s) })
}

// MaskAll returns x, any data of strings, slices, maps, structs and interfaces, with its texts masked. What changes is
// copied, the rest is shared.
func (v *Values) MaskAll(x any) any {
	if v.idle() || x == nil {
		return x
	}
	out, changed := v.deep(reflect.ValueOf(x))
	if !changed {
		return x
	}
	return out.Interface()
}

// idle reports whether there is nothing to mask.
func (v *Values) idle() bool { return v == nil || len(v.all) == 0 && !v.keys }

func (v *Values) deep(x reflect.Value) (reflect.Value, bool) {
	switch x.Kind() {
	case reflect.String:
		masked := v.Mask(x.String())
		if masked == x.String() {
			return x, false
		}
		out := reflect.New(x.Type()).Elem()
		out.SetString(masked)
		return out, true
	case reflect.Interface, reflect.Pointer:
		return v.behind(x)
	case reflect.Struct:
		return v.fields(x)
	case reflect.Slice, reflect.Array:
		return v.elements(x)
	case reflect.Map:
		return v.entries(x)
	}
	return x, false
}

func (v *Values) behind(x reflect.Value) (reflect.Value, bool) {
	if x.IsNil() {
		return x, false
	}
	inner, changed := v.deep(x.Elem())
	if !changed {
		return x, false
	}
	if x.Kind() == reflect.Interface {
		return inner, true
	}
	out := reflect.New(x.Type().Elem())
	out.Elem().Set(inner)
	return out, true
}

func (v *Values) fields(x reflect.Value) (out reflect.Value, changed bool) {
	out = x
	for i := range x.NumField() {
		if !x.Type().Field(i).IsExported() {
			continue
		}
		if f, new := v.deep(x.Field(i)); new {
			if !changed {
				out = reflect.New(x.Type()).Elem()
				out.Set(x)
				changed = true
			}
			out.Field(i).Set(f)
		}
	}
	return out, changed
}

func (v *Values) elements(x reflect.Value) (out reflect.Value, changed bool) {
	out = x
	switch x.Type().Elem().Kind() {
	case reflect.String, reflect.Interface, reflect.Struct, reflect.Pointer, reflect.Slice, reflect.Map:
	default: // bytes and numbers
		return x, false
	}
	for i := range x.Len() {
		if e, new := v.deep(x.Index(i)); new {
			if !changed {
				out = reflect.New(x.Type()).Elem()
				if x.Kind() == reflect.Slice {
					out.Set(reflect.MakeSlice(x.Type(), x.Len(), x.Len()))
				}
				reflect.Copy(out, x)
				changed = true
			}
			out.Index(i).Set(e)
		}
	}
	return out, changed
}

func (v *Values) entries(x reflect.Value) (out reflect.Value, changed bool) {
	out = x
	for _, key := range x.MapKeys() {
		if e, new := v.deep(x.MapIndex(key)); new {
			if !changed {
				out = reflect.MakeMapWithSize(x.Type(), x.Len())
				for _, k := range x.MapKeys() {
					out.SetMapIndex(k, x.MapIndex(k))
				}
				changed = true
			}
			out.SetMapIndex(key, e)
		}
	}
	return out, changed
}

// Writer masks what is written on its way to w, also secrets that are split over several writes. Call Flush at the end.
func (v *Values) Writer(w io.Writer) io.Writer {
	if v.idle() {
		return w
	}
	return &valuesWriter{v: v, w: w}
}

type valuesWriter struct {
	v    *Values
	w    io.Writer
	held []byte // the beginning of a secret, perhaps
}

func (m *valuesWriter) Write(p []byte) (int, error) {
	text := string(m.held) + string(p)
	cut := m.v.settled(text)
	m.held = append(m.held[:0], text[cut:]...)
	if cut == 0 {
		return len(p), nil
	}
	if _, err := io.WriteString(m.w, m.v.Mask(text[:cut])); err != nil {
		return 0, err
	}
	return len(p), nil
}

// settled is the length of the text that holds its secrets as a whole, whatever follows.
func (v *Values) settled(text string) int {
	cut := len(text) - v.begun(text)
	if v.keys {
		cut = min(cut, keyBegun(text))
	}
	for again := true; again; {
		again = false
		for _, s := range v.all { // none may be cut in two
			i := strings.LastIndex(text[:min(len(text), cut+len(s)-1)], s)
			if i >= 0 && i < cut && i+len(s) > cut {
				cut, again = i, true
			}
		}
	}
	return cut
}

// begun is the length of the longest end of text that a secret begins with.
func (v *Values) begun(text string) int {
	longest := 0
	for _, s := range v.all {
		for n := min(len(s)-1, len(text)); n > longest; n-- {
			if text[len(text)-n] == s[0] && strings.HasSuffix(text, s[:n]) {
				longest = n
			}
		}
	}
	return longest
}

// Flush writes what was held back.
func (m *valuesWriter) Flush() error {
	if len(m.held) == 0 {
		return nil
	}
	_, err := io.WriteString(m.w, m.v.Mask(string(m.held)))
	m.held = nil
	return err
}
