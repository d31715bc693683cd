package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
)

// maxLine is the longest line of stdin: a message may hold pictures.
const maxLine = 64 << 20

// controller runs a conversation with --input-format stream-json: messages of stdin queue, control requests
// are served at once, and the end of stdin ends the process when the queue is empty.
type controller struct {
	p *program
	o *Options
	w *lineWriter

	mu        sync.Mutex
	conv      Conversation
	h         *headless
	openErr   error // why no turn may run
	queue     []queued
	held      []llm.Part // of messages that wait for the next one (shouldQuery false)
	eof       bool
	inputErr  error
	running   bool               // a message was taken from the queue and its turn has not ended
	interrupt context.CancelFunc // of the running turn, once it began
	stopped   bool               // the host interrupted the running turn
	asks      map[string]string  // request id -> question id
	calls     map[string]event.Question
	hostSeq   int
	wake      chan struct{}
}

// queued is a message that waits for its turn, or why one of stdin cannot be used.
type queued struct {
	llm.Message
	err error
}

// runStream serves stdin until it ends and the queue is empty.
func (p *program) runStream(ctx context.Context, o *Options) error {
	if err := checkSchema(o); err != nil {
		return err
	}
	c := &controller{
		p: p, o: o, w: &lineWriter{w: p.out, uuid: p.uuid},
		asks: map[string]string{}, calls: map[string]event.Question{}, wake: make(chan struct{}, 1),
	}
	go c.read(ctx)
	err := c.serve(ctx)
	if c.conv != nil {
		err = joinErrors(err, c.conv.Close())
	}
	return err
}

// serve runs the queued turns one after another. The last turn decides about the exit code.
func (c *controller) serve(ctx context.Context) error {
	var last error
	for {
		m, ok, err := c.next(ctx)
		if err != nil || !ok {
			if err == nil {
				err = last
			}
			return err
		}
		if err := c.open(ctx); err != nil {
			return err
		}
		out, err := c.turn(ctx, m)
		if err != nil {
			return err
		}
		last = c.p.verdict(c.o, out, nil)
		if c.hostStopped() {
			last = nil
		}
	}
}

// turn runs one turn. A message that cannot be used has a result all the same, for hosts wait for one.
func (c *controller) turn(ctx context.Context, m queued) (outcome, error) {
	if m.err == nil {
		return c.h.turn(ctx, m.Message)
	}
	c.turnStarts(nil)
	c.h.stats.reset()
	out := c.h.stats.outcomeOf(&Error{Code: exitUsage, Err: m.err})
	return out, joinErrors(c.h.printer.begin(c.h.conv.About()), c.h.printer.finish(c.h.stats, &out))
}

// next waits for a message; false means that none will come.
func (c *controller) next(ctx context.Context) (queued, bool, error) {
	for {
		c.mu.Lock()
		if len(c.queue) > 0 {
			m := c.queue[0]
			c.queue = c.queue[1:]
			c.running, c.stopped = true, false
			c.mu.Unlock()
			return m, true, nil
		}
		eof, err := c.eof, c.inputErr
		c.mu.Unlock()
		if eof {
			return queued{}, false, err
		}
		select {
		case <-c.wake:
		case <-ctx.Done():
			return queued{}, false, ctx.Err()
		}
	}
}

func (c *controller) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// open makes the conversation when it is first needed: initialize may still change what it is.
func (c *controller) open(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.openErr != nil || c.conv != nil {
		return c.openErr
	}
	conv, err := c.p.open(ctx, c.o)
	if err != nil {
		c.openErr = err
		return err
	}
	c.conv, c.h = conv, c.p.headless(c.o, conv)
	c.h.printer = newStreamPrinter(c.w, c.o, c.p.warnings)
	c.h.stop = c.turnStarts
	if c.o.PermissionTool != "" {
		c.h.asked, c.h.closed = c.ask, c.askClosed
	}
	return nil
}

// turnStarts is told how to interrupt the turn that begins, and nil when it has ended.
func (c *controller) turnStarts(f context.CancelFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.interrupt = f
	switch {
	case f == nil:
		c.running = false
	case c.stopped: // interrupted before it began
		f()
	}
}

func (c *controller) hostStopped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopped
}

