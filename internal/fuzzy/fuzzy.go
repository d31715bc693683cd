// Package fuzzy finds what was meant by a few typed letters: file paths, commands, earlier prompts, sessions.
//
// A query matches a text that has its letters in order, case aside. Blanks part a query into terms, all of
// which must match, in any order. A match is worth more at the start of words and names, in one run, and, of
// a path, in its last part.
//
// Promises: ranking is the same for the same input; marks are indices of runes of the text, ascending; a
// query without letters matches everything.
package fuzzy

// Matcher is a compiled query. It has scratch memory: not safe for concurrent use.
type Matcher struct{}

// New compiles a query.
func New(query string) *Matcher { return &Matcher{} }

// Score says how well text matches, the higher the better; false: not at all.
func (m *Matcher) Score(text string) (int, bool) { return 0, false }

// Path is Score for a path with slashes: what matches in its last part is worth more.
func (m *Matcher) Path(path string) (int, bool) { return 0, false }

// Marks are the indices of the runes of text that match, nil when it does not.
func (m *Matcher) Marks(text string) []int { return nil }

// PathMarks is Marks as Path matches.
func (m *Matcher) PathMarks(path string) []int { return nil }

// Found is an item that matches.
type Found struct {
	Index int // of the item
	Score int
	Marks []int
}

// Rank returns the items that match, best first, at most limit of them (0: all). Equal ones stay in order. bonus
// adds to the score of an item, and may be nil.
func Rank(query string, items []string, limit int, bonus func(index int) int) []Found { return nil }
