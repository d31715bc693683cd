package event

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Recorder writes events to files, for debugging a run afterwards:
//
//	<dir>/<session>/events.jsonl              every event, one per line
//	<dir>/<session>/000001_api_request.json   the body of a request, as it was sent
//	<dir>/<session>/000002_api_response.json  the reply
//	<dir>/<session>/000003_tool_call.json     a call that was about to run
//	<dir>/<session>/000004_tool_result.json   its result
//
// Calls of a model beside the conversation (titles, summaries, judges) have files beside_request and beside_response.
//
// A line of events.jsonl is the form of [MarshalEvent], with the name of its file in "file" if it has one.
// Numbers go on where an earlier record of the session ended. Secrets are masked; files are for their
// owner only (0600, folders 0700).
//
// The Recorder is an ordinary reader of the stream: it never slows the run, and an error (a full disk) ends
// the record, not the run, with one Notice.
type Recorder struct {
	bus     *Bus
	sub     *Subscription
	dir     string
	masker  *Masker
	folders map[string]*folder // by name
	file    string
	filter  []string
	done    chan struct{}
	err     error // written before done is closed
}

// RecorderOptions configure a Recorder.
type RecorderOptions struct {
	Session string   // only this session; empty: every session of the bus
	Deltas  bool     // also Delta and ToolOutput, in which a secret may be cut and so not be found
	File    string   // one file with all lines in place of the folders; their files are left out
	Filter  string   // which kinds of event: the starts of their names ("api,tool"), or "!delta" for all but those
	Secrets []string // values to mask wherever they occur, the provider's key above all
}

// backlog is how many events may wait for the disk before the record is given up. Their bodies are shared
// with the conversation, so a waiting event costs little.
const backlog = 10_000

// openFolders is how many sessions may have their events.jsonl open at once.
const openFolders = 16

// NewRecorder starts to record everything published on bus from now on. The folders are made when their
// first event comes. End it with Close.
func NewRecorder(bus *Bus, dir string, o RecorderOptions) *Recorder {
	r := &Recorder{
		bus: bus, dir: dir, masker: NewMasker(o.Secrets...), folders: map[string]*folder{}, file: o.File,
		filter: strings.FieldsFunc(o.Filter, func(c rune) bool { return c == ',' || c == ' ' }), done: make(chan struct{}),
		sub: bus.Subscribe(context.Background(), Options{Session: o.Session, NoDeltas: !o.Deltas, Limit: backlog}),
	}
	go r.run()
	return r
}

// Close writes the events published before, closes the files, and returns the error that ended the record
// early, if any.
func (r *Recorder) Close() error {
	r.sub.Close()
	<-r.done
	return r.err
}

func (r *Recorder) run() {
	defer close(r.done)
	defer r.sub.Close()
	defer r.closeFolders()
	for e := range r.sub.All(context.Background()) {
		if err := r.record(e); err != nil {
			r.fail(e.Session, err)
			return
		}
	}
	if err := r.sub.Err(); err != nil {
		r.fail("", err)
	}
}

func (r *Recorder) fail(session string, err error) {
	r.err = fmt.Errorf("the debug record in %s was ended: %w", r.dir, err)
	r.sub.Close()
	r.bus.Publish(session, nil, Notice{Level: "warning", Text: r.err.Error() + "; the run goes on without it"})
}

// wants reports whether the filter lets a kind through.
func (r *Recorder) wants(kind string) bool {
	listed, out := false, true
	for _, word := range r.filter {
		if not, ok := strings.CutPrefix(word, "!"); ok {
			if strings.HasPrefix(kind, not) {
				return false
			}
			continue
		}
		listed = true
		out = out && !strings.HasPrefix(kind, word)
	}
	return !listed || !out
}

func (r *Recorder) record(e Event) error {
	if !r.wants(e.Body.Kind()) {
		return nil
	}
	if r.file != "" {
		return r.recordInFile(e)
	}
	f, err := r.folder(e.Session)
	if err != nil {
		return err
	}
	name := ""
	if kind := fileKind(e.Body); kind != "" {
		name = fmt.Sprintf("%06d_%s.json", f.next, kind)
		f.next++
		if err := f.create(name, r.masker.MaskJSON(document(e))); err != nil {
			return err
		}
	}
	line := append(r.masker.MaskJSON(recordLine(e, name)), '\n')
	_, err = f.events.Write(line)
	return err
}