// read takes stdin line by line until it ends. A line that cannot be used is answered by an error.
func (c *controller) read(ctx context.Context) {
	r := bufio.NewReaderSize(c.p.in, 64<<10)
	var err error
	for n := 1; err == nil; n++ {
		var line []byte
		line, err = nextLine(r)
		if len(bytes.TrimSpace(line)) > 0 {
			if e := c.line(ctx, bytes.ReplaceAll(line, []byte{0}, []byte("\ufffd"))); e != nil {
				c.unusable(fmt.Errorf("stdin, line %d: %w", n, e))
			}
		}
	}
	c.mu.Lock()
	c.eof = true
	if !errors.Is(err, io.EOF) {
		c.inputErr = err
	}
	asks := c.asks
	c.asks = map[string]string{}
	c.mu.Unlock()
	for _, id := range asks { // nobody can answer any more
		c.refuse(id)
	}
	c.signal()
}

// unusable queues an error in the place of a message.
func (c *controller) unusable(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, queued{err: err})
	c.signal()
}

func (c *controller) refuse(question string) {
	// A failure means that the question is closed already.
	_ = c.conv.Answer(question, event.Answer{Choice: event.ChoiceNo, Canceled: true, Text: "stdin ended before the question was answered"})
}

func nextLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxLine {
			return nil, usage("send large files by their path", "a line of stdin has more than 64 MB")
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// inputLine is one line of stdin.
type inputLine struct {
	Type        string          `json:"type"`
	Message     json.RawMessage `json:"message"`
	UUID        string          `json:"uuid"`
	ShouldQuery *bool           `json:"shouldQuery"`
	RequestID   string          `json:"request_id"`
	Request     json.RawMessage `json:"request"`
	Response    json.RawMessage `json:"response"`
}

// line serves one line. Types that lathe does not know are ignored, as the protocol asks.
func (c *controller) line(ctx context.Context, b []byte) error {
	var l inputLine
	if err := json.Unmarshal(b, &l); err != nil {
		return fmt.Errorf("not a JSON object: %w; send one object per line", err)
	}
	switch l.Type {
	case "user":
		return c.user(l)
	case "control_request":
		return c.request(ctx, l)
	case "control_response":
		if err := c.response(l.Response); err != nil {
			return c.w.write(&informationalLine{Type: "system", Subtype: "informational", Content: oneMessage(err), Level: "warning"})
		}
	}
	return nil
}

// user queues a message, or holds it for the next one.
func (c *controller) user(l inputLine) error {
	var m struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(l.Message, &m); err != nil {
		return fmt.Errorf("the user message: %w", err)
	}
	if m.Role != "" && m.Role != "user" {
		return fmt.Errorf("the message's role is %q; only user messages can be sent", m.Role)
	}
	parts, err := partsOf(m.Content)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = append(c.held, parts...)
	if l.ShouldQuery != nil && !*l.ShouldQuery {
		return nil
	}
	c.queue = append(c.queue, queued{Message: llm.Message{ID: l.UUID, Role: llm.User, Parts: c.held}})
	c.held = nil
	c.signal()
	return nil
}

// contentBlock is one block of a message's content.
type contentBlock struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	Source struct {
		Type  string `json:"type"`
		Media string `json:"media_type"`
		Data  string `json:"data"`
	} `json:"source"`
}

