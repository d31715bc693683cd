package memory

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Meaning compares texts by the vectors of an embedding model.
type Meaning struct {
	Model string  // under whose name vectors are kept; another model's do not fit
	Least float64 // cosine of the angle between a prompt and a note from which the note belongs to it
	Embed func(ctx context.Context, texts []string) ([][]float32, error)
}

// Bounds of requests for vectors.
const (
	embedOnce = 64    // texts of one request
	embedText = 6_000 // bytes of one text: models take about 8,000 tokens
)

// vectorDir is the folder below the notes that keeps their vectors, in files named by a hash of model and text.
const vectorDir = ".vectors"

// RecallNear is Recall by meaning: the notes whose vectors are nearest to the prompt's, then those that Recall finds by
// words, which is better at names. Vectors of notes are kept on disk until the note changes.
func (s *Store) RecallNear(ctx context.Context, text string, m Meaning, has func(Note) bool) ([]Note, error) {
	notes, _ := s.List()
	if len(notes) == 0 || strings.TrimSpace(text) == "" {
		return nil, nil
	}
	asked, vectors, err := s.vectors(ctx, m, text, notes)
	if err != nil {
		return nil, err
	}
	type near struct {
		note   Note
		cosine float64
	}
	var found []near
	for i, n := range notes {
		if c := cosine(asked, vectors[i]); c >= m.Least {
			found = append(found, near{n, c})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return cmp.Compare(b.cosine, a.cosine) })
	var list []Note
	for _, f := range found {
		list = append(list, f.note)
	}
	for _, n := range s.byWords(text) {
		if !slices.ContainsFunc(list, func(o Note) bool { return o.Name == n.Name }) {
			list = append(list, n)
		}
	}
	return fit(list, has), nil
}

// vectors returns the vector of the prompt and those of the notes, from disk where they are kept.
func (s *Store) vectors(ctx context.Context, m Meaning, text string, notes []Note) (asked []float32, out [][]float32,
	err error,
) {
	out = make([][]float32, len(notes))
	keys := make([]string, len(notes))
	want := []string{short(text)}
	var at []int // the notes of want, after the prompt
	for i, n := range notes {
		about := short(n.Name + ": " + n.Description + "\n" + n.Text)
		keys[i] = vectorKey(m.Model, about)
		if out[i] = s.kept(keys[i]); out[i] == nil {
			want, at = append(want, about), append(at, i)
		}
	}
	var fresh [][]float32
	for batch := range slices.Chunk(want, embedOnce) {
		got, err := m.Embed(ctx, batch)
		if err != nil {
			return nil, nil, err
		}
		if len(got) != len(batch) {
			return nil, nil, fmt.Errorf("%d texts have %d vectors", len(batch), len(got))
		}
		fresh = append(fresh, got...)
	}
	for k, i := range at {
		out[i] = fresh[k+1]
		if err := s.keepVector(keys[i], out[i]); err != nil {
			return nil, nil, err
		}
	}
	if len(at) > 0 {
		s.dropVectors(keys)
	}
	return fresh[0], out, nil
}

func short(text string) string {
	if len(text) > embedText {
		text = strings.ToValidUTF8(text[:embedText], "")
	}
	return text
}

func vectorKey(model, text string) string {
	sum := sha256.Sum256([]byte(model + "\x00" + text))
	return hex.EncodeToString(sum[:])
}

// kept reads a vector from disk; nil if it is not there or damaged.
func (s *Store) kept(key string) []float32 {
	path := filepath.Join(s.dir, vectorDir, key)
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil || len(data) == 0 || len(data)%4 != 0 {
		return nil
	}
	out := make([]float32, len(data)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[i*4:]))
	}
	return out
}

func (s *Store) keepVector(key string, v []float32) error {
	data := make([]byte, 0, 4*len(v))
	for _, f := range v {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(f))
	}
	dir := filepath.Join(s.dir, vectorDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return replace(filepath.Join(dir, key), string(data))
}

// dropVectors removes the vectors of notes that changed or are gone. One that stays behind costs a few kilobytes.
func (s *Store) dropVectors(keep []string) {
	dir := filepath.Join(s.dir, vectorDir)
	found, _ := os.ReadDir(dir)
	for _, f := range found {
		if len(f.Name()) == sha256.Size*2 && !slices.Contains(keep, f.Name()) {
			_ = os.Remove(filepath.Join(dir, f.Name()))
		}
	}
}

// cosine is between -1 and 1; 0 for vectors that cannot be compared.
func cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	var dot, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot, aa, bb = dot+x*y, aa+x*x, bb+y*y
	}
	if c := dot / math.Sqrt(aa*bb); !math.IsNaN(c) && !math.IsInf(c, 0) {
		return c
	}
	return 0
}
