package session

import (
	"iter"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Parts lists the user side's parts of the conversation on the branch of the head, oldest first: parts of
// messages and results of calls, also those that compactions took out of the messages.
func (s *Session) Parts() iter.Seq[llm.Part] {
	return func(yield func(llm.Part) bool) {
		for e := range s.Entries() {
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
