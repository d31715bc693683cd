package keys

// Actions everywhere.
const (
	Interrupt        Action = "app:interrupt"
	Exit             Action = "app:exit"
	Suspend          Action = "app:suspend"
	Redraw           Action = "app:redraw"
	Palette          Action = "app:palette"
	ToggleTodos      Action = "app:toggleTodos"
	ToggleTranscript Action = "app:toggleTranscript"
	ToggleSidebar    Action = "app:toggleSidebar"
	ShowKeys         Action = "app:keys"
)

// Actions of the prompt.
const (
	Submit         Action = "chat:submit"
	Queue          Action = "chat:queue"
	Newline        Action = "chat:newline"
	Cancel         Action = "chat:cancel"
	ClearInput     Action = "chat:clearInput"
	CycleMode      Action = "chat:cycleMode"
	ChooseModel    Action = "chat:modelPicker"
	ToggleThinking Action = "chat:thinkingToggle"
	Undo           Action = "chat:undo"
	Redo           Action = "chat:redo"
	ExternalEditor Action = "chat:externalEditor"
	Stash          Action = "chat:stash"
	Background     Action = "task:background"
	HistoryBack    Action = "history:previous"
	HistoryForward Action = "history:next"
	HistoryFind    Action = "history:search"

	Left              Action = "edit:left"
	Right             Action = "edit:right"
	WordLeft          Action = "edit:wordLeft"
	WordRight         Action = "edit:wordRight"
	LineStart         Action = "edit:lineStart"
	LineEnd           Action = "edit:lineEnd"
	TextStart         Action = "edit:textStart"
	TextEnd           Action = "edit:textEnd"
	DeleteBack        Action = "edit:deleteBack"
	DeleteForward     Action = "edit:deleteForward"
	DeleteWordBack    Action = "edit:deleteWordBack"
	DeleteWordForward Action = "edit:deleteWordForward"
	KillLineStart     Action = "edit:killLineStart"
	KillLineEnd       Action = "edit:killLineEnd"
	Yank              Action = "edit:yank"
	YankPop           Action = "edit:yankPop"
	Unfold            Action = "edit:unfold"
)

// Actions of the list of completions and of the search of earlier prompts.
const (
	Complete         Action = "autocomplete:open"
	CompleteAccept   Action = "autocomplete:accept"
	CompleteDismiss  Action = "autocomplete:dismiss"
	CompletePrevious Action = "autocomplete:previous"
	CompleteNext     Action = "autocomplete:next"

	FindNext     Action = "historySearch:next"
	FindPrevious Action = "historySearch:previous"
	FindAccept   Action = "historySearch:accept"
	FindCancel   Action = "historySearch:cancel"
	FindExecute  Action = "historySearch:execute"
)

// Actions for scrolling, and for messages that have the focus.
const (
	LineUp          Action = "scroll:lineUp"
	LineDown        Action = "scroll:lineDown"
	HalfPageUp      Action = "scroll:halfPageUp"
	HalfPageDown    Action = "scroll:halfPageDown"
	PageUp          Action = "scroll:pageUp"
	PageDown        Action = "scroll:pageDown"
	Top             Action = "scroll:top"
	Bottom          Action = "scroll:bottom"
	PreviousMessage Action = "scroll:previousMessage"
	NextMessage     Action = "scroll:nextMessage"
	Search          Action = "scroll:search"

	TranscriptPrevious Action = "transcript:previous"
	TranscriptNext     Action = "transcript:next"
	TranscriptToggle   Action = "transcript:toggle"
	TranscriptShowAll  Action = "transcript:toggleShowAll"
	TranscriptCopy     Action = "transcript:copy"
	SearchNext         Action = "transcript:searchNext"
	SearchPrevious     Action = "transcript:searchPrevious"
	TranscriptExit     Action = "transcript:exit"
)

