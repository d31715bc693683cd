package tool

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// peerFields gives the parameters of a call to another agent's tool the names that the rest knows: those of agents that
// write them in capitals (TargetFile), and those that no declaration lists.
func peerFields(usual string, fields map[string]json.RawMessage) {
	for key, v := range fields {
		if len(key) > 1 && key[0] >= 'A' && key[0] <= 'Z' {
			if snake := snakeOf(key); fields[snake] == nil {
				fields[snake] = v
				delete(fields, key)
			}
		}
	}
	drop(fields, "task_progress", "security_risk", "summary", "complexity", "tool_action", "tool_title")
	switch usual {
	case "Bash":
		peerCommand(fields)
	case "Read":
		take(fields, "file_path", "relative_workspace_path", "directory_path", "dirpath", "dirPath")
		drop(fields, "ignore", "ignore_globs", "indentation", "file_filtering_options")
		dropWord(fields, "mode", "slice")
		oneRange(fields)
	case "Glob":
		take(fields, "path", "search_directory")
		drop(fields, "maxResults", "max_results", "limit", "offset")
	case "Grep":
		peerSearch(fields)
	case "Write":
		take(fields, "content", "code_content")
		drop(fields, "line_count", "empty_file", "overwrite")
	case "Edit", "MultiEdit":
		take(fields, "old_string", "target_content", "before")
		take(fields, "new_string", "replacement_content", "after")
		take(fields, "replace_all", "allow_multiple")
		take(fields, "edits", "replacement_chunks")
		peerChunks(fields)
		drop(fields, "display_description", "code_markdown_language", "target_lint_error_ids")
		if fields["old_string"] != nil || fields["edits"] != nil {
			drop(fields, "start_line", "end_line", "description")
			dropWord(fields, "mode", "edit")
		}
	case TodoName:
		take(fields, "todos", "todoList", "task_list")
		for _, w := range []string{"write", "update", "plan", "set"} {
			dropWord(fields, "operation", w)
			dropWord(fields, "action", w)
			dropWord(fields, "command", w)
		}
		dropFalse(fields, "merge")
	case "Open":
		take(fields, "target", "path_or_url")
	case TaskName:
		describe(fields)
	}
}

// peerChunks names the parameters in a list of edits.
func peerChunks(fields map[string]json.RawMessage) {
	var list []map[string]json.RawMessage
	if json.Unmarshal(fields["edits"], &list) != nil {
		return
	}
	for _, one := range list {
		peerFields("Edit", one)
	}
	set(fields, "edits", list)
}