// partsOf reads a message's content: a string, or blocks of text, images and documents.
func partsOf(b json.RawMessage) ([]llm.Part, error) {
	var text string
	blocks := []contentBlock{}
	if json.Unmarshal(b, &text) == nil {
		blocks = append(blocks, contentBlock{Type: "text", Text: text})
	} else if err := json.Unmarshal(b, &blocks); err != nil {
		return nil, fmt.Errorf("the content of the user message is neither a text nor a list of blocks: %w", err)
	}
	var parts []llm.Part
	for _, k := range blocks {
		part, err := k.part()
		if err != nil {
			return nil, err
		}
		if part != nil {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return nil, errors.New("the user message is empty")
	}
	return parts, nil
}

// part is the block as a part of a message; nil for a text without any words.
func (k contentBlock) part() (llm.Part, error) {
	text := k.Text
	switch {
	case k.Type == "text":
	case k.Type == "document" && k.Source.Type == "text":
		text = k.Source.Data
	case (k.Type == "image" || k.Type == "document") && k.Source.Type == "base64" && k.Source.Data != "":
		data, err := base64.StdEncoding.DecodeString(k.Source.Data)
		if err != nil {
			return nil, fmt.Errorf("the data of a block of type %q is not base64: %w", k.Type, err)
		}
		return llm.Media{MIME: k.Source.Media, Data: data}, nil
	default:
		return nil, fmt.Errorf("a block of type %q (source %q) cannot be sent; use text, or an image as base64", k.Type, k.Source.Type)
	}
	if text, _ = plainText(text); strings.TrimSpace(text) == "" {
		return nil, nil
	}
	return llm.Text{Text: text}, nil
}

// controlRequest has the fields of all the requests that lathe serves.
type controlRequest struct {
	Subtype      string  `json:"subtype"`
	Mode         string  `json:"mode"`
	Model        *string `json:"model"`
	CancelQueued bool    `json:"cancel_queued"`
	MaxThinking  *int    `json:"max_thinking_tokens"`
	initializing
}

type controlResponse struct {
	Type     string `json:"type"`
	Response any    `json:"response"`
}

type controlOK struct {
	Subtype   string `json:"subtype"`
	RequestID string `json:"request_id"`
	Response  any    `json:"response"`
}

type controlFailed struct {
	Subtype   string `json:"subtype"`
	RequestID string `json:"request_id"`
	Error     string `json:"error"`
}

// request serves one control request. What fails is the answer, not an error.
func (c *controller) request(ctx context.Context, l inputLine) error {
	var r controlRequest
	if err := json.Unmarshal(l.Request, &r); err != nil {
		return c.w.encode(controlResponse{"control_response", controlFailed{"error", l.RequestID, "the request cannot be read: " + err.Error()}})
	}
	answer, err := c.control(ctx, r)
	defer c.cut() // after the answer, so that a host reads it before the result of the turn that ends
	if err != nil {
		return c.w.encode(controlResponse{"control_response", controlFailed{"error", l.RequestID, oneMessage(err)}})
	}
	if answer == nil {
		answer = struct{}{}
	}
	return c.w.encode(controlResponse{"control_response", controlOK{"success", l.RequestID, answer}})
}

func (c *controller) control(ctx context.Context, r controlRequest) (any, error) {
	switch r.Subtype {
	case "initialize":
		return c.initialize(ctx, r.initializing)
	case "interrupt":
		return c.interrupted(r.CancelQueued), nil
	case "set_permission_mode":
		return c.setMode(ctx, permission.Mode(r.Mode))
	case "set_model":
		return nil, c.setModel(ctx, r.Model)
	case "mcp_status":
		return map[string]any{"mcpServers": []any{}}, nil
	}
	return nil, fmt.Errorf("lathe does not know the control request %q", r.Subtype)
}

// interrupted notes that the running turn is to end. Queued messages stay, unless the host wants them gone.
func (c *controller) interrupted(cancelQueued bool) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = c.running
	ids := []string{}
	for _, m := range c.queue {
		ids = append(ids, m.ID)
	}
	if !cancelQueued {
		return map[string]any{"still_queued": ids}
	}
	c.queue = nil
	return map[string]any{"still_queued": []string{}, "cancelled": ids}
}

// cut ends the running turn if the host wants that.
func (c *controller) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped && c.interrupt != nil {
		c.interrupt()
	}
}

func (c *controller) setMode(ctx context.Context, m permission.Mode) (any, error) {
	if !slices.Contains(permission.Modes, m) {
		return nil, fmt.Errorf("there is no permission mode %q", m)
	}
	if err := c.open(ctx); err != nil {
		return nil, err
	}
	if err := c.mayBypass(m); err != nil {
		return nil, err
	}
	return map[string]any{"mode": m}, c.conv.SetMode(ctx, m)
}

// mayBypass refuses the mode bypassPermissions unless the command line allowed it: what a host may ask for in
// the middle of a session is not more than what whoever started it accepted.
func (c *controller) mayBypass(m permission.Mode) error {
	o := c.o
	if m != permission.Bypass || o.Bypass || o.Mode == string(m) || o.Given("allow-dangerously-skip-permissions") {
		return nil
	}
	return errors.New("the mode bypassPermissions was not allowed at start; start with --dangerously-skip-permissions or --allow-dangerously-skip-permissions")
}

func (c *controller) setModel(ctx context.Context, name *string) error {
	if err := c.open(ctx); err != nil {
		return err
	}
	if name == nil || *name == "default" {
		return c.conv.SetModel(ctx, "")
	}
	return c.conv.SetModel(ctx, *name)
}