// recordInFile writes an event to the one file. A request has its body in the line.
func (r *Recorder) recordInFile(e Event) error {
	f := r.folders[r.file]
	if f == nil {
		if err := os.MkdirAll(filepath.Dir(r.file), 0o700); err != nil {
			return err
		}
		file, err := os.OpenFile(r.file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		f = &folder{path: r.file, events: file}
		r.folders[r.file] = f
	}
	var line bytes.Buffer
	if err := json.Compact(&line, document(e)); err != nil {
		return err
	}
	_, err := f.events.Write(append(r.masker.MaskJSON(line.Bytes()), '\n'))
	return err
}

// fileKind is the middle of the name of a body's own file; empty if it has none.
func fileKind(b Body) string {
	switch b.(type) {
	case Request:
		return "api_request"
	case Response:
		return "api_response"
	case BesideRequest:
		return "beside_request"
	case BesideResponse:
		return "beside_response"
	case ToolStart:
		return "tool_call"
	case ToolEnd:
		return "tool_result"
	}
	return ""
}

// recordLine returns the recorded form of an event. An event that has none is recorded with the error, since
// a record with a hole would be worse.
func recordLine(e Event, file string) []byte {
	b, err := MarshalEvent(e)
	if err != nil {
		b, err = MarshalEvent(Event{e.Seq, e.Time, e.Session, e.Agent, e.Cursor, Notice{Level: "error", Text: err.Error()}})
	}
	if err != nil { // a time that JSON cannot hold
		return nil
	}
	if file == "" {
		return b
	}
	return append(b[:len(b)-1], `,"file":`+strconv.Quote(file)+"}"...)
}

// document returns the content of an event's own file: the event, and for a request also its body, indented
// for people and otherwise unchanged.
func document(e Event) []byte {
	b := recordLine(e, "")
	if body := bodyOf(e.Body); body != nil {
		sent := body()
		if !json.Valid(sent) {
			sent, _ = json.Marshal(string(sent)) // a string can always be written
		}
		b = append(append(append(b[:len(b)-1], `,"request":`...), sent...), '}')
	}
	var out bytes.Buffer
	if json.Indent(&out, b, "", "  ") != nil {
		return b
	}
	return out.Bytes()
}

// bodyOf returns what builds the body of a request; nil for other events.
func bodyOf(b Body) func() []byte {
	switch b := b.(type) {
	case Request:
		return b.Bytes
	case BesideRequest:
		return b.Bytes
	}
	return nil
}

// folder is the record of one session.
type folder struct {
	path   string
	next   int // the number of the next file
	events *os.File
}

func (r *Recorder) folder(session string) (*folder, error) {
	name := folderName(session)
	if f := r.folders[name]; f != nil {
		return f, nil
	}
	if len(r.folders) >= openFolders {
		r.closeFolders()
	}
	f := &folder{path: filepath.Join(r.dir, name)}
	if err := os.MkdirAll(f.path, 0o700); err != nil {
		return nil, err
	}
	last, err := lastNumber(f.path)
	if err != nil {
		return nil, err
	}
	f.next = last + 1
	f.events, err = os.OpenFile(filepath.Join(f.path, "events.jsonl"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	r.folders[name] = f
	return f, nil
}

// closeFolders closes all files. The folders are opened again when the next event of their session comes.
func (r *Recorder) closeFolders() {
	for name, f := range r.folders {
		if err := f.events.Close(); err != nil && r.err == nil {
			r.err = err
		}
		delete(r.folders, name)
	}
}

// folderName turns a session's id into a name that cannot leave its folder.
func folderName(session string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case '0' <= r && r <= '9', 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, session)
	if strings.Trim(name, ".") == "" {
		return "_" + name
	}
	return name
}

// lastNumber is the highest number of a file in the folder.
func lastNumber(path string) (int, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return 0, err
	}
	last := 0
	for _, e := range entries {
		digits, _, _ := strings.Cut(e.Name(), "_")
		if n, err := strconv.Atoi(digits); err == nil {
			last = max(last, n)
		}
	}
	return last, nil
}

// create writes a file that must not exist yet.
func (f *folder) create(name string, data []byte) error {
	file, err := os.OpenFile(filepath.Join(f.path, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, fs.FileMode(0o600))
	if err != nil {
		return err
	}
	_, err = file.Write(append(data, '\n'))
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}
