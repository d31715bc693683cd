// Package teams carries chats of Microsoft Teams.
//
// It speaks the REST of the Bot Connector (learn.microsoft.com/azure/bot-service/rest-api); the service calls it with
// activities, whose tokens are verified before anything is read. A person is an object id of Entra in the configured
// tenant. In personal chats a reply streams, within the two minutes that Teams allows; elsewhere, and after that, one
// message is edited. The service offers no way to find a message whose outcome is unknown, except for one that ends a
// stream: another may come twice if the connection broke in that moment.
package teams

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/face/gateway"
)

// Options of the transport.
type Options struct {
	AppID, Password, Tenant string
	Cloud                   string // public, usgov or china
	LoginBase               string // replaces the services that issue tokens; empty: those of the cloud
	Listen                  string
	HTTP                    *http.Client
	Log                     *slog.Logger
	// Unverified takes activities without a token, of any tenant; tests with Microsoft's playground set it.
	Unverified bool
}

// cloud are the services of a cloud.
type cloud struct{ login, issuer, metadata, scope string }

var clouds = map[string]cloud{
	"public": {
		"https://login.microsoftonline.com", "https://api.botframework.com",
		"https://login.botframework.com/v1/.well-known/openidconfiguration", "https://api.botframework.com/.default",
	},
	"usgov": {
		"https://login.microsoftonline.us", "https://api.botframework.us",
		"https://login.botframework.azure.us/v1/.well-known/openidconfiguration", "https://api.botframework.us/.default",
	},
	"china": {
		"https://login.partner.microsoftonline.cn", "https://api.botframework.azure.cn",
		"https://login.botframework.azure.cn/v1/.well-known/openidconfiguration", "https://api.botframework.azure.cn/.default",
	},
}

// Transport is a bot.
type Transport struct {
	o    Options
	c    cloud
	http *http.Client
	keys keys

	mu       sync.Mutex
	token    string
	expires  time.Time
	streams  map[string]stream      // by their id
	waiting  map[string]chan string // invokes that wait for their receipt
	consents map[string]consent     // files that wait for consent
	until    map[string]time.Time   // when a conversation may be written to again
}

// New returns a transport.
func New(o Options) *Transport {
	client := *o.HTTP
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	t := &Transport{
		o: o, c: clouds[cmp.Or(o.Cloud, "public")], http: &client, streams: map[string]stream{},
		waiting: map[string]chan string{}, consents: map[string]consent{}, until: map[string]time.Time{},
	}
	if base := strings.TrimRight(o.LoginBase, "/"); base != "" {
		t.c.login, t.c.metadata = base, base+"/v1/.well-known/openidconfiguration"
	}
	t.keys = keys{metadata: t.c.metadata, http: &client}
	return t
}

// Name is as in [gateway.Transport].
func (t *Transport) Name() string { return "teams" }

// Check tries the credentials.
func (t *Transport) Check(ctx context.Context) (string, error) {
	if _, err := t.bearer(ctx); err != nil {
		return "", err
	}
	if _, err := t.keys.find(ctx, ""); err != nil && !errors.Is(err, errKey) {
		return "", err
	}
	return "application " + t.o.AppID + " of tenant " + t.o.Tenant + "; the messaging endpoint of its bot has to lead to " +
		t.o.Listen + "/api/messages", nil
}

