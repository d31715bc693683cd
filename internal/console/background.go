package console

import (
	"errors"

	"github.com/lathe-dev/lathe/internal/event"
)

// background lets the commands that run go on while the turn does.
func (c *Console) background() (event.Output, error) {
	return event.Output{}, errors.New("nothing runs that could go on in the background")
}
