package config

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

const (
	orgHint = "tell the administrators of the organisation's settings"

	orgWait  = time.Second      // how long a start waits for a document that is not cached
	orgFresh = 10 * time.Minute // a newer copy is not refreshed
	orgRetry = 5 * time.Minute  // a start does not wait again so soon after a failure
	orgFetch = 30 * time.Second // timeout of a background fetch
)

// An orgCopy is the cached copy of the organisation's document, one file per URL.
type orgCopy struct {
	URL     string    `json:"url"`
	ETag    string    `json:"etag,omitempty"`
	Checked time.Time `json:"checked"`          // when the server last answered
	Failed  time.Time `json:"failed,omitzero"`  // last failure since Checked
	Body    *string   `json:"body,omitempty"`   // nil: never received
	Reason  string    `json:"reason,omitempty"` // of the failure
	Rules   bool      `json:"rules,omitempty"`  // the error is about rules that restrict
}

// organization loads the organisation's defaults from the cache; without a copy, it waits a second for the
// server. Mistakes in them are warnings, since the user cannot fix them, except in rules that restrict.
func (l *loader) organization() error {
	l.orgURL = l.findOrgURL()
	if l.orgURL == "" {
		return nil
	}
	o := l.orgNode.origin()
	if err := checkOrgURL(l.orgURL); err != nil {
		err.Origin, err.Key = o, "organizationUrl"
		return err
	}
	file := l.paths.orgFile(l.orgURL)
	have := readOrgCopy(file, l.orgURL)
	if have.Body == nil && time.Since(have.Failed) > orgRetry {
		wait := l.opts.OrganizationWait
		if wait <= 0 {
			wait = orgWait
		}
		ctx, cancel := context.WithTimeout(context.Background(), wait)
		defer cancel()
		have, _, _ = l.fetch(ctx, file, have) // the copy records the reason of a failure
	}
	if have.Body == nil && have.Rules {
		return &Error{Origin: o, Key: "organizationUrl", Text: printable(have.Reason), Hint: orgHint, rules: true}
	}
	if have.Body == nil {
		l.warn(Warning{Origin: o, Key: "organizationUrl", Text: "the organisation's settings are missing for now: " +
			printable(have.Reason)})
		return nil
	}
	if err := l.document(l.orgSource(*have.Body)); err != nil {
		var e *Error
		if !errors.As(err, &e) {
			e = &Error{Text: err.Error()}
		}
		if e.rules {
			e.Hint = orgHint
			return e
		}
		l.warn(e.asWarning("the organisation's settings are left out"))
	}
	return nil
}

// findOrgURL returns the URL of the highest layer that may set it.
func (l *loader) findOrgURL() string {
	for _, layer := range []Layer{Managed, Flags, SettingsEnv, Environment, User} {
		docs := l.layers[layer]
		for i := len(docs) - 1; i >= 0; i-- {
			if n := docs[i].get("organizationUrl"); n != nil {
				l.orgNode = n
				return n.text
			}
		}
	}
	return ""
}

// checkOrgURL requires https, since the document decides where requests go; plain http is allowed for this
// machine.
func checkOrgURL(raw string) *Error {
	u, err := url.Parse(raw)
	if err != nil {
		return &Error{Text: "not a URL", Err: err}
	}
	ip := net.ParseIP(u.Hostname())
	if u.Scheme == "https" || u.Hostname() == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return &Error{Found: maskURL(raw), Allowed: "a URL that begins with https://"}
}

func (l *loader) orgSource(body string) *source {
	return &source{layer: Organization, file: maskURL(l.orgURL), data: []byte(body), dir: l.paths.Dir, base: l.home}
}

func (p Paths) orgFile(rawURL string) string {
	return filepath.Join(p.CacheHome, "organization", digest([]byte(rawURL))[:32]+".json")
}

// readOrgCopy reads the cache; a damaged copy, or one of another URL, is ignored.
func readOrgCopy(file, rawURL string) orgCopy {
	data, err := ReadFile(file, 2*maxFile)
	var have orgCopy
	if err != nil || json.Unmarshal(data, &have) != nil || have.URL != rawURL {
		return orgCopy{URL: rawURL}
	}
	return have
}

