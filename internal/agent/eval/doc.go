// Package eval has judges look at an agent's work: [Gate] before a turn ends, [Compare] between several attempts at one
// task.
//
// The words: a judge is a model with a perspective; a verdict is its answer; a round is one vote of all judges;
// evidence is the diff and the result of the project's check command; the refinement is the message that sends the
// agent back to work.
//
// Promises: the work is accepted by more than half of the votes that were given, and never when the check command
// failed. A judge that cannot be reached, or whose answer cannot be read three times, has no vote. Without any
// vote the work is accepted, and the event says so. A turn has at most three rounds.
package eval
