package prompt

// Loaded is a memory file that the model got.
type Loaded struct {
	Path    string
	Type    string   // User, Project, Local or Managed
	Reason  string   // session_start, nested_traversal, path_glob_match, include or compact
	Parent  string   // the file that imports it, or empty
	Trigger string   // the file or folder whose use brought it, or empty
	Globs   []string // the patterns of the files that it is for, where they brought it
}

// loaded reports memory files that the model gets. The trigger is the path whose use brought them, empty where they
// come with the context.
func (o ContextOptions) loaded(entries []Entry, reason, trigger string) {
	if o.Loaded == nil {
		return
	}
	for _, e := range entries {
		l := Loaded{Path: e.Path, Type: e.kind(), Reason: reason, Parent: e.By, Trigger: trigger}
		switch {
		case e.By != "":
			l.Reason = "include"
		case reason == byPattern:
			l.Globs = e.globs
		}
		o.Loaded(l)
	}
}

// byPattern is the reason of memory for some files only.
const byPattern = "path_glob_match"

func (o ContextOptions) reason() string {
	if o.Compacted {
		return "compact"
	}
	return "session_start"
}

// kind is the type of a memory file in Claude Code's words.
func (e Entry) kind() string {
	switch {
	case e.level == organisation:
		return "Managed"
	case e.level == user:
		return "User"
	case e.Source == localSource:
		return "Local"
	}
	return "Project"
}
