package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	xterm "golang.org/x/term"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/hosts"
	"github.com/lathe-dev/lathe/internal/machine/term"
)

// offer is a choice in the list of providers: a host, or the user's own server with the same API.
type offer struct {
	name string
	host hosts.Host
	own  bool // the user enters the address
}

// offers lists the known hosts that have a login, then the servers of the user's own.
func offers() []offer {
	var out, own []offer
	for _, h := range hosts.Offered() {
		out = append(out, offer{name: h.Login.Title, host: h})
		if h.Login.Server != "" {
			own = append(own, offer{name: h.Login.Server, host: h, own: true})
		}
	}
	return append(out, own...)
}

// setUp asks the person at the terminal for a provider and a key, keeps both in the user's settings, and tries
// them. It fails unless a model answered, or the person wants to go on without that. The outcome is for the screen that
// covers the questions.
func (p *program) setUp(ctx context.Context, o *Options) (outcome string, err error) {
	return p.askProvider(ctx, o, "No model is set up yet. Who should answer?")
}

// askProvider is setUp with another question. Ctrl+D leaves it.
func (p *program) askProvider(ctx context.Context, o *Options, question string) (outcome string, err error) {
	s := &setup{program: p, ctx: ctx, options: o, lines: bufio.NewReader(p.in)}
	s.say("%s\n", question)
	for i, of := range offers() {
		s.say("  %d. %s\n", i+1, of.name)
	}
	s.say("(lathe demo shows lathe at work without a key.)\n")
	of, err := s.choose()
	if err != nil {
		return "", err
	}
	values, err := s.values(of)
	if err != nil {
		return "", err
	}
	file, err := s.keep(values, of)
	if err != nil {
		return "", err
	}
	answers, err := s.try()
	if err != nil {
		return "", err
	}
	return answers + " The settings are in " + file + ", which only you can read.", nil
}

// setup is the conversation about the first provider.
type setup struct {
	*program
	ctx     context.Context
	options *Options
	lines   *bufio.Reader
}

func (s *setup) say(format string, args ...any) { fmt.Fprintf(s.out, format, args...) }

// line asks for a line. The end of the input leaves the set-up.
func (s *setup) line(question string) (string, error) {
	s.say("%s ", question)
	text, err := s.lines.ReadString('\n')
	if err != nil || s.ctx.Err() != nil {
		return "", conversation.ErrNoKey
	}
	return strings.TrimSpace(text), nil
}

// secret asks for a line that is not shown.
func (s *setup) secret(question string) (string, error) {
	f, ok := s.in.(*os.File)
	if !ok {
		return s.line(question)
	}
	// A paste may follow the question at once, so the echo is off before the question is printed.
	state, err := xterm.MakeRaw(int(f.Fd()))
	if err != nil {
		return "", fmt.Errorf("the terminal cannot hide the key: %w", err)
	}
	s.say("%s ", question)
	text, ok := readHidden(f)
	err = xterm.Restore(int(f.Fd()), state)
	s.say("\n")
	if !ok || err != nil || s.ctx.Err() != nil {
		return "", conversation.ErrNoKey
	}
	return strings.TrimSpace(text), nil
}

// readHidden reads a line from a terminal in raw mode, with the keys that edit a line. It is not ok when the user
// left with ctrl+c or ctrl+d, or the input ended.
func readHidden(in io.Reader) (text string, ok bool) {
	var line []byte
	for b := make([]byte, 1); ; {
		if n, err := in.Read(b); err != nil || n == 0 {
			return "", false
		}
		switch c := b[0]; c {
		case '\r', '\n':
			return string(line), true
		case 3, 4: // ctrl+c, ctrl+d
			return "", false
		case 8, 127: // backspace
			line = line[:max(0, len(line)-1)]
		case 21: // ctrl+u
			line = line[:0]
		default:
			if c >= ' ' {
				line = append(line, c)
			}
		}
	}
}

func (s *setup) choose() (offer, error) {
	for offers := offers(); ; {
		text, err := s.line(fmt.Sprintf("Number (1 to %d):", len(offers)))
		if err != nil {
			return offer{}, err
		}
		if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(offers) {
			return offers[n-1], nil
		}
		s.say("Type one of the numbers above; the key is asked for after it.\n")
	}
}

// value is a setting to keep.
type value struct{ path, text string }

