package tui

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/ui/tui/dialog"
	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

// outputMsg is the output of a command. List is the dialog whose list it replaces, or nil.
type outputMsg struct {
	command dialog.Command
	out     event.Output
	err     error
	list    *dialog.Picker
}

// command runs a slash command beside the loop.
func (m *model) command(name, args string) {
	m.commandFor(nil, dialog.Command{Name: name, Args: args}, nil, false)
}

// commandLine runs a command from a line without its slash.
func (m *model) commandLine(line string) {
	name, args, _ := strings.Cut(strings.TrimSpace(line), " ")
	m.command(name, strings.TrimSpace(args))
}

// commandFor runs a command, and after it another one whose output replaces the list; with refill its own does.
func (m *model) commandFor(list *dialog.Picker, c dialog.Command, after *dialog.Command, refill bool) {
	if m.bypasses(c) {
		return
	}
	if (c.Name == "help" || c.Name == "h") && c.Args == "" {
		m.open("help")
		return
	}
	m.running++
	m.moved = nil
	ctx := m.mayLinger(c.Name)
	m.spawn(func() any {
		m.awaitSession(ctx)
		out, err := m.session.Command(ctx, port.Command{Name: c.Name, Args: c.Args})
		if err == nil && after != nil {
			out, err = m.session.Command(ctx, port.Command{Name: after.Name, Args: after.Args})
		} else if !refill {
			list = nil
		}
		return outputMsg{c, out, err, list}
	})
}

// slow is a command that may take a while, such as a compaction.
type slow struct {
	name  string
	began time.Time
	end   context.CancelFunc
}

// slowMsg says that a command may have taken slowAfter.
type slowMsg struct{}

// slowAfter is the time from which a command is shown, and can be interrupted. Most are over before.
const slowAfter = 300 * time.Millisecond

// mayLinger notes the start of a command and returns its context.
func (m *model) mayLinger(name string) context.Context {
	ctx, end := context.WithCancel(m.ctx)
	m.slow = slow{name, m.now(), end}
	m.later(slowAfter, slowMsg{})
	return ctx
}

// lingers reports that a command is under way long enough to be shown.
func (m *model) lingers() bool {
	return m.running > 0 && m.slow.end != nil && m.now().Sub(m.slow.began) >= slowAfter
}

// bypasses asks for a confirmation when a command would switch to the mode that asks nothing, once for as long
// as the terminal is open. It reports whether the command has to wait for the answer.
func (m *model) bypasses(c dialog.Command) bool {
	if c.Name != "mode" || !strings.EqualFold(c.Args, string(permission.Bypass)) || m.bypass.confirmed ||
		m.state.Mode == permission.Bypass {
		return false
	}
	m.bypass.dialog = dialog.NewPicker(event.Pick{
		Title: "Run everything without asking?", Command: "mode",
		Items: []event.PickItem{
			{ID: string(m.state.Mode), Label: "No, keep asking", Current: true},
			{ID: string(permission.Bypass), Label: "Yes, run everything", Detail: "deny and ask rules and guards still hold"},
		},
	}, m.look.theme)
	m.dialogs.Open(m.bypass.dialog)
	return true
}

// nextMode switches to the next mode. bypassPermissions is included once the user has confirmed it, by flag or in this
// terminal.
func (m *model) nextMode() {
	if m.state.Mode == permission.Plan && m.bypass.confirmed {
		c := dialog.Command{Name: "mode", Args: string(permission.Bypass)}
		m.running++
		m.spawn(func() any { // without its words in the transcript, as the others
			_, err := m.session.Command(m.ctx, port.Command{Name: c.Name, Args: c.Args})
			return outputMsg{command: c, err: err}
		})
		return
	}
	m.command("mode", "next")
}

// failed shows why a command did not do its work.
func (m *model) failed(err error) {
	if errors.Is(err, context.Canceled) {
		m.tell("info", "interrupted")
		return
	}
	m.tell("error", err.Error())
}

