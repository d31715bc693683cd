package tool

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/fuzzy"
)

// Names are the built-in tools under their canonical names, whether they are there yet or not.
var Names = []string{
	"Read", "Write", "Edit", "ApplyPatch", "Glob", "Grep", "Bash", "BashOutput", "KillShell", "Task", "TodoWrite",
	"Question", "WebFetch", "WebSearch", "Skill", "LSP", "Batch", "ToolSearch", "NotebookEdit", "Memory",
	"EnterPlanMode", "ExitPlanMode", "Open",
}

// canonicalName finds the tool that a spelling means. Case, underscores and hyphens do not count. Names of
// other agents' tools are known too; what is not known stays as it is.
func canonicalName(name string) string {
	key := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(name))
	if strings.HasPrefix(key, "mcp") && strings.Contains(name, "__") {
		return name
	}
	for _, n := range Names {
		if key == strings.ToLower(n) {
			return n
		}
	}
	switch key {
	case "readfile", "view", "viewfile", "cat", "openfile", "ls", "list", "listdir", "listdirectory", "listfiles":
		return "Read"
	case "writefile", "createfile", "create", "savefile":
		return "Write"
	case "editfile", "strreplace", "strreplaceeditor", "strreplacebasededittool", "replace", "searchreplace", "replaceinfile":
		return "Edit"
	case "patch":
		return "ApplyPatch"
	case "findfiles", "filesearch", "globfiles", "find":
		return "Glob"
	case "grepsearch", "search", "searchfiles", "searchfilecontent", "ripgrep", "rg", "codesearch":
		return "Grep"
	case "shell", "runshell", "runshellcommand", "shellcommand", "localshell", "runterminalcmd", "runterminalcommand", "runcommand",
		"execute", "executecommand", "exec", "execcommand", "terminal", "sh":
		return "Bash"
	case "taskoutput", "shelloutput":
		return "BashOutput"
	case "killbash", "taskstop":
		return "KillShell"
	case "agent", "subagent", "spawnagent":
		return "Task"
	case "todo", "todos", "writetodos", "updatetodos", "updateplan":
		return "TodoWrite"
	case "askuserquestion", "askuser":
		return "Question"
	case "fetch", "fetchurl":
		return "WebFetch"
	case "googlewebsearch", "searchweb":
		return "WebSearch"
	case "editnotebook":
		return "NotebookEdit"
	}
	return name
}

// param is one parameter of a tool and its other spellings. camelCase needs no mention.
type param struct {
	name  string
	kind  byte // 's' text, 'i' integer, 'b' yes or no, 'l' list
	alias string
}

const fileAliases = "path filepath file filename absolute_path target_file"

const folderAliases = "dir dir_path directory folder cwd root target_directory"

// paramsOf lists the parameters of a tool whose other spellings are known.
func paramsOf(tool string) []param {
	switch tool {
	case "Read":
		return []param{
			{"file_path", 's', fileAliases + " " + folderAliases},
			{"offset", 'i', "start_line line line_start start"},
			{"limit", 'i', "num_lines max_lines lines count"},
		}
	case "Write":
		return []param{{"file_path", 's', fileAliases}, {"content", 's', "contents text file_text file_content data"}}
	case "Edit":
		return []param{
			{"file_path", 's', fileAliases},
			{"old_string", 's', "old_str old_text old search find"},
			{"new_string", 's', "new_str new_text new replace replacement"},
			{"replace_all", 'b', "all"},
		}
	case "Glob":
		return []param{{"pattern", 's', "glob glob_pattern query"}, {"path", 's', folderAliases}}
	case "Grep":
		return []param{
			{"pattern", 's', "regex query search search_pattern"},
			{"path", 's', folderAliases},
			{"glob", 's', "include include_pattern file_pattern glob_pattern"},
			{"type", 's', "file_type"},
			{"output_mode", 's', "mode"},
			{"-A", 'i', "A after after_context"},
			{"-B", 'i', "B before before_context"},
			{"-C", 'i', "C"},
			{"context", 'i', "context_lines"},
			{"-n", 'b', "n line_numbers"},
			{"-i", 'b', "i case_insensitive ignore_case"},
			{"-o", 'b', "o only_matching"},
			{"multiline", 'b', ""},
			{"head_limit", 'i', "limit max_results"},
			{"offset", 'i', ""},
		}
	case "Bash":
		return []param{
			{"command", 's', "cmd script shell_command"},
			{"timeout", 'i', "timeout_ms"},
			{"description", 's', ""},
			{"run_in_background", 'b', "background is_background"},
		}
	case "BashOutput":
		return []param{{"bash_id", 's', "task_id shell_id id"}, {"filter", 's', ""}, {"block", 'b', "wait"}, {"timeout", 'i', "timeout_ms"}}
	case "KillShell":
		return []param{{"shell_id", 's', "task_id bash_id id"}}
	case "TodoWrite":
		return []param{{"todos", 'l', "items tasks plan"}}
	}
	return nil
}

