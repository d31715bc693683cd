// Package inside is the part of the sandbox that runs in the confined process: the helper that sets up the boundary and
// starts the command. It runs from this package's init, before the rest of lathe is initialized, so that commands do not
// wait for that. It therefore imports next to nothing, and costs lathe's own start one comparison.
//
// The words: a [Plan] is lathe's order to the helper, one message on the socket at descriptor 3; the helper's answers
// begin with one of the Msg letters.
//
// Promises: the helper carries out the whole plan or starts nothing; it reports a failed step and exits with 99.
package inside
