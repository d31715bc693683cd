package llm

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

var defaultClient = sync.OnceValue(func() *http.Client {
	c, _ := HTTPClient(HTTPOptions{}) // the zero options cannot fail
	return c
})

func (w *where) fail(kind ErrorKind, msg, hint string) *Error {
	return &Error{Kind: kind, Provider: w.provider, Message: msg, Hint: hint}
}

func (w *where) stall(what string, d time.Duration) *Error {
	e := w.fail(KindStall, fmt.Sprintf(what, d), "check the network, or the provider's status page")
	e.Retryable = true
	return e
}

// clean makes foreign text safe to print and removes the request's secrets.
func (w *where) clean(s string) string {
	for _, secret := range w.secrets {
		s = strings.ReplaceAll(s, secret, "[key]")
	}
	return Clean(s)
}

// secretsOf lists the header values that must not appear in an error.
func secretsOf(h http.Header) []string {
	var out []string
	for name, values := range h {
		low := strings.ToLower(name)
		if !containsAny(low, "key", "auth", "token", "secret", "cookie") {
			continue
		}
		for _, v := range values {
			if _, bare, ok := strings.Cut(v, " "); ok && len(bare) >= 6 {
				v = bare // "Bearer ..."
			}
			if len(v) >= 6 {
				out = append(out, v)
			}
		}
	}
	return out
}

// checkHeader refuses headers that cannot be sent, usually a key that was copied with a line break: a retry
// would not help. Bytes allowed in a value: RFC 9110, 5.5.
func (w *where) checkHeader(h http.Header) error {
	for name, values := range h {
		for _, v := range values {
			if strings.IndexFunc(v, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) < 0 {
				continue
			}
			if len(secretsOf(http.Header{name: {v + "......"}})) > 0 {
				return w.fail(KindAuth, "the API key has a line break or another control character in it", "set "+w.keyVar+
					" to the key alone")
			}
			return w.fail(KindInvalid, "the header "+Clean(name)+" has a line break or another control character in it",
				"correct it in the settings")
		}
	}
	return nil
}

// errorBody is the error object of the known APIs: {"error":{"type","code","message"}}, {"error":"..."},
// {"message":"..."}, {"detail":"..."}.
type errorBody struct {
	Error     json.RawMessage `json:"error"`
	Message   json.RawMessage `json:"message"`
	Detail    json.RawMessage `json:"detail"`
	RequestID string          `json:"request_id"`
}

func parseErrorBody(body []byte) (code, message, requestID string) {
	var b errorBody
	if json.Unmarshal(firstObject(body), &b) != nil {
		return "", "", ""
	}
	code, message = ErrorFields(b.Error)
	for _, raw := range []json.RawMessage{b.Message, b.Detail} {
		if message == "" {
			_, message = ErrorFields(raw)
		}
	}
	return code, message, b.RequestID
}

// ErrorFields decodes the value of an "error" field: an object with type or code and a message, or a string.
func ErrorFields(raw json.RawMessage) (code, message string) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", ""
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return "", text
	}
	var e struct {
		Type     string
		Status   any // a name, or a number as the code
		Code     any
		Message  string
		Metadata struct {
			Raw any `json:"raw"` // OpenRouter: the message of the host behind it
		}
	}
	if json.Unmarshal(raw, &e) != nil {
		return "", string(raw)
	}
	code = e.Type
	if c, ok := e.Code.(string); ok && c != "" {
		code = strings.TrimPrefix(code+" "+c, " ")
	}
	if n, ok := e.Code.(float64); ok { // a number is more precise than a generic type
		code = strings.TrimSuffix(strconv.Itoa(int(n))+" "+code, " ")
	}
	if s, ok := e.Status.(string); ok && code == "" {
		code = s
	}
	if s, ok := e.Metadata.Raw.(string); ok && s != "" {
		e.Message += ": " + s
	}
	if e.Message == "" {
		e.Message = string(raw)
	}
	return code, e.Message
}

// status returns the error for a response that is not 2xx.
func (w *where) status(status int, h http.Header, body []byte) *Error {
	code, message, id := parseErrorBody(body)
	if message == "" {
		message = http.StatusText(status)
		if t := Clean(string(body)); t != "" && !strings.HasPrefix(t, "<") {
			message = string(body)
		}
	}
	if id == "" {
		id = firstHeader(h, "request-id", "x-request-id")
	}
	kind, google := kindOfStatus(status, code, message), googleDetailsOf(body)
	if kind == KindBilling && google.shortTerm { // its text speaks of plan and billing all the same
		kind = KindRateLimit
	}
	e := w.fail(kind, w.clean(message), "")
	e.Status, e.RequestID = status, Clean(id)
	e.Retryable = retryableStatus(status, e.Kind, h)
	if e.Retryable {
		e.RetryAfter = cmp.Or(retryAfter(h, time.Now()), google.delay)
	}
	e.Hint = w.hint(e)
	if loc := h.Get("Location"); status >= 300 && status < 400 && loc != "" {
		e.Kind, e.Hint = KindInvalid, "the server points to "+Clean(originOf(loc))+"; lathe does not send keys on: set "+
			w.urlVar+" to it if you trust it"
	}
	return e
}

