package session

import (
	"iter"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Parts lists the user side's parts of the conversation on the branch of the head, oldest first: parts of
// messages and results of calls, including those that compactions removed. Texts of other
// origins are empty.
func (s *Session) Parts(origin llm.Origin) iter.Seq[llm.Part] {
	return func(yield func(llm.Part) bool) {
		b := s.Branch().Only("user", "call_end", "invoke_end").Texts(origin)
		for _, e := range b.Entries(0, b.Len()) {
			switch b := e.Body.(type) {
			case User:
				for _, p := range b.Message.Parts {
					if !yield(p) {
						return
					}
				}
			case CallEnd:
				if !yield(b.Result) {
					return
				}
			}
		}
	}
}
