package session

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Mask removes secrets from text, and leaves maskMark in their place.
type Mask interface {
	Mask(text string) string
	MaskJSON(value []byte) []byte // the result is JSON, perhaps of another type
}

// Redacted is the result of Redact.
type Redacted struct {
	ID    string
	Lines int // of the log and of torn lines that were set aside
	Blobs int
}

// Redact masks secrets in a stored session: its log, its blobs and the lines that were set aside. Ids, the tree and the
// names of blobs stay, checksums and sizes follow the new content. Each file is replaced as a whole, the log last;
// after a crash between two of them the session can be read, and another Redact completes it. One that is open in
// another process is not changed (*LockedError). Subagents' sessions (Children) and forks are their own sessions.
func (s *Store) Redact(_ context.Context, id string, mask Mask) (_ Redacted, err error) {
	out := Redacted{ID: id}
	folder, err := s.locate(id)
	if err != nil {
		return out, err
	}
	lock, err := takeLock(folder, "close it there before redacting it")
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	r := redaction{s: s, mask: mask, blobs: map[string]BlobRef{}}
	if out.Blobs, err = r.maskBlobs(filepath.Join(folder, blobDir)); err != nil {
		return out, fmt.Errorf("session: redact the blobs: %w", err)
	}
	if err := r.maskPlan(filepath.Join(folder, planName)); err != nil {
		return out, fmt.Errorf("session: redact the plan: %w", err)
	}
	if err := os.Remove(filepath.Join(folder, transcriptName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return out, fmt.Errorf("session: redact the transcript: %w", err)
	}
	aside, err := setAsideFiles(folder)
	if err != nil {
		return out, err
	}
	for _, name := range append(aside, logName) {
		n, err := r.file(filepath.Join(folder, filepath.Base(name)))
		if err != nil {
			return out, fmt.Errorf("session: redact %s: %w", filepath.Base(name), err)
		}
		out.Lines += n
	}
	return out, nil
}

// maskMark is where a Mask removed a secret. It shows which blobs an interrupted Redact had changed already.
const maskMark = "[masked]"

// redaction is the masking of one session.
type redaction struct {
	s     *Store
	mask  Mask
	blobs map[string]BlobRef // by file: the size and hash of those that have masked text
}

// transcriptName is the file with another form of the log, which package transcript makes again when it is asked for.
const transcriptName = "transcript.jsonl"

// planName is the file with the plan of a session, beside its log; package consult writes it.
const planName = "plan.md"

// maskPlan masks the plan, if there is one.
func (r *redaction) maskPlan(path string) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	masked := r.mask.Mask(string(data))
	if masked == string(data) {
		return nil
	}
	return r.replace(path, func(w io.Writer) error { _, err := io.WriteString(w, masked); return err })
}

// maskBlobs masks the blobs that are text.
func (r *redaction) maskBlobs(dir string) (changed int, err error) {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	for _, f := range files {
		if !f.Type().IsRegular() {
			continue
		}
		path := filepath.Join(dir, f.Name())
		if strings.HasPrefix(f.Name(), ".new-") { // a crash left it
			err = errors.Join(err, os.Remove(path))
			continue
		}
		data, rerr := os.ReadFile(path)
		if rerr != nil {
			return changed, rerr
		}
		if bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 {
			continue // an image, not text
		}
		masked := r.mask.Mask(string(data))
		if masked != string(data) {
			changed++
			if err := r.replace(path, func(w io.Writer) error { _, err := io.WriteString(w, masked); return err }); err != nil {
				return changed, err
			}
		}
		if !strings.Contains(masked, maskMark) { // its entry stays: if that does not fit, it is damage
			continue
		}
		sum := sha256.Sum256([]byte(masked))
		r.blobs[f.Name()] = BlobRef{Size: int64(len(masked)), SHA256: hex.EncodeToString(sum[:])}
	}
	return changed, err
}