// reported returns the error for an error object in a reply with status 200.
func (w *where) reported(code, message string) *Error {
	status := 0
	number, _, _ := strings.Cut(code, " ")
	if n, err := strconv.Atoi(number); err == nil {
		status = n
	}
	kind := kindOfStatus(status, code, message)
	e := w.fail(kind, w.clean(message), "")
	if e.Message == "" {
		e.Message = w.clean(code)
	}
	switch kind {
	case KindRateLimit, KindOverloaded, KindServer:
		e.Retryable = true
	}
	e.Hint = w.hint(e)
	return e
}

func kindOfStatus(status int, code, message string) ErrorKind {
	code, message = strings.ToLower(code), strings.ToLower(message)
	if strings.Contains(code, "throttling") { // "too many tokens" in a minute, not in the prompt
		return KindRateLimit
	}
	switch status {
	case 0, 400, 402, 403, 413, 422, 429:
		switch {
		case containsAny(code, "insufficient_quota", "billing") || containsAny(message, spendWords...):
			return KindBilling
		case containsAny(code, "context_length", "context_window", "exceed_context_size", "request_too_large") ||
			tooLong(message):
			return KindTooLarge
		}
	}
	if status == 500 && strings.Contains(message, "available context size") { // older llama.cpp
		return KindTooLarge
	}
	if refusesImage(status, code, message) {
		return KindImage
	}
	if k, ok := kindsByStatus[status]; ok {
		return k
	}
	for _, k := range kindsByCode {
		if strings.Contains(code, k.code) {
			return k.kind
		}
	}
	if status >= 400 && status < 500 {
		return KindInvalid
	}
	return KindServer
}

// refusesImage reports whether the server rejected an image. Hosts word it differently (Anthropic "Could not
// process image", OpenAI "invalid_image_format", Gemini "Unable to process input image", OpenRouter "No
// endpoints found that support image input" with 404).
func refusesImage(status int, code, message string) bool {
	switch status {
	case 400, 413, 415, 422:
		return strings.Contains(code, "image") || strings.Contains(message, "image")
	case 404:
		return strings.Contains(message, "image input")
	}
	return false
}

var spendWords = []string{
	"credit balance", "spend limit", "spending limit", "usage limits", "exceeded your current quota",
	"insufficient balance", "insufficient credits", "insufficient funds", "monthly limit", "requires more credits",
}

// tooLongWords are in refusals of prompts that are too long.
var tooLongWords = []string{
	// Anthropic, OpenAI, OpenRouter, Mistral, Ollama, MiniMax, llama.cpp
	"prompt is too long", "prompt too long", "exceed context limit", "context window", "context length", "context size",
	"too many tokens", "too many input tokens", "input is too long", // Cohere, Bedrock
	"maximum prompt length",                     // xAI
	"reduce the length of the messages",         // Groq
	"model token limit", "token limit exceeded", // Kimi
	"tokens exceed the configured limit",                // OpenAI's gateway
	"range of input length should be",                   // Qwen
	"maximum model length",                              // vLLM
	"prompt exceeds max length",                         // Z.ai
	"`inputs` must have less than", "`inputs` tokens +", // text-generation-inference
}

// tooLong reports whether a message, in lower case, says that the prompt is too long.
func tooLong(message string) bool {
	// Gemini, GitHub Copilot
	counted := strings.Contains(message, "token count") && strings.Contains(message, "exceeds the")
	return counted || containsAny(message, tooLongWords...)
}

var kindsByStatus = map[int]ErrorKind{
	401: KindAuth, 402: KindBilling, 403: KindPermission, 404: KindNotFound, 408: KindNetwork, 413: KindTooLarge,
	429: KindRateLimit, 503: KindOverloaded, 529: KindOverloaded,
}

// kindsByCode maps the names of error events; the first one contained in the code wins.
var kindsByCode = []struct {
	code string
	kind ErrorKind
}{
	{"overloaded", KindOverloaded},
	{"529", KindOverloaded},
	{"rate_limit", KindRateLimit},
	{"authentication", KindAuth},
	{"invalid_api_key", KindAuth},
	{"permission", KindPermission},
	{"not_found", KindNotFound},
	{"too_large", KindTooLarge},
	{"quotaexceeded", KindRateLimit}, // Bedrock's exceptions, here and below
	{"serviceunavailable", KindOverloaded},
	{"modelnotready", KindOverloaded},
	{"accessdenied", KindPermission},
	{"resourcenotfound", KindNotFound},
	{"validation", KindInvalid},
	{"invalid", KindInvalid},
}

// retryableStatus: 408, 409, 429 unless it is a spending limit, and 5xx except 501 and 505. The provider's
// x-should-retry can veto a retry, and adds further 4xx that are not about the request itself.
func retryableStatus(status int, kind ErrorKind, h http.Header) bool {
	if kind == KindBilling || h.Get("X-Should-Retry") == "false" {
		return false
	}
	switch status {
	case 400, 401, 402, 403, 404, 413, 422, 501, 505:
		return false
	case 408, 409, 425, 429:
		return true
	}
	return status >= 500 || h.Get("X-Should-Retry") == "true"
}