// output shows the output of a command.
func (m *model) output(msg outputMsg) {
	m.running--
	if m.running == 0 {
		m.slow = slow{}
	}
	if msg.err != nil {
		if msg.command.Name == "mode" {
			m.bypass.confirmed = false // settings may forbid it by now
		}
		if m.ctx.Err() == nil {
			m.echo(msg.command)
			m.failed(msg.err)
		}
		m.stopped()
		return
	}
	out := msg.out
	switch {
	case out.Pick != nil && msg.list != nil && m.dialogs.Top() == dialog.Dialog(msg.list):
		if !msg.list.Late(msg.command) {
			msg.list.Update(*out.Pick)
		}
	case out.Pick != nil && msg.list == nil:
		m.dialogs.Open(dialog.NewPicker(*out.Pick, m.look.theme))
		m.watchList()
	}
	if out.Page != nil {
		m.showPage(*out.Page)
	}
	m.showOutput(msg.command, out)
	// a list adds the message to the name
	if name, _, _ := strings.Cut(msg.command.Name, " "); name == "rewind" || name == "tree" || isFork(name) {
		m.moved = &msg
	}
	if out.Theme != "" {
		m.chooseTheme(out.Theme)
	}
	if out.Insert != "" {
		m.edit.SetText(out.Insert)
	}
	if out.Copy != "" {
		m.copy(out.Copy)
	}
	if out.Edit != nil {
		m.editFile(*out.Edit)
	}
	if out.Open != "" {
		m.open(out.Open)
	}
	if out.Prompt != nil {
		m.send(*out.Prompt, false)
	}
	switch {
	case out.Stay:
		m.stay = true
		m.leave()
	case out.Quit:
		m.leaveAsking()
	}
}

// isFork reports the command that goes on in a copy of the session.
func isFork(name string) bool { return name == "fork" || name == "branch" }

// showOutput adds a command's output to the transcript, below the command itself.
func (m *model) showOutput(c dialog.Command, out event.Output) {
	it := &item{kind: outputItem, look: &m.look, view: out.View}
	switch {
	case out.View != nil:
	case strings.TrimSpace(out.Text) != "":
		it.text = out.Text
	default:
		return
	}
	m.echo(c)
	m.log.add(it)
}

// echo shows a command above its output.
func (m *model) echo(c dialog.Command) {
	m.log.end()
	if name := strings.TrimSpace(c.Name + " " + c.Args); !strings.HasPrefix(name, "!") && !strings.HasPrefix(name, "#") {
		m.log.add(&item{kind: endItem, look: &m.look, text: "❯ /" + name})
	}
}

// open shows a view that the terminal makes itself.
func (m *model) open(name string) {
	switch name {
	case "keys":
		m.showKeys()
	case "palette":
		m.palette()
	case "help":
		m.spawn(func() any {
			return helpMsg{m.complete(event.Query{Kind: event.QueryCommand})}
		})
	case "login":
		m.login()
	case "sidebar":
		m.toggleSidebar()
	default:
		m.toast("warning", "there is no view "+name+" in this terminal")
	}
}

// finish carries out the result of a key in a dialog.
func (m *model) finish(d dialog.Dialog, r dialog.Result) {
	if r.Answer != nil {
		id, a := d.ID(), *r.Answer
		asker := m.askers[id]
		m.spawn(func() any {
			if err := m.session.Answer(m.ctx, port.Answer{Session: asker, ID: id, Answer: a}); err != nil {
				return tellMsg{"warning", err.Error()}
			}
			return nil
		})
	}
	if r.Toast != "" {
		m.toast("info", r.Toast)
	}
	if r.Edit != "" {
		m.openEditor(r.Edit, d)
	}
	if r.Run != nil && m.bypass.dialog != nil && d == dialog.Dialog(m.bypass.dialog) {
		if m.bypass.confirmed = r.Run.Args == string(permission.Bypass); !m.bypass.confirmed {
			return
		}
	}
	switch {
	case m.parted(d, r.Run):
	case r.Run == nil:
	case r.Run.Name == "":
		m.fromPalette(r.Run.Args)
	default:
		list, _ := d.(*dialog.Picker)
		m.commandFor(list, *r.Run, r.After, r.Refill)
	}
}

// copy puts text into the clipboard of the terminal (OSC 52), which works over any connection.
func (m *model) copy(text string) {
	m.extra = append(m.extra, "\x1b]52;c;"+base64.StdEncoding.EncodeToString([]byte(text))+"\x1b\\"...)
	m.toast("info", fmt.Sprintf("copied %s", plural(len([]rune(text)), "character")))
}