// fetch downloads and caches the document, and reports whether it changed. An unusable document does not
// replace a usable one.
func (l *loader) fetch(ctx context.Context, file string, have orgCopy) (_ orgCopy, changed bool, err error) {
	body, etag, err := l.download(ctx, have)
	if err == nil && body != nil {
		check := loader{opts: l.opts, env: l.env, paths: l.paths, home: l.home, warned: map[Warning]bool{}, orgURL: l.orgURL}
		_, err = check.parse(l.orgSource(string(body)))
	}
	switch {
	case err != nil:
		e, ok := errors.AsType[*Error](err)
		have.Failed, have.Reason, have.Rules = time.Now(), err.Error(), ok && e.rules
	case body == nil: // unchanged
		have.Checked, have.Failed, have.Reason, have.Rules = time.Now(), time.Time{}, "", false
	default:
		text := string(body)
		changed = have.Body == nil || *have.Body != text
		have = orgCopy{URL: l.orgURL, ETag: etag, Checked: time.Now(), Body: &text}
	}
	return have, changed, errors.Join(err, writeOrgCopy(file, have))
}

func writeOrgCopy(file string, have orgCopy) error {
	data, err := json.Marshal(have)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return replaceFile(file, data, 0o600)
}

// download fetches the document; a nil body means that have is up to date.
func (l *loader) download(ctx context.Context, have orgCopy) (body []byte, etag string, err error) {
	client, err := l.client()
	if err != nil {
		return nil, "", err
	}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.orgURL, nil)
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("Accept", "application/json")
	if have.ETag != "" && have.Body != nil {
		req.Header.Set("If-None-Match", have.ETag)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotModified && have.Body != nil:
		return nil, have.ETag, nil
	case resp.StatusCode != http.StatusOK:
		return nil, "", fmt.Errorf("%s answered %s", maskURL(l.orgURL), resp.Status)
	}
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxFile+1))
	if err == nil && len(body) > maxFile {
		err = fmt.Errorf("%s sends more than %d bytes", maskURL(l.orgURL), maxFile)
	}
	return bytes.TrimPrefix(body, bom), resp.Header.Get("ETag"), err
}

// client makes the client for the organisation's document. Redirects never leave https.
func (l *loader) client() (*http.Client, error) {
	client := &http.Client{}
	if l.opts.HTTPClient != nil {
		made, err := l.opts.HTTPClient(l.network())
		if err != nil {
			return nil, err
		}
		*client = *made
	} else {
		client.Transport = http.DefaultTransport.(*http.Transport).Clone()
	}
	client.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if len(via) >= 5 {
			return errors.New("too many redirects")
		}
		if req.URL.Scheme != "https" && via[0].URL.Scheme == "https" {
			return errors.New("a redirect leads away from https")
		}
		return nil
	}
	return client, nil
}

// network returns the network settings of the layers that may define them.
func (l *loader) network() Network {
	var merged *node
	for _, layer := range []Layer{User, Environment, SettingsEnv, Flags, Managed} {
		for _, doc := range l.layers[layer] {
			if n := doc.get("network"); n != nil {
				merged = merge(merged, n, keyPath{"network"})
			}
		}
	}
	var out Network
	if merged != nil && json.Unmarshal(merged.appendJSON(nil), &out) != nil { // checked against the schema
		return Network{}
	}
	return out
}

// Refresh downloads the organisation's document if it changed, for the next Load. It does nothing without an
// organizationUrl, or when the server answered less than ten minutes ago. Run it in the background after
// start; Watch does so itself.
func (c *Config) Refresh(ctx context.Context) (changed bool, err error) {
	if c.orgURL == "" {
		return false, nil
	}
	file := c.paths.orgFile(c.orgURL)
	have := readOrgCopy(file, c.orgURL)
	if have.Body != nil && time.Since(have.Checked) < orgFresh && have.Failed.IsZero() {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, orgFetch)
	defer cancel()
	l := &loader{opts: c.opts, env: c.env, paths: c.paths, home: c.paths.Home, orgURL: c.orgURL, layers: c.layers}
	_, changed, err = l.fetch(ctx, file, have)
	if err != nil {
		err = &Error{
			Origin: Origin{Layer: Organization, File: maskURL(c.orgURL)},
			Text:   "cannot refresh the organisation's settings", Err: err,
		}
	}
	return changed, err
}

// forbidRemote removes keys that would let the organisation's server choose another server, or disable
// permission questions.
func forbidRemote(root *node, warn func(Warning)) {
	if n := root.get("organizationUrl"); n != nil {
		warn(Warning{
			Origin: n.origin(), Key: "organizationUrl",
			Text: "the organisation's settings may not set this; it is left out",
		})
		root.remove("organizationUrl")
	}
	mode := root.at(keyPath{"permissions", "defaultMode"})
	if mode != nil && (mode.text == "bypassPermissions" || mode.text == "auto") {
		warn(Warning{
			Origin: mode.origin(), Key: "permissions.defaultMode",
			Text: "the organisation's settings may not set " + mode.text + "; it is left out",
		})
		root.get("permissions").remove("defaultMode")
	}
}
