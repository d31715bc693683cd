// Package agent is the loop: it calls the model, runs the tools it asks for while the reply still
// streams, and goes on until the model stops asking.
//
// The words: a turn is all of that, from a user message to the stop; a step is one model call and its
// tool calls. The loop knows no tool, no file and no terminal: all it needs is in [Config], functions and
// small interfaces. Every call of every tool passes one choke point, [Agent.Invoke].
//
// Promises: what was said is on disk before it is shown; every call gets exactly one result, in call
// order, also when it was cancelled, denied, crashed or timed out; a call that was started is never run
// again; a tool's failure is text for the model and never ends the turn.
package agent
