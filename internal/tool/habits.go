package tool

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission/call"
)

// Habitual makes a call in the manner of another agent's tools one of lathe's, where it can mean only one: another tool
// (str_replace_editor by its command, apply_patch called as a shell command), or another shape of input (a list of
// words as a command, a range of lines, the whole object as text). canonical has the spellings of names and parameters
// (call.Catalogue.Canonical); it is asked before and after. Tools that are not lathe's own keep their input as it is:
// their schemas decide what they take.
func Habitual(canonical func(name string, input []byte) (string, []byte)) func(name string, input []byte) (string,
	[]byte) {
	return func(name string, input []byte) (string, []byte) {
		name = unprefixed(name)
		usual, mended := canonical(name, input)
		if len(input) == 0 || !own(usual) || !strange(name, usual, input) {
			return usual, mended
		}
		fields := object(input)
		if fields == nil {
			return usual, mended
		}
		to := reshape(name, usual, fields)
		shaped, err := json.Marshal(fields)
		if err != nil {
			return usual, mended
		}
		again, fixed := canonical(to, shaped)
		if fixed == nil {
			fixed = shaped
		}
		if rest := object(fixed); drop(rest, chatter...) {
			fixed, _ = json.Marshal(rest)
		}
		if bytes.Equal(fixed, input) {
			fixed = nil
		}
		return again, fixed
	}
}

// own reports whether a tool is one of lathe's own.
func own(name string) bool {
	return slices.ContainsFunc(builtins, func(b builtin) bool { return b.Name == name })
}

// chatter are parameters of other agents' tools in which a model says why; they change nothing.
var chatter = []string{
	"explanation", "justification", "instruction", "requires_approval", "with_escalated_permissions",
	"sandbox_permissions", "thought", "reasoning",
	"yield_time_ms", "max_output_tokens", "login", "tool_summary", "toolSummary", "waitForPreviousTools",
}

// unprefixed takes off the namespace that some models put before a name.
func unprefixed(name string) string {
	for _, p := range []string{"functions.", "default_api.", "container.", "tools.", "developer__"} {
		if rest, ok := strings.CutPrefix(name, p); ok {
			return rest
		}
	}
	return name
}

// marks are in every input that is reshaped; few others have one, so that nearly all calls are not parsed once more.
var marks = []string{
	`"command"`, `"cmd"`, "_line", "Line", "view_range", `"paths"`, `"edit"`, "SEARCH", `"plan"`,
	"expected_replacements", `"n_lines"`, "case_sensitive", "caseSensitive", `"include"`, `"script"`, "recursive",
	`"depth"`,
}

// strange reports whether an input may need another shape.
func strange(name, usual string, input []byte) bool {
	if trimmed := bytes.TrimLeft(input, " \n"); len(trimmed) > 0 && trimmed[0] == '"' {
		return true
	}
	if name != usual {
		return true
	}
	switch usual {
	case "Bash":
		return bytes.Contains(input, []byte("apply")) || bytes.Contains(input, []byte("*** Begin Patch")) ||
			bytes.Contains(input, []byte(":[")) || bytes.Contains(input, []byte(": [")) ||
			name == "Shell" || bytes.Contains(input, []byte("dir")) || bytes.Contains(input, []byte("cwd")) || hasChatter(input)
	case TodoName:
		return name != TodoName
	case "Memory":
		return name == "save_memory"
	}
	text := string(input)
	return slices.ContainsFunc(moreMarks, func(m string) bool { return strings.Contains(text, m) }) ||
		slices.ContainsFunc(marks, func(m string) bool { return strings.Contains(text, m) }) || hasChatter(input)
}

func hasChatter(input []byte) bool {
	return slices.ContainsFunc(chatter, func(c string) bool { return bytes.Contains(input, []byte(`"`+c+`"`)) })
}

// object reads the fields of an input, also of one that is an object in a string.
func object(input []byte) map[string]json.RawMessage {
	var text string
	if json.Unmarshal(input, &text) == nil {
		input = []byte(text)
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) != nil {
		return nil
	}
	return fields
}

// reshape changes the fields, and returns the name of the tool that is meant.
func reshape(name, usual string, fields map[string]json.RawMessage) string {
	if name != usual {
		peerFields(usual, fields)
		usual = peerCalls(name, usual, fields)
	}
	reshapeMore(name, usual, fields)
	switch usual {
	case "Bash":
		return shellHabits(fields)
	case "Read":
		return readHabits(fields)
	case "Grep":
		grepHabits(fields)
	case TodoName:
		todoHabits(fields)
	case "Edit", "ApplyPatch":
		return editHabits(name, usual, fields)
	case "MultiEdit":
		if one, ok := fields["edit"]; ok && fields["edits"] == nil {
			delete(fields, "edit")
			if fields["edits"] = one; len(one) > 0 && one[0] == '{' {
				fields["edits"] = json.RawMessage("[" + string(one) + "]")
			}
		}
	}
	return usual
}