// Actions of dialogs and lists.
const (
	ConfirmYes      Action = "confirm:yes"
	ConfirmSession  Action = "confirm:session"
	ConfirmEdits    Action = "confirm:acceptEdits"
	ConfirmAlways   Action = "confirm:always"
	ConfirmNo       Action = "confirm:no"
	ConfirmStop     Action = "confirm:stop"
	ConfirmNever    Action = "confirm:never"
	ConfirmGuide    Action = "confirm:guide"
	ConfirmAccept   Action = "confirm:accept"
	ConfirmPrevious Action = "confirm:previous"
	ConfirmNext     Action = "confirm:next"
	ConfirmToggle   Action = "confirm:toggle"
	ConfirmEditText Action = "confirm:externalEditor"
	ConfirmLeft     Action = "confirm:questionBefore"
	ConfirmRight    Action = "confirm:nextQuestion"

	SelectPrevious Action = "select:previous"
	SelectNext     Action = "select:next"
	SelectPageUp   Action = "select:pageUp"
	SelectPageDown Action = "select:pageDown"
	SelectFirst    Action = "select:first"
	SelectLast     Action = "select:last"
	SelectAccept   Action = "select:accept"
	SelectCancel   Action = "select:cancel"

	MessageUp     Action = "messageSelector:up"
	MessageDown   Action = "messageSelector:down"
	MessageTop    Action = "messageSelector:top"
	MessageBottom Action = "messageSelector:bottom"
	MessageSelect Action = "messageSelector:select"
	MessageCancel Action = "messageSelector:cancel"

	HelpDismiss Action = "help:dismiss"
)

// DefaultLeader is the leader stroke when the settings name none.
const DefaultLeader = "ctrl+x"

// Table lists every action with its default keys, context by context, in the order of the documentation.
// It must not be changed.
func Table() []Binding { return table }