// Canonical gives a call the names that the tools themselves use: of the tool, and of its parameters.
// Values of the wrong kind that can mean only one thing ("10" for 10) are mended, and nulls left out. The
// returned input is nil when nothing had to be changed. Broken JSON is never touched.
func Canonical(name string, input []byte) (string, []byte) {
	canonical := canonicalName(name)
	params := paramsOf(canonical)
	if len(input) == 0 || params == nil {
		return canonical, nil
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) != nil || fields == nil {
		return canonical, nil
	}
	changed := renameFields(fields, params)
	for _, p := range params {
		if v, ok := fields[p.name]; ok {
			if mended := mend(v, p.kind); mended != nil {
				fields[p.name] = mended
				changed = true
			}
		}
	}
	if _, ok := fields["file_path"]; !ok && canonical == "Read" && isLister(name) {
		fields["file_path"] = json.RawMessage(`"."`)
		changed = true
	}
	if !changed {
		return canonical, nil
	}
	out, err := json.Marshal(fields)
	if err != nil {
		return canonical, nil
	}
	return canonical, out
}

// isLister reports whether a name asks for a folder's content, where no path means this folder.
func isLister(name string) bool { return strings.HasPrefix(strings.ToLower(name), "l") }

// renameFields gives fields their canonical names and drops nulls.
func renameFields(fields map[string]json.RawMessage, params []param) (changed bool) {
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		v := fields[key]
		if string(v) == "null" {
			delete(fields, key)
			changed = true
			continue
		}
		if slices.ContainsFunc(params, func(p param) bool { return p.name == key }) {
			continue
		}
		snake := snakeCase(key)
		for _, p := range params {
			if p.name != snake && !slices.Contains(strings.Fields(p.alias), snake) && !slices.Contains(strings.Fields(p.alias), key) {
				continue
			}
			if _, taken := fields[p.name]; !taken {
				delete(fields, key)
				fields[p.name] = v
				changed = true
			}
			break
		}
	}
	return changed
}

// snakeCase turns oldString into old_string.
func snakeCase(s string) string {
	var b strings.Builder
	for i, r := range s {
		if 'A' <= r && r <= 'Z' && len(s) > 1 {
			if i > 0 {
				b.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// mend turns a value of the wrong kind into what it must mean, or returns nil.
func mend(v json.RawMessage, kind byte) json.RawMessage {
	var text string
	isText := json.Unmarshal(v, &text) == nil
	switch {
	case kind == 'i' && isText:
		if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil {
			return json.RawMessage(strconv.Itoa(n))
		}
	case kind == 'i' && bytes.ContainsAny(v, ".eE"):
		if f, err := strconv.ParseFloat(string(v), 64); err == nil && f == float64(int64(f)) {
			return json.RawMessage(strconv.FormatInt(int64(f), 10))
		}
	case kind == 'b' && isText:
		if t := strings.ToLower(strings.TrimSpace(text)); t == "true" || t == "false" {
			return json.RawMessage(t)
		}
	case kind == 'l' && isText:
		var list []json.RawMessage
		if json.Unmarshal([]byte(text), &list) == nil && list != nil {
			return json.RawMessage(text)
		}
	}
	return nil
}

// Nearest is the built-in tool whose name is most like name, or "" when none is alike.
func Nearest(name string) string {
	if c := canonicalName(name); slices.Contains(Names, c) {
		return c
	}
	best, _ := fuzzy.Nearest(name, Names, max(2, len(name)/2))
	return best
}
