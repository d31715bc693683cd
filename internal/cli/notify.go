package cli

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/face/notify"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/llm"
)

// senderOf returns a sender to the services in the settings, or nil if the settings name no service.
func senderOf(cfg *config.Config) (*notify.Sender, error) {
	n, network := cfg.Settings.Notifications, cfg.Settings.Network
	var services []notify.Service
	for _, s := range []notify.Service{
		{Kind: "ntfy", URL: n.Ntfy.URL, Token: n.Ntfy.Token},
		{Kind: "gotify", URL: n.Gotify.URL, Token: n.Gotify.Token},
		{Kind: "webhook", URL: n.Webhook.URL, Token: n.Webhook.Token},
	} {
		if s.URL != "" {
			services = append(services, s)
		}
	}
	if n.Pushover.Token != "" && n.Pushover.UserKey != "" {
		services = append(services, notify.Service{
			Kind: "pushover", URL: n.Pushover.URL, Token: n.Pushover.Token, User: n.Pushover.UserKey,
		})
	}
	if len(services) == 0 {
		return nil, nil
	}
	client, err := httpClient(network)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return &notify.Sender{Services: services, Link: n.Link, Host: host, HTTP: client}, nil
}

func httpClient(n config.Network) (*http.Client, error) {
	return llm.HTTPClient(llm.HTTPOptions{Proxy: n.Proxy, NoProxy: strings.Join(n.NoProxy, ","), CACerts: n.CACerts})
}

// pushFrom sends texts of the model in the session of a job (empty: it has none); nil: there is no service.
func pushFrom(job string, cfg *config.Config) func(ctx context.Context, session, text string) error {
	sender, err := senderOf(cfg)
	if sender == nil && err == nil {
		return nil
	}
	return func(ctx context.Context, session, text string) error {
		if err != nil {
			return err
		}
		m := notify.Message{Kind: notify.Said, Title: "lathe", Text: text, Job: job, Session: session}
		if j, err := jobPlace().Read(job); job != "" && err == nil {
			m.Title, m.Dir = cmp.Or(j.Name, m.Title), j.CWD
		}
		return sender.Send(ctx, m)
	}
}

// notify tells the user of the session while no face shows it, or always if the settings say so. The settings are
// those of the moment.
func (w *worker) notify(ctx context.Context, s *port.Server, inst *conversation.Instance) {
	notify.Watch(ctx, w.console, func(m notify.Message) {
		cfg := inst.Config()
		if s.Faces() > 0 && !cfg.Settings.Notifications.Always {
			return
		}
		sender, err := senderOf(cfg)
		if sender != nil && err == nil {
			m.Job = w.job.ID
			go func() {
				if err := sender.Send(ctx, m); err != nil && ctx.Err() == nil {
					fmt.Fprintln(os.Stderr, "the notification was not sent:", err)
				}
			}()
		} else if err != nil {
			fmt.Fprintln(os.Stderr, "the notification was not sent:", err)
		}
	})
}