// palette opens the list of all commands with their keys.
func (m *model) palette() {
	m.spawn(func() any {
		return paletteMsg{m.complete(event.Query{Kind: event.QueryCommand})}
	})
}

type paletteMsg struct{ found []event.Candidate }

func (m *model) openPalette(found []event.Candidate) {
	pick := event.Pick{Title: "Commands", Command: "", Empty: "There are no commands."}
	for _, c := range found {
		label := "/" + c.Text
		if c.Hint != "" {
			label += " " + c.Hint
		}
		detail := c.Help
		if key := m.keymap.Key(keys.Action("command:" + c.Text)); key != "" {
			detail = key + " · " + detail
		}
		id := c.Text
		if c.Hint != "" && c.Hint[0] != '[' {
			id += " " // it needs an argument
		}
		pick.Items = append(pick.Items, event.PickItem{ID: id, Label: label, Detail: detail})
	}
	m.dialogs.Open(dialog.NewPicker(pick, m.look.theme))
}

// fromPalette runs a command that was chosen, or has its argument typed.
func (m *model) fromPalette(line string) {
	if strings.HasSuffix(line, " ") {
		m.edit.SetText("/" + line)
		return
	}
	m.commandLine(line)
}

// helpMsg brings the commands for the page of help.
type helpMsg struct{ found []event.Candidate }

// showHelp opens the page that lists the commands.
func (m *model) showHelp(found []event.Candidate) {
	th := m.look.theme
	m.dialogs.Open(dialog.NewText("Help", th, func(width int) []string {
		out := wrapStyled("@ attaches a file · ! runs your command · # adds to memory · "+
			m.keymap.Key(keys.ShowKeys)+" lists the keys · /help NAME explains a command", width, th.Dim)
		out = append(out, "")
		column := 0
		for _, c := range found {
			column = max(column, term.Width(commandLabel(c)))
		}
		column = min(column, max(width/2, 1)) + 2
		for _, c := range found {
			label := term.Truncate(commandLabel(c), column-2, "…")
			pad := strings.Repeat(" ", column-term.Width(label))
			for i, l := range wrapStyled(term.EscapeLine(c.Help), max(width-column, 1), th.Text) {
				if i > 0 {
					label, pad = "", strings.Repeat(" ", column)
				}
				out = append(out, th.Key.Render(label)+pad+l)
			}
		}
		return out
	}))
}

// commandLabel is a command with its arguments.
func commandLabel(c event.Candidate) string {
	return term.EscapeLine(strings.TrimSpace("/" + c.Text + " " + c.Hint))
}

// wrapStyled is escaped text in lines of one style.
func wrapStyled(text string, width int, st theme.Style) []string {
	lines := wrap(text, width)
	for i := range lines {
		lines[i] = st.Render(lines[i])
	}
	return lines
}

// showKeys opens the list of keys.
func (m *model) showKeys() {
	m.dialogs.Open(dialog.NewText("Keys", m.look.theme, m.keyLines))
}

func (m *model) keyLines(width int) []string {
	th := m.look.theme
	var out []string
	context := keys.Context("")
	for _, b := range m.keymap.Bindings() {
		if len(b.Keys) == 0 || m.options.Inline && (b.Context == keys.Scroll || b.Context == keys.Transcript) {
			continue
		}
		if b.Context != context {
			if context != "" {
				out = append(out, "")
			}
			context = b.Context
			out = append(out, th.Heading2.Render(string(context)))
		}
		chords := term.EscapeLine(strings.Join(b.Keys, ", "))
		pad := max(keyColumn-term.Width(chords), 1)
		help := term.EscapeLine(b.Help)
		out = append(out, "  "+th.Key.Render(term.Truncate(chords, max(width-4, 1), "…"))+strings.Repeat(" ", pad)+
			term.Truncate(help, max(width-2-max(keyColumn, term.Width(chords)+1), 1), "…"))
	}
	return out
}

// keyColumn is the column of the descriptions in the list of keys.
const keyColumn = 30

// complete returns completions; a session that cannot answer has none.
func (m *model) complete(q event.Query) []event.Candidate {
	found, err := m.session.Complete(m.ctx, q)
	if err != nil {
		return nil
	}
	return found
}