// file masks each line of a log. One that has nothing to mask is not written.
func (r *redaction) file(path string) (changed int, err error) {
	in, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	if changed, err = r.lines(in, io.Discard); err != nil || changed == 0 {
		return 0, err
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	return changed, r.replace(path, func(w io.Writer) error {
		_, err := r.lines(in, w)
		return err
	})
}

func (r *redaction) lines(in io.Reader, out io.Writer) (changed int, err error) {
	lines := newLineReader(in, 0)
	for {
		l, err := lines.next()
		if errors.Is(err, io.EOF) {
			return changed, nil
		}
		if err != nil {
			return changed, err
		}
		if l.bytes == nil && l.size > 0 {
			return changed, fmt.Errorf("the line at byte %d is longer than any that lathe writes: remove the session, or the "+
				"line", l.off)
		}
		masked := r.line(l.bytes)
		if !bytes.Equal(masked, l.bytes) {
			changed++
		}
		if l.whole {
			masked = append(masked[:len(masked):len(masked)], '\n')
		}
		if _, err := out.Write(masked); err != nil {
			return changed, err
		}
	}
}

// line masks one line, without its newline. A damaged one is masked as text, and stays damaged.
func (r *redaction) line(line []byte) []byte {
	body, err := unseal(line)
	if err != nil {
		return []byte(r.mask.Mask(string(line)))
	}
	before := append(body[:len(body):len(body)], '}')
	after := r.object(before)
	if after = r.blob(after); bytes.Equal(after, before) {
		return line
	}
	return bytes.TrimSuffix(seal(after[:len(after)-1]), []byte("\n"))
}

// object masks an entry: as JSON, where names before values count; if that would change its place in the tree, each of
// its texts.
func (r *redaction) object(entry []byte) []byte {
	was, err := openEnvelope(entry)
	if err != nil {
		return entry
	}
	masked := r.mask.MaskJSON(entry)
	now, err := openEnvelope(masked)
	if err == nil && string(now.id) == string(was.id) && string(now.parent) == string(was.parent) &&
		string(now.kind) == string(was.kind) && json.Valid(masked) {
		return masked
	}
	members, err := unmarshal[map[string]json.RawMessage](entry)
	if err != nil {
		return entry
	}
	for key, value := range members {
		if key != "id" && key != "parent" && key != "kind" && key != "time" {
			members[key] = r.texts(value)
		}
	}
	return joinMembers(members)
}

// texts masks each string of a value.
func (r *redaction) texts(value json.RawMessage) json.RawMessage {
	var text string
	var list []json.RawMessage
	var members map[string]json.RawMessage
	var out any
	switch {
	case json.Unmarshal(value, &text) == nil:
		out = r.mask.Mask(text)
	case json.Unmarshal(value, &list) == nil:
		for i := range list {
			list[i] = r.texts(list[i])
		}
		out = list
	case json.Unmarshal(value, &members) == nil:
		for key := range members {
			members[key] = r.texts(members[key])
		}
		out = members
	default:
		return value
	}
	b, err := json.Marshal(out)
	if err != nil || bytes.Equal(bytes.TrimSpace(value), []byte("null")) {
		return value
	}
	return b
}

// blob gives the entry of a masked blob its size and hash.
func (r *redaction) blob(entry []byte) []byte {
	env, err := openEnvelope(entry)
	if err != nil || string(env.kind) != (BlobRef{}).Kind() {
		return entry
	}
	ref, err := unmarshal[BlobRef](entry)
	now, masked := r.blobs[ref.File]
	if err != nil || !masked || ref.SHA256 == now.SHA256 {
		return entry
	}
	members, err := unmarshal[map[string]json.RawMessage](entry)
	if err != nil {
		return entry
	}
	members["size"], members["sha256"] = fmt.Append(nil, now.Size), llm.AppendQuoted(nil, now.SHA256)
	return joinMembers(members)
}

// replace writes a file under another name and renames it, so that a crash leaves the old one or the new one.
func (r *redaction) replace(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	w := bufio.NewWriter(f)
	err = write(w)
	if err = errors.Join(err, w.Flush()); err == nil {
		err = r.s.fsync(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
