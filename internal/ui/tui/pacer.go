package tui

import "time"

// frameTime is the least time between frames: 60 a second.
const frameTime = time.Second / 60

// spare is how many frames may come at once when there were few before, so that an echo need not wait.
const spare = 3

// pacer says when a frame may be drawn. It is a bucket of frames that fills at 60 a second.
type pacer struct {
	now   func() time.Time
	next  time.Time // when the bucket would be full minus one frame's time each
	armed bool      // a frameMsg is on its way
}

func newPacer(now func() time.Time) pacer { return pacer{now: now} }

// wait is how long to wait before a frame; 0: draw it now. Frames that no one waits for leave the spare ones to
// the echo of keys.
func (p *pacer) wait(urgent bool) time.Duration {
	room := time.Duration(0)
	if urgent {
		room = (spare - 1) * frameTime
	}
	return max(p.next.Sub(p.now())-room, 0)
}

// drawn counts a frame.
func (p *pacer) drawn() {
	now := p.now()
	if p.next.Before(now) {
		p.next = now
	}
	p.next = p.next.Add(frameTime)
}
