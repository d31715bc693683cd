package command

import (
	"context"
	"sync"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/store/snapshot"
)

// Host is lathe with one session in front, as the commands act on it. The console gives the functions, since it owns
// the front.
type Host struct {
	*Kept
	Instance *conversation.Instance
	Session  func() *conversation.Session // the one in front, which a command may change
	Status   func() event.Status

	New  func(ctx context.Context) error            // begins a conversation
	Open func(ctx context.Context, id string) error // goes on with a saved session
	Fork func(ctx context.Context) error            // goes on in a copy of the session in front
	// Checkout moves the head to an entry, or with "" before the first, and replays the conversation.
	Checkout func(ctx context.Context, entry string) error
	SetModel func(ctx context.Context, id string) error
	SetMode  func(ctx context.Context, mode string) error

	Job    string                                    // the id of the session's own process; empty: it has none
	Doctor func(ctx context.Context) (string, error) // nil: the front end has no /doctor
	Themes func() []string                           // names the front end knows; nil: none
	Browse func(ctx context.Context, address string) // opens an address where the user sees it; nil: it is only shown

	Context context.Context                         // of work that outlasts its command
	Go      func(work func())                       // begins such work; the console waits for its end
	Notice  func(level, format string, args ...any) // tells the user how it ended
	Touch   func()                                  // the status has changed
	Publish func(event.Body)                        // publishes an event of the session in front
}

// Kept is what commands keep from one run to the next. The zero value is ready.
type Kept struct {
	mu      sync.Mutex
	logins  map[string]chan string // logins to MCP servers that wait for an address, by server
	looked  lookedAt               // the plugin that was shown before it is installed
	team    teamwork
	answers map[string][]string // to side questions, by session
}

// Leave ends the work of the team in a session that is about to close, and waits for it.
func (k *Kept) Leave(s *conversation.Session) { k.team.leave(s) }

// TeamWorks reports whether a team works.
func (k *Kept) TeamWorks() bool { return k.team.works() }

// Close removes what was fetched and not installed.
func (k *Kept) Close() { k.looked.keep(nil, false) }

// history is the states of files on the branch in front.
func (h *Host) history() (snapshot.History, error) {
	return h.Instance.Checkpoints().History(h.Session().Log())
}
