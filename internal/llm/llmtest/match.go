package llmtest

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// call is a request for a reply on any wire.
type call struct {
	model   string
	stream  bool
	usage   bool // the client requested usage in the stream
	tools   []tool
	schema  json.RawMessage // the JSON Schema for the reply, or nil
	turn    int             // assistant messages
	system  string
	users   []string // texts of user messages, in order
	results []string // texts of tool results, in order
	fresh   int      // how many of results came after the last assistant message
	size    int      // bytes of the body
}

type tool struct {
	name   string
	schema json.RawMessage
}

func (c *call) lastUser() string {
	if len(c.users) == 0 {
		return ""
	}
	return c.users[len(c.users)-1]
}

func (c *call) text(from string) string {
	switch from {
	case "user":
		return c.lastUser()
	case "users":
		return strings.Join(c.users, "\n")
	case "results":
		return strings.Join(c.results, "\n")
	case "system":
		return c.system
	}
	return strings.Join(c.results[len(c.results)-c.fresh:], "\n")
}

func (w *When) holds(c *call) bool {
	switch {
	case w.Contains != "" && !strings.Contains(c.lastUser(), w.Contains),
		w.Matches != "" && !regexp.MustCompile(w.Matches).MatchString(c.lastUser()),
		w.Result != "" && !strings.Contains(c.text("result"), w.Result),
		w.System != "" && !strings.Contains(c.system, w.System),
		w.Model != "" && !strings.Contains(c.model, w.Model),
		w.Tools != nil && *w.Tools != (len(c.tools) > 0),
		w.Turn != nil && *w.Turn != c.turn:
		return false
	}
	return true
}

// summaryOpening begins the question for a summary that lathe puts behind a conversation.
const summaryOpening = "Summarise this conversation so far"

// Places of replies outside Script.Replies.
const (
	replyFinal   = -1
	replyNoTools = -2
)

// choose returns the reply for c and its place. arrived is the number of replies delivered so far.
func (s *Script) choose(c *call, arrived int) (*Reply, int) {
	var plain []int
	for i := range s.Replies {
		w := s.Replies[i].When
		if w == nil {
			plain = append(plain, i)
		} else if w.holds(c) {
			return &s.Replies[i], i
		}
	}
	if strings.HasPrefix(c.lastUser(), summaryOpening) || len(c.tools) == 0 && (s.NoTools != nil || s.titleLike(c)) {
		return s.noTools(c), replyNoTools
	}
	n := c.turn
	if s.Order == "arrival" {
		n = arrived
	}
	if n < len(plain) {
		return &s.Replies[plain[n]], plain[n]
	}
	if s.Final != nil {
		return s.Final, replyFinal
	}
	return &Reply{Parts: []Part{Text("All done.")}}, replyFinal
}

// titleLike reports whether a request without tools is one of a client's side requests: it asks for JSON of a
// schema, or the script's replies need tools.
func (s *Script) titleLike(c *call) bool {
	if c.schema != nil {
		return true
	}
	for i := range s.Replies {
		for j := range s.Replies[i].Parts {
			if s.Replies[i].Parts[j].isCall() {
				return true
			}
		}
	}
	return false
}

func (s *Script) noTools(c *call) *Reply {
	if s.NoTools != nil {
		return s.NoTools
	}
	if c.schema != nil {
		return &Reply{Parts: []Part{Text(sample(c.schema))}}
	}
	return &Reply{Parts: []Part{Text("A short answer.")}}
}

// block is a resolved part.
type block struct {
	kind      string // text, thinking, redacted, tool
	text      string // of text and thinking; data of redacted; the input's JSON text of a tool
	signature string
	id, name  string
	label     string // the part's name in the script
}

// resolve completes a reply's parts for c. seq makes ids unique within one server.
func (s *Script) resolve(r *Reply, c *call, extra map[string]string, seq int, prefix string) ([]block, error) {
	vars, err := s.values(r, c, extra)
	if err != nil {
		return nil, err
	}
	out := make([]block, 0, len(r.Parts))
	for i := range r.Parts {
		b, err := r.Parts[i].resolve(c, vars)
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", i, err)
		}
		if b.kind == "tool" && b.id == "" {
			b.id = fmt.Sprintf("%s%04d_%d_%d", prefix, c.turn, seq, i)
		}
		out = append(out, b)
	}
	return out, nil
}

