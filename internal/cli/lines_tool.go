package cli

import (
	"bytes"
	"encoding/base64"
	"image"
	_ "image/gif" // formats that Read shows
	_ "image/jpeg"
	_ "image/png"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// toolResultLine is a call's result: for the model in the message, for programs in tool_use_result.
func toolResultLine(e event.Event, b event.ToolEnd, parent *string) *userLine {
	return &userLine{
		Type: "user", Parent: parent, Result: structuredResult(b), Timestamp: e.Time.UTC().Format("2006-01-02T15:04:05.000Z"),
		Message: wireUser{"user", []any{blockOf(b.Result)}},
	}
}

// structuredResult is Claude Code's form of a result for programs: an object of the tool's own, an image with its
// data, or the text of a failure. Nil where the tool has none.
func structuredResult(b event.ToolEnd) any {
	if b.Result.IsError {
		return "Error: " + resultText(b.Result)
	}
	for _, p := range b.Result.Parts {
		if m, ok := p.(llm.Media); ok && b.Call.Name == "Read" {
			return imageResult{"image", imageFile{
				base64.StdEncoding.EncodeToString(m.Data), m.MIME, len(m.Data),
				dimensionsOf(m.Data),
			}}
		}
	}
	if b.Meta == nil {
		return nil
	}
	return b.Meta
}

type imageResult struct {
	Type string    `json:"type"`
	File imageFile `json:"file"`
}

type imageFile struct {
	Data string `json:"base64"`
	MIME string `json:"type"`
	Size int    `json:"originalSize"` // bytes

	Dimensions *dimensions `json:"dimensions,omitempty"`
}

// dimensions are in pixels. The model gets images as they are.
type dimensions struct {
	Width         int `json:"originalWidth"`
	Height        int `json:"originalHeight"`
	DisplayWidth  int `json:"displayWidth"`
	DisplayHeight int `json:"displayHeight"`
}

// dimensionsOf reads an image's header; nil for a format that lathe does not decode.
func dimensionsOf(data []byte) *dimensions {
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil
	}
	return &dimensions{c.Width, c.Height, c.Width, c.Height}
}

type toolProgressLine struct {
	Type      string  `json:"type"`
	ToolUseID string  `json:"tool_use_id"`
	Tool      string  `json:"tool_name"`
	Parent    *string `json:"parent_tool_use_id"`
	Elapsed   float64 `json:"elapsed_time_seconds"`
	Heartbeat bool    `json:"heartbeat"`
	stamped
}

// toolProgressEvery is the time between two reports of a call that runs.
const toolProgressEvery = 30 * time.Second

// toolProgress reports calls that take long.
type toolProgress struct {
	w     *lineWriter
	every time.Duration

	mu    sync.Mutex
	calls map[string]*time.Timer
}

func newToolProgress(w *lineWriter, every time.Duration) *toolProgress {
	return &toolProgress{w: w, every: every, calls: map[string]*time.Timer{}}
}

func (t *toolProgress) begin(c llm.ToolCall, parent *string) {
	began := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls[c.ID] = time.AfterFunc(t.every, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		timer := t.calls[c.ID]
		if timer == nil {
			return // it ended meanwhile
		}
		_ = t.w.write(&toolProgressLine{ // a broken stdout ends the turn by itself
			Type: "tool_progress", ToolUseID: c.ID, Tool: c.Name, Parent: parent, Elapsed: time.Since(began).Seconds(),
			Heartbeat: true,
		})
		timer.Reset(t.every)
	})
}

func (t *toolProgress) end(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if timer := t.calls[id]; timer != nil {
		timer.Stop()
		delete(t.calls, id)
	}
}

// stop ends all that is left.
func (t *toolProgress) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, timer := range t.calls {
		timer.Stop()
	}
	clear(t.calls)
}
