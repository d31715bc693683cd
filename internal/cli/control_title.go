package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/mcp"
)

// sentenceOf is a question for permission as a sentence, which hosts show as it is.
func sentenceOf(q event.Question) string {
	var in struct {
		Command string `json:"command"`
		Path    string `json:"file_path"`
		Book    string `json:"notebook_path"`
		URL     string `json:"url"`
		Query   string `json:"query"`
	}
	_ = json.Unmarshal(q.Call.Input, &in) // another input has the sentence of other tools
	verb, object := "use the tool", q.Call.Name
	switch {
	case strings.HasPrefix(q.Call.Name, mcp.Prefix):
		server, name := serverTool(q.Call.Name)
		verb, object = "use", name+" of the MCP server "+server
	case in.Command != "":
		first, more, _ := strings.Cut(strings.TrimSpace(in.Command), "\n")
		if more != "" {
			first += " ..."
		}
		verb, object = "run", first
	case in.Path != "":
		verb, object = map[string]string{"Write": "write", "Read": "read"}[q.Call.Name], filepath.Base(in.Path)
		if verb == "" {
			verb = "change"
		}
	case in.Book != "":
		verb, object = "change", filepath.Base(in.Book)
	case in.URL != "":
		verb, object = "fetch", in.URL
	case in.Query != "":
		verb, object = "search the web for", in.Query
	}
	return "lathe wants to " + verb + " " + object
}

// displayOf is a tool's name for people.
func displayOf(tool string) string {
	if !strings.HasPrefix(tool, mcp.Prefix) {
		return tool
	}
	_, name := serverTool(tool)
	name = strings.ReplaceAll(name, "_", " ")
	return strings.ToUpper(name[:min(1, len(name))]) + name[min(1, len(name)):]
}

func serverTool(tool string) (server, name string) {
	server, name, _ = strings.Cut(strings.TrimPrefix(tool, mcp.Prefix), "__")
	return server, name
}

type askedServer struct {
	Name   string `json:"name"`
	Source string `json:"source"`
}

// askedServer is the MCP server of a tool, and its origin; nil where the tool is no server's.
func (c *controller) askedServer(tool string) *askedServer {
	l, ok := c.conv.(*local)
	if !ok || !strings.HasPrefix(tool, mcp.Prefix) {
		return nil
	}
	shown := serverStatus(l.inst.Servers())
	for i, s := range l.inst.Servers().Status() {
		if strings.HasPrefix(tool, mcp.ToolName(s.Name, "")) {
			return &askedServer{shown[i].Name, shown[i].Scope}
		}
	}
	return nil
}
