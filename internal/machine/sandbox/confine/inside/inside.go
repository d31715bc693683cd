// Package inside carries out the sandbox of one command, in the process that becomes it.
//
// The words: a [Plan] is a policy resolved to mounts and rules; a stem is lathe started again, once for all commands of
// a session, as a process of one thread. The first process of a sandbox is a copy (fork) of it, and a child of lathe:
// it carries out the plan in new namespaces, gives up its rights, starts the command, reaps orphans, and reports to
// lathe on the socket at descriptor 3, in messages that begin with one of the Msg letters.
//
// The stem saves the start of a program for each command, which took longer than everything else together, and needs
// no C.
//
// Promises: the first process carries out the whole plan or starts nothing; a failed step is known by its name.
package inside
