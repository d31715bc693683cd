package telegram

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/face/gateway"
)

// failure is an answer of the server that is no result.
type failure struct {
	Method string
	Code   int
	Text   string
	After  time.Duration // when to try again
}

func (f *failure) Error() string { return fmt.Sprintf("Telegram: %s: %d %s", f.Method, f.Code, f.Text) }

// says reports a failure whose text contains one of some words.
func says(err error, words ...string) bool {
	f, ok := errors.AsType[*failure](err)
	for _, w := range words {
		if ok && strings.Contains(strings.ToLower(f.Text), w) {
			return true
		}
	}
	return false
}

// is reports a failure with a code.
func is(err error, code int) bool {
	f, ok := errors.AsType[*failure](err)
	return ok && f.Code == code
}

// answer is what the server sends.
type answer struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	Code        int             `json:"error_code"`
	Description string          `json:"description"`
	Message     string          `json:"message"` // of servers that others wrote, for methods that they lack
	Parameters  struct {
		RetryAfter int `json:"retry_after"`
	} `json:"parameters"`
}

// mostAnswer is the size of the longest answer, in bytes.
const mostAnswer = 16 << 20

// call calls a method of the Bot API with a JSON body.
func (t *Transport) call(ctx context.Context, method string, params, result any) error {
	b, err := json.Marshal(params)
	if err != nil {
		return err
	}
	return t.post(ctx, method, "application/json", bytes.NewReader(b), result)
}

// upload calls a method with a file.
func (t *Transport) upload(ctx context.Context, method, field string, d *gateway.Document, params map[string]any,
	result any,
) error {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for name, v := range params {
		text, ok := v.(string)
		if !ok {
			raw, err := json.Marshal(v)
			if err != nil {
				return err
			}
			text = string(raw)
		}
		if err := w.WriteField(name, text); err != nil {
			return err
		}
	}
	part, err := w.CreateFormFile(field, d.Name)
	if err == nil {
		_, err = part.Write(d.Data)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	return t.post(ctx, method, w.FormDataContentType(), &b, result)
}

// post sends a request. The token is part of the address, so that no address gets into an error.
func (t *Transport) post(ctx context.Context, method, kind string, body io.Reader, result any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.o.APIBase+"/bot"+t.o.Token+"/"+method, body)
	if err != nil {
		return errors.New("the address of the Bot API cannot be used")
	}
	req.Header.Set("Content-Type", kind)
	res, err := t.http.Do(req)
	if err != nil {
		return lost(method, err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(res.Body, mostAnswer))
	var a answer
	if err != nil || json.Unmarshal(raw, &a) != nil {
		return fmt.Errorf("Telegram: %s: %w: it answered %s", method, gateway.ErrUnknown, res.Status)
	}
	if !a.OK {
		if a.Code == 0 && strings.Contains(a.Message, "not supported") {
			a.Code, a.Description = http.StatusNotFound, a.Message
		}
		f := &failure{Method: method, Code: cmp.Or(a.Code, res.StatusCode), Text: a.Description}
		f.After = time.Duration(a.Parameters.RetryAfter) * time.Second
		if f.Code >= http.StatusInternalServerError {
			return errors.Join(f, gateway.ErrUnknown)
		}
		return f
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(a.Result, result)
}

// lost is the error of a request without an answer. It was not carried out if no connection was made.
func lost(method string, err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "dial" {
		return fmt.Errorf("Telegram: %s: %w", method, err)
	}
	return fmt.Errorf("Telegram: %s: %w: %w", method, gateway.ErrUnknown, err)
}

// Fetch loads a file of a message, from Telegram's server only.
func (t *Transport) Fetch(ctx context.Context, f gateway.File) ([]byte, error) {
	var got struct {
		Path string `json:"file_path"`
		Size int64  `json:"file_size"`
	}
	if err := t.call(ctx, "getFile", map[string]any{"file_id": f.ID}, &got); err != nil {
		return nil, final(err)
	}
	if got.Size > mostFile || got.Path == "" || strings.Contains(got.Path, "..") {
		return nil, &gateway.Refusal{Why: "the file is larger than 20 MB"}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.o.APIBase+"/file/bot"+t.o.Token+"/"+got.Path, nil)
	if err != nil {
		return nil, errors.New("the address of the file cannot be used")
	}
	res, err := t.http.Do(req)
	if err != nil {
		return nil, lost("getFile", err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(res.Body, mostFile+1))
	switch {
	case err != nil:
		return nil, lost("getFile", err)
	case res.StatusCode != http.StatusOK:
		return nil, errors.New("the file cannot be loaded: " + res.Status)
	case len(b) > mostFile:
		return nil, &gateway.Refusal{Why: "the file is larger than 20 MB"}
	}
	return b, nil
}

// mostFile is the size of the largest file that a bot can load, in bytes.
const mostFile = 20 << 20

// final is an error after which another try would fail as well.
func final(err error) error {
	if f, ok := errors.AsType[*failure](err); ok && f.Code >= 400 && f.Code < 500 && f.Code != 429 && f.Code != 409 {
		return &gateway.Refusal{Why: f.Error()}
	}
	return err
}

// chatID is the id of a chat as a number, which is what Telegram has.
func chatID(id string) int64 {
	n, _ := strconv.ParseInt(id, 10, 64) // 0 is no chat
	return n
}
