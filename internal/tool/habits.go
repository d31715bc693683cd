package tool

import (
	"encoding/json"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/permission/call"
)

// Models call tools in the shapes that they know from other agents. The declaration of a tool has the other spellings
// of its name and parameters, and the parameters that it ignores. The Mend functions here translate the shapes that
// names cannot: a list of words as a command, a patch sent to a shell, an editor with commands, ranges of lines,
// several files at once, the items of task lists. The rest fails, and the error shows the model the schema.

// chatter are parameters of other agents' tools in which a model says why, or that steer those agents only. Every
// built-in tool ignores them.
const chatter = " explanation justification instruction requires_approval with_escalated_permissions login" +
	" thought sandbox_permissions reasoning yield_time_ms max_output_tokens tool_summary wait_for_previous_tools" +
	" task_progress security_risk summary complexity tool_action tool_title"

func word(fields map[string]json.RawMessage, name string) string {
	var s string
	_ = json.Unmarshal(fields[name], &s) // what is no text is handled like none
	return s
}

func set(fields map[string]json.RawMessage, name string, v any) {
	if raw, err := json.Marshal(v); err == nil {
		fields[name] = raw
	}
}

// take moves the first field that there is to another name.
func take(fields map[string]json.RawMessage, to string, from ...string) {
	for _, f := range from {
		if v, ok := fields[f]; ok && fields[to] == nil {
			fields[to] = v
			delete(fields, f)
		}
	}
}

// takeNumber takes a field that is a whole number, also one in a string; 0 without one.
func takeNumber(fields map[string]json.RawMessage, name string) int {
	n, err := strconv.Atoi(strings.Trim(string(fields[name]), `"`))
	if err == nil {
		delete(fields, name)
	}
	return n
}

// mendItems changes the objects of a list. The list keeps its bytes where nothing changes.
func mendItems(fields map[string]json.RawMessage, name string, change func(item map[string]json.RawMessage)) {
	var list []map[string]json.RawMessage
	if json.Unmarshal(fields[name], &list) != nil {
		return
	}
	changed := false
	for _, item := range list {
		before := maps.Clone(item)
		change(item)
		changed = changed || !maps.EqualFunc(before, item, slices.Equal[json.RawMessage])
	}
	if changed {
		set(fields, name, list)
	}
}

// mendBash takes a command as a list of words, with a folder to work in, with a limit in seconds, and a patch that is
// sent to a shell.
func mendBash(spelling string, fields map[string]json.RawMessage) string {
	dir := word(fields, "cwd")
	delete(fields, "cwd")
	var list []string
	if json.Unmarshal(fields["command"], &list) == nil && len(list) > 0 {
		set(fields, "command", commandOf(list))
	}
	line := word(fields, "command")
	if sub, text, ok := patchInShell(line); ok {
		clear(fields)
		set(fields, "patch", text)
		if dir = path.Join(dir, sub); dir != "" && dir != "." {
			set(fields, "workdir", dir)
		}
		return "ApplyPatch"
	}
	if dir != "" && dir != "." && line != "" {
		set(fields, "command", "cd "+quoteWord(dir)+" && "+line)
	}
	// No tool stops a command within its first second, so small numbers are seconds.
	if n, err := strconv.Atoi(string(fields["timeout"])); err == nil && n >= 0 && n <= 600 && spelling != BashName {
		if delete(fields, "timeout"); n > 0 {
			set(fields, "timeout", n*1000)
		}
	}
	return ""
}

// commandOf is a command given as words: the script of a shell, a patch, or the words with quotes.
func commandOf(list []string) string {
	last := list[len(list)-1]
	switch name := strings.TrimSuffix(path.Base(list[0]), ".exe"); name {
	case "bash", "sh", "zsh":
		if len(list) == 3 && (list[1] == "-lc" || list[1] == "-c") {
			return last
		}
	case "powershell", "pwsh", "cmd", "apply_patch", "applypatch":
		if _, _, ok := patchInShell(last); ok {
			return last // a patch is the same in every shell
		}
	}
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = quoteWord(w)
	}
	return strings.Join(words, " ")
}

// quoteWord makes one word of a command line of a text.
func quoteWord(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return quote(s)
}

// patchCommand matches a command line that is only a call of apply_patch, maybe in a folder: 1 to 3 are the folder, 4
// and 6 the delimiters of a here-document, 5 its text, 7 and 8 a quoted word.
var patchCommand = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^\s*(?:cd (?:"([^"\n$` + "`" + `\\]+)"|'([^'\n]+)'|([^\s;|&$` + "`" + `\\"']+)) *&& *)?` +
		`apply_?patch (?: *<<-? *['"]?(\w+)['"]? *\n(.*)\n(\w+)| *'([^']*)'| *"([^"$` + "`" + `\\]*)")\s*$`)
})

// patchInShell reads a command that is a patch, or only applies one.
func patchInShell(line string) (dir, text string, ok bool) {
	bare := strings.TrimSpace(line)
	if strings.HasPrefix(bare, "*** Begin Patch\n") && strings.HasSuffix(bare, "\n*** End Patch") {
		return "", bare, true // no shell has such a command
	}
	if !strings.Contains(line, "patch") {
		return "", "", false
	}
	m := patchCommand().FindStringSubmatch(line)
	if m == nil || m[4] != m[6] {
		return "", "", false
	}
	return m[1] + m[2] + m[3], m[5] + m[7] + m[8], true
}

