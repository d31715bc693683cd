// Package snapshot keeps the state of files before and after each step of a session that may change them, so that the
// step can be undone.
//
// A [Store] belongs to one project and is shared by its sessions and processes. It knows the covered files of the
// working roots by their stat data, and keeps the content of each once, compressed, under its SHA-256. [Store.Begin] is
// called before a step: for an edit of known files it looks at those only, for anything else at all covered files of
// the roots. The function it returns is called when the step has ended. The difference is the step's list of changes.
// What changed between two steps was changed by somebody else and is recorded as theirs.
//
// [History] is what one session did: it undoes, redoes and rewinds. A [Plan] lists the files that would change; a file
// that somebody else changed since is a conflict, and left alone unless the caller chooses otherwise.
//
// On disk a store is a folder of segments: files that one process appended records to, each with a CRC-32C. A torn end
// is ignored; other damage may be a lost record, and no plan takes back a step as old as that. No process writes to the
// segment of another one; a shared lock keeps pruning away while a step or a restore runs.
//
// Promises: the content that a step may overwrite is synced before Begin returns, or Begin fails. A restore is itself
// recorded, keeps what it replaces, and is finished by the next process when it was cut off. Nothing but covered files
// is ever written: no index, reference, stash or object of git.
package snapshot
