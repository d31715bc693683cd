// Package subagent starts agents that do one task for another agent, and reads the kinds of agents.
//
// The words: a kind is a description, a prompt and a set of tools (Explore, Plan, one of the user's own); an agent is a
// conversation of its own, started by a call of the tool Task, with a kind; the agent that starts it is its parent.
//
// Promises: an agent never has more permissions, folders, steps or money than its parent; it ends with its parent's
// call; however it ends, it returns its last answer and the reason; an agent that only waits for others holds no slot,
// so the limit on running agents cannot deadlock.
package subagent