var table = []Binding{
	{Global, Interrupt, []string{"ctrl+c"}, "interrupt the turn; empty the prompt; twice when idle: leave"},
	{Global, Exit, []string{"ctrl+d", "<leader> q"}, "leave, twice within a second"},
	{Global, Suspend, []string{"ctrl+z"}, "back to the shell; fg returns"},
	{Global, Redraw, []string{"ctrl+l"}, "redraw the screen"},
	{Global, Palette, []string{"ctrl+p"}, "search all commands"},
	{Global, ToggleTodos, []string{"ctrl+t"}, "show or hide the task list"},
	{Global, ToggleTranscript, []string{"ctrl+o"}, "show everything in full, or short again"},
	{Global, ToggleSidebar, []string{"<leader> b"}, "show or hide the sidebar"},
	{Global, ShowKeys, []string{"f1", "<leader> ?"}, "list the keys"},
	{Global, "command:new", []string{"<leader> n"}, "start a new conversation; this one is kept"},
	{Global, "command:resume", []string{"<leader> l"}, "go on with an earlier session"},
	{Global, "command:tree", []string{"<leader> g"}, "show all branches of the conversation and go on from any message"},
	{Global, "command:theme", []string{"<leader> t"}, "choose the colours"},
	{Global, "command:compact", []string{"<leader> c"}, "replace older messages by a summary, to make room"},
	{Global, "command:status", []string{"<leader> s"}, "show model, mode, tokens, cost and turns"},
	{Global, "command:copy", []string{"<leader> y"}, "copy the last reply, or the n-th from the end"},
	{
		Global, "command:undo",
		[]string{"<leader> u"},
		"take the file changes of the last step back, also those of commands",
	},

	{Chat, Submit, []string{"enter"}, "send; while a turn runs: at its next step"},
	{Chat, Queue, []string{"alt+enter"}, "send when the running turn is over"},
	{Chat, Newline, []string{"ctrl+j", "shift+enter"}, "new line; so does \\ before enter"},
	{Chat, Cancel, []string{"esc"}, "interrupt, and send what waits; twice when idle: go back to an earlier message"},
	{Chat, ClearInput, nil, "empty the prompt"},
	{Chat, ShowKeys, []string{"?"}, "in an empty prompt: list the keys"},
	{Chat, CycleMode, []string{"shift+tab"}, "next permission mode"},
	{Chat, ChooseModel, []string{"alt+p", "<leader> m"}, "choose the model"},
	{Chat, ToggleThinking, []string{"alt+t"}, "choose the effort"},
	{Chat, Undo, []string{"ctrl+_", "ctrl+/", "ctrl+shift+-", "super+z"}, "undo"},
	{Chat, Redo, []string{"alt+_", "alt+/", "ctrl+shift+z", "super+shift+z"}, "redo"},
	{Chat, ExternalEditor, []string{"ctrl+g", "ctrl+x ctrl+e", "<leader> e"}, "edit the prompt in $VISUAL or $EDITOR"},
	{Chat, Complete, []string{"tab"}, "complete the path in your command, or open the list again"},
	{Chat, Stash, []string{"ctrl+s"}, "set the prompt aside, and bring it back"},
	{Chat, HistoryBack, []string{"up"}, "line up; from the first line: take back a queued message, or earlier prompts"},
	{Chat, HistoryForward, []string{"down"}, "line down; from the last line: later prompts"},
	{Chat, HistoryFind, []string{"ctrl+r"}, "search earlier prompts"},
	{Chat, Left, []string{"left", "ctrl+b"}, "character left; in an empty prompt: all sessions"},
	{Chat, Right, []string{"right", "ctrl+f"}, "character right"},
	{Chat, WordLeft, []string{"alt+b", "ctrl+left", "alt+left"}, "word left"},
	{Chat, WordRight, []string{"alt+f", "ctrl+right", "alt+right"}, "word right"},
	{Chat, LineStart, []string{"ctrl+a", "home"}, "start of the line"},
	{Chat, LineEnd, []string{"ctrl+e", "end"}, "end of the line"},
	{Chat, TextStart, []string{"alt+<"}, "start of the prompt"},
	{Chat, TextEnd, []string{"alt+>"}, "end of the prompt"},
	{Chat, DeleteBack, []string{"backspace", "shift+backspace", "ctrl+h"}, "delete the character before the cursor"},
	{Chat, DeleteForward, []string{"delete", "ctrl+d"}, "delete the character at the cursor"},
	{Chat, DeleteWordBack, []string{"ctrl+w", "alt+backspace", "ctrl+backspace"}, "cut the word before the cursor"},
	{Chat, DeleteWordForward, []string{"alt+d", "alt+delete", "ctrl+delete"}, "cut the word after the cursor"},
	{Chat, KillLineStart, []string{"ctrl+u", "super+backspace"}, "cut to the start of the line"},
	{Chat, KillLineEnd, []string{"ctrl+k"}, "cut to the end of the line"},
	{Chat, Yank, []string{"ctrl+y"}, "insert the text that was cut last"},
	{Chat, YankPop, []string{"alt+y"}, "after ctrl+y: the text that was cut before that"},
	{Chat, Unfold, []string{"alt+o"}, "show the pasted text before the cursor in full"},

	{Task, Background, []string{"ctrl+b"}, "let the running command go on in the background"},

	{Autocomplete, CompleteAccept, []string{"tab"}, "take the completion"},
	{Autocomplete, CompleteDismiss, []string{"esc"}, "close the list"},
	{Autocomplete, CompletePrevious, []string{"up", "ctrl+p"}, "completion above"},
	{Autocomplete, CompleteNext, []string{"down", "ctrl+n"}, "completion below"},

	{HistorySearch, FindNext, []string{"ctrl+r", "down", "ctrl+n"}, "the match before that"},
	{HistorySearch, FindPrevious, []string{"ctrl+s", "up", "ctrl+p"}, "the match after that"},
	{HistorySearch, FindAccept, []string{"esc", "tab"}, "take the match into the prompt"},
	{HistorySearch, FindExecute, []string{"enter"}, "send the match"},
	{HistorySearch, FindCancel, []string{"ctrl+c", "ctrl+g"}, "back to the text in the prompt"},

	{Scroll, LineUp, []string{"shift+up", "ctrl+up"}, "line up"},
	{Scroll, LineDown, []string{"shift+down", "ctrl+down"}, "line down"},
	{Scroll, HalfPageUp, []string{"alt+pgup", "shift+pgup"}, "half a page up"},
	{Scroll, HalfPageDown, []string{"alt+pgdown", "shift+pgdown"}, "half a page down"},
	{Scroll, PageUp, []string{"pgup"}, "page up"},
	{Scroll, PageDown, []string{"pgdown"}, "page down"},
	{Scroll, Top, []string{"ctrl+home"}, "to the top"},
	{Scroll, Bottom, []string{"ctrl+end"}, "to the bottom, and follow new output"},
	{Scroll, PreviousMessage, []string{"alt+up"}, "message before"},
	{Scroll, NextMessage, []string{"alt+down"}, "message after"},
	{Scroll, Search, []string{"<leader> /", "ctrl+shift+f"}, "search the conversation"},

	{Transcript, TranscriptPrevious, []string{"up", "k"}, "item above"},
	{Transcript, TranscriptNext, []string{"down", "j"}, "item below"},
	{Transcript, TranscriptToggle, []string{"enter", "space"}, "show the item in full, or short again"},
	{Transcript, TranscriptShowAll, []string{"ctrl+e"}, "show all items in full, or short again"},
	{Transcript, TranscriptCopy, []string{"y"}, "copy the item"},
	{Transcript, Search, []string{"/"}, "search the conversation"},
	{Transcript, SearchNext, []string{"n"}, "next match"},
	{Transcript, SearchPrevious, []string{"N"}, "match before"},
	{Transcript, Top, []string{"g", "home"}, "to the top"},
	{Transcript, Bottom, []string{"G", "end"}, "to the bottom"},
	{Transcript, TranscriptExit, []string{"q", "esc", "ctrl+c"}, "back to the prompt"},

	{Confirmation, ConfirmAccept, []string{"enter"}, "take the answer that is marked"},
	{Confirmation, ConfirmPrevious, []string{"up", "k", "ctrl+p", "shift+tab"}, "answer above"},
	{Confirmation, ConfirmNext, []string{"down", "j", "ctrl+n", "tab"}, "answer below"},
	{Confirmation, ConfirmToggle, []string{"space"}, "mark or unmark one of several answers"},
	{Confirmation, ConfirmYes, []string{"y"}, "yes, once"},
	{Confirmation, ConfirmSession, []string{"s"}, "yes, for this session"},
	{Confirmation, ConfirmEdits, []string{"e"}, "yes, and accept edits from now on"},
	{Confirmation, ConfirmAlways, []string{"a"}, "yes, always, by the rule that is shown"},
	{Confirmation, ConfirmNo, []string{"n"}, "no; the model may try another way"},
	{Confirmation, ConfirmStop, []string{"esc"}, "no, and end the turn"},
	{Confirmation, ConfirmNever, []string{"N"}, "no, never, by the rule that is shown"},
	{Confirmation, ConfirmGuide, []string{"r"}, "no, and say why"},
	{Confirmation, ConfirmEditText, []string{"ctrl+g"}, "edit the plan in $VISUAL or $EDITOR"},
	{Confirmation, ConfirmLeft, []string{"left"}, "the question before"},
	{Confirmation, ConfirmRight, []string{"right"}, "the next question"},

	{Select, SelectPrevious, []string{"up", "ctrl+p"}, "item above"},
	{Select, SelectNext, []string{"down", "ctrl+n"}, "item below"},
	{Select, SelectPageUp, []string{"pgup"}, "page up"},
	{Select, SelectPageDown, []string{"pgdown"}, "page down"},
	{Select, SelectFirst, []string{"ctrl+home"}, "first item"},
	{Select, SelectLast, []string{"ctrl+end"}, "last item"},
	{Select, SelectAccept, []string{"enter"}, "choose the item"},
	{Select, SelectCancel, []string{"esc", "ctrl+c"}, "close the list"},

	{MessageSelector, MessageUp, []string{"up", "k", "ctrl+p"}, "message above"},
	{MessageSelector, MessageDown, []string{"down", "j", "ctrl+n"}, "message below"},
	{MessageSelector, MessageTop, []string{"ctrl+up", "shift+up", "alt+up", "K", "g", "home"}, "first message"},
	{MessageSelector, MessageBottom, []string{"ctrl+down", "shift+down", "alt+down", "J", "G", "end"}, "last message"},
	{MessageSelector, MessageSelect, []string{"enter"}, "choose the message"},
	{MessageSelector, MessageCancel, []string{"esc", "q", "ctrl+c"}, "close the list"},

	{Help, HelpDismiss, []string{"esc", "q", "ctrl+c"}, "close the page"},
}
