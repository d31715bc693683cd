package cli

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/png"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

func TestAnImageResultHasDataSizeAndDimensions(t *testing.T) {
	var file bytes.Buffer
	if err := png.Encode(&file, image.NewGray(image.Rect(0, 0, 7, 3))); err != nil {
		t.Fatal(err)
	}
	end := event.ToolEnd{Call: llm.ToolCall{ID: "t1", Name: "Read"}, Result: llm.ToolResult{
		CallID: "t1", Name: "Read", Parts: []llm.Part{
			llm.Text{Text: "[Image]"},
			llm.Media{MIME: "image/png", Data: file.Bytes()},
		},
	}}
	line, err := json.Marshal(toolResultLine(event.Event{}, end, nil))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Message struct {
			Content []struct {
				Content []struct{ Type string }
			}
		}
		Result struct {
			Type string
			File struct {
				Base64       string
				Type         string
				OriginalSize int
				Dimensions   map[string]int
			}
		} `json:"tool_use_result"`
	}
	if err := json.Unmarshal(line, &got); err != nil {
		t.Fatal(err)
	}
	f := got.Result.File
	if got.Result.Type != "image" || f.Type != "image/png" || f.OriginalSize != file.Len() ||
		f.Base64 != base64.StdEncoding.EncodeToString(file.Bytes()) {
		t.Errorf("%+v", got.Result)
	}
	if f.Dimensions["originalWidth"] != 7 || f.Dimensions["originalHeight"] != 3 || f.Dimensions["displayWidth"] != 7 {
		t.Errorf("%v", f.Dimensions)
	}
	if blocks := got.Message.Content[0].Content; len(blocks) != 2 || blocks[1].Type != "image" {
		t.Errorf("%+v", got.Message)
	}
	end.Result.Parts = []llm.Part{llm.Media{MIME: "image/webp", Data: []byte("RIFF")}}
	if r := structuredResult(end).(imageResult); r.File.Dimensions != nil || r.File.Size != 4 {
		t.Errorf("%+v", r)
	}
}

func TestACallThatRunsLongIsReportedUntilItEnds(t *testing.T) {
	lines := make(chan []byte, 64)
	w := &lineWriter{uuid: counted(), session: "s", w: writerFunc(func(b []byte) (int, error) {
		lines <- bytes.Clone(b)
		return len(b), nil
	})}
	p := newToolProgress(w, time.Millisecond)
	p.begin(llm.ToolCall{ID: "t1", Name: "Bash"}, nil)
	for range 2 {
		var got map[string]any
		if err := json.Unmarshal(<-lines, &got); err != nil {
			t.Fatal(err)
		}
		if got["type"] != "tool_progress" || got["tool_use_id"] != "t1" || got["tool_name"] != "Bash" ||
			got["elapsed_time_seconds"].(float64) <= 0 || got["session_id"] != "s" {
			t.Errorf("%v", got)
		}
	}
	p.end("t1")
	if p.end("t1"); len(p.calls) != 0 {
		t.Error("the timer is left")
	}
	p.begin(llm.ToolCall{ID: "t2", Name: "Bash"}, nil)
	p.stop()
	if len(p.calls) != 0 {
		t.Error("timers are left after the turn")
	}
}
