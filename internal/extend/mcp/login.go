package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/lathe-dev/lathe/internal/extend/mcp/entry"
	"github.com/lathe-dev/lathe/internal/extend/mcp/oauth"
	"github.com/lathe-dev/lathe/internal/extend/mcp/remote"
)

// auth is lathe as the OAuth client of the server; nil where the server is not one of HTTP, where its entry gives an
// Authorization, or where no login can be kept.
func (v *server) auth() *oauth.Client {
	v.authOnce.Do(func() {
		e := &v.entry
		h := http.Header{}
		for name, value := range e.Headers {
			h.Set(name, value)
		}
		if v.set.o.Logins == nil || e.Type != entry.HTTP && e.Type != entry.SSE || h.Get("Authorization") != "" {
			return
		}
		preset := oauth.Preset{ClientSecret: v.set.variable("MCP_CLIENT_SECRET")}
		if o := e.OAuth; o != nil {
			preset.ClientID, preset.CallbackPort, preset.Metadata, preset.Scopes = o.ClientID, o.CallbackPort, o.Metadata,
				o.Scopes
			preset.ClientMetadata, preset.Grant = o.ClientMetadata, o.Grant
			if o.Identity != nil && !e.Foreign() {
				preset.Identity = v.identity(o.Identity)
			}
			if o.PrivateKeyFile != "" && !e.Foreign() {
				key, err := os.ReadFile(o.PrivateKeyFile)
				if err != nil {
					v.log.note("the privateKeyFile: " + err.Error()) // the login then asks for one
				}
				preset.PrivateKey = string(key)
			}
		}
		v.login = oauth.New(oauth.Options{Server: e.URL, Preset: preset, Store: v.set.o.Logins()})
	})
	return v.login
}

// identity reads the user's ID token again for each use, since it is short-lived.
func (v *server) identity(i *entry.Identity) oauth.Identity {
	return oauth.Identity{Endpoint: i.Endpoint, ClientID: i.ClientID, Token: func() (string, error) {
		if i.TokenFile == "" {
			return v.set.variable("MCP_ID_TOKEN"), nil
		}
		data, err := os.ReadFile(i.TokenFile)
		return string(data), err
	}}
}

// refused asks for another token after the server refused one.
func (v *server) refused(ctx context.Context, auth *oauth.Client, sent string, why *remote.AuthError) error {
	err := auth.Refused(ctx, sent, why.Status, why.Challenge)
	if err == nil {
		return nil
	}
	why.Err = v.needsLogin(err)
	return why
}

// needsLogin adds the user's next step to an error.
func (v *server) needsLogin(err error) error {
	if _, ok := errors.AsType[*oauth.NeedsLogin](err); ok {
		return fmt.Errorf("%w; log in with: lathe mcp login %s", err, v.entry.ID())
	}
	return err
}

// noteRefusal makes a refusal in the middle of a connection the state of the server.
func (v *server) noteRefusal(err error) {
	if _, ok := errors.AsType[*oauth.NeedsLogin](err); !ok {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.state, v.err = NeedsAuth, err
}

// Browser is how the user gives the consent to a login.
type Browser = oauth.Browser

var errNoLogin = errors.New("there is no login for this server: it is not reached over http, or its entry gives the " +
	"header Authorization")

// Login logs in to a server and connects to it.
func (s *Set) Login(ctx context.Context, name string, b Browser) error {
	v := s.find(name)
	if v == nil {
		return fmt.Errorf("there is no MCP server %q", name)
	}
	auth := v.auth()
	if auth == nil {
		return errNoLogin
	}
	if err := auth.Login(ctx, b); err != nil {
		return v.hidden.plain(err)
	}
	return s.Reconnect(ctx, name)
}

// Logout ends the connection to a server and deletes the login, which the server shares with others of the same
// address.
func (s *Set) Logout(ctx context.Context, name string) error {
	v := s.find(name)
	if v == nil {
		return fmt.Errorf("there is no MCP server %q", name)
	}
	auth := v.auth()
	if auth == nil {
		return errNoLogin
	}
	v.shut()
	return v.hidden.plain(auth.Logout(ctx))
}

// LoginOf describes the login of a server in a line: foreign text, empty where there is none.
func (s *Set) LoginOf(name string) string {
	v := s.find(name)
	if v == nil || v.auth() == nil {
		return ""
	}
	st, err := v.auth().State()
	switch {
	case err != nil:
		return err.Error()
	case !st.In:
		return ""
	}
	text := "logged in at " + st.Issuer
	if st.Scope != "" {
		text += ", scopes " + st.Scope
	}
	if !st.Expiry.IsZero() && !st.Renews {
		text += ", until " + st.Expiry.Format(time.DateTime)
	}
	if st.Wanted != "" {
		text += "; the server wants the scopes " + st.Wanted
	}
	return text
}
