package llmtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Actions of a part with Do, and names of tools that do them, in order of preference.
var toolNames = map[string][]string{
	"read":  {"Read", "read", "read_file", "ReadFile", "view", "view_file", "cat"},
	"write": {"Write", "write", "write_file", "WriteFile", "create_file"},
	"edit":  {"Edit", "edit", "replace", "edit_file", "str_replace", "str_replace_editor"},
	"bash":  {"Bash", "bash", "exec_command", "shell_command", "shell", "run_shell_command", "local_shell", "execute"},
	"grep":  {"Grep", "grep", "grep_search", "search_file_content", "rg"},
	"glob":  {"Glob", "glob", "find", "find_files", "list_files"},
}

var parameterNames = map[string][]string{
	"path":    {"file_path", "filePath", "absolute_path", "path", "filename", "file", "dir_path", "directory"},
	"content": {"content", "contents", "text", "file_text"},
	"old":     {"old_string", "oldString", "oldText", "old_str", "old_text", "search"},
	"new":     {"new_string", "newString", "newText", "new_str", "new_text", "replace"},
	"command": {"command", "cmd", "script"},
	"pattern": {"pattern", "regex", "query", "glob"},
	"offset":  {"offset", "start_line"},
	"limit":   {"limit", "end_line"},
}

// translate converts "read {path}" and the like to a call of one of the tools that the request offers, which
// lets one script serve different agents. Actions without a tool use a shell.
func translate(do string, input []byte, tools []tool) (name, args string, err error) {
	var in map[string]any
	if err := json.Unmarshal(input, &in); err != nil {
		return "", "", fmt.Errorf("input of %s: %w", do, err)
	}
	t := findTool(do, tools)
	if t == nil {
		if t = findTool("bash", tools); t == nil {
			return "", "", fmt.Errorf("no tool among %s can %s", nameList(tools), do)
		}
		in = map[string]any{"command": asCommand(do, in)}
	}
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if err := json.Unmarshal(t.schema, &schema); err != nil {
		return "", "", fmt.Errorf("schema of %s: %w", t.name, err)
	}
	out := map[string]any{}
	for k, v := range in {
		out[parameter(k, schema.Properties)] = v
	}
	for _, k := range schema.Required {
		if _, ok := out[k]; !ok {
			out[k] = json.RawMessage(sample(schema.Properties[k]))
		}
	}
	return t.name, string(marshal(out)), nil
}

func findTool(do string, tools []tool) *tool {
	for _, name := range toolNames[do] {
		if i := slices.IndexFunc(tools, func(t tool) bool { return t.name == name }); i >= 0 {
			return &tools[i]
		}
	}
	return nil
}

func nameList(tools []tool) string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.name
	}
	return "[" + strings.Join(names, " ") + "]"
}

func parameter(k string, properties map[string]json.RawMessage) string {
	for _, name := range parameterNames[k] {
		if _, ok := properties[name]; ok {
			return name
		}
	}
	return k
}

func asCommand(do string, in map[string]any) string {
	arg := func(k, otherwise string) string {
		s, ok := in[k].(string)
		if !ok {
			s = otherwise
		}
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	switch do {
	case "read":
		return "cat " + arg("path", ".")
	case "write":
		return "printf %s " + arg("content", "") + " > " + arg("path", "out.txt")
	case "grep":
		return "grep -rn " + arg("pattern", "") + " " + arg("path", ".")
	case "glob":
		return "find " + arg("path", ".") + " -name " + arg("pattern", "*")
	}
	return "perl -0pi -e 'BEGIN{$o=shift;$n=shift} s/\\Q$o\\E/$n/' " + arg("old", "") + " " + arg("new", "") + " " +
		arg("path", ".")
}

// sample returns a JSON value that a schema allows, considering types, enumerations and required fields.
func sample(schema json.RawMessage) string {
	var s struct {
		Const      json.RawMessage            `json:"const"`
		Enum       []json.RawMessage          `json:"enum"`
		AnyOf      []json.RawMessage          `json:"anyOf"`
		OneOf      []json.RawMessage          `json:"oneOf"`
		Type       any                        `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
		Items      json.RawMessage            `json:"items"`
		MinItems   int                        `json:"minItems"`
		Minimum    json.RawMessage            `json:"minimum"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return `"text"`
	}
	if list, ok := s.Type.([]any); ok && len(list) > 0 {
		s.Type = list[0]
	}
	switch {
	case s.Const != nil:
		return string(s.Const)
	case len(s.Enum) > 0:
		return string(s.Enum[0])
	case len(s.AnyOf) > 0:
		return sample(s.AnyOf[0])
	case len(s.OneOf) > 0:
		return sample(s.OneOf[0])
	}
	switch s.Type {
	case "integer", "number":
		if s.Minimum != nil {
			return string(s.Minimum)
		}
		return "0"
	case "boolean":
		return "false"
	case "null":
		return "null"
	case "array":
		return "[" + strings.Join(slices.Repeat([]string{sample(s.Items)}, s.MinItems), ",") + "]"
	case "object":
		fields := make([]string, len(s.Required))
		for i, k := range s.Required {
			fields[i] = string(marshal(k)) + ":" + sample(s.Properties[k])
		}
		return "{" + strings.Join(fields, ",") + "}"
	}
	return `"text"`
}
