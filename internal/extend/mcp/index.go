package mcp

import (
	"bytes"
	"encoding/json"
	"os"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/approved"
	"github.com/lathe-dev/lathe/internal/base/regular"
	"github.com/lathe-dev/lathe/internal/extend/mcp/client"
	"github.com/lathe-dev/lathe/internal/llm"
)

// The index of a server's tools has one line for each, of four fields between tabs: the name at the server and the
// description, both quoted, what the server claims of it, and the schema in the form that is sent. It is read at the
// start without parsing the schemas, which for many servers would take longer than all the rest; the accepted list
// itself is read when the server is there.

// Lines of an index before the tools: of a server that has resources, and of one that wants the handshake first.
const (
	indexResources = "+resources\n"
	indexHandshake = "+handshake\n"
)

// indexHead begins an index; it differs for each version of lathe, since names may be judged differently.
func (v *server) indexHead() string { return "lathe MCP tools 2 " + v.set.o.Version + "\n" }

func (v *server) indexFile() string { return strings.TrimSuffix(v.file, ".json") + ".index" }

// keepIndex writes the index. A failure costs the next start some time.
func (v *server) keepIndex() {
	var b bytes.Buffer
	b.WriteString(v.indexHead())
	if v.resources {
		b.WriteString(indexResources)
	}
	if v.handshake {
		b.WriteString(indexHandshake)
	}
	for _, l := range v.listed {
		claim := "-"
		if a := l.tool.Annotations; a != nil && a.ReadOnly {
			claim = "reads"
		} else if a != nil && a.Destructive != nil && *a.Destructive {
			claim = "destroys"
		}
		if l.tool.Execution != nil && l.tool.Execution.TaskSupport == "required" {
			claim += ",task"
		}
		b.WriteString(strconv.Quote(l.tool.Name) + "\t" + strconv.Quote(l.spec.Description) + "\t" + claim + "\t")
		b.Write(l.spec.Schema) // compact, so without tabs and line breaks
		b.WriteByte('\n')
	}
	if err := approved.WriteFile(v.indexFile(), b.Bytes()); err != nil {
		v.log.note(err.Error())
	}
}

// remember offers the tools that the server listed in an earlier run.
func (v *server) remember() {
	data, err := regular.ReadFile(v.indexFile())
	rest, ok := bytes.CutPrefix(data, []byte(v.indexHead()))
	if err != nil || !ok || !v.readIndex(rest) {
		v.listed, v.tokens = nil, 0
		v.recall()
		if v.known = v.accepted.Tools != nil; v.known {
			v.accept(v.accepted.Tools)
			v.keepIndex()
		}
	}
}

func (v *server) readIndex(data []byte) bool {
	if rest, ok := bytes.CutPrefix(data, []byte(indexResources)); ok {
		v.resources, data = true, rest
	}
	if rest, ok := bytes.CutPrefix(data, []byte(indexHandshake)); ok {
		v.handshake, data = true, rest
	}
	all := make([]listed, bytes.Count(data, []byte("\n"))) // one allocation for all
	v.listed = make([]*listed, 0, len(all))
	text, at := string(data), 0 // the texts are parts of it
	for line := range strings.Lines(text) {
		start := at
		at += len(line)
		quoted, rest, ok1 := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		described, rest, ok2 := strings.Cut(rest, "\t")
		flags, written, ok3 := strings.Cut(rest, "\t")
		end := start + len(strings.TrimSuffix(line, "\n"))
		schema := data[end-len(written) : end : end]
		name, err1 := strconv.Unquote(quoted)
		about, err2 := strconv.Unquote(described)
		if !ok1 || !ok2 || !ok3 || err1 != nil || err2 != nil || len(v.listed) == len(all) {
			return false
		}
		l := &all[len(v.listed)]
		*l = listed{server: v, tool: client.Tool{Name: name}, spec: llm.ToolSpec{
			Name:        ToolName(v.entry.Name, name),
			Description: about, Schema: schema,
		}}
		destroys := true
		claim, task := strings.CutSuffix(flags, ",task")
		if task {
			l.tool.Execution = &client.Execution{TaskSupport: "required"}
		}
		switch claim {
		case "reads":
			l.tool.Annotations = &client.Annotations{ReadOnly: true}
		case "destroys":
			l.tool.Annotations = &client.Annotations{Destructive: &destroys}
		}
		v.tokens += size(l.spec)
		v.listed = append(v.listed, l)
	}
	v.known = true
	return true
}

// recall reads the accepted list, once. The caller holds mu, or is the only one.
func (v *server) recall() {
	if v.recalled || v.file == "" {
		return
	}
	v.recalled = true
	data, err := regular.ReadFile(v.file)
	if err == nil {
		err = json.Unmarshal(data, &v.accepted)
	}
	if err != nil && !os.IsNotExist(err) {
		v.log.note("the tools of an earlier run cannot be read: " + err.Error())
	}
}
