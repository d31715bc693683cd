// Package keys maps the keys of the terminal to actions.
//
// The words: an action is something the terminal can do, by name ("chat:submit"); the names are Claude
// Code's where the thing is the same. A stroke is one key with its modifiers ("ctrl+k"); strokes with
// blanks between them are a chord ("ctrl+x ctrl+e"), and "<leader>" in a chord represents the leader
// stroke. A context is where the user is (the prompt, a dialog, a list): the same key may do different
// things in different contexts, and the innermost one is asked first. A binding joins a context, a chord and
// an action.
//
// Promises:
//
//   - [Table] is the one place where actions and default keys are written down; docs/keys.md is made of it.
//   - Every mistake in the user's keybindings is reported, each [Problem] with the place and the next move;
//     the rest of them holds. Ctrl+C always leaves the program, whatever the settings say.
//   - A key is understood the same way in terminals with and without the kitty protocol or modifyOtherKeys,
//     as far as they send it at all.
package keys

// Context is where the user is.
type Context string

// Contexts. Their names are Claude Code's where it has them.
const (
	Global          Context = "Global"          // everywhere, asked last
	Chat            Context = "Chat"            // the prompt has the focus
	Autocomplete    Context = "Autocomplete"    // the list of completions is open
	HistorySearch   Context = "HistorySearch"   // searching earlier prompts
	Task            Context = "Task"            // a command runs in the foreground
	Scroll          Context = "Scroll"          // something that scrolls is on the screen
	Transcript      Context = "Transcript"      // the messages have the focus
	Confirmation    Context = "Confirmation"    // a permission dialog or a question is open
	Select          Context = "Select"          // a list with a search field is open
	MessageSelector Context = "MessageSelector" // a list without a search field is open
	Help            Context = "Help"            // a page of text is open
)

// Action is the name of something the terminal can do. Actions that begin with "command:" run the slash
// command whose name (and arguments) follow.
type Action string

// Binding is one action with its keys in one context.
type Binding struct {
	Context Context
	Action  Action
	Keys    []string // chords as they are written in settings; none: unbound by default
	Help    string   // its effect, in a few words
}
