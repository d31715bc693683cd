package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lathe-dev/lathe/internal/event"
)

// Messages of the loop.
type (
	sizeMsg    struct{}            // the terminal may have another size
	wroteMsg   struct{}            // the terminal took what was written
	frameMsg   struct{}            // a frame is due
	spinMsg    struct{}            // what moves goes on
	suspendMsg struct{}            // the process is to stop
	resumedMsg struct{}            // and goes on
	promptMsg  struct{ err error } // a turn is over
	tellMsg    struct {            // something to show
		level, text string
	}
)

// model is the state of everything that is shown. Only the loop touches it.
type model struct {
	*program
	screen *screen
	w, h   int
	now    func() time.Time

	look  look
	log   *transcript
	front event.Opened
	state event.Status
	turn  turn
	edit  editor

	parts   map[string]*item // what streams, and calls, by key
	turns   int
	quit    time.Time // when ctrl+c was pressed while idle
	focused bool
	hint    string
	hintTil time.Time

	extra  []byte // sequences to write with the next frame
	frames pacer
}

// turn is what is known of the running turn.
type turn struct {
	running  int // prompts on their way
	active   bool
	began    time.Time
	stopping bool // an interrupt was asked for
	retry    string
	spinning bool
}

func newModel(p *program) *model {
	m := &model{program: p, now: time.Now, focused: true, parts: map[string]*item{}, log: newTranscript()}
	m.look = newLook(p.options)
	m.w, m.h = p.term.size()
	m.screen = newScreen(m.w, m.h, p.options.Inline)
	m.frames = newPacer(m.now)
	return m
}

// start draws the first frame, before the loop runs.
func (m *model) start() {
	m.paint()
	if len(m.options.Initial.Parts) > 0 {
		m.send(m.options.Initial, false)
	}
}

// Init, Update and View make it a Bubble Tea model. View is empty: the screen draws.
func (m *model) Init() tea.Cmd  { return nil }
func (m *model) View() tea.View { return tea.View{} }

func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	urgent := false
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		m.key(msg)
		urgent = true
	case tea.PasteMsg:
		m.paste(msg.Content)
		urgent = true
	case tea.MouseWheelMsg:
		m.wheel(msg)
	case tea.FocusMsg:
		m.focused = true
		return m, nil
	case tea.BlurMsg:
		m.focused = false
		return m, nil
	case eventsMsg:
		for _, e := range m.pump.take() {
			m.apply(e)
		}
	case endedMsg:
		m.ended(msg.err)
	case promptMsg:
		m.prompted(msg.err)
	case tellMsg:
		m.tell(msg.level, msg.text)
	case sizeMsg:
		m.resize()
	case spinMsg:
		m.spin()
	case suspendMsg:
		m.suspend()
	case resumedMsg:
		m.screen.forget()
	case unsteeredMsg:
		m.send(msg.message, false)
	case hintMsg:
		if !m.now().Before(m.hintTil) {
			m.hint = ""
		}
	case frameMsg:
		m.frames.armed = false
	case wroteMsg:
	default:
		return m, nil
	}
	m.draw(urgent)
	return m, nil
}

func (m *model) result() Result {
	return Result{Session: m.front.Session, Path: m.front.Path, Title: m.state.Title, Turns: m.turns}
}

// lastWords are written when the screen was left.
func (m *model) lastWords() string {
	if m.options.Inline {
		return "\r\n"
	}
	return ""
}
