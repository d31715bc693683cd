package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
)

// The text form of a script: one item per line; the first word is its kind. docs/wire-server.md lists them.
//
//	script chunk=8
//	reply usage=100/20
//	  say Let me look.
//	  call Read {"file_path":"${WORKDIR}/a.go"}
//	  fault status 529 times=2 retry_after=1
//	reply
//	  say <<END
//	two
//	lines
//	END
type textReader struct {
	lines  []string
	n      int // lines read
	script Script
	reply  *Reply // the one being described, nil before the first
}

func parseText(s string) (*Script, error) {
	p := &textReader{lines: strings.Split(s, "\n")}
	for p.n < len(p.lines) {
		line := strings.TrimSpace(p.lines[p.n])
		p.n++
		if line == "" || line[0] == '#' {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		at := p.n
		if err := p.line(word, strings.TrimSpace(rest)); err != nil {
			return nil, fmt.Errorf("script: line %d: %s: %w", at, word, err)
		}
	}
	return &p.script, p.script.Check()
}

// line handles one line.
func (p *textReader) line(word, rest string) error {
	switch word {
	case "script":
		return options(rest, &p.script)
	case "var":
		name, value, _ := strings.Cut(rest, " ")
		if p.script.Vars == nil {
			p.script.Vars = map[string]string{}
		}
		p.script.Vars[name] = value
		return nil
	case "reply":
		p.script.Replies = append(p.script.Replies, Reply{})
		p.reply = &p.script.Replies[len(p.script.Replies)-1]
		return options(rest, p.reply)
	case "final", "no_tools":
		p.reply = &Reply{}
		if word == "final" {
			p.script.Final = p.reply
		} else {
			p.script.NoTools = p.reply
		}
		return options(rest, p.reply)
	case "fault":
		return p.fault(rest)
	}
	if p.reply == nil {
		return errors.New("stands before the first reply")
	}
	return p.inReply(word, rest)
}

func (p *textReader) inReply(word, rest string) error {
	switch word {
	case "when":
		p.reply.When = &When{}
		return options(rest, p.reply.When)
	case "capture":
		return p.capture(rest)
	}
	part, err := p.part(word, rest)
	if err != nil {
		return err
	}
	p.reply.Parts = append(p.reply.Parts, part)
	return nil
}

func (p *textReader) part(word, rest string) (Part, error) {
	switch word {
	case "say", "think", "redacted":
		text, err := p.value(rest)
		return map[string]Part{"say": {Text: text}, "think": {Thinking: text}, "redacted": {Redacted: text}}[word], err
	case "fill":
		n, err := strconv.Atoi(rest)
		return Part{Fill: n}, err
	case "call", "do", "raw":
		name, input, _ := strings.Cut(rest, " ")
		input, err := p.value(strings.TrimSpace(input))
		switch {
		case err != nil || word == "raw":
			return Part{Tool: name, Raw: input}, err
		case input == "":
			input = "{}"
		}
		if word == "do" {
			return Part{Do: name, Input: json.RawMessage(input)}, nil
		}
		return Part{Tool: name, Input: json.RawMessage(input)}, nil
	}
	return Part{}, errors.New("is not known: use script, var, reply, final, no_tools, fault, when, capture, say, " +
		"think, redacted, fill, call, do, raw")
}

// value returns the rest of a line, or for "<<END" the following lines up to END.
func (p *textReader) value(rest string) (string, error) {
	end, here := strings.CutPrefix(rest, "<<")
	if !here || end == "" {
		return rest, nil
	}
	for i := p.n; i < len(p.lines); i++ {
		if strings.TrimSpace(p.lines[i]) == end {
			text := strings.Join(p.lines[p.n:i], "\n")
			p.n = i + 1
			return text, nil
		}
	}
	return "", fmt.Errorf("the line %s that ends the text is missing", end)
}

// usageOf parses input/output, then cache read and cache write.
func usageOf(v string) (*llm.Usage, error) {
	var u llm.Usage
	for i, s := range strings.Split(v, "/") {
		n, err := strconv.Atoi(s)
		if err != nil || i > 3 {
			return nil, fmt.Errorf("usage %q is not input/output[/cache read[/cache write]]", v)
		}
		*[]*int{&u.Input, &u.Output, &u.CacheRead, &u.CacheWrite}[i] = n
	}
	return &u, nil
}

// capture parses "NAME [from=SOURCE] match=REGEXP".
func (p *textReader) capture(rest string) error {
	name, rest, _ := strings.Cut(rest, " ")
	var c Capture
	err := options(rest, &c)
	if p.reply.Capture == nil {
		p.reply.Capture = map[string]Capture{}
	}
	p.reply.Capture[name] = c
	return err
}

// fault parses "KIND [STATUS] [times=N] [at=PLACE] [for=DURATION] ...". Before the first reply it applies to
// the script.
func (p *textReader) fault(rest string) error {
	kind, rest, _ := strings.Cut(rest, " ")
	f := Fault{Kind: kind}
	if first, more, _ := strings.Cut(strings.TrimSpace(rest), " "); first != "" && !strings.Contains(first, "=") {
		n, err := strconv.Atoi(first)
		if err != nil {
			return fmt.Errorf("%q is no status", first)
		}
		f.Status, rest = n, more
	}
	if err := options(rest, &f); err != nil {
		return err
	}
	list := &p.script.Faults
	if p.reply != nil {
		list = &p.reply.Faults
	}
	*list = append(*list, f)
	return nil
}

func duration(s string) (Duration, error) {
	d, err := time.ParseDuration(s)
	return Duration(d), err
}

// options parses key=value pairs into the fields that have these names in JSON; a value with spaces is in double
// quotes, as in Go.
func options(s string, to any) error {
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		k, rest, ok := strings.Cut(s, "=")
		if !ok || strings.ContainsAny(k, " \"") {
			return fmt.Errorf("%q is not key=value", s)
		}
		v, more, _ := strings.Cut(rest, " ")
		if strings.HasPrefix(rest, `"`) {
			q, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return fmt.Errorf("the quote of %s does not end", k)
			}
			more = rest[len(q):]
			v, _ = strconv.Unquote(q) // QuotedPrefix checked it
		}
		if err := option(reflect.ValueOf(to).Elem(), k, v); err != nil {
			return fmt.Errorf("%s: %w", k, err)
		}
		s = more
	}
	return nil
}

func option(to reflect.Value, key, value string) (err error) {
	i := 0
	for i < to.NumField() && strings.TrimSuffix(to.Type().Field(i).Tag.Get("json"), ",omitempty") != key {
		i++
	}
	if i == to.NumField() {
		return fmt.Errorf("unknown option %q", key)
	}
	switch field := to.Field(i).Addr().Interface().(type) {
	case *string:
		*field = value
	case *llm.StopReason:
		*field = llm.StopReason(value)
	case *[]string:
		*field = strings.Split(value, ",")
	case *int:
		*field, err = strconv.Atoi(value)
	case **int:
		*field = new(int)
		**field, err = strconv.Atoi(value)
	case **bool:
		*field = new(bool)
		**field, err = strconv.ParseBool(value)
	case *Duration:
		*field, err = duration(value)
	case **llm.Usage:
		*field, err = usageOf(value)
	default:
		return fmt.Errorf("unknown option %q", key)
	}
	return err
}