func (p *Part) resolve(c *call, vars map[string]string) (block, error) {
	b := block{label: p.Name, id: p.ID, name: p.Tool}
	switch {
	case p.Thinking != "":
		b.kind, b.text, b.signature = "thinking", expand(p.Thinking, vars)+Fill(p.Fill), p.Signature
		if b.signature == "" {
			b.signature = Sign(b.text)
		}
	case p.Redacted != "":
		b.kind, b.text = "redacted", p.Redacted
	case p.isCall():
		return b, p.resolveCall(&b, c, vars)
	default:
		b.kind, b.text = "text", expand(p.Text, vars)+Fill(p.Fill)
	}
	return b, nil
}

func (p *Part) resolveCall(b *block, c *call, vars map[string]string) error {
	b.kind, b.text = "tool", expand(p.Raw, vars)
	if p.Raw == "" {
		b.text = expandJSON(string(p.Input), vars)
	}
	if b.text == "" {
		b.text = "{}"
	}
	if p.Do != "" {
		name, input, err := translate(p.Do, []byte(b.text), c.tools)
		if err != nil {
			return err
		}
		b.name, b.text = name, input
	}
	if p.Fill > 0 {
		if cut, ok := strings.CutSuffix(strings.TrimSpace(b.text), "}"); ok {
			fill, _ := json.Marshal(Fill(p.Fill)) // a string always encodes
			if strings.TrimSpace(cut) != "{" {
				cut += ","
			}
			b.text = cut + `"fill":` + string(fill) + "}"
		}
	}
	return nil
}

// values merges the script's variables, the server's and the values captured by the reply.
func (s *Script) values(r *Reply, c *call, extra map[string]string) (map[string]string, error) {
	vars := make(map[string]string, len(s.Vars)+len(extra)+len(r.Capture)+1)
	if dir, err := os.Getwd(); err == nil {
		vars["WORKDIR"] = dir
	}
	for _, m := range []map[string]string{s.Vars, extra} {
		for k, v := range m {
			vars[k] = v
		}
	}
	for name, cp := range r.Capture {
		re, err := regexp.Compile(cp.Match)
		if err != nil {
			return nil, fmt.Errorf("capture %s: %w", name, err)
		}
		m := re.FindStringSubmatch(c.text(cp.From))
		if m == nil {
			return nil, fmt.Errorf("capture %s: nothing matches %q in %q", name, cp.Match, clip(c.text(cp.From), 200))
		}
		vars[name] = m[min(1, len(m)-1)]
	}
	return vars, nil
}

// expand replaces ${NAME} for known names and leaves others: scripts hold shell text, too.
func expand(s string, vars map[string]string) string {
	return expandWith(s, vars, func(v string) string { return v })
}

// expandJSON does the same inside JSON strings.
func expandJSON(s string, vars map[string]string) string {
	return expandWith(s, vars, func(v string) string {
		q := string(marshal(v))
		return q[1 : len(q)-1]
	})
}

func expandWith(s string, vars map[string]string, quote func(string) string) string {
	if !strings.Contains(s, "${") {
		return s
	}
	var b strings.Builder
	for {
		i := strings.Index(s, "${")
		j := strings.Index(s[max(i, 0):], "}")
		if i < 0 || j < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		name := s[i+2 : i+j]
		if v, ok := vars[name]; ok {
			b.WriteString(quote(v))
			s = s[i+j+1:]
		} else {
			b.WriteString("${")
			s = s[i+2:]
		}
	}
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "..."
}

// stop returns the stop reason of a reply.
func (r *Reply) stop(blocks []block) llm.StopReason {
	if r.Stop != "" {
		return r.Stop
	}
	for _, b := range blocks {
		if b.kind == "tool" {
			return llm.StopToolUse
		}
	}
	return llm.StopEndTurn
}

// tokens estimates the number of tokens in n bytes.
func tokens(n int) int { return max(1, n/4) }

// usage returns the script's usage, or a count: all of the request but its end is read from a cache.
func (r *Reply) usage(c *call, blocks []block) llm.Usage {
	if r.Usage != nil {
		return *r.Usage
	}
	var u llm.Usage
	for _, b := range blocks {
		u.Output += tokens(len(b.text))
		if b.kind == "thinking" {
			u.Reasoning += tokens(len(b.text))
		}
	}
	u.Input = min(16, tokens(c.size))
	u.CacheRead = tokens(c.size) - u.Input
	return u
}
