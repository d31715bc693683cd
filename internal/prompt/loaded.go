package prompt

// loaded reports memory files that the model gets.
func (o ContextOptions) loaded(entries []Entry, reason string) {
	if o.Loaded == nil {
		return
	}
	for _, e := range entries {
		why := reason
		if e.By != "" {
			why = "include"
		}
		o.Loaded(e.Path, e.kind(), why)
	}
}

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
