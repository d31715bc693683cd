// Package telegram carries chats of Telegram's Bot API.
//
// A thin client of the methods that a gateway needs, by the documentation of Bot API 10.4 (core.telegram.org/bots/api).
// Texts are rich messages, which take the model's Markdown; a server that lacks them gets entities. In private chats a
// turn streams as a draft with a Stop button, in groups as one message that is edited and goes when the answer comes.
//
// Sending has no key by which the server would know a message again. Where the outcome is unknown, Find edits the
// messages after the last known one into the same text: "message is not modified" means that it was sent.
package telegram

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/face/gateway"
)

// Options of the transport.
type Options struct {
	Token   string
	APIBase string // of the server, without a slash at its end
	HTTP    *http.Client
	Log     *slog.Logger
	Webhook *Webhook // nil: long polling
}

// Webhook is how updates come where the server calls.
type Webhook struct {
	Listen string // an address of this machine
	URL    string // that the server calls
	Secret string // that it shows
}

// Transport is a bot.
type Transport struct {
	o    Options
	http *http.Client

	mu     sync.Mutex
	me     user
	plain  bool                   // the server has no rich messages
	silent bool                   // it has no drafts
	recent map[string][]time.Time // sends and edits of the last minute, by chat
	until  map[string]time.Time   // when a chat may be written to again
}

// New returns a transport.
func New(o Options) *Transport {
	client := *o.HTTP
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Transport{o: o, http: &client, recent: map[string][]time.Time{}, until: map[string]time.Time{}}
}

// Name is as in [gateway.Transport].
func (t *Transport) Name() string { return "telegram" }

// Check tries the token and says what was found.
func (t *Transport) Check(ctx context.Context) (string, error) {
	if err := t.call(ctx, "getMe", struct{}{}, &t.me); err != nil {
		if is(err, http.StatusUnauthorized) || is(err, http.StatusNotFound) {
			return "", errors.New("Telegram does not know the token; @BotFather shows it")
		}
		return "", err
	}
	var hook struct {
		URL  string `json:"url"`
		Last string `json:"last_error_message"`
	}
	if err := t.call(ctx, "getWebhookInfo", struct{}{}, &hook); err != nil && !is(err, http.StatusNotFound) {
		return "", err
	}
	found := "bot @" + t.me.Username
	if t.me.Topics {
		found += ", with topics in private chats"
	}
	if hook.URL != "" && t.o.Webhook == nil {
		found += "; its webhook will be removed"
	}
	if hook.Last != "" {
		found += "; the webhook failed last: " + hook.Last
	}
	return found, nil
}

// Receive is as in [gateway.Transport].
func (t *Transport) Receive(ctx context.Context, take func(gateway.Update) error) error {
	if err := t.greet(ctx); err != nil {
		return err
	}
	if t.o.Webhook != nil {
		return t.serve(ctx, take)
	}
	return t.poll(ctx, take)
}

// greet learns the bot's name and tells the server its commands.
func (t *Transport) greet(ctx context.Context) error {
	type command struct {
		Command     string `json:"command"`
		Description string `json:"description"`
	}
	var commands []command
	for _, c := range gateway.Commands {
		commands = append(commands, command{c.Name, c.Help})
	}
	for _, step := range []struct {
		method string
		params any
		result any
		needed bool
	}{
		{"getMe", struct{}{}, &t.me, true},
		{"setMyCommands", map[string]any{"commands": commands}, nil, false},
		{"deleteWebhook", map[string]any{"drop_pending_updates": false}, nil, false},
	} {
		if step.method == "deleteWebhook" && t.o.Webhook != nil {
			continue
		}
		err := t.persist(ctx, func() error { return t.call(ctx, step.method, step.params, step.result) })
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && step.needed {
			return fmt.Errorf("the bot cannot be reached: %w; lathe gateway check says more", err)
		}
	}
	return nil
}

// Pauses between attempts to reach the server.
const (
	firstPause = 200 * time.Millisecond
	lastPause  = 20 * time.Second
)

// persist repeats what fails until it succeeds or would fail for good.
func (t *Transport) persist(ctx context.Context, f func() error) error {
	pause := firstPause
	for {
		err := f()
		if err == nil || ctx.Err() != nil {
			return err
		}
		if _, ok := errors.AsType[*gateway.Refusal](final(err)); ok {
			return final(err)
		}
		t.o.Log.Info("Telegram is tried again", "error", err)
		wait := pause
		if e, ok := errors.AsType[*failure](err); ok && e.After > 0 {
			wait = e.After
		}
		sleep(ctx, wait)
		pause = min(2*pause, lastPause)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
