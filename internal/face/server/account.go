package server

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Me is who sends the request.
type Me struct {
	Device Device  `json:"device"`
	Local  bool    `json:"local,omitempty" jsonschema:"the user at the Unix socket"`
	Remote bool    `json:"remote,omitempty"`
	Scopes []Scope `json:"scopes"`
	Lathe  string  `json:"lathe" jsonschema:"the version of the server"`
}

func me(s *Server, c *call, _ none) (Me, error) {
	out := Me{Device: c.who.Device, Local: c.who.Local, Remote: c.who.Remote, Scopes: c.who.Scopes, Lathe: s.Lathe}
	if c.who.Local {
		out.Scopes = Scopes
	}
	out.Device.Scopes = out.Scopes
	return out, nil
}

// NewPairing describes the device that a code is for.
type NewPairing struct {
	Scopes  []Scope `json:"scopes,omitempty" jsonschema:"read, prompt and approve if there are none"`
	Answers string  `json:"answers,omitempty" jsonschema:"which questions it may answer: all (empty), author or none"`
	Days    int     `json:"days,omitempty" jsonschema:"how long its token lives; 0: until it is revoked"`
}

func beginPairing(s *Server, c *call, n NewPairing) (Pairing, error) {
	d := Device{Scopes: n.Scopes, Answers: n.Answers}
	if len(d.Scopes) == 0 {
		d.Scopes = []Scope{Read, Prompt, Approve}
	}
	if n.Days > 0 {
		d.Expires = time.Now().UTC().AddDate(0, 0, n.Days)
	}
	out := s.pairings.begin(d)
	for _, base := range s.bases {
		out.URLs = append(out.URLs, fmt.Sprintf("%s%s#code=%s", base, s.Login, out.Code))
	}
	return out, nil
}

// pairPath is the only path of the API that needs no principal.
const pairPath = "/v1/pair"

// Pair takes a code.
type Pair struct {
	Code   string `json:"code"`
	Name   string `json:"name" jsonschema:"of the device, for people"`
	Cookie bool   `json:"cookie,omitempty" jsonschema:"a browser: the token is set as a cookie that scripts cannot read"`
}

// Paired is the device that a code was for.
type Paired struct {
	Device Device `json:"device"`
	Token  string `json:"token,omitempty" jsonschema:"for Authorization: Bearer; it is shown once"`
}

// cookieLives is how long a browser keeps its cookie.
const cookieLives = 400 * 24 * time.Hour

func pair(s *Server, c *call, p Pair) (Paired, error) {
	d, err := s.pairings.take(p.Code)
	if err != nil {
		return Paired{}, err
	}
	var token string
	if d.Name, err = s.devices.unused(strings.TrimSpace(p.Name)); err == nil {
		d, token, err = s.devices.Add(d)
	}
	if err != nil {
		return Paired{}, badRequest(err.Error(), "the code is used up; make another with: lathe serve pair")
	}
	out := Paired{Device: d, Token: token}
	if p.Cookie {
		out.Token = ""
		c.setCookie(token, cookieLives)
	}
	return out, nil
}

// setCookie gives a browser its token, or takes it away.
func (c *call) setCookie(token string, lives time.Duration) {
	e, _ := c.Value(entryKey{}).(Entry)
	http.SetCookie(c.w, &http.Cookie{
		Name: cookie(e), Value: token, Path: "/", MaxAge: int(lives / time.Second), HttpOnly: true, Secure: e.TLS,
		SameSite: http.SameSiteStrictMode,
	})
}

func logout(s *Server, c *call, _ none) (none, error) {
	if c.who.Local {
		return none{}, badRequest("the user at the Unix socket has no token", "revoke a device by its id")
	}
	c.setCookie("", -time.Second)
	_, err := s.devices.Revoke(c.who.ID)
	return none{}, err
}

// DeviceList are the devices.
type DeviceList struct {
	Devices []Device `json:"devices"`
}

func listDevices(s *Server, _ *call, _ none) (DeviceList, error) {
	all, err := s.devices.List()
	if all == nil {
		all = []Device{}
	}
	return DeviceList{all}, err
}

// NewDevice describes a device that gets its token at once.
type NewDevice struct {
	Name    string  `json:"name"`
	Scopes  []Scope `json:"scopes"`
	Answers string  `json:"answers,omitempty"`
	Days    int     `json:"days,omitempty"`
}

func addDevice(s *Server, c *call, n NewDevice) (Paired, error) {
	d := Device{Name: n.Name, Scopes: n.Scopes, Answers: n.Answers}
	if n.Days > 0 {
		d.Expires = time.Now().UTC().AddDate(0, 0, n.Days)
	}
	d, token, err := s.devices.Add(d)
	if err != nil {
		return Paired{}, badRequest(err.Error(), "compare it with /openapi.json")
	}
	return Paired{d, token}, nil
}

func revokeDevice(s *Server, _ *call, q named) (Device, error) { return s.devices.Revoke(q.ID) }
