package tool

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// moreMarks are in inputs that reshapeMore changes, beside marks.
var moreMarks = []string{
	"_range", `"args"`, `"files"`, `"allow_multiple"`, "names_only", "respect_g", "file_filtering", "include_dirs",
	"include_content", `"format"`, `"mode"`, `"follow_up"`, `"question"`, `"timeout"`,
	"fixed_strings", "sRegexp", "is_regexp", `"prompt"`,
}

// reshapeMore changes what only one tool of another agent has; name is the one that was called.
func reshapeMore(name, usual string, fields map[string]json.RawMessage) {
	switch usual {
	case "Bash":
		secondsAsMillis(name, fields)
	case "Read":
		namedFiles(fields)
		if first, last, ok := strings.Cut(word(fields, "line_range", "lines_range"), "-"); ok {
			from, err := strconv.Atoi(strings.TrimSpace(first))
			to, err2 := strconv.Atoi(strings.TrimSpace(last))
			if err == nil && err2 == nil {
				drop(fields, "line_range", "lines_range")
				lineRange(fields, from, to)
			}
		}
	case "Glob":
		drop(fields, "include_dirs", "respect_git_ignore", "respect_gemini_ignore", "respect_qwen_ignore", "case_sensitive",
			"file_filtering_options")
	case "Grep":
		searchSwitches(fields)
	case "Edit":
		if _, ok := fields["allow_multiple"]; ok && fields["replace_all"] == nil {
			fields["replace_all"] = fields["allow_multiple"]
			delete(fields, "allow_multiple")
		}
	case "Write":
		if mode := word(fields, "mode"); mode == "overwrite" || mode == "w" {
			delete(fields, "mode")
		}
	case "WebFetch":
		addressInPrompt(fields)
	case SearchName:
		drop(fields, "include_content")
	case "AskUserQuestion":
		followUp(fields)
	case MemoryName:
		asNote(name, fields)
	}
}

// secondsAsMillis: Kimi's Shell counts its limit in seconds, and allows no more than some minutes.
func secondsAsMillis(name string, fields map[string]json.RawMessage) {
	var seconds int
	if name == "Shell" && json.Unmarshal(fields["timeout"], &seconds) == nil && seconds > 0 && seconds <= 3600 {
		set(fields, "timeout", seconds*1000)
	}
}

// namedFiles are the files of Roo's and Gemini's readers of many files. Patterns are left: they need a Glob first.
func namedFiles(fields map[string]json.RawMessage) {
	var paths []string
	var args struct {
		File json.RawMessage `json:"file"`
	}
	list, from := fields["files"], "files"
	if json.Unmarshal(fields["args"], &args) == nil && args.File != nil {
		list, from = args.File, "args"
	} else if fields["include"] != nil {
		list, from = fields["include"], "include"
	}
	var objects []struct {
		Path string `json:"path"`
	}
	if json.Unmarshal(list, &objects) == nil {
		for _, o := range objects {
			paths = append(paths, o.Path)
		}
	} else if json.Unmarshal(list, &paths) != nil {
		return
	}
	if len(paths) == 0 || slices.ContainsFunc(paths,
		func(p string) bool { return p == "" || strings.ContainsAny(p, "*?[{") }) {
		return
	}
	drop(fields, from, "exclude", "useDefaultExcludes", "respect_git_ignore", "file_filtering_options")
	set(fields, "paths", paths)
}

func searchSwitches(fields map[string]json.RawMessage) {
	var on bool
	if json.Unmarshal(fields["names_only"], &on) == nil && fields["names_only"] != nil {
		if on && fields["output_mode"] == nil {
			set(fields, "output_mode", modeFiles)
		}
		delete(fields, "names_only")
	}
	plainPattern(fields)
	drop(fields, "respect_git_ignore")
}

// addressInPrompt takes the one address out of the prompt of Gemini's fetch, which has no other place for it.
func addressInPrompt(fields map[string]json.RawMessage) {
	drop(fields, "format", "timeout")
	if fields["url"] != nil {
		return
	}
	var found []string
	for _, w := range strings.Fields(word(fields, "prompt")) {
		w = strings.Trim(w, "\"'`<>(),.;:!?")
		if u, err := url.Parse(w); err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" &&
			!slices.Contains(found, w) {
			found = append(found, w)
		}
	}
	if len(found) == 1 {
		set(fields, "url", found[0])
	}
}

// followUp is one question, maybe with answers as texts.
func followUp(fields map[string]json.RawMessage) {
	question := word(fields, "question")
	take(fields, "options", "follow_up")
	if question == "" || fields["options"] == nil || fields["questions"] != nil {
		return
	}
	one := map[string]json.RawMessage{"options": fields["options"]}
	var texts []string
	var answers []map[string]json.RawMessage
	switch {
	case json.Unmarshal(fields["options"], &texts) == nil:
	case json.Unmarshal(fields["options"], &answers) == nil:
		texts = nil
		for _, a := range answers {
			if a["label"] == nil {
				texts = append(texts, word(a, "text"))
			}
		}
	}
	if len(texts) > 0 {
		var options []map[string]string
		for _, t := range texts {
			options = append(options, map[string]string{"label": t})
		}
		set(one, "options", options)
	}
	for _, n := range []string{"question", "header", "multiSelect"} {
		if v, ok := fields[n]; ok {
			one[n] = v
		}
	}
	drop(fields, "question", "header", "multiSelect", "options")
	set(fields, "questions", []map[string]json.RawMessage{one})
}

// asNote is a fact to keep, of a tool that has nothing else.
func asNote(name string, fields map[string]json.RawMessage) {
	fact := word(fields, "fact")
	if name != "save_memory" || fact == "" || len(fields) > 1 {
		return
	}
	title := strings.Fields(fact)
	clear(fields)
	set(fields, "command", "save")
	set(fields, "name", strings.Join(title[:min(len(title), 6)], " "))
	set(fields, "description", fact)
	set(fields, "text", fact)
}

// checkList reads tasks as lines of Markdown with boxes. A text with any other line is left.
func checkList(fields map[string]json.RawMessage, text string) {
	states := map[string]string{
		"[ ] ": "pending", "[x] ": "completed", "[X] ": "completed", "[-] ": "in_progress",
		"[~] ": "in_progress",
	}
	var list []map[string]string
	for line := range strings.Lines(text) {
		if line = strings.TrimPrefix(strings.TrimSpace(line), "- "); line == "" {
			continue
		}
		state, ok := states[line[:min(len(line), 4)]]
		if !ok {
			return
		}
		list = append(list, map[string]string{"content": line[4:], "status": state})
	}
	set(fields, "todos", list)
}