func snakeOf(s string) string {
	var b strings.Builder
	for i, r := range s {
		if r >= 'A' && r <= 'Z' {
			if i > 0 {
				b.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// dropWord removes a field that has one value, which changes nothing.
func dropWord(fields map[string]json.RawMessage, name, value string) {
	if word(fields, name) == value {
		delete(fields, name)
	}
}

// dropFalse removes a switch that is off.
func dropFalse(fields map[string]json.RawMessage, names ...string) {
	for _, n := range names {
		if v := strings.Trim(string(fields[n]), `"`); v == "false" {
			delete(fields, n)
		}
	}
}

// dropTrue removes a switch that is on.
func dropTrue(fields map[string]json.RawMessage, names ...string) {
	for _, n := range names {
		if v := strings.Trim(string(fields[n]), `"`); v == "true" {
			delete(fields, n)
		}
	}
}

// peerCommand: a limit of up to ten minutes in seconds is one; no tool lets a command run for less than a second.
func peerCommand(fields map[string]json.RawMessage) {
	take(fields, "command", "command_line")
	take(fields, "cwd", "cd", "working_dir")
	take(fields, "timeout", "timeout_secs", "timeout_seconds")
	drop(fields, "goal", "safe_to_auto_run", "wait_ms_before_async", "risk_level")
	dropFalse(fields, "is_input", "reset", "waitForCompletion", "wait_for_completion")
	dropTrue(fields, "waitForCompletion", "wait_for_completion", "blocking", "Blocking")
	for _, s := range []string{"bash", "/bin/bash", "sh", "/bin/sh", "zsh"} {
		dropWord(fields, "shell", s)
	}
	switch n, err := strconv.Atoi(strings.Trim(string(fields["timeout"]), `"`)); {
	case err != nil:
	case n == 0:
		delete(fields, "timeout")
	case n > 0 && n <= 600:
		set(fields, "timeout", n*1000)
	}
}

func peerSearch(fields map[string]json.RawMessage) {
	take(fields, "path", "search_path", "file")
	take(fields, "pattern", "search_term")
	take(fields, "include", "includes")
	take(fields, "head_limit", "total_max_matches", "max_matches")
	drop(fields, "max_matches_per_file")
	dropTrue(fields, "use_default_ignore", "match_per_line")
	dropFalse(fields, "no_ignore", "includeIgnoredFiles", "match_per_line")
	if word(fields, "exclude_pattern") != "" || fields["exclude_pattern"] != nil {
		take(fields, "glob", "include", "include_pattern", "includePattern", "file_pattern")
		if without := word(fields, "exclude_pattern"); without != "" && !strings.ContainsAny(without, " ,{") {
			set(fields, "glob", strings.TrimSpace(word(fields, "glob")+" !"+without))
			delete(fields, "exclude_pattern")
		}
	}
}

// plainPattern makes a pattern of a text that is none, where a call says so.
func plainPattern(fields map[string]json.RawMessage) {
	plain := false
	for _, n := range []string{"fixed_strings", "literal_text", "literal"} {
		var on bool
		if json.Unmarshal(fields[n], &on) == nil && fields[n] != nil {
			plain = plain || on
			delete(fields, n)
		}
	}
	for _, n := range []string{"isRegexp", "is_regexp", "is_regex", "isRegex", "regexp"} {
		on := true
		if json.Unmarshal(fields[n], &on) == nil && fields[n] != nil {
			plain = plain || !on
			delete(fields, n)
		}
	}
	for _, n := range []string{"pattern", "query", "search_term"} {
		if text := word(fields, n); plain && text != "" {
			set(fields, n, regexp.QuoteMeta(text))
			return
		}
	}
}

// oneRange is Roo's list with one range of lines, of one file.
func oneRange(fields map[string]json.RawMessage) {
	var list []struct {
		Path   string            `json:"path"`
		Ranges []json.RawMessage `json:"line_ranges"`
	}
	if json.Unmarshal(fields["files"], &list) != nil || len(list) != 1 || len(list[0].Ranges) != 1 || list[0].Path == "" {
		return
	}
	var pair []int
	var text string
	if json.Unmarshal(list[0].Ranges[0], &text) == nil {
		first, last, _ := strings.Cut(text, "-")
		a, err := strconv.Atoi(strings.TrimSpace(first))
		b, err2 := strconv.Atoi(strings.TrimSpace(last))
		if err == nil && err2 == nil {
			pair = []int{a, b}
		}
	} else if json.Unmarshal(list[0].Ranges[0], &pair) != nil {
		return
	}
	if len(pair) == 2 {
		delete(fields, "files")
		set(fields, "file_path", list[0].Path)
		lineRange(fields, pair[0], pair[1])
	}
}

// describe gives a task without a description the first words of its prompt.
func describe(fields map[string]json.RawMessage) {
	prompt := word(fields, "prompt", "task", "message")
	if w := strings.Fields(prompt); len(w) > 0 && fields["description"] == nil {
		set(fields, "description", strings.Join(w[:min(len(w), 5)], " "))
	}
}

// peerCalls are calls that become one of another tool, by the name that was called.
func peerCalls(name, usual string, fields map[string]json.RawMessage) string {
	switch name {
	case "edit_file":
		if mode := word(fields, "mode"); (mode == "create" || mode == "overwrite") && fields["content"] != nil {
			drop(fields, "mode", "display_description")
			return "Write"
		}
	case "file_search", "find_file":
		take(fields, "pattern", "query", "file_name")
		if p := word(fields, "pattern"); p != "" && !strings.ContainsAny(p, "*?[{") && !path.IsAbs(p) {
			if name == "file_search" && !strings.Contains(p, "/") {
				p = "*" + p + "*"
			}
			set(fields, "pattern", "**/"+p)
		}
	case "open", "Open":
		if line := number1(fields, "line_number"); line > 0 {
			take(fields, "file_path", "path")
			set(fields, "offset", line)
			return "Read"
		}
	case "create_directory":
		if dir := word(fields, "dirPath", "path", "dir_path"); dir != "" {
			clear(fields)
			set(fields, "command", "mkdir -p "+quoteWord(dir))
			return "Bash"
		}
	case "delete_file", "Delete", "delete_path":
		if file := fileOf(fields); file != "" {
			clear(fields)
			set(fields, "patch", "*** Begin Patch\n*** Delete File: "+file+"\n*** End Patch\n")
		}
		return "ApplyPatch"
	case "move_path":
		if from, to := word(fields, "source_path"), word(fields, "destination_path"); from != "" && to != "" {
			clear(fields)
			set(fields, "patch", "*** Begin Patch\n*** Update File: "+from+"\n*** Move to: "+to+"\n*** End Patch\n")
		}
		return "ApplyPatch"
	case "insert_content":
		insertAt(fields, intOf(fields["line"])-1, word(fields, "content"))
		return "ApplyPatch"
	case "multi_replace_string_in_file":
		return manyFiles(fields)
	case "fetch_webpage":
		var list []string
		if json.Unmarshal(fields["urls"], &list) == nil && len(list) == 1 {
			delete(fields, "urls")
			set(fields, "url", list[0])
		}
	}
	return usual
}

// intOf is a number, also one in a string; -1: it is none.
func intOf(raw json.RawMessage) int {
	n, err := strconv.Atoi(strings.Trim(string(raw), `"`))
	if err != nil {
		return -1
	}
	return n
}

// insertAt makes the patch that puts a text below a line of a file: 0 is its beginning, -1 its end.
func insertAt(fields map[string]json.RawMessage, line int, text string) bool {
	file := fileOf(fields)
	if file == "" || text == "" {
		return false
	}
	head := "@@"
	if line >= 0 {
		head = "@@ -" + strconv.Itoa(line) + ",0 +" + strconv.Itoa(line+1) + " @@"
	}
	var b strings.Builder
	b.WriteString("*** Begin Patch\n*** Update File: " + file + "\n" + head + "\n")
	block{fresh: text}.lines(&b)
	b.WriteString("*** End Patch\n")
	clear(fields)
	set(fields, "patch", b.String())
	return true
}

// manyFiles makes edits of several files one MultiEdit, or a Batch of one for each file.
func manyFiles(fields map[string]json.RawMessage) string {
	const name = "multi_replace_string_in_file"
	var list []map[string]json.RawMessage
	if json.Unmarshal(fields["replacements"], &list) != nil || len(list) == 0 {
		return name
	}
	var files []string
	by := map[string][]map[string]json.RawMessage{}
	for _, one := range list {
		file := fileOf(one)
		if file == "" {
			return name
		}
		if !slices.Contains(files, file) {
			files = append(files, file)
		}
		drop(one, "explanation", "filePath", "file_path", "path")
		by[file] = append(by[file], one)
	}
	clear(fields)
	if len(files) == 1 {
		set(fields, "file_path", files[0])
		set(fields, "edits", by[files[0]])
		return "MultiEdit"
	}
	var calls []map[string]any
	for _, f := range files {
		calls = append(calls, map[string]any{"tool": "MultiEdit", "input": map[string]any{"file_path": f, "edits": by[f]}})
	}
	set(fields, "calls", calls)
	return "Batch"
}
