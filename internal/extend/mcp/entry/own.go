package entry

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// Own is a server that the file of an agent declares, for agents of this kind alone.
type Own struct {
	Agent string // the kind of agent
	Name  string
	Scope Scope  // of the file; Project means that the user approves the entry by its content
	File  string // empty: the command line or the settings
	Base  string // the folder that the agent works in; empty: that of the set
	Raw   json.RawMessage
}

// ID names the server among those of all agents.
func (o Own) ID() string { return o.Agent + "/" + o.Name }

// ReadOwn reads the entries of an agent's own servers. The faults name those that are left out.
func (p *Places) ReadOwn(list []Own) (entries []Entry, faults []string) {
	for _, o := range list {
		e, err := p.readOwn(o)
		if err != nil {
			faults = append(faults, fmt.Sprintf("the MCP server %q of the agent %s is left out: %v", o.Name, o.Agent, err))
			continue
		}
		entries = append(entries, e)
	}
	entries, faults, _ = p.Policy.Apply(entries, faults)
	return entries, faults
}

func (p *Places) readOwn(o Own) (Entry, error) {
	switch {
	case p.Strict && o.Scope != Flag:
		return Entry{}, errors.New("only the servers of the command line count in this run")
	case p.managed() && o.Scope != Managed:
		return Entry{}, errors.New("the administrator of this machine allows only those of managed-mcp.json")
	}
	e, err := p.Parse(o.Name, o.Raw, o.Scope)
	e.Agent, e.File, e.Base = o.Agent, o.File, o.Base
	return e, err
}

// managed reports whether a file of the administrator has all servers. One that cannot be looked at counts.
func (p *Places) managed() bool {
	for _, file := range p.Managed {
		if _, err := os.Stat(file); !os.IsNotExist(err) {
			return true
		}
	}
	return false
}
