// Package session keeps conversations on disk, as append-only trees of entries, and gives them back as
// the messages to send to a model.
//
// The words: a [Session] is one conversation; its log is a file of lines, each an [Entry]; an entry has a
// parent, so entries form a tree; the head is the entry that the next one follows; the branch is the path
// from the root to the head; checkout moves the head and rewrites nothing. A reply is journalled while it
// streams: its parts one by one, the start and end of each call, then the reply entry that closes it. A
// [Store] is all sessions below one data folder. A blob is a large value kept as a file beside the log,
// named after its content.
//
// Promises:
//
//   - A method that returned nil has handed its line to the operating system in one write, so it survives
//     kill -9. User messages, approvals by a person, call starts that ask for it and ends of turns are
//     also fsynced, and everything before them with them, so they survive a power cut.
//   - Lines are never changed, except by [Store.Redact]. A write that fails is taken back; the lines before it stay,
//     and the next write is tried again. While the disk is full, entries are kept in memory and written in their order
//     when there is room ([Session.Unwritten]); the start of a call with effects fails instead. A torn last line is
//     moved beside the log, reported by [Session.Notes], and is no reason to refuse the session; nor is damage in the
//     middle, which [Store.Verify] reports.
//   - [Session.Messages] grows only at its end until a compaction or a checkout, which [Session.Revision]
//     tells. Its content before a crash is byte for byte the start of its content afterwards.
//   - Every tool call in Messages has exactly one result. A call that a crash left without one is answered
//     by a constant text that says whether it had started.
//   - Unknown entry kinds survive and are ignored. A newer format is an error that says so.
//
// A context given to a method that writes carries no deadline into it: every effect goes on record
// although the turn was cancelled.
//
// The format is described in docs/sessions.md for people who write other tools.
package session
