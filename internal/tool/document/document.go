// Package document turns files that are not text into something a model takes: images that are too large become smaller
// ones, a PDF becomes the text of its pages, an archive the list of its files, a SQLite database that of its tables.
//
// The formats are read in a child process, lathe itself started again, because its input is anybody's: a file that
// makes a decoder crash, loop or allocate without end costs that child and an error message. The child reads the file
// from descriptor 0, writes one [Answer] as JSON, and opens nothing else. It ends itself when it takes more memory than
// memoryMax; the caller ends it after timeMax.
//
// The child runs from this package's init, so that it does not depend on main: [ChildArg] as the first argument starts
// it.
package document

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

// ChildArg is the first argument of the child.
const ChildArg = "lathe-document"

const (
	memoryMax = 900 << 20        // bytes of memory of a child
	answerMax = 16 << 20         // bytes of its answer
	timeMax   = 60 * time.Second // pixelsMax take eight of an idle processor

	exitMemory = 97 // the child took more than memoryMax
)

// Request is an order to the child.
type Request struct {
	// Kind is image, whole (an image that is only decoded), pdf, page (one of a PDF as an image) or list.
	Kind  string `json:"kind"`
	First int    `json:"first,omitempty"` // of a PDF, the pages from 1, both included; Last 0: to the end
	Last  int    `json:"last,omitempty"`
	Chars int    `json:"chars,omitempty"` // of a PDF, the most characters of text
	Edge  int    `json:"edge,omitempty"`  // of an image, the longest edge of the result in pixels
	Bytes int    `json:"bytes,omitempty"` // of an image, the most bytes of the result
}

// Answer is the child's result.
type Answer struct {
	Error string `json:"error,omitempty"` // for the model; the other fields are empty

	MIME          string `json:"mime,omitempty"` // of Data
	Data          []byte `json:"data,omitempty"` // the image that fits
	Width, Height int    // of the image in the file
	W, H          int    // of the image in Data

	Pages int    `json:"pages,omitempty"` // how many the PDF has
	Text  []Page `json:"text,omitempty"`

	What  string   `json:"what,omitempty"`  // the format of the list, "zip archive"
	Items []string `json:"items,omitempty"` // one line each
	More  bool     `json:"more,omitempty"`  // there are more than itemsMax
}

// Page is the text of one page.
type Page struct {
	Number int    `json:"number"`
	Text   string `json:"text"`
	Cut    bool   `json:"cut,omitempty"` // the page goes on: the characters were used up
}

// Child starts the child.
type Child struct {
	Runner  *sandbox.Runner
	Confine *sandbox.Confinement // nil: not confined, beyond the limits that the child sets itself
	Limit   time.Duration        // 0: timeMax
}

// Read has a child read f, whose offset does not matter. The error is for the model.
func (c Child) Read(ctx context.Context, f *os.File, r Request) (*Answer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	order, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	limit := cmp.Or(c.Limit, timeMax)
	late := fmt.Errorf("reading it took longer than %s, so the file is hostile or too large", limit)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, late)
	defer cancel()
	out, trouble := &bounded{most: answerMax}, &bounded{most: 4000}
	exit, err := c.Runner.Run(ctx, sandbox.Spec{
		Argv: []string{self, ChildArg, string(order)}, Dir: os.TempDir(), Env: []string{"GOTRACEBACK=none"},
		Stdin: f, Stdout: out, Stderr: trouble, Confine: c.Confine,
	})
	if err != nil {
		return nil, err
	}
	return answer(exit, out, trouble)
}

func answer(exit sandbox.Exit, out, trouble *bounded) (*Answer, error) {
	var a Answer
	switch {
	case exit.Code == exitMemory:
		return nil, fmt.Errorf("reading it takes more than %d MB of memory", memoryMax>>20)
	case exit.Code != 0:
		line, _, _ := strings.Cut(strings.TrimSpace(trouble.String()), "\n")
		return nil, fmt.Errorf("its reader crashed (%s), so the file is damaged or hostile", strings.ToValidUTF8(line, "?"))
	case json.Unmarshal(out.Bytes(), &a) != nil:
		return nil, errors.New("its reader gave no answer, so the file is damaged or hostile")
	case a.Error != "":
		return nil, errors.New(strings.ToValidUTF8(a.Error, "?"))
	}
	return &a, nil
}

// bounded keeps the first bytes that are written to it.
type bounded struct {
	bytes.Buffer
	most int
}

func (b *bounded) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), max(0, b.most-b.Len()))])
	return len(p), nil
}
