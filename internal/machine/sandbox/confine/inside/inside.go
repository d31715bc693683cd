// Package inside carries out the sandbox of one command, in the process that becomes it.
//
// The words: a [Plan] is a policy resolved to mounts and rules; a script is the list of system calls that carries it
// out; the init program is the first process in the sandbox. [Enter] makes a child in new namespaces that shares
// lathe's memory, executes the script in a few lines of assembler, and then the init program. That is some hundred
// bytes of code in a file in memory: it starts the command, reaps orphans, and reports to lathe on the socket at
// descriptor 3, in messages that begin with one of the Msg letters.
//
// There is no helper program on the way, because starting lathe again took longer than everything else together, and no
// C.
//
// Promises: the child carries out the whole script or starts nothing; a failed step is known by its name; no Go code
// runs in the child.
package inside
