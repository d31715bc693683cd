package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Report is the result of Verify. Without damage, missing or changed blobs the session is sound.
type Report struct {
	ID      string
	Path    string
	Bytes   int64
	Lines   int
	Entries int
	Blobs   int      // that the log names
	Damage  []Damage // lines, in order
	Pruned  bool     // blobs were removed because of their age, so one that is not there is no damage
	Missing []string // blobs that the log names and that are not there
	Changed []string // blobs whose content changed
	Torn    int64    // bytes of a cut off last line, which the next open sets aside
	Aside   []string // files with torn lines that were set aside earlier
}

// OK reports whether nothing is damaged. A torn last line is none: it was never acknowledged.
func (r Report) OK() bool { return len(r.Damage) == 0 && len(r.Missing) == 0 && len(r.Changed) == 0 }

// Verify reads all of a session: every line's checksum, JSON and parent, and every blob that the log
// names. It changes nothing and works while the session is open elsewhere.
func (s *Store) Verify(id string) (Report, error) {
	folder, err := s.locate(id)
	if err != nil {
		return Report{}, err
	}
	r := Report{ID: id, Path: filepath.Join(folder, logName)}
	f, err := os.Open(r.Path)
	if err != nil {
		return r, fmt.Errorf("session: open the log: %w", err)
	}
	defer f.Close()
	v := verifier{blobs: map[string]BlobRef{}}
	j, err := scanJournal(f, 0, v.see)
	if err != nil {
		return r, fmt.Errorf("session: read %s: %w", r.Path, err)
	}
	if j.end == 0 {
		v.damage = append(v.damage, Damage{Line: 1, Text: "the log has no header"})
	}
	r.Bytes, r.Lines, r.Entries, r.Torn = j.end+j.torn, v.lines, len(j.refs), j.torn
	r.Damage, r.Blobs = v.damage, len(v.blobs)
	r.Pruned = pruned(folder)
	if r.Aside, err = setAsideFiles(folder); err != nil {
		return r, err
	}
	return r, r.checkBlobs(filepath.Join(folder, blobDir), v.blobs)
}

// verifier looks at each record after the journal has taken it.
type verifier struct {
	lines  int
	damage []Damage
	dec    decoder
	blobs  map[string]BlobRef
}

func (v *verifier) see(n int, rec *record) {
	if !rec.whole && rec.err != nil {
		return // torn
	}
	v.lines++
	err := rec.err
	if err == nil {
		err = v.read(n, rec)
	}
	if err != nil {
		v.damage = append(v.damage, Damage{n, rec.off, rec.size, err.Error()})
	}
}

func (v *verifier) read(n int, rec *record) error {
	if !json.Valid(rec.bytes) {
		return errors.New("the checksum is right and the JSON is not")
	}
	kind := string(rec.env.kind)
	if kind == kindHeader && n == 1 || kind == kindFormat {
		return nil
	}
	if n == 1 {
		return errors.New("the first line is no header")
	}
	b, err := v.dec.body(kind, rec.bytes)
	if err != nil {
		return err
	}
	if blob, ok := b.(BlobRef); ok {
		v.blobs[blob.File] = blob
	}
	return nil
}

func (r *Report) checkBlobs(dir string, blobs map[string]BlobRef) error {
	for _, file := range slices.Sorted(maps.Keys(blobs)) {
		if file != filepath.Base(file) {
			r.Missing = append(r.Missing, file) // a log of ours names no other folder
			continue
		}
		sum, _, err := hashFile(filepath.Join(dir, file))
		switch {
		case errors.Is(err, fs.ErrNotExist) && r.Pruned:
		case errors.Is(err, fs.ErrNotExist):
			r.Missing = append(r.Missing, file)
		case err != nil:
			return err
		case sum != blobs[file].SHA256:
			r.Changed = append(r.Changed, file)
		}
	}
	return nil
}

func setAsideFiles(folder string) ([]string, error) {
	files, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("session: read %s: %w", folder, err)
	}
	var out []string
	for _, f := range files {
		if strings.HasPrefix(f.Name(), tornPrefix) {
			out = append(out, filepath.Join(folder, f.Name()))
		}
	}
	return out, nil
}
