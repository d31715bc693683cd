package event

// SessionCreated says that a session was made: a new one, or a copy.
type SessionCreated struct {
	ID  string `json:"id"`
	Dir string `json:"dir"`
	Of  string `json:"of,omitempty"` // the session that it is a copy of
}

// SessionRenamed says that a session has another title.
type SessionRenamed struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// SessionArchived says that a session went to the trash, or came back from there.
type SessionArchived struct {
	ID   string `json:"id"`
	Back bool   `json:"back,omitempty"`
}

// SessionDeleted says that a session is gone for good.
type SessionDeleted struct {
	ID string `json:"id"`
}

// ServerChanged says that a language server has another state, or reports other diagnostics.
type ServerChanged struct {
	Server LanguageServer `json:"server"`
}

// Kind names.
func (SessionCreated) Kind() string  { return "session.created" }
func (SessionRenamed) Kind() string  { return "session.renamed" }
func (SessionArchived) Kind() string { return "session.archived" }
func (SessionDeleted) Kind() string  { return "session.deleted" }
func (ServerChanged) Kind() string   { return "server.changed" }
