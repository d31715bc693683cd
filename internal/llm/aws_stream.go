package llm

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// AWSReader is the EventSource of an AWS event stream (application/vnd.amazon.eventstream), the framing of
// Amazon Bedrock. A message is
//
//	total length, length of the headers, CRC-32 of these two    4 bytes each, big-endian
//	headers: length and name, type, value
//	payload
//	CRC-32 of all before
//
// A message is yielded only when it was received completely and both checksums match. The event's name is the
// header :event-type, its data the payload; a payload {"bytes": "<base64>"}, which Bedrock's InvokeModel
// wraps around another API's events, is unwrapped. A message that reports an exception is an *AWSException.
// Source: AWS SDK developer guide and Smithy, "Amazon event stream specification".
type AWSReader struct {
	src io.Reader
	buf bytes.Buffer
}

const (
	awsPrelude    = 12
	awsMessageMin = awsPrelude + 4
	awsHeadersMax = 128 << 10
)

// NewAWSReader reads messages from src.
func NewAWSReader(src io.Reader) *AWSReader { return &AWSReader{src: src} }

// AWSException is an error that the server reports inside a stream.
type AWSException struct {
	Type    string // "throttlingException", ...
	Message string
}

func (e *AWSException) Error() string { return e.Type + ": " + e.Message }

// FramingError reports bytes that violate the framing of a stream.
type FramingError struct{ Reason string }

func (e *FramingError) Error() string { return "the event stream is damaged: " + e.Reason }

func damaged(format string, args ...any) error {
	return &FramingError{Reason: fmt.Sprintf(format, args...)}
}

// Next returns the next event, io.EOF between two messages, io.ErrUnexpectedEOF inside one, a *FramingError,
// an *EventTooLargeError, or an *AWSException.
func (r *AWSReader) Next() (Event, error) {
	headers, payload, err := r.message()
	if err != nil {
		return Event{}, err
	}
	h, err := parseAWSHeaders(headers)
	if err != nil {
		return Event{}, err
	}
	switch string(h.kind) {
	case "exception":
		return Event{}, &AWSException{Type: string(h.exception), Message: awsMessage(payload)}
	case "error":
		return Event{}, &AWSException{Type: string(h.code), Message: string(h.message)}
	}
	return Event{Name: h.event, Data: unwrap(payload)}, nil
}

// message reads one message and checks it.
func (r *AWSReader) message() (headers, payload []byte, err error) {
	var prelude [awsPrelude]byte
	if _, err := io.ReadFull(r.src, prelude[:]); err != nil {
		return nil, nil, err // io.EOF at the end
	}
	total, head := binary.BigEndian.Uint32(prelude[:]), binary.BigEndian.Uint32(prelude[4:])
	switch {
	case crc32.ChecksumIEEE(prelude[:8]) != binary.BigEndian.Uint32(prelude[8:]):
		return nil, nil, damaged("the checksum of a message's prelude is wrong")
	case total > MaxEvent:
		return nil, nil, &EventTooLargeError{Limit: MaxEvent}
	case head > awsHeadersMax || uint64(total) < awsMessageMin+uint64(head):
		return nil, nil, damaged("a message of %d bytes claims headers of %d", total, head)
	}
	r.buf.Reset()
	if _, err := io.CopyN(&r.buf, r.src, int64(total)-awsPrelude); errors.Is(err, io.EOF) {
		return nil, nil, io.ErrUnexpectedEOF
	} else if err != nil {
		return nil, nil, err
	}
	rest := r.buf.Bytes() // grown as it arrived, since the length may be wrong
	end := len(rest) - 4
	sum := crc32.Update(crc32.ChecksumIEEE(prelude[:]), crc32.IEEETable, rest[:end])
	if sum != binary.BigEndian.Uint32(rest[end:]) {
		return nil, nil, damaged("the checksum of a message is wrong")
	}
	return rest[:head], rest[head:end], nil
}

// awsHeaders are the headers that identify a message.
type awsHeaders struct{ kind, event, exception, code, message []byte }

// awsSize is the size of a value of a type with a fixed one: true, false, byte, short, integer, long, then timestamp
// and UUID.
func awsSize(kind byte) (size int, fixed bool) {
	switch kind {
	case 0, 1:
		return 0, true
	case 2:
		return 1, true
	case 3:
		return 2, true
	case 4:
		return 4, true
	case 5, 8:
		return 8, true
	case 9:
		return 16, true
	}
	return 0, false
}

const (
	awsBytes  = 6
	awsString = 7
)

func parseAWSHeaders(b []byte) (h awsHeaders, err error) {
	for len(b) > 0 {
		n := int(b[0])
		if n == 0 || len(b) < n+2 {
			return h, damaged("a header has no name")
		}
		name, kind := b[1:1+n], b[1+n]
		b = b[n+2:]
		size, fixed := awsSize(kind)
		if kind == awsBytes || kind == awsString {
			if len(b) < 2 {
				return h, damaged("the header %q is cut", name)
			}
			size, b = int(binary.BigEndian.Uint16(b)), b[2:]
		} else if !fixed {
			return h, damaged("the header %q is of the unknown type %d", name, kind)
		}
		if len(b) < size {
			return h, damaged("the header %q is cut", name)
		}
		if kind == awsString {
			h.set(name, b[:size])
		}
		b = b[size:]
	}
	return h, nil
}

func (h *awsHeaders) set(name, value []byte) {
	switch string(name) {
	case ":message-type":
		h.kind = value
	case ":event-type":
		h.event = value
	case ":exception-type":
		h.exception = value
	case ":error-code":
		h.code = value
	case ":error-message":
		h.message = value
	}
}

// awsMessage is the text of an exception's payload.
func awsMessage(payload []byte) string {
	var body struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(payload, &body) != nil || body.Message == "" {
		return string(payload)
	}
	return body.Message
}

// unwrap returns the event inside a {"bytes"} payload; other payloads stay unchanged.
func unwrap(payload []byte) []byte {
	var body struct {
		Bytes []byte `json:"bytes"`
	}
	if !bytes.Contains(payload, []byte("bytes")) || json.Unmarshal(payload, &body) != nil || body.Bytes == nil {
		return payload
	}
	return body.Bytes
}
