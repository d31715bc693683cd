package llmtest

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"strings"
)

// The server's side of a WebSocket (RFC 6455), written anew so that a client's library has another reading of the
// standard as its peer, and so that a script can cut a frame at any byte.

// Opcodes of frames, and what ends a connection.
const (
	opContinuation = 0
	opText         = 1
	opClose        = 8
	opPing         = 9
	opPong         = 10

	closeTooBig = 1009 // code of an end
)

// isSocket reports whether a request asks for a WebSocket.
func isSocket(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.EqualFold(r.Header.Get("Upgrade"), "websocket") &&
		strings.EqualFold(r.Header.Get("Connection"), "upgrade") && r.Header.Get("Sec-WebSocket-Version") == "13"
}

// socketAccept answers the key of a handshake (RFC 6455, 4.2.2).
func socketAccept(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// socketFrame is a whole frame of a server, which is not masked.
func socketFrame(op byte, payload []byte) []byte {
	b := []byte{0x80 | op}
	switch n := len(payload); {
	case n < 126:
		b = append(b, byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 127), uint64(n))
	}
	return append(b, payload...)
}

// closeFrame ends a connection with a code and a reason.
func closeFrame(code int, reason string) []byte {
	return socketFrame(opClose, append(binary.BigEndian.AppendUint16(nil, uint16(code)), reason...))
}

var (
	errSocketFrame  = errors.New("not a frame of a client")
	errSocketTooBig = errors.New("the message is too big")
)

// readFrame reads a frame of a client, whose payload must be masked.
func readFrame(r *bufio.Reader, most int64) (fin bool, op byte, payload []byte, err error) {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return false, 0, nil, err
	}
	size := int64(head[1] & 0x7f)
	if more := map[int64]int{126: 2, 127: 8}[size]; more > 0 {
		var b [8]byte
		if _, err := io.ReadFull(r, b[8-more:]); err != nil {
			return false, 0, nil, err
		}
		size = int64(binary.BigEndian.Uint64(b[:]))
	}
	switch {
	case head[0]&0x70 != 0 || head[1]&0x80 == 0:
		return false, 0, nil, errSocketFrame
	case size < 0 || size > most:
		return false, 0, nil, errSocketTooBig
	}
	var mask [4]byte
	if _, err := io.ReadFull(r, mask[:]); err != nil {
		return false, 0, nil, err
	}
	payload = make([]byte, size)
	if _, err := io.ReadFull(r, payload); err != nil {
		return false, 0, nil, err
	}
	for i := range payload {
		payload[i] ^= mask[i%4]
	}
	return head[0]&0x80 != 0, head[0] & 0x0f, payload, nil
}

// readMessage reads frames up to the end of a message; control hears of the frames between.
func readMessage(r *bufio.Reader, most int64, control func(op byte, payload []byte)) ([]byte, error) {
	var message []byte
	for {
		fin, op, payload, err := readFrame(r, most-int64(len(message)))
		switch {
		case err != nil:
			return nil, err
		case op == opClose:
			control(op, payload)
			return nil, io.EOF
		case op >= opClose:
			control(op, payload)
			continue
		case op != opText && op != opContinuation:
			return nil, errSocketFrame
		}
		if message = append(message, payload...); fin {
			return message, nil
		}
	}
}
