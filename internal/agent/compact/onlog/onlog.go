// Package onlog applies compactions to the log of a session: package compact computes them from messages and knows no
// log, package session stores entries and knows no plan.
//
// Promise: nothing is taken out of the log; messages that a compaction removes can be read there.
package onlog

import (
	"cmp"
	"context"
	"slices"

	"github.com/lathe-dev/lathe/internal/agent/compact"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// Log is a session's log as a compactor sees it.
type Log struct {
	*session.Session
	// Record runs write and publishes the events of the entry it writes, as one step.
	Record func(write func() error, bodies ...event.Body) error
}

// Compact writes one change of the conversation.
func (l Log) Compact(ctx context.Context, c compact.Change) error {
	out := session.Compaction{
		Level: int(c.Level), Trigger: c.Trigger, Until: l.Until(c.Until), Messages: c.Messages,
		DropReasoning: c.DropReasoning, TokensBefore: c.Before, TokensAfter: c.After, Failed: c.Failed,
	}
	for id, text := range c.Stubs {
		out.Stubs = append(out.Stubs, session.Stub{CallID: id, Text: text})
	}
	slices.SortFunc(out.Stubs, func(a, b session.Stub) int { return cmp.Compare(a.CallID, b.CallID) })
	return l.Record(func() error { return l.Session.Compact(ctx, out) }, event.Compacted{
		Level: out.Level, Trigger: out.Trigger, Before: out.TokensBefore, After: out.TokensAfter, Failed: out.Failed,
		Summary: out.SummaryText(),
	})
}

// UserTextsBefore returns the user's texts in messages that earlier compactions took away.
func UserTextsBefore(log *session.Session) []string {
	branch := log.Branch()
	if branch.Only(session.Compaction{}.Kind()).Len() == 0 {
		return nil
	}
	compacted := false
	var texts, rest []string
	branch = branch.Only(session.User{}.Kind(), session.Compaction{}.Kind())
	for _, e := range branch.Entries(0, branch.Len()) {
		switch b := e.Body.(type) {
		case session.User:
			if !b.Synthetic {
				rest = append(rest, compact.UserTexts(b.Message)...)
			}
		case session.Compaction:
			compacted = compacted || len(b.Messages) > 0
		}
	}
	if !compacted {
		return nil
	}
	still := map[string]int{}
	for _, m := range log.Messages() {
		for _, t := range compact.UserTexts(m) {
			still[t]++
		}
	}
	for _, t := range slices.Backward(rest) { // the newest of equal ones are those that are still there
		if still[t] > 0 {
			still[t]--
			continue
		}
		texts = append(texts, t)
	}
	slices.Reverse(texts)
	return texts
}
