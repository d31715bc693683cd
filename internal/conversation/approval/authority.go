package approval

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/lathe-dev/lathe/internal/permission"
)

// Authority is the rules and the mode that a session and the subagents it starts decide by, live, and the person they
// ask.
type Authority struct {
	*Rules
	*Modes
	dialog sync.Mutex // held while a dialog is open: one at a time, in order
	pins   sync.Map   // by the beginning of a tool's name: the permission.Mode of an MCP server
}

// Pin has the tools whose names begin with prefix decided by another mode where the one in force does not ask; ""
// takes that back. It only restricts.
func (a *Authority) Pin(prefix string, m permission.Mode) {
	if m == "" {
		a.pins.Delete(prefix)
		return
	}
	a.pins.Store(prefix, m)
}

// modeFor is the mode that decides about a tool.
func (a *Authority) modeFor(tool string) permission.Mode {
	mode := a.Mode()
	if mode != permission.Bypass && mode != permission.Auto {
		return mode
	}
	a.pins.Range(func(prefix, pinned any) bool {
		if strings.HasPrefix(tool, prefix.(string)) {
			mode = pinned.(permission.Mode)
		}
		return true
	})
	return mode
}

// Modes is the permission mode in force. It is safe for concurrent use.
type Modes struct {
	check   func(permission.Mode) error
	changed func(permission.Mode)

	mu   sync.Mutex   // held while the mode is checked and changed
	mode atomic.Value // permission.Mode

	planned permission.Mode // the mode that plan mode was entered from; "": it was not entered yet
}

// NewModes begins with a mode that was checked. check refuses modes that there are not and those that the settings
// forbid; changed is called with every new mode, in order.
func NewModes(m permission.Mode, check func(permission.Mode) error, changed func(permission.Mode)) *Modes {
	out := &Modes{check: check, changed: changed}
	out.mode.Store(m)
	return out
}

// Mode is the permission mode in force.
func (m *Modes) Mode() permission.Mode { return m.mode.Load().(permission.Mode) }

// Set changes the mode, if it may be.
func (m *Modes) Set(mode permission.Mode) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.check(mode); err != nil {
		return err
	}
	m.store(mode)
	return nil
}

// Recheck holds the mode against new settings: where they forbid it, the default mode comes into force, and the error
// says why.
func (m *Modes) Recheck() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := m.check(m.Mode())
	if err != nil {
		m.store(permission.Default)
	}
	return err
}

// acceptEdits goes over to the mode for that, unless the mode was changed while the question was open.
func (m *Modes) acceptEdits() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Mode() == permission.Default {
		m.store(permission.AcceptEdits)
	}
}

// PlannedFrom is the mode that plan mode was entered from; empty when the session began in it.
func (m *Modes) PlannedFrom() permission.Mode {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.planned
}

// LeavePlan goes over from plan mode to another mode, or to the default one where that may not be; it changes nothing
// when plan mode is not on any more.
func (m *Modes) LeavePlan(to permission.Mode) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Mode() != permission.Plan {
		return
	}
	if m.check(to) != nil {
		to = permission.Default
	}
	m.store(to)
}

func (m *Modes) store(mode permission.Mode) {
	if old := m.Mode(); mode == permission.Plan && old != mode {
		m.planned = old
	}
	m.mode.Store(mode)
	m.changed(mode)
}