// retryAfter reads retry-after-ms, else retry-after in seconds or as an HTTP date; 0 if there is none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	const most = 365 * 24 * time.Hour
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return time.Duration(min(ms, float64(most.Milliseconds())) * float64(time.Millisecond))
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if sec, err := strconv.ParseFloat(v, 64); err == nil && sec > 0 {
		return time.Duration(min(sec, most.Seconds()) * float64(time.Second))
	}
	if t, err := http.ParseTime(v); err == nil && t.After(now) {
		return min(t.Sub(now), most)
	}
	return 0
}

// hint is the user's next move.
func (w *where) hint(e *Error) string {
	switch e.Kind {
	case KindAuth:
		return "check " + w.keyVar + " (is it set to a valid key for " + w.host() +
			"?); `lathe doctor` shows the settings in use"
	case KindPermission:
		return "the key in " + w.keyVar + " may not use this model or workspace; `lathe doctor` shows the settings in use"
	case KindBilling:
		return "check the plan, credits and spending limits of the account behind " + w.keyVar
	case KindNotFound:
		return w.notFoundHint()
	case KindTooLarge:
		return "compact the conversation (/compact) or start a new session"
	case KindImage:
		return "take the image out of the conversation (/rewind), or use a model that sees images"
	case KindRateLimit:
		return "wait, or use another model or key"
	case KindOverloaded, KindServer, KindNetwork:
		return "try again later, or use another model"
	case KindInvalid:
		return "`lathe --debug` records the request; check the model's name and abilities"
	}
	return ""
}

func (w *where) host() string {
	if w.url == nil {
		return w.provider
	}
	return w.url.Host
}

func (w *where) notFoundHint() string {
	hint := "check the model's name"
	if near := NearestModels(w.model); len(near) > 0 {
		hint += " (near it: " + strings.Join(near, ", ") + ")"
	}
	return hint + " and the path in " + w.urlVar + " (asked " + w.host() + w.path() + ")"
}

func (w *where) path() string {
	if w.url == nil {
		return ""
	}
	return Clean(w.url.Path)
}

// network returns the error for a request without response, or for a response that broke off.
func (w *where) network(err error) *Error {
	if e := w.tls(err); e != nil {
		return e
	}
	e := w.fail(KindNetwork, w.clean(innermost(err)), "check the network connection and "+w.urlVar)
	e.Err, e.Retryable = redacted{err, w}, true
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &op) && op.Op == "proxyconnect", strings.Contains(err.Error(), "proxyconnect"),
		strings.Contains(err.Error(), "socks connect"):
		e.Hint = "the proxy does not answer; check HTTPS_PROXY, HTTP_PROXY or the proxy setting"
	case errors.Is(err, syscall.ECONNREFUSED), strings.Contains(err.Error(), "actively refused"):
		e.Message = "connection refused by " + w.host()
		e.Hint = "nothing listens there; is " + w.urlVar + " right and the server running?"
	case errors.As(err, &dns):
		e.Message = "cannot find the host " + Clean(dns.Name)
		e.Hint = "check the network connection, and the host name in " + w.urlVar
	case errors.Is(err, syscall.ECONNRESET), strings.Contains(err.Error(), "forcibly closed"):
		e.Message = "connection reset by " + w.host()
	}
	return e
}

// tls returns the error for an invalid certificate or protocol, or nil.
func (w *where) tls(err error) *Error {
	var (
		verify  *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
		invalid x509.CertificateInvalidError
		record  tls.RecordHeaderError
		alert   tls.AlertError
	)
	hint := ""
	switch {
	case errors.As(err, &unknown):
		hint = "if a company proxy signs the traffic, set NODE_EXTRA_CA_CERTS to its CA certificate (PEM)"
	case errors.As(err, &host):
		hint = "the certificate is for another host; check " + w.urlVar
	case errors.As(err, &invalid), errors.As(err, &verify):
		hint = "check the clock of this machine and the server's certificate; NODE_EXTRA_CA_CERTS adds authorities"
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		hint = "the server does not speak TLS there; should " + w.urlVar + " begin with http://?"
	case errors.As(err, &alert):
		hint = "the server refused the TLS handshake; a client certificate may be needed"
	default:
		return nil
	}
	e := w.fail(KindTLS, w.clean(innermost(err)), hint)
	e.Err = redacted{err, w}
	return e
}

// redacted wraps an error for errors.Is and As without its text, which may hold a URL with a key.
type redacted struct {
	err error
	w   *where
}

func (r redacted) Error() string { return r.w.clean(innermost(r.err)) }
func (r redacted) Unwrap() error { return r.err }

// innermost returns the text of err without the URL that net/http prepends.
func innermost(err error) string {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return err.Error()
}

// originOf returns scheme and host of a URL: the rest may hold secrets.
func originOf(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return "another path"
	}
	return u.Scheme + "://" + u.Host
}

func containsAny(s string, words ...string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
