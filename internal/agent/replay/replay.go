// Package replay answers the calls of a model from a record of lathe's debugger.
//
// A [Recording] is a folder or a file that event.Recorder wrote. [Recording.Model] wraps a model: each request is
// encoded as for the real provider, found among the recorded ones, and answered with the recorded reply. Nothing is
// sent. A request that was not recorded ends the turn with a [Difference] from the nearest recorded one.
//
// Values that change from run to run do not count: the date, the working folder (replies name the folder of this run),
// ids that are UUIDs, and values that the recorder masked.
package replay

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// maxLine is the longest line of a record in one file, in bytes.
const maxLine = 256 << 20

// exchange is a recorded request with its reply.
type exchange struct {
	place   string // of the request: the file, or the file and the line
	side    string // the name of a call beside the conversation
	request any
	reply   llm.Message
	used    bool
}

// Recording holds the requests and replies of a recorded run. It is safe for concurrent use.
type Recording struct {
	Prompt string // the first prompt of the recorded run; empty if it was a message with attachments only
	Model  string // that the recorded run began with
	URL    string // of the first request, of the conversation if it has one

	beside string // the URL of the first request of any kind
	path   string
	folder string // the working folder of the recorded run, or ""
	same   normalizer

	mu   sync.Mutex
	all  []*exchange
	open map[string]*exchange // by agent, or by the call beside the conversation: the last request without a reply
}

// Open reads a record: a folder of --debug, or a file of --debug-file. dir is the working folder of this run.
func Open(path, dir string) (*Recording, error) {
	r := &Recording{path: path, open: map[string]*exchange{}}
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if st.IsDir() {
		err = r.readFolder()
	} else {
		err = r.readFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("the recording %s: %w", path, err)
	}
	if len(r.all) == 0 {
		return nil, fmt.Errorf("the recording %s has no reply of a model; --debug makes one, in a folder for each session",
			path)
	}
	r.URL = cmp.Or(r.URL, r.beside)
	r.same = newNormalizer(r.folder, dir)
	for _, x := range r.all {
		x.request = r.same.recorded(x.request)
	}
	return r, nil
}

// Mask sets the values that the recorder masks, before the first request. Shapes of secrets are masked without it.
func (r *Recording) Mask(secrets ...string) { r.same.masker = event.NewMasker(secrets...) }

// readFolder reads the lines of events.jsonl, then the files of requests and replies in the order of their numbers.
func (r *Recording) readFolder() error {
	if err := r.readFile(filepath.Join(r.path, "events.jsonl"), "turn.start", "step.start"); err != nil && !errors.Is(err,
		os.ErrNotExist) {
		return err
	}
	entries, err := os.ReadDir(r.path)
	if err != nil {
		return err
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), "_request.json") || strings.HasSuffix(e.Name(), "_response.json") {
			names = append(names, e.Name())
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(number(a), number(b)), cmp.Compare(a, b))
	})
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(r.path, name))
		if err != nil {
			return err
		}
		if err := r.take(b, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func number(name string) (n int) {
	_, _ = fmt.Sscanf(name, "%d", &n) // 0: a name without a number comes first
	return n
}

// readFile reads a record of lines, all of them or those of some kinds.
func (r *Recording) readFile(path string, kinds ...string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		wanted := func(kind string) bool { return bytes.Contains(lines.Bytes(), []byte(`"kind":"`+kind+`"`)) }
		if len(kinds) > 0 && !slices.ContainsFunc(kinds, wanted) {
			continue
		}
		if err := r.take(lines.Bytes(), fmt.Sprintf("%s:%d", filepath.Base(path), n)); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return lines.Err()
}

// line is an event of a record.
type line struct {
	Kind  string
	Agent []string
	Body  struct {
		URL     string
		Purpose string
		Call    string
		Model   string
		Message *llm.Message
		Prompt  *llm.Message
	}
	Request json.RawMessage
}

// take adds an event of the record.
func (r *Recording) take(b []byte, place string) error {
	var l line
	if err := json.Unmarshal(b, &l); err != nil {
		return err
	}
	agent, side := strings.Join(l.Agent, "/"), ""
	key := agent
	if strings.HasPrefix(l.Kind, "beside.") {
		side, key = event.SideName(l.Body.Purpose, l.Agent), "side "+l.Body.Call
	}
	switch l.Kind {
	case "turn.start":
		r.begin(l)
	case "step.start":
		if agent == "" {
			r.Model = cmp.Or(r.Model, l.Body.Model)
		}
	case "api.request", "beside.request":
		if l.Request == nil {
			return errors.New("the request has no body")
		}
		if side == "" {
			r.URL = cmp.Or(r.URL, l.Body.URL)
		}
		r.beside = cmp.Or(r.beside, l.Body.URL)
		request, err := decoded(l.Request)
		if err != nil {
			return err
		}
		r.open[key] = &exchange{place: place, side: side, request: request}
	case "api.response", "beside.response":
		x := r.open[key]
		if x == nil || l.Body.Message == nil {
			return nil // the request is not in the record
		}
		delete(r.open, key)
		x.reply = *l.Body.Message
		r.all = append(r.all, x)
	}
	return nil
}

// begin notes the first prompt and the folder of the run.
func (r *Recording) begin(l line) {
	if l.Body.Prompt == nil {
		return
	}
	for _, p := range l.Body.Prompt.Parts {
		text, ok := p.(llm.Text)
		switch {
		case !ok:
		case text.Origin == llm.OriginAuthor:
			r.Prompt = cmp.Or(r.Prompt, text.Text)
		case text.Origin == llm.OriginContext && r.folder == "":
			_, rest, _ := strings.Cut("\n"+text.Text, "\nWorking folder: ")
			r.folder, _, _ = strings.Cut(rest, "\n")
		}
	}
}

func decoded(b []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the request is not one JSON value")
	}
	return v, nil
}

// Unused returns the number of recorded replies of the conversation that were not asked for, and the place of the first
// one. Those beside the conversation do not count: a run may end before its title is there.
func (r *Recording) Unused() (n int, first string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.all {
		if !x.used && x.side == "" {
			n++
			first = cmp.Or(first, x.place)
		}
	}
	return n, first
}

// find returns the reply to a request of the conversation, or of the calls beside it with a name, or the difference
// from the recorded request that is nearest.
func (r *Recording) find(side string, body []byte) (llm.Message, error) {
	sent, err := decoded(body)
	if err != nil {
		return llm.Message{}, err
	}
	sent = r.same.sent(sent)
	r.mu.Lock()
	defer r.mu.Unlock()
	known := 0
	var nearest *Difference
	for _, x := range r.all {
		if x.side != side {
			continue
		}
		known++
		if x.used {
			continue
		}
		d := compare(x.request, sent)
		if d == nil {
			x.used = true
			return x.reply, nil
		}
		d.Request = filepath.Join(filepath.Base(r.path), x.place)
		if nearest == nil || d.equal > nearest.equal {
			nearest = d
		}
	}
	if nearest == nil && side != "" && known == 0 {
		return llm.Message{}, fmt.Errorf("the recording %s has no call %q beside the conversation", r.path, side)
	}
	if nearest == nil {
		return llm.Message{}, fmt.Errorf("the recording %s has no more replies: all %d were given", r.path, known)
	}
	return llm.Message{}, nearest
}