// bearer is a token of the application.
func (t *Transport) bearer(ctx context.Context) (string, error) {
	t.mu.Lock()
	token, expires := t.token, t.expires
	t.mu.Unlock()
	if t.o.Unverified || time.Now().Before(expires) {
		return token, nil
	}
	form := url.Values{
		"grant_type": {"client_credentials"}, "client_id": {t.o.AppID}, "client_secret": {t.o.Password}, "scope": {t.c.scope},
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost,
		t.c.login+"/"+url.PathEscape(t.o.Tenant)+"/oauth2/v2.0/token", strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	var got struct {
		Token   string `json:"access_token"`
		Expires int    `json:"expires_in"`
		Why     string `json:"error_description"`
	}
	if err := getJSON(t.http, req, &got); err != nil || got.Token == "" {
		first, _, _ := strings.Cut(got.Why, "\n")
		return "", fmt.Errorf("Entra gives no token for the application: %w: %s", cmp.Or(err, errors.New("refused")), first)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.token, t.expires = got.Token, time.Now().Add(time.Duration(got.Expires)*time.Second-5*time.Minute)
	return got.Token, nil
}

// mostAnswer is the size of the longest answer, in bytes.
const mostAnswer = 4 << 20

func getJSON(c *http.Client, req *http.Request, result any) error {
	res, err := c.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	return json.NewDecoder(io.LimitReader(res.Body, mostAnswer)).Decode(result)
}

// failure is a refusal of the connector.
type failure struct {
	Status int
	Code   string
	Text   string
	After  time.Duration
}

func (f *failure) Error() string { return fmt.Sprintf("Teams: %d %s %s", f.Status, f.Code, f.Text) }

// final is an error after which another try would fail as well.
func final(err error) error {
	f, ok := errors.AsType[*failure](err)
	if ok && f.Status >= 400 && f.Status < 500 && f.Status != 401 && f.Status != 412 && f.Status != 429 {
		return &gateway.Refusal{Why: f.Error()}
	}
	return err
}

// do calls the connector of a place.
func (t *Transport) do(ctx context.Context, p gateway.Place, method, path string, body, result any) error {
	bearer, err := t.bearer(ctx)
	if err != nil {
		return err
	}
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	conversation := p.Chat
	if p.Thread != "" {
		conversation += ";messageid=" + p.Thread
	}
	to := strings.TrimRight(p.Route, "/") + "/v3/conversations/" + url.PathEscape(conversation) + "/activities" + path
	req, err := http.NewRequestWithContext(ctx, method, to, bytes.NewReader(b))
	if err != nil {
		return &gateway.Refusal{Why: "the address of the conversation cannot be used"}
	}
	req.Header.Set("Content-Type", "application/json")
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	res, err := t.http.Do(req)
	if err != nil {
		if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "dial" {
			return fmt.Errorf("Teams cannot be reached: %w", err)
		}
		return fmt.Errorf("Teams: %w: %w", gateway.ErrUnknown, err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(res.Body, mostAnswer))
	if err != nil {
		return fmt.Errorf("Teams: %w: %w", gateway.ErrUnknown, err)
	}
	if res.StatusCode/100 != 2 {
		return t.refused(p, res, raw)
	}
	if result != nil && len(bytes.TrimSpace(raw)) > 0 {
		return json.Unmarshal(raw, result)
	}
	return nil
}

func (t *Transport) refused(p gateway.Place, res *http.Response, raw []byte) error {
	var e struct {
		Error struct{ Code, Message string } `json:"error"`
	}
	_ = json.Unmarshal(raw, &e) // the status says enough
	f := &failure{Status: res.StatusCode, Code: e.Error.Code, Text: e.Error.Message}
	if n, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil {
		f.After = time.Duration(n) * time.Second
		t.mu.Lock()
		t.until[p.Chat] = time.Now().Add(f.After)
		t.mu.Unlock()
	}
	if f.Status == http.StatusUnauthorized {
		t.mu.Lock()
		t.expires = time.Time{}
		t.mu.Unlock()
	}
	if f.Status >= http.StatusInternalServerError {
		return errors.Join(f, gateway.ErrUnknown)
	}
	return f
}

// gate waits until a conversation may be written to.
func (t *Transport) gate(ctx context.Context, p gateway.Place) error {
	t.mu.Lock()
	wait := time.Until(t.until[p.Chat])
	if wait <= 0 {
		delete(t.until, p.Chat)
	}
	t.mu.Unlock()
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("Teams wants a pause: %w", ctx.Err())
	}
}
