package acp

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/lathe-dev/lathe/internal/face/port"
)

type fileParams struct {
	SessionID string  `json:"sessionId"`
	Path      string  `json:"path"`
	Content   *string `json:"content,omitempty"`
}

type fileResult struct {
	Content string `json:"content"`
}

// errNotOffered says that the client does not offer what the process asks for.
var errNotOffered = errors.New("the editor does not offer this")

// answerProcess answers the process of the session: with the text of a file in the editor, which is newer than the disk
// where it is not saved, or by having the editor write one.
func (s *openSession) answerProcess(ctx context.Context, method string, params json.RawMessage) (any, error) {
	var in port.Buffer
	if err := json.Unmarshal(params, &in); err != nil {
		return nil, err
	}
	can := s.a.can().FS
	switch {
	case method == port.MethodBuffer && can.Read:
		var out fileResult
		err := s.a.conn.Call(ctx, "fs/read_text_file", fileParams{SessionID: s.id, Path: in.Path}, &out, nil)
		return port.Buffer{Path: in.Path, Text: out.Content}, err
	case method == port.MethodSave && can.Write:
		in := fileParams{SessionID: s.id, Path: in.Path, Content: &in.Text}
		return struct{}{}, s.a.conn.Call(ctx, "fs/write_text_file", in, nil, nil)
	}
	return nil, errNotOffered
}