func word(fields map[string]json.RawMessage, names ...string) string {
	for _, n := range names {
		var s string
		if json.Unmarshal(fields[n], &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

func set(fields map[string]json.RawMessage, name string, v any) {
	if raw, err := json.Marshal(v); err == nil {
		fields[name] = raw
	}
}

// take moves a field to another name.
func take(fields map[string]json.RawMessage, to string, from ...string) {
	for _, f := range from {
		if v, ok := fields[f]; ok && fields[to] == nil {
			fields[to] = v
			delete(fields, f)
		}
	}
}

// editHabits are those of editors with a command, of Gemini's replace, and of blocks with SEARCH and REPLACE.
func editHabits(name, usual string, fields map[string]json.RawMessage) string {
	var n int
	if json.Unmarshal(fields["expected_replacements"], &n) == nil {
		if n > 1 {
			set(fields, "replace_all", true)
		}
		delete(fields, "expected_replacements")
	}
	if to := blocksAsPatch(fields); to != "" {
		return to
	}
	if _, list := fields["edits"]; list && usual == "Edit" {
		return "MultiEdit"
	}
	if _, one := fields["edit"]; one && usual == "Edit" {
		reshape(name, "MultiEdit", fields)
		return "MultiEdit"
	}
	command := word(fields, "command")
	if usual != "Edit" || command == "" {
		return usual
	}
	delete(fields, "command")
	switch command {
	case "view":
		return readHabits(fields)
	case "create", "write":
		take(fields, "content", "file_text")
		return "Write"
	case "str_replace", "replace":
		if fields["new_str"] == nil && fields["new_string"] == nil {
			set(fields, "new_string", "")
		}
		return "Edit"
	case "insert":
		if insertAt(fields, intOf(fields["insert_line"]), word(fields, "new_str", "insert_text", "new_string")) {
			return "ApplyPatch"
		}
	}
	set(fields, "command", command)
	return usual
}

// readHabits are ranges of lines, and lists of one path. Several paths become a Batch.
func readHabits(fields map[string]json.RawMessage) string {
	var paths []string
	if json.Unmarshal(fields["paths"], &paths) == nil && len(paths) > 0 {
		delete(fields, "paths")
		if len(paths) == 1 {
			set(fields, "file_path", paths[0])
			return "Read"
		}
		var calls []map[string]any
		for _, p := range paths {
			calls = append(calls, map[string]any{"tool": "Read", "input": map[string]any{"file_path": p}})
		}
		clear(fields)
		set(fields, "calls", calls)
		return "Batch"
	}
	var span []int
	if json.Unmarshal(fields["view_range"], &span) == nil && len(span) == 2 {
		delete(fields, "view_range")
		lineRange(fields, span[0], span[1])
	}
	first := number1(fields, "start_line", "startLine", "start_line_one_indexed", "line_start", "line_offset")
	last := number1(fields, "end_line", "endLine", "end_line_one_indexed_inclusive", "end_line_one_indexed", "line_end")
	if first > 0 || last > 0 {
		lineRange(fields, max(first, 1), last)
	}
	take(fields, "limit", "n_lines")
	drop(fields, "should_read_entire_file", "recursive", "depth")
	return "Read"
}

func lineRange(fields map[string]json.RawMessage, first, last int) {
	set(fields, "offset", max(first, 1))
	if last >= first && last > 0 {
		set(fields, "limit", last-max(first, 1)+1)
	}
}

// number1 takes the first of some fields that is a number, also one in a string; 0: none is.
func number1(fields map[string]json.RawMessage, names ...string) int {
	for _, n := range names {
		if i, err := strconv.Atoi(strings.Trim(string(fields[n]), `"`)); err == nil {
			delete(fields, n)
			return i
		}
	}
	return 0
}

func grepHabits(fields map[string]json.RawMessage) {
	var sensitive bool
	for _, n := range []string{"case_sensitive", "caseSensitive"} {
		if json.Unmarshal(fields[n], &sensitive) == nil && fields[n] != nil {
			if !sensitive {
				set(fields, "-i", true)
			}
			delete(fields, n)
		}
	}
	for _, n := range []string{"include", "include_pattern", "glob"} {
		var list []string
		if json.Unmarshal(fields[n], &list) != nil {
			continue
		}
		switch len(list) {
		case 0:
			delete(fields, n)
		case 1:
			set(fields, n, list[0])
		default:
			set(fields, n, "{"+strings.Join(list, ",")+"}")
		}
	}
}

// todoHabits are other names in the items of a task list, and of their states.
func todoHabits(fields map[string]json.RawMessage) {
	take(fields, "todos", "plan", "items", "tasks")
	if lines := word(fields, "todos"); lines != "" {
		checkList(fields, lines)
	}
	var list []map[string]json.RawMessage
	if json.Unmarshal(fields["todos"], &list) != nil {
		return
	}
	for _, item := range list {
		take(item, "content", "step", "title", "description", "text", "task")
		switch word(item, "status") {
		case "done", "complete", "finished":
			set(item, "status", "completed")
		case "in-progress", "inProgress", "doing", "active":
			set(item, "status", "in_progress")
		case "todo", "not_started", "not-started", "open":
			set(item, "status", "pending")
		}
	}
	set(fields, "todos", list)
}

// shellHabits are lists of words, a folder to work in, and patches.
func shellHabits(fields map[string]json.RawMessage) string {
	take(fields, "command", "cmd", "script")
	dir := word(fields, "workdir", "working_directory", "cwd", "directory", "dir_path", "dir")
	drop(fields, "workdir", "working_directory", "cwd", "directory", "dir_path", "dir")
	var list []string
	if json.Unmarshal(fields["command"], &list) == nil && len(list) > 0 {
		if len(list) == 2 && isPatchCommand(list[0]) {
			return asPatch(fields, list[1], dir)
		}
		set(fields, "command", oneLineOf(list))
	}
	line := word(fields, "command")
	if sub, text, ok := patchInShell(line); ok {
		return asPatch(fields, text, path.Join(dir, sub))
	}
	if dir != "" && dir != "." && line != "" {
		set(fields, "command", "cd "+quoteWord(dir)+" && "+line)
	}
	return "Bash"
}

func isPatchCommand(s string) bool { return s == "apply_patch" || s == "applypatch" }

func asPatch(fields map[string]json.RawMessage, text, dir string) string {
	clear(fields)
	set(fields, "patch", text)
	if dir != "" && dir != "." {
		set(fields, "workdir", dir)
	}
	return "ApplyPatch"
}

// oneLineOf is a command given as words: the script of a shell, or the words with quotes.
func oneLineOf(list []string) string {
	shells := []string{"bash", "sh", "zsh"}
	if len(list) == 3 && slices.Contains(shells, path.Base(list[0])) && (list[1] == "-lc" || list[1] == "-c") {
		return list[2]
	}
	if _, _, ok := patchInShell(list[len(list)-1]); ok && len(list) > 1 && slices.Contains([]string{
		"powershell", "pwsh",
		"cmd",
	}, strings.TrimSuffix(path.Base(list[0]), ".exe")) {
		return list[len(list)-1] // a patch is the same in every shell
	}
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = quoteWord(w)
	}
	return strings.Join(words, " ")
}

// quoteWord makes one word of a command line of a text.
func quoteWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:=,+@%", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// patchInShell reads a command that is only a call of apply_patch with a patch: as a here-document, maybe after a cd,
// or as one quoted word.
func patchInShell(line string) (dir, text string, ok bool) {
	rest := strings.TrimSpace(line)
	if strings.HasPrefix(rest, "*** Begin Patch\n") && strings.HasSuffix(rest, "\n*** End Patch") {
		return "", rest, true // no shell has such a command
	}
	if after, found := strings.CutPrefix(rest, "cd "); found {
		dir, rest, ok = strings.Cut(after, "&&")
		if dir, rest = strings.TrimSpace(dir), strings.TrimSpace(rest); !ok || strings.ContainsAny(dir, "\n;|&$`\\") {
			return "", "", false
		}
		if n := len(dir); n > 2 && (dir[0] == '"' || dir[0] == '\'') && strings.IndexByte(dir[1:], dir[0]) == n-2 {
			dir = dir[1 : n-1]
		} else if strings.ContainsAny(dir, " \"'") {
			return "", "", false
		}
	}
	name, rest, _ := strings.Cut(rest, " ")
	rest = strings.TrimSpace(rest)
	if !isPatchCommand(name) {
		return "", "", false
	}
	if tag, body, found := strings.Cut(strings.TrimPrefix(rest, "<<"), "\n"); found && strings.HasPrefix(rest, "<<") {
		tag = strings.Trim(strings.TrimPrefix(strings.TrimSpace(tag), "-"), `'"`)
		text, found = strings.CutSuffix(strings.TrimRight(body, " \n"), "\n"+tag)
		return dir, text, found && tag != "" && !strings.ContainsAny(tag, " ;|&>")
	}
	if n := len(rest); n > 2 && (rest[0] == '"' || rest[0] == '\'') && rest[n-1] == rest[0] && !strings.ContainsAny(
		rest[1:n-1], string(rest[0])+"$`\\") {
		return dir, rest[1 : n-1], true
	}
	return "", "", false
}

// HabitsOf are the spellings of a catalogue with the habits of other agents' models, and calls by way of CallTool.
func HabitsOf(c *call.Catalogue) func(name string, input []byte) (string, []byte) {
	return Carried(Habitual(c.Canonical))
}
