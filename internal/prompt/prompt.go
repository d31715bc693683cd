// Package prompt builds the system prompt and the context of a conversation.
//
// The words: the system prompt ([System]) is lathe's own, the same bytes in every folder and on every day,
// so that providers can cache it; the context is everything that depends on the machine, the folder and the day, and
// rides in front of the first user message ([FirstMessage]), where it is stored with the session and never
// changes again; memory is the part of the context that people wrote into files (CLAUDE.md, AGENTS.md).
//
// Promises: text that came from files, git or the environment is inside <system-reminder> tags that it
// cannot close, with invisible characters spelled out, bounded in size; nothing of a project reaches
// outside the project; a file that cannot be read is a note, not an error; git's status is left out rather
// than waited for.
package prompt
