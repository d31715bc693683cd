package server

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/llm"
)

// NewPrompt is a message to the model.
type NewPrompt struct {
	named
	Key    string  `json:"id,omitempty" jsonschema:"chosen by the client, unique in the session: the same again is the same prompt"`
	Text   string  `json:"text" jsonschema:"@path attaches a file of the session"`
	Images []Image `json:"images,omitempty"`
	When   string  `json:"when,omitempty" jsonschema:"while a turn runs: step (or empty) before its next step, after as a turn of its own, now at once"`
	Turn   string  `json:"turn,omitempty" jsonschema:"the turn that it is for; refused when that is over"`
}

// Image is a picture that goes with a prompt.
type Image struct {
	MIME string `json:"mime" jsonschema:"image/png, image/jpeg, image/gif or image/webp"`
	Data []byte `json:"data" jsonschema:"base64"`
	Name string `json:"name,omitempty"`
}

// imageKinds are the images that models take.
var imageKinds = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// message is what the user wrote: nothing but texts and images.
func message(text string, images []Image) (llm.Message, error) {
	m := llm.UserText(text)
	if text == "" {
		if m.Parts = nil; len(images) == 0 {
			return m, badRequest("there is no text and no image", "send one of them")
		}
	}
	for _, i := range images {
		if !slices.Contains(imageKinds, i.MIME) || !strings.HasPrefix(http.DetectContentType(i.Data), i.MIME) {
			return m, badRequest("an image is not what its mime says: "+i.MIME, "send PNG, JPEG, GIF or WebP")
		}
		m.Parts = append(m.Parts, llm.Media{MIME: i.MIME, Data: i.Data, Name: i.Name})
	}
	return m, nil
}

func sendPrompt(s *Server, c *call, n NewPrompt) (port.Receipt, error) {
	m, err := message(n.Text, n.Images)
	if err != nil {
		return port.Receipt{}, err
	}
	when := port.When(n.When)
	if when == "step" {
		when = port.NextStep
	}
	if !slices.Contains([]port.When{port.NextStep, port.AfterTurn, port.AtOnce}, when) {
		return port.Receipt{}, badRequest("when cannot be "+n.When, "send step, after or now")
	}
	return with(s, c, n.ID, func(p port.Session) (port.Receipt, error) {
		return p.Prompt(c, port.Prompt{ID: n.Key, Message: m, When: when, Turn: n.Turn})
	})
}

func readQueue(s *Server, c *call, q named) (port.Queue, error) {
	return with(s, c, q.ID, func(p port.Session) (port.Queue, error) { return listed(p.Queue(c, port.QueueChange{})) })
}

// listed has a list, if an empty one.
func listed(q port.Queue, err error) (port.Queue, error) {
	if q.Waiting == nil {
		q.Waiting = []event.Waiting{}
	}
	return q, err
}

// QueueEdit changes a message that waits.
type QueueEdit struct {
	named
	Do     string  `json:"do" jsonschema:"edit, drop, move or send"`
	Prompt string  `json:"prompt,omitempty" jsonschema:"its id; empty: the newest"`
	Text   string  `json:"text,omitempty" jsonschema:"for edit"`
	Images []Image `json:"images,omitempty" jsonschema:"for edit"`
	To     int     `json:"to,omitempty" jsonschema:"for move: its place, from 0"`
}

func changeQueue(s *Server, c *call, e QueueEdit) (port.Queue, error) {
	change := port.QueueChange{Do: e.Do, ID: e.Prompt, To: e.To}
	if e.Do == "edit" {
		m, err := message(e.Text, e.Images)
		if err != nil {
			return port.Queue{}, err
		}
		change.Message = &m
	}
	return with(s, c, e.ID, func(p port.Session) (port.Queue, error) { return listed(p.Queue(c, change)) })
}

type interruption struct {
	named
	Turn string `json:"turn,omitempty" jsonschema:"empty: whichever runs"`
}

func interrupt(s *Server, c *call, i interruption) (none, error) {
	return with(s, c, i.ID, func(p port.Session) (none, error) { return none{}, p.Interrupt(c, i.Turn) })
}

// Questions are those that are open.
type Questions struct {
	Questions []event.Event `json:"questions"`
	State     *event.State  `json:"state,omitempty"`
}

func openQuestions(s *Server, c *call, q named) (Questions, error) {
	if j, ok := s.job(q.ID); !ok || !j.Live() && !restarts(j) { // asleep, it asks nothing
		_, err := s.session(q.ID)
		return Questions{Questions: []event.Event{}, State: &event.State{Doing: event.Idle}}, err
	}
	return with(s, c, q.ID, func(p port.Session) (out Questions, err error) {
		now, err := p.Read(c, port.ReadRequest{What: "questions"})
		out.Questions, out.State = now.Questions, now.State
		if out.Questions == nil {
			out.Questions = []event.Event{}
		}
		return out, err
	})
}

