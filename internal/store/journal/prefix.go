package journal

import (
	"context"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// Request journals the prefix of a request that is about to go out, when the log does not have it yet. An entry that
// cannot be written costs a cause in the list of cache misses, no more, so it stops nothing.
func (j *Journal) Request(model llm.ModelInfo, r *llm.Request) {
	if j.log == nil {
		return
	}
	now := session.PrefixOf(model, r)
	_ = j.Record(func() error {
		if j.prefix == nil {
			j.prefix = lastPrefix(j.log)
		}
		if j.prefix.Equal(now) {
			return nil
		}
		if _, err := j.log.Add(context.Background(), now); err != nil {
			return err
		}
		j.prefix = &now
		return nil
	})
}

// lastPrefix is the newest prefix of a log, of no request when there is none.
func lastPrefix(log *session.Session) *session.Prefix {
	all := log.Everything().Only(session.Prefix{}.Kind())
	for _, e := range all.Entries(max(0, all.Len()-1), all.Len()) {
		if p, ok := e.Body.(session.Prefix); ok {
			return &p
		}
	}
	return &session.Prefix{}
}
