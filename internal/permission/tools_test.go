package permission

import "strings"

// toolTable is the tools of these tests, by name.
type toolTable map[string]Traits

func (t toolTable) Name(spelling string) string {
	if spelling == "list" {
		return "Read"
	}
	for name := range t {
		if strings.EqualFold(name, spelling) {
			return name
		}
	}
	return spelling
}

func (t toolTable) Traits(name string) Traits { return t[name] }

var testTools = toolTable{
	"Bash":      {Known: true, Subject: SubjectCommand, Params: []string{"command"}},
	"Read":      {Known: true, Subject: SubjectRead, Params: []string{"file_path"}, Class: ClassRead},
	"Glob":      {Known: true, Subject: SubjectRead, Params: []string{"path"}, Class: ClassList},
	"Grep":      {Known: true, Subject: SubjectRead, Params: []string{"path"}, Class: ClassSearch},
	"Edit":      {Known: true, Subject: SubjectEdit, Params: []string{"file_path"}, Class: ClassWrite},
	"Write":     {Known: true, Subject: SubjectEdit, Params: []string{"file_path"}, Class: ClassWrite},
	"WebFetch":  {Known: true, Subject: SubjectHost, Params: []string{"url"}, Class: ClassWrite},
	"WebSearch": {Known: true, Class: ClassWrite},
	"TodoWrite": {Known: true, Class: ClassNeutral},
	"Task":      {Known: true, Subject: SubjectName, Params: []string{"subagent_type"}},
	"Skill":     {Known: true, Subject: SubjectName, Params: []string{"skill", "name", "command"}, Rest: "args"},
}