// NewAnswer answers a question.
type NewAnswer struct {
	named
	Question string       `json:"question" jsonschema:"the id of the asked event"`
	Session  string       `json:"session,omitempty" jsonschema:"of the asked event, where it is another one"`
	Answer   event.Answer `json:"answer"`
}

func answer(s *Server, c *call, a NewAnswer) (none, error) {
	if j, ok := s.job(a.ID); ok && j.SessionID != "" && a.Session == "" {
		a.Session = j.SessionID
	}
	return with(s, c, a.ID, func(p port.Session) (none, error) {
		return none{}, p.Answer(c, port.Answer{Session: cmp.Or(a.Session, a.ID), ID: a.Question, Answer: a.Answer})
	})
}

// NewCommand is a slash command.
type NewCommand struct {
	named
	Name string `json:"name" jsonschema:"without the slash; ! runs a command line of the user's own"`
	Args string `json:"args,omitempty"`
}

// commandScopes are the commands that need less than everything.
var commandScopes = map[string]Scope{
	"help": Read, "keys": Read, "status": Read, "tokens": Read, "context": Read, "cost": Read, "usage": Read, "cache": Read,
	"history": Read, "diff": Read, "copy": Read, "doctor": Read,
	"compact": Prompt, "retry": Prompt, "rewind": Prompt, "tree": Prompt, "undo": Prompt, "redo": Prompt, "plan": Prompt,
	"rename": Prompt, "save": Prompt, "model": Prompt, "models": Prompt, "smallmodel": Prompt, "effort": Prompt,
	"tasks": Prompt, "remind": Prompt, "loop": Prompt, "schedule": Prompt, "agent": Prompt, "background": Prompt,
}

// mayCommand says whether a principal may run a command. One that is not in the table may do anything.
func mayCommand(who Principal, name, args string) *Problem {
	scope, ok := commandScopes[name]
	if !ok {
		scope = Admin
	}
	if strings.Contains(args, "--stash") { // it takes changes of the user's own
		scope = Admin
	}
	if name == "mode" {
		return mayMode(who, cmp.Or(strings.TrimSpace(args), "default"))
	}
	if !who.May(scope) {
		return lacks(scope)
	}
	return nil
}

func runCommand(s *Server, c *call, n NewCommand) (event.Output, error) {
	if n.Name = strings.TrimPrefix(n.Name, "/"); n.Name == "" {
		return event.Output{}, badRequest("the command has no name", "GET completions with kind=command lists them")
	}
	if p := mayCommand(c.who, n.Name, n.Args); p != nil {
		return event.Output{}, p
	}
	return with(s, c, n.ID, func(p port.Session) (event.Output, error) {
		return p.Command(c, port.Command{Name: n.Name, Args: n.Args})
	})
}

type completionQuery struct {
	named
	Kind  string `json:"-" query:"kind" doc:"command, argument, file, attach or history"`
	Text  string `json:"-" query:"text" doc:"typed so far, without @ or /"`
	Name  string `json:"-" query:"name" doc:"for an argument: the command"`
	Limit int    `json:"-" query:"limit" doc:"20"`
}

func complete(s *Server, c *call, q completionQuery) (port.Candidates, error) {
	if p := leadsOut(q.Text); p != nil && q.Kind == string(event.QueryFile) && !c.who.May(Admin) {
		return port.Candidates{}, p
	}
	return with(s, c, q.ID, func(p port.Session) (out port.Candidates, err error) {
		out.Candidates, err = p.Complete(c, event.Query{
			Kind: event.QueryKind(q.Kind), Text: q.Text, Name: q.Name, Limit: cmp.Or(q.Limit, 20),
		})
		if out.Candidates == nil {
			out.Candidates = []event.Candidate{}
		}
		return out, err
	})
}

// Now is what a session is doing.
type Now struct {
	Status *event.Status `json:"status,omitempty"`
	State  *event.State  `json:"state,omitempty"`
}

func status(s *Server, c *call, q named) (Now, error) {
	return with(s, c, q.ID, func(p port.Session) (Now, error) {
		now, err := p.Read(c, port.ReadRequest{What: "status"})
		return Now{now.Status, now.State}, err
	})
}

type historyQuery struct {
	named
	Before string `json:"-" query:"before" doc:"more of the page before, or of the opened event"`
	Limit  int    `json:"-" query:"limit" doc:"events of a page; 50"`
}

// history reads the log on disk, so that no session is woken.
func history(s *Server, _ *call, q historyQuery) (event.Opened, error) {
	x, err := s.session(q.ID)
	if err != nil {
		return event.Opened{}, err
	}
	log, err := s.Store.OpenReadOnly(x.ID)
	if err != nil {
		return event.Opened{}, err
	}
	defer func() { _ = log.Close() }() // it only read
	got, err := s.History(log, event.Cursor(q.Before), page(q.Limit))
	if err != nil {
		return event.Opened{}, err
	}
	got.Path = ""
	return *got, nil
}
