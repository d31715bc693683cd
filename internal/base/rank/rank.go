// Package rank finds the texts that fit a question best, by their words (BM25, Robertson and Zaragoza 2009).
//
// It serves memory recall and the search for tools: at most some thousands of short texts, indexed in
// milliseconds and dropped afterwards. That is why it is not a search library: those bring a database or an
// index on disk, and cost more to link than this costs to read.
//
// Words are compared without case and without common English endings; names are also found by their pieces
// (readFile, read_file and read-file by "read" and "file").
package rank

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// The usual constants: how fast repetition of a word stops counting, and how much long texts are held back.
const (
	saturation = 1.2
	lengthBias = 0.75
)

// Document is one text to be found. Title counts three times as much as Text.
type Document struct {
	ID    string
	Title string
	Text  string
}

const titleWeight = 3

// Hit is a document that was found. Score is above 0 and only means something beside the others of its search.
type Hit struct {
	ID    string
	Score float64
}

// Index holds the words of documents. It is safe for concurrent searches.
type Index struct {
	ids     []string
	lengths []float64
	average float64
	posts   map[string][]post
}

type post struct {
	doc   int
	count float64
}

// New indexes documents.
func New(docs []Document) *Index {
	ix := &Index{posts: map[string][]post{}}
	sum := 0.0
	for i, d := range docs {
		counts := map[string]float64{}
		length := 0.0
		for _, f := range []struct {
			text   string
			weight float64
		}{{d.Title, titleWeight}, {d.Text, 1}} {
			for _, w := range Words(f.text) {
				counts[w] += f.weight
				length += f.weight
			}
		}
		for w, n := range counts {
			ix.posts[w] = append(ix.posts[w], post{i, n})
		}
		ix.ids = append(ix.ids, d.ID)
		ix.lengths = append(ix.lengths, length)
		sum += length
	}
	if len(docs) > 0 {
		ix.average = sum / float64(len(docs))
	}
	return ix
}

// Search returns the documents that share a word with the query, best first, at most limit (0: all). Of equal
// scores the document that was given first comes first.
func (ix *Index) Search(query string, limit int) []Hit {
	scores := map[int]float64{}
	words := Words(query)
	slices.Sort(words)
	for _, w := range slices.Compact(words) {
		posts := ix.posts[w]
		idf := math.Log(1 + (float64(len(ix.ids))-float64(len(posts))+0.5)/(float64(len(posts))+0.5))
		for _, p := range posts {
			norm := 1 - lengthBias + lengthBias*ix.lengths[p.doc]/ix.average
			scores[p.doc] += idf * p.count * (saturation + 1) / (p.count + saturation*norm)
		}
	}
	docs := make([]int, 0, len(scores))
	for d := range scores {
		docs = append(docs, d)
	}
	slices.SortFunc(docs, func(a, b int) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b))
	})
	if limit > 0 && len(docs) > limit {
		docs = docs[:limit]
	}
	out := make([]Hit, len(docs))
	for i, d := range docs {
		out[i] = Hit{ix.ids[d], scores[d]}
	}
	return out
}

// Words lists the words of a text as they are compared. A name made of several words counts as a whole and by
// its pieces. Function words are left out; Chinese, Japanese and Thai, which set no blanks, are taken in pairs of
// characters.
func Words(text string) []string {
	var out []string
	for name := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_'
	}) {
		pieces := split(name)
		if len(pieces) > 1 {
			out = appendWord(out, strings.ToLower(strings.ReplaceAll(name, "_", "")))
		}
		for _, p := range pieces {
			out = appendWord(out, strings.ToLower(p))
		}
	}
	return out
}

func appendWord(out []string, w string) []string {
	r := []rune(w)
	if len(r) > 1 && unblanked(r[0]) {
		for i := range len(r) - 1 {
			out = append(out, string(r[i:i+2]))
		}
		return out
	}
	if w == "" || functionWords()[w] {
		return out
	}
	return append(out, stem(w))
}

func unblanked(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

// split cuts a name at underscores, where small letters are followed by a capital, and between letters and digits.
func split(name string) []string {
	var out []string
	for part := range strings.SplitSeq(name, "_") {
		r := []rune(part)
		start := 0
		for i := 1; i < len(r); i++ {
			lowUp := unicode.IsLower(r[i-1]) && unicode.IsUpper(r[i])
			acronymEnd := unicode.IsUpper(r[i-1]) && unicode.IsUpper(r[i]) && i+1 < len(r) && unicode.IsLower(r[i+1])
			digits := unicode.IsDigit(r[i-1]) != unicode.IsDigit(r[i])
			script := unblanked(r[i-1]) != unblanked(r[i])
			if lowUp || acronymEnd || digits || script {
				out = append(out, string(r[start:i]))
				start = i
			}
		}
		if start < len(r) {
			out = append(out, string(r[start:]))
		}
	}
	return out
}

var functionWords = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`a an and are as at be but by can do does for from has have how i if in into is it its me my no not of on
		or our please so than that the their them then there these they this to us was we were what when where which who why will with you your`) {
		m[w] = true
	}
	return m
})

// stem takes off the endings of English plurals and verbs, no more: a stem that is too short finds too much.
func stem(w string) string {
	for _, e := range []struct{ ending, instead string }{
		{"ies", "y"}, {"sses", "ss"}, {"ings", ""}, {"ing", ""}, {"edly", ""}, {"ed", ""}, {"es", ""}, {"s", ""}, {"e", ""},
	} {
		base, ok := strings.CutSuffix(w, e.ending)
		if !ok || len(base) < 3 || e.ending == "s" && strings.HasSuffix(base, "s") {
			continue
		}
		if n := len(base); e.instead == "" && n > 3 && base[n-1] == base[n-2] && strings.IndexByte("aeiouls", base[n-1]) < 0 {
			base = base[:n-1] // running: run
		}
		return base + e.instead
	}
	return w
}
