package agent

import "github.com/lathe-dev/lathe/internal/event"

// record writes to the session and, when that worked, publishes the events of that entry. Config.Record makes
// both one step, so that readers get recorded events in the order of the log. Entries without an event go through
// it as well: one that came between another entry and its event would take that event's place in the log.
func (a *Agent) record(write func() error, bodies ...event.Body) error {
	if a.cfg.Record != nil {
		return a.cfg.Record(write, bodies...)
	}
	if err := write(); err != nil {
		return err
	}
	for _, b := range bodies {
		a.cfg.Publish(b)
	}
	return nil
}
