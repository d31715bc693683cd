package tool

import "github.com/lathe-dev/lathe/internal/agent"

// All makes every built-in tool of a session, in the order in which models are told of them.
func All(env *Env) []agent.Tool {
	return []agent.Tool{
		newRead(env),
		newWrite(env),
		newEdit(env),
		newGlob(env),
		newGrep(env),
		newBash(env),
		newBashOutput(env),
		newKillShell(env),
		newTodoWrite(env),
	}
}

// ComesWith names the tool without which another is of no use: it is there and gone with that one. Empty for
// tools that stand alone.
func ComesWith(name string) string {
	if name == "BashOutput" || name == "KillShell" {
		return "Bash"
	}
	return ""
}