// values asks for the settings that the provider needs.
func (s *setup) values(of offer) ([]value, error) {
	out, err := s.server(of)
	if err != nil {
		return nil, err
	}
	question := "Paste the key (it is not shown; enter for none):"
	if !of.own {
		question = "Paste the key (it is not shown); keys are made at " + of.host.Login.Page + ":"
	}
	for {
		key, err := s.secret(question)
		switch {
		case err != nil:
			return nil, err
		case key != "":
			return append(out, value{"env." + of.host.Variable("apiKey"), key}), nil
		case of.own:
			return out, nil
		}
	}
}

// server asks for the address of the user's own server, and for the model if the host has no default.
func (s *setup) server(of offer) ([]value, error) {
	l := of.host.Login
	if !of.own {
		usual := of.host.Newest()
		if usual == "" {
			return nil, nil
		}
		model, err := s.line(fmt.Sprintf("The model to use (enter for %s):", usual))
		return []value{{"model", cmp.Or(model, usual)}}, err
	}
	base, err := s.line("Its address (" + l.ServerBase + "):")
	if err != nil {
		return nil, err
	}
	out := []value{{"env." + of.host.Variable("apiBase"), cmp.Or(base, l.ServerBase)}}
	model, err := s.line("The model to use there:")
	if model != "" {
		out = append(out, value{"model", model})
	}
	return out, err
}

// misleads reports a setting left from another offer that would send requests to the wrong place: another provider,
// another host's model, or the address of the user's own server although the host itself was chosen.
func (of offer) misleads(path, text string) bool {
	switch path {
	case "provider":
		return text != of.host.Name
	case "model":
		return of.host.Family != "" && !strings.Contains(llm.Resolve(text, nil), of.host.Family)
	}
	return !of.own && of.host.Login.Server != ""
}

// clear removes the settings of another offer from the user's file.
func (s *setup) clear(cfg *config.Config, of offer) error {
	for _, path := range []string{"provider", "model", "env." + of.host.Variable("apiBase")} {
		raw, origin, ok := cfg.Get(path)
		var text string
		if !ok || origin.File != cfg.Target(config.User) || json.Unmarshal(raw, &text) != nil || !of.misleads(path, text) {
			continue
		}
		if err := cfg.Unset(path, config.User); err != nil {
			return err
		}
		s.say("The setting %s (%q) belonged to another provider and is removed.\n", path, text)
	}
	return nil
}

// keep writes the values into the user's settings, a file that only the user can read from then on.
func (s *setup) keep(values []value, of offer) (file string, err error) {
	cfg, _, err := loadConfig(s.options)
	if err != nil {
		return "", err
	}
	if err := s.clear(cfg, of); err != nil {
		return "", err
	}
	for _, v := range values {
		if err := cfg.Set(v.path, v.text, config.User); err != nil {
			return "", err
		}
	}
	file = cfg.Target(config.User)
	if err := os.Chmod(file, 0o600); err != nil {
		return "", fmt.Errorf("the settings could not be made private: %w", err)
	}
	s.say("Kept in %s, which only you can read (mode 0600).\n", term.EscapeLine(file))
	return file, nil
}

// tryTime is how long the first answer may take.
const tryTime = 30 * time.Second

// try asks the model for a word. When that fails, the person decides whether to go on. The outcome is a sentence.
func (s *setup) try() (outcome string, err error) {
	s.say("Trying it... ")
	model, err := s.answer()
	if err == nil {
		s.say("%s answers.\n", term.EscapeLine(model))
		return model + " answers.", nil
	}
	if s.ctx.Err() != nil {
		s.say("\n")
		return "", &Error{
			Code: exitInt, Msg: "interrupted before the provider answered",
			Hint: "the key is kept; start lathe again to use it",
		}
	}
	s.say("that failed: %s\n", term.EscapeLine(err.Error()))
	text, lineErr := s.line("Go on anyway? [y/N]")
	if lineErr == nil && strings.HasPrefix(strings.ToLower(text), "y") {
		return "The provider did not answer: " + err.Error() + ".", nil
	}
	return "", errors.New("the provider did not answer; change the key with: lathe config set env.NAME KEY, or remove " +
		"it with: lathe config unset env.NAME")
}

// answer gets a few tokens from the model that is now configured.
func (s *setup) answer() (model string, err error) {
	ctx, cancel := context.WithTimeout(s.ctx, tryTime)
	defer cancel()
	inst, err := s.instance(s.options)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, inst.Close()) }()
	m, err := inst.Model(ctx, "")
	if err != nil {
		return "", err
	}
	for _, err := range m.Stream(ctx, &llm.Request{Messages: []llm.Message{llm.UserText("Say ok.")}, MaxTokens: 16}) {
		if err != nil {
			return "", err
		}
	}
	return m.Info().ID, nil
}
