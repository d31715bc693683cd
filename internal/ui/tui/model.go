package tui

import (
	"os"
	"runtime"
	"time"

	"github.com/charmbracelet/colorprofile"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/ui/tui/dialog"
	"github.com/lathe-dev/lathe/internal/ui/tui/editor"
	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
)

// Messages of the loop.
type (
	sizeMsg    struct{} // the terminal may have another size
	wroteMsg   struct{} // the terminal took all bytes
	frameMsg   struct{} // a frame is due
	spinMsg    struct{} // the next picture of the spinner is due
	suspendMsg struct{} // the process is to stop
	promptMsg  struct { // a prompt was taken, or not
		prompt  port.Prompt
		receipt port.Receipt
		err     error
	}
	tellMsg struct { // something to show
		level, text string
	}
)

// model is the state of everything that is shown. Only the loop touches it.
type model struct {
	*program
	screen *screen
	query  widthQuery
	w, h   int
	now    func() time.Time

	look    look
	log     *transcript
	front   event.Opened
	moved   *outputMsg   // the output of a command that opens the conversation again, shown again when it is open
	more    event.Cursor // the end of the history that was not loaded; empty: all of it was
	loading bool         // some of it is being read
	host    string       // of links to files
	state   event.Status
	turn    turn
	edit    *editor.Editor
	keymap  *keys.Map
	keys    *keys.Resolver
	dialogs *dialog.Stack
	askers  map[string]string // the session of each open question, by its id
	toasts  *dialog.Toasts
	find    find
	pick    pick

	attached attached

	arrows  arrows
	stay    bool           // left so that the session goes on
	list    bool           // left for the list of all sessions
	parting *dialog.Picker // asks whether to leave while something runs in the background; nil: not asked
	bypass  struct {       // the mode that asks nothing
		dialog    *dialog.Picker
		confirmed bool
	}

	misbound []string      // key bindings that do not hold
	there    chan struct{} // closed when a session is in front
	opens    int           // sessions that were in front so far
	done     int           // inline: items that were printed for good
	printed  int           // inline: lines of the next one that were
	blocks   int           // inline: blocks of a reply that these lines are

	unprinted []string // inline: finished lines for the next frames

	above int // rows between the transcript and the prompt

	parts                   map[string]*item  // unfinished parts and calls, by key
	agents                  map[string]string // calls of subagents, and the call that their subagent belongs to
	short                   map[string]string // messages with pastes, by their text: as they are shown
	sessions                []event.Candidate
	unlisted, unlistedDrawn bool // the sessions are to be asked for; a frame was drawn since
	turns                   int
	running                 int  // commands on their way
	slow                    slow // the newest of them
	side                    bool // the sidebar is shown
	todos                   bool // the task list is shown above the prompt

	typed     time.Time // when a key came last
	leaving   time.Time // when the key that leaves was pressed for the first time
	escaped   time.Time // when escape was pressed while nothing ran
	focused   bool
	focusTold bool // the terminal reports its focus
	hint      string
	hintTil   time.Time

	extra  []byte // sequences to write with the next frame
	frames pacer
}

// turn is the state of the running turn.
type turn struct {
	sent     string // the id of a prompt that is to begin it; empty: none is
	id       string // of the prompt that began it, as the session says; empty: none runs
	active   bool
	began    time.Time
	stopping time.Time // when an interrupt was asked for; zero: none was
	retry    retry
	spinning bool
	silent   bool      // no text since the last message or call
	heard    time.Time // when the model was asked or answered last
}

// retry is a request that failed and will be sent again.
type retry struct {
	event.Retry
	at time.Time // when it will be sent; zero: none will
}

// askBackground asks for the colour behind the text. The answer comes as an event, if at all.
const askBackground = "\x1b]11;?\x1b\\"

