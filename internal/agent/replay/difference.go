package replay

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/event"
)

// Difference is the first place where a request differs from a recorded one.
type Difference struct {
	Request        string // the recorded request: its file
	Path           string // the place in the body, as messages[2].content[0].text
	Recorded, Sent string // excerpts as JSON; "" where the request has nothing there

	equal int // values that are equal
}

func (d *Difference) Error() string {
	return fmt.Sprintf("the request differs from the recording at %s: recorded %s, now %s (%s)", d.Path,
		cmp.Or(d.Recorded, "nothing"), cmp.Or(d.Sent, "nothing"), d.Request)
}

// normalizer replaces the values that change from run to run.
type normalizer struct {
	folders  *strings.Replacer // the recorded working folder -> that of this run
	masker   *event.Masker
	volatile *regexp.Regexp
}

// newNormalizer returns a normalizer between a recorded run in one folder and a run in another.
func newNormalizer(recorded, now string) normalizer {
	n := normalizer{
		folders: strings.NewReplacer(), masker: event.NewMasker(),
		// The date, the folder of a session (a summary names the log), and ids.
		volatile: regexp.MustCompile(`(?m)^Date: \d{4}-\d\d-\d\d.*$|/[^\s"'` + "`" +
			`]*/lathe/projects/[^/\s]+|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`),
	}
	if recorded != "" && now != "" && recorded != now {
		n.folders = strings.NewReplacer(recorded, now)
	}
	return n
}

// here returns a text of the recording with the folder of this run.
func (n normalizer) here(s string) string { return n.folders.Replace(s) }

func (n normalizer) recorded(v any) any {
	return mapStrings(v, func(s string) string { return n.volatile.ReplaceAllString(n.here(s), "*") })
}

func (n normalizer) sent(v any) any {
	return mapStrings(v, func(s string) string { return n.volatile.ReplaceAllString(n.masker.Mask(s), "*") })
}

// mapStrings changes the strings of a JSON value in place. A string that is a JSON object, the arguments of a call,
// becomes the object.
func mapStrings(v any, change func(string) string) any {
	switch v := v.(type) {
	case string:
		if strings.HasPrefix(v, "{") {
			if inner, err := decoded([]byte(v)); err == nil {
				return mapStrings(inner, change)
			}
		}
		return change(v)
	case []any:
		for i := range v {
			v[i] = mapStrings(v[i], change)
		}
	case map[string]any:
		for k := range v {
			v[k] = mapStrings(v[k], change)
		}
	}
	return v
}

// compare returns the first difference of two JSON values, or nil. Members of objects are in the order of their names.
func compare(recorded, sent any) *Difference {
	c := comparison{}
	c.value("", recorded, sent, true, true)
	if c.first != nil {
		c.first.equal = c.equal
	}
	return c.first
}

type comparison struct {
	first *Difference
	equal int
}

func (c *comparison) value(path string, a, b any, inA, inB bool) {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			c.objects(path, x, y)
			return
		}
	case []any:
		if y, ok := b.([]any); ok {
			for i := range max(len(x), len(y)) {
				c.value(fmt.Sprintf("%s[%d]", path, i), at(x, i), at(y, i), i < len(x), i < len(y))
			}
			return
		}
	default:
		if inA && inB && a == b {
			c.equal++
			return
		}
	}
	c.differ(path, a, b, inA, inB)
}

func (c *comparison) objects(path string, a, b map[string]any) {
	names := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		x, inA := a[name]
		y, inB := b[name]
		c.value(strings.TrimPrefix(path+"."+name, "."), x, y, inA, inB)
	}
}

func at(s []any, i int) any {
	if i < len(s) {
		return s[i]
	}
	return nil
}

func (c *comparison) differ(path string, a, b any, inA, inB bool) {
	if c.first != nil {
		return
	}
	c.first = &Difference{Path: path}
	x, isText := a.(string)
	y, both := b.(string)
	if isText && both {
		from := commonPrefix(x, y)
		c.first.Path = fmt.Sprintf("%s, character %d", path, utf8.RuneCountInString(x[:from])+1)
		c.first.Recorded, c.first.Sent = excerpt(x, from), excerpt(y, from)
		return
	}
	if inA {
		c.first.Recorded = shown(a)
	}
	if inB {
		c.first.Sent = shown(b)
	}
}

// commonPrefix is the length in bytes of the whole characters that two texts begin with.
func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && (n < len(a) && !utf8.RuneStart(a[n]) || n < len(b) && !utf8.RuneStart(b[n])) {
		n--
	}
	return n
}

// excerptLength is how much of a value an error shows, in characters, and contextLength how much before the difference.
const excerptLength, contextLength = 80, 20

func excerpt(s string, from int) string {
	before, after := []rune(s[:from]), []rune(s[from:])
	out := string(before[max(0, len(before)-contextLength):]) +
		string(after[:min(len(after), excerptLength-contextLength)])
	return shown(out)
}

func shown(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if r := []rune(string(b)); len(r) > excerptLength {
		return string(r[:excerptLength]) + "..."
	}
	return string(b)
}
