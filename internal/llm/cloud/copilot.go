package cloud

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
)

// copilotClient is the public client id of GitHub's own editor plug-ins: GitHub gives tokens for Copilot to no other
// ones. COPILOT_CLIENT_ID replaces it.
const copilotClient = "Iv1.b507a08c87ecfe98"

const copilotScope = "read:user"

// Secrets keeps the secret of one account, for all processes of the user.
type Secrets interface {
	Get() (string, error)
	Set(secret string) error
	// Lock holds other processes off until unlock is called.
	Lock(ctx context.Context) (unlock func(), err error)
}

// copilotSecret is what is kept about a login: the user's token, and the newest one for Copilot made of it.
type copilotSecret struct {
	User    string    `json:"user"`
	Token   string    `json:"token,omitempty"`
	Expires time.Time `json:"expires,omitzero"`
	API     string    `json:"api,omitempty"` // the address of the user's plan
}

// Copilot sets tokens of GitHub Copilot. They last for half an hour; one process at a time renews them, and the others
// take that one's.
func Copilot(o Options, secrets Secrets) llm.Prepare {
	var c cached[copilotSecret]
	return func(ctx context.Context, out *llm.Outgoing) error {
		refused := ""
		if out.Refused != nil {
			refused = strings.TrimPrefix(out.Refused.Header.Get("Authorization"), "Bearer ")
		}
		s, err := c.get(o.now(), refused != "", func() (copilotSecret, time.Time,
			error,
		) {
			return o.copilotToken(ctx, secrets, refused)
		})
		if err != nil {
			return &llm.Error{
				Kind: llm.KindAuth, Message: llm.Clean(err.Error()), Err: err,
				Hint: "log in with: lathe auth login github-copilot",
			}
		}
		out.Header.Set("Authorization", "Bearer "+s.Token)
		for name, value := range map[string]string{
			"Editor-Version": "lathe/1.0", "Editor-Plugin-Version": "lathe/1.0", "Copilot-Integration-Id": "vscode-chat",
			"Openai-Intent": "conversation-edits", "X-Initiator": "user",
		} {
			out.Header.Set(name, value)
		}
		if s.API != "" {
			out.URL = moved(out.URL, s.API)
		}
		return nil
	}
}

// moved returns an address at another host.
func moved(address, base string) string {
	u, err := url.Parse(address)
	b, berr := url.Parse(base)
	if err != nil || berr != nil || b.Host == "" || u.Host != "api.githubcopilot.com" {
		return address // an address of the user's own
	}
	u.Scheme, u.Host = b.Scheme, b.Host
	return u.String()
}

// copilotToken returns the kept token, or a new one if that ends soon or was refused.
func (o *Options) copilotToken(ctx context.Context, secrets Secrets, refused string) (copilotSecret, time.Time, error) {
	unlock, err := secrets.Lock(ctx)
	if err != nil {
		return copilotSecret{}, time.Time{}, err
	}
	defer unlock()
	var s copilotSecret
	kept, err := secrets.Get()
	if err != nil {
		return s, time.Time{}, fmt.Errorf("there is no login of GitHub Copilot: %w", err)
	}
	if json.Unmarshal([]byte(kept), &s) != nil || s.User == "" {
		return s, time.Time{}, errors.New("the login of GitHub Copilot cannot be read")
	}
	if s.Token != "" && s.Token != refused && o.now().Before(s.Expires.Add(-early)) {
		return s, s.Expires, nil
	}
	if err := o.exchange(ctx, &s); err != nil {
		return s, time.Time{}, err
	}
	b, err := json.Marshal(s)
	if err != nil {
		return s, time.Time{}, err
	}
	return s, s.Expires, secrets.Set(string(b))
}

// exchange gets a token for Copilot with the user's.
func (o *Options) exchange(ctx context.Context, s *copilotSecret) error {
	address := cmp.Or(o.Login, "https://api.github.com") + "/copilot_internal/v2/token"
	b, err := o.fetch(ctx, http.MethodGet, address, map[string]string{
		"Authorization": "token " + s.User,
		"Accept":        "application/json", "User-Agent": "lathe",
	}, "")
	if err != nil {
		return err
	}
	var a struct {
		Token     string `json:"token"`
		ExpiresAt int64  `json:"expires_at"`
		Endpoints struct {
			API string `json:"api"`
		} `json:"endpoints"`
	}
	if err := json.Unmarshal(b, &a); err != nil || a.Token == "" {
		return errors.New("the answer of GitHub has no token for Copilot; does the account have a plan of Copilot?")
	}
	s.Token, s.Expires, s.API = a.Token, time.Unix(a.ExpiresAt, 0), a.Endpoints.API
	return nil
}

// LoginCopilot logs in by GitHub's device flow (RFC 8628): show gives the person the address and the code to type
// there. It returns the secret to keep.
func LoginCopilot(ctx context.Context, o Options, show func(address, code string)) (string, error) {
	client := cmp.Or(o.Getenv("COPILOT_CLIENT_ID"), copilotClient)
	var d struct {
		Device   string `json:"device_code"`
		Code     string `json:"user_code"`
		Address  string `json:"verification_uri"`
		Expires  int    `json:"expires_in"`
		Interval int    `json:"interval"`
	}
	if err := o.github(ctx, "/login/device/code", url.Values{"client_id": {client}, "scope": {copilotScope}},
		&d); err != nil {
		return "", err
	}
	if d.Device == "" || d.Code == "" {
		return "", errors.New("GitHub gave no code for the login")
	}
	show(d.Address, d.Code)
	ctx, cancel := context.WithTimeoutCause(ctx, time.Duration(max(d.Expires, 60))*time.Second,
		errors.New("the code expired before it was typed; log in again"))
	defer cancel()
	user, err := o.poll(ctx, client, d.Device, time.Duration(d.Interval)*time.Second)
	if err != nil {
		return "", err
	}
	s := copilotSecret{User: user}
	if err := o.exchange(ctx, &s); err != nil {
		return "", err
	}
	b, err := json.Marshal(s)
	return string(b), err
}

// poll asks until the person has typed the code.
func (o *Options) poll(ctx context.Context, client, device string, every time.Duration) (string, error) {
	for {
		t := time.NewTimer(every)
		select {
		case <-ctx.Done():
			t.Stop()
			return "", context.Cause(ctx)
		case <-t.C:
		}
		var a struct {
			Token    string `json:"access_token"`
			Error    string `json:"error"`
			Interval int    `json:"interval"`
		}
		form := url.Values{
			"client_id": {client}, "device_code": {device},
			"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"},
		}
		if err := o.github(ctx, "/login/oauth/access_token", form, &a); err != nil {
			return "", err
		}
		switch {
		case a.Token != "":
			return a.Token, nil
		case a.Error == "slow_down":
			every = max(every+5*time.Second, time.Duration(a.Interval)*time.Second)
		case a.Error != "authorization_pending":
			return "", fmt.Errorf("GitHub refused the login: %s", llm.Clean(cmp.Or(a.Error, "no token")))
		}
	}
}

// github sends a form to GitHub and reads the answer.
func (o *Options) github(ctx context.Context, path string, form url.Values, answer any) error {
	h := map[string]string{"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
	b, err := o.fetch(ctx, http.MethodPost, cmp.Or(o.Login, "https://github.com")+path, h, form.Encode())
	if err != nil {
		return err
	}
	return json.Unmarshal(b, answer)
}