func newModel(p *program) *model {
	m := &model{
		there:   make(chan struct{}),
		program: p, now: time.Now, focused: true, parts: map[string]*item{}, agents: map[string]string{},
		short:  map[string]string{},
		askers: map[string]string{}, log: newTranscript(), todos: true, side: p.options.Sidebar,
	}
	m.look = newLook(p.options)
	m.look.file = m.fileURL
	m.host, _ = os.Hostname() // without one the links are to this machine as well
	m.edit = editor.New(editor.Options{Theme: m.look.theme, Windows: runtime.GOOS == "windows"})
	m.dialogs, m.toasts = dialog.NewStack(nil), dialog.NewToasts(nil)
	m.loadKeys()
	m.w, m.h = p.term.size()
	m.query.w, m.query.h = m.w, m.h
	m.screen = newScreen(m.w, m.h, p.options.Inline)
	m.screen.cuts = !wrapsRows(p.options.Getenv)
	m.frames = newPacer(m.now)
	return m
}

// start draws the first frame, before the loop runs.
func (m *model) start() {
	if m.look.problem != nil {
		m.tell("warning", m.look.problem.Error())
	}
	m.typed = m.now()
	if m.options.Draft != "" {
		m.edit.SetText(m.options.Draft)
	}
	if m.look.profile > colorprofile.ASCII {
		m.extra = append(m.extra, askBackground...)
	}
	m.paint()
	if m.options.Command == "" && len(m.options.Initial.Parts) > 0 {
		m.send(m.options.Initial, false)
	}
}

// update takes a message of the loop and draws.
func (m *model) update(msg any) {
	urgent := false
	switch msg := msg.(type) {
	case inputMsg:
		for _, e := range m.inbox.take() {
			urgent = m.input(e) || urgent
		}
	case arrowMsg:
		m.flushWheel()
		urgent = true
	case eventsMsg:
		for _, e := range m.pump.take() {
			m.apply(e)
		}
	case endedMsg:
		m.ended(msg.err)
	case promptMsg:
		m.prompted(msg)
	case tellMsg:
		m.tell(msg.level, msg.text)
	case sizeMsg:
		m.resize()
	case spinMsg:
		m.spin()
	case slowMsg:
		if m.lingers() {
			m.startSpin()
		}
	case suspendMsg:
		m.suspend()
	case tickMsg:
		if !m.now().Before(m.hintTil) {
			m.hint = ""
		}
	case frameMsg:
		m.frames.armed = false
	case wroteMsg:
	default:
		urgent = m.heard(msg)
	}
	m.askAttached()
	m.askEarlier()
	m.draw(urgent)
	m.askUnlisted()
}

// heard takes an answer of the session, or of other work beside the loop. Urgent says that the user waits
// for it.
func (m *model) heard(msg any) (urgent bool) {
	switch msg := msg.(type) {
	case findMsg:
		if m.find.busy && msg.text == m.find.text {
			m.findOn()
		}
	case foundMsg:
		m.outs(m.edit.Answer(msg.gen, msg.found))
		return true
	case attachedMsg:
		if msg.text == m.attached.text {
			m.attached.files = msg.found
		}
		return true
	case imageMsg:
		m.outs(m.edit.ImageLoaded(msg.id, msg.data, msg.err))
	case outputMsg:
		m.output(msg)
		return true
	case helpMsg:
		m.showHelp(msg.found)
		return true
	case paletteMsg:
		m.openPalette(msg.found)
		return true
	case earlierMsg:
		m.earlier(msg)
	case sessionsMsg:
		m.sessions = msg.found
	case loginMsg:
		m.loggedIn(msg)
	case editedMsg:
		m.edited(msg)
	case fileEditedMsg:
		m.fileEdited(msg)
	case liveMsg:
		m.askLive()
	case livelyMsg:
		m.lively(msg)
	case unqueuedMsg:
		m.taken(msg.message.ID)
		m.edit.SetMessage(msg.message)
	}
	return false
}

func (m *model) result() Result {
	return Result{
		Session: m.front.Session, Path: m.front.Path, Title: m.state.Title, Turns: m.turns, Stay: m.stay, List: m.list,
	}
}

// lastWords are written when the screen was left.
func (m *model) lastWords() string {
	if !m.options.Inline {
		return ""
	}
	last := m.lastLines()
	return last + m.screen.abandon(m.done == len(m.log.items))
}
