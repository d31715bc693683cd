// Package inside is the part of the sandbox that runs in the confined process: the helper that sets the boundary up and starts the
// command. It runs from this package's init, before the rest of lathe is initialized, so that a command does not wait for that; so it imports next
// to nothing, and adds a comparison to lathe's own start.
//
// The words: a [Plan] is what lathe sends to the helper, as one message of the socket that is descriptor 3; the helper's answers begin with
// one of the Msg letters.
//
// Promises: the helper does all of the plan or starts nothing; after a failed step it reports the step and exits with 99.
package inside
