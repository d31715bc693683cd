package tui

import (
	"slices"
	"time"
)

const (
	unrest      = 500 * time.Millisecond // widths that change do so again within this time
	calm        = 60 * time.Millisecond  // how long a width has to last before it is written for
	firstAnswer = 150 * time.Millisecond // how long to wait for a terminal that has never answered
	laterAnswer = time.Second            // and for one that has
	goodbye     = 200 * time.Millisecond // how long to wait for answers before the terminal is left
)

// widthQuery keeps track of the terminal's width while an inline screen is written to. A terminal may change its
// grid before it notifies the program (tmux does so for up to a quarter of a second), and lines that were printed for
// another width cannot be taken back. So while a turn runs, a question for the width follows each frame, and the next
// frame waits for the answer.
type widthQuery struct {
	w, h    int       // the size that the system reported last
	changed time.Time // when another width was noticed last
	open    []expected
	asked   time.Time // the last question
	known   bool      // all were answered, and nothing was written since
	replies bool      // the terminal has answered before
	mute    bool      // it does not answer
	waits   bool      // a frame waits for the answers
	before  int       // the width before the last frame, if that was large
}

// expected is the answer to a question if the width has not changed.
type expected struct {
	width int
	frame bool // the question followed a frame
	large bool // it precedes one that the terminal may read in parts
}

// largeFrame is the size from which a terminal may read a frame in parts, in bytes.
const largeFrame = 1024

// sized reports that an inline frame may be written. If not, an answer or a timer draws it.
func (m *model) sized() bool {
	q, now := &m.query, m.now()
	if w, h := m.term.size(); w != q.w || h != q.h {
		q.w, q.h, q.changed, q.known = w, h, now, false
		m.setSize(w, h)
	}
	switch since := now.Sub(q.changed); {
	case since < calm:
		q.known = false
		m.later(calm-since, frameMsg{})
		return false
	case q.mute || q.known || since >= unrest && (len(q.open) == 0 || !q.replies):
		q.known = false
		return true
	case len(q.open) == 0:
		m.term.write(m.askWidth(false))
		m.later(q.patience(), frameMsg{})
		q.waits = true
		return false
	case now.Sub(q.asked) < q.patience():
		if !q.waits {
			m.later(q.patience(), frameMsg{})
		}
		q.waits = true
		return false
	}
	q.mute = !q.replies
	m.forgetQuestions()
	return true
}

// asks reports that the terminal's width is asked for after each frame.
func (m *model) asks() bool {
	return !m.query.mute && (m.busy() || m.now().Sub(m.query.changed) < unrest)
}

// confirms reports that the terminal answers after each frame.
func (m *model) confirms() bool { return m.query.replies && m.asks() }

// askAfter adds the question that follows a frame, if there is one.
func (m *model) askAfter(frame []byte) []byte {
	q := &m.query
	switch {
	case !m.options.Inline || !m.asks():
	case q.replies || len(q.open) == 0:
		frame = slices.Clone(frame) // the question is made in the same memory
		if len(frame) > largeFrame {
			frame = append(m.askBefore(), frame...)
		}
		frame = append(frame, m.askWidth(true)...)
		m.screen.sending(frame)
	case m.now().Sub(q.asked) > laterAnswer:
		q.mute = true
		m.forgetQuestions()
	}
	return frame
}

func (m *model) askWidth(frame bool) []byte {
	m.expect(expected{width: m.w, frame: frame})
	return m.screen.askWidth()
}

// askBefore is the question that precedes a large frame.
func (m *model) askBefore() []byte {
	m.expect(expected{width: m.w, large: true})
	return slices.Clone(m.screen.askBefore())
}

func (m *model) expect(e expected) {
	m.query.open, m.query.asked = append(m.query.open, e), m.now()
	m.owed.Add(1)
}

// forgetQuestions stops waiting for answers. Which width the last frames met stays unknown then.
func (m *model) forgetQuestions() {
	m.query.open, m.query.before = nil, 0
	m.owed.Store(0)
	m.screen.sent = nil
	if !m.query.mute {
		m.screen.distrust()
	}
}

func (q *widthQuery) patience() time.Duration {
	if q.replies {
		return laterAnswer
	}
	return firstAnswer
}

// reported takes the terminal's answer. It reports whether a frame waits for it.
func (m *model) reported(width int) bool {
	q := &m.query
	q.replies, q.mute = true, false
	if len(q.open) == 0 {
		return false // it came too late
	}
	want := q.open[0]
	q.open = q.open[1:]
	m.judge(want, width)
	if len(q.open) > 0 {
		return false
	}
	if width != m.w {
		m.setSize(width, m.h)
	}
	waits := q.waits || len(m.unprinted) > 0
	q.known, q.waits = true, false
	return waits
}

// judge compares an answer with the width that a frame was written for. A frame that met two widths is in places that
// no one knows.
func (m *model) judge(want expected, width int) {
	q := &m.query
	if width != want.width {
		q.changed = m.now()
	}
	switch {
	case want.large:
		q.before = width
		return
	case !want.frame:
		return
	case q.before != 0 && q.before != width:
		m.screen.distrust()
		q.waits = true
	case width != want.width:
		m.screen.arrived(width)
		q.waits = true
	default:
		m.screen.sent = nil
	}
	q.before = 0
}

func (m *model) setSize(w, h int) {
	m.w, m.h = w, h
	m.screen.resize(w, h)
}

// awaitReports waits a moment for answers that are on their way, which the next reader of the terminal would take
// for keys.
func (p *program) awaitReports() {
	for end := time.Now().Add(goodbye); p.owed.Load() > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// wrapsRows reports whether the terminal rewraps rows when its width changes, as all but a few do.
func wrapsRows(getenv func(string) string) bool {
	switch {
	case getenv("TMUX") != "":
		return true
	case getenv("XTERM_VERSION") != "", getenv("STY") != "", getenv("TERM") == "linux":
		return false
	}
	return true
}