// mendRead takes ranges of lines and lists of files, which become a Batch. A call under the name of a tool that lists
// folders may go without a path.
func mendRead(spelling string, fields map[string]json.RawMessage) string {
	span, files := []int{}, []string{}
	if json.Unmarshal(fields["view_range"], &span) == nil && len(span) == 2 {
		delete(fields, "view_range")
		set(fields, "offset", max(span[0], 1))
		set(fields, "end_line", span[1])
	}
	if fields["end_line"] != nil {
		first, _ := strconv.Atoi(string(fields["offset"]))
		first = max(first, 1)
		set(fields, "offset", first)
		if last := takeNumber(fields, "end_line"); last >= first {
			set(fields, "limit", last-first+1)
		}
	}
	if json.Unmarshal(fields["paths"], &files) == nil && len(files) > 0 {
		delete(fields, "paths")
		set(fields, "file_path", files[0])
		if len(files) > 1 {
			var calls []map[string]any
			for _, f := range files {
				calls = append(calls, map[string]any{"tool": "Read", "input": map[string]any{"file_path": f}})
			}
			clear(fields)
			set(fields, "calls", calls)
			return "Batch"
		}
	}
	if fields["file_path"] == nil && strings.HasPrefix(strings.ToLower(spelling), "l") {
		set(fields, "file_path", ".")
	}
	return ""
}

// mendEdit takes the commands of str_replace_editor, and lists of edits.
func mendEdit(_ string, fields map[string]json.RawMessage) string {
	if fields["edits"] != nil || fields["edit"] != nil {
		return "MultiEdit"
	}
	tool := map[string]string{
		"view": "Read", "create": "Write", "write": "Write", "str_replace": "Edit", "replace": "Edit",
	}[word(fields, "command")]
	if tool != "" {
		delete(fields, "command")
	}
	if tool == "Edit" && fields["new_string"] == nil {
		set(fields, "new_string", "")
	}
	return tool
}

// mendGlob takes the name of a file that is to be found anywhere.
func mendGlob(spelling string, fields map[string]json.RawMessage) string {
	p := word(fields, "pattern")
	if name := strings.ToLower(spelling); (name == "file_search" || name == "find_file") && p != "" &&
		!strings.ContainsAny(p, `*?[{/\`) {
		set(fields, "pattern", "**/*"+p+"*")
	}
	return ""
}

// mendGrep takes the switch for case that other tools have the other way round.
func mendGrep(_ string, fields map[string]json.RawMessage) string {
	switch string(fields["case_sensitive"]) {
	case "false":
		set(fields, "-i", true)
		fallthrough
	case "true":
		delete(fields, "case_sensitive")
	}
	return ""
}

// mendTodos takes other names in the items of a task list, and of their states.
func mendTodos(_ string, fields map[string]json.RawMessage) string {
	mendItems(fields, "todos", func(item map[string]json.RawMessage) {
		take(item, "content", "step", "title", "description", "text", "task")
		switch word(item, "status") {
		case "done", "complete", "finished":
			set(item, "status", "completed")
		case "in-progress", "inProgress", "doing", "active":
			set(item, "status", "in_progress")
		case "todo", "not_started", "not-started", "open":
			set(item, "status", "pending")
		}
	})
	return ""
}

// mendEdits takes a single edit without its list, and gives the parameters of each edit the names of Edit's.
func mendEdits(_ string, fields map[string]json.RawMessage) string {
	if fields["edits"] == nil && len(fields) > 1 {
		one := maps.Clone(fields)
		delete(one, "file_path")
		maps.DeleteFunc(fields, func(key string, _ json.RawMessage) bool { return key != "file_path" })
		set(fields, "edits", []any{one})
	}
	if list := fields["edits"]; len(list) > 0 && list[0] == '{' {
		set(fields, "edits", []any{list})
	}
	mendItems(fields, "edits", editTool.Rename)
	return ""
}

// callParams has the spellings in the items of a Batch.
var callParams = call.Declaration{Params: map[string]string{
	"tool": "name tool_name recipient_name", "input": "parameters arguments args params tool_input",
}}

// mendCalls gives the fields of each call the names of the schema.
func mendCalls(_ string, fields map[string]json.RawMessage) string {
	mendItems(fields, "calls", func(one map[string]json.RawMessage) {
		callParams.Rename(one)
		if name := word(one, "tool"); strings.HasPrefix(name, "functions.") {
			set(one, "tool", strings.TrimPrefix(name, "functions."))
		}
		if text := word(one, "input"); json.Valid([]byte(text)) { // JSON in a string
			one["input"] = json.RawMessage(text)
		}
	})
	return ""
}

// mendQuestion takes a single question for a list of one.
func mendQuestion(_ string, fields map[string]json.RawMessage) string {
	if fields["questions"] == nil && fields["question"] != nil && fields["options"] != nil {
		one := maps.Clone(fields)
		clear(fields)
		set(fields, "questions", []any{one})
	}
	return ""
}
