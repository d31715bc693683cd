package notebook

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

const example = `{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {"tags":   ["kept as it is"]},
   "source": [
    "# <Title> & more\n"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "calc",
   "metadata": {},
   "outputs": [{"output_type": "stream", "name": "stdout", "text": ["1\n"]}],
   "source": "print(1)"
  }
 ],
 "metadata": {"kernelspec":  {}},
 "nbformat": 4,
 "nbformat_minor": 5
}
`

func sources(t *testing.T, data []byte) string {
	t.Helper()
	var out []string
	n, err := Read(bytes.NewReader(data), func(i int, c *Cell) error {
		out = append(out, c.Type+":"+string(c.Source))
		return nil
	})
	if err != nil || n != len(out) {
		t.Fatalf("%v in %s", err, data)
	}
	return strings.Join(out, "|")
}

func TestACellIsReplacedAndTheRestStaysAsItIs(t *testing.T) {
	out, at, err := Edit([]byte(example), Change{Mode: "replace", Cell: "calc", Source: "a < b\nc && d"})
	if err != nil || at != 1 {
		t.Fatal(at, err)
	}
	i := strings.Index(example, "{\n   \"cell_type\": \"code\"")
	if !strings.HasPrefix(string(out), example[:i]) || !strings.HasSuffix(string(out),
		example[strings.LastIndex(example, "\n ],"):]) {
		t.Errorf("bytes outside of the cell changed:\n%s", out)
	}
	for _, want := range []string{
		"\"source\": [\n    \"a < b\\n\",\n    \"c && d\"\n   ]", `"outputs": []`,
		`"execution_count": null`, `"id": "calc"`,
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%s is not in\n%s", want, out)
		}
	}
	if got := sources(t, out); got != "markdown:# <Title> & more\n|code:a < b\nc && d" {
		t.Error(got)
	}
}

func TestCellsAreInsertedAndDeleted(t *testing.T) {
	for _, c := range []struct {
		change Change
		want   string
		at     int
	}{
		{Change{Mode: "insert", Source: "first"}, "code:first|markdown:# <Title> & more\n|code:print(1)", 0},
		{
			Change{Mode: "insert", Cell: "intro", Type: "markdown", Source: "x"},
			"markdown:# <Title> & more\n|markdown:x|code:print(1)", 1,
		},
		{Change{Mode: "insert", Cell: "calc", Source: "last"}, "markdown:# <Title> & more\n|code:print(1)|code:last", 2},
		{Change{Mode: "delete", Cell: "intro"}, "code:print(1)", 0},
		{Change{Mode: "delete", Cell: "cell-1"}, "markdown:# <Title> & more\n", 1},
		{Change{Mode: "replace", Cell: "calc", Type: "markdown", Source: "t"}, "markdown:# <Title> & more\n|markdown:t", 1},
	} {
		out, at, err := Edit([]byte(example), c.change)
		if err != nil || at != c.at {
			t.Errorf("%+v: %d, %v", c.change, at, err)
			continue
		}
		if got := sources(t, out); got != c.want {
			t.Errorf("%+v: %s", c.change, got)
		}
	}
	empty := `{"cells":[],"nbformat":4,"nbformat_minor":2}`
	out, _, err := Edit([]byte(empty), Change{Mode: "insert", Source: "x"})
	if err != nil || sources(t, out) != "code:x" || strings.Contains(string(out), `"id"`) {
		t.Errorf("%s, %v", out, err)
	}
}

func TestErrorsNameTheCells(t *testing.T) {
	for _, c := range []Change{{Mode: "replace", Cell: "nope"}, {Mode: "delete"}} {
		if _, _, err := Edit([]byte(example), c); err == nil || !strings.Contains(err.Error(), "the cells are intro, calc") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for _, data := range []string{"", "[]", `{"worksheets":[]}`, `{"cells":{}}`} {
		if _, err := Read(strings.NewReader(data), nil); !errors.Is(err, ErrNotNotebook) {
			t.Errorf("%q: %v", data, err)
		}
	}
}

func FuzzEditKeepsTheOtherCells(f *testing.F) {
	f.Add([]byte(example), "text\n", "insert")
	f.Add([]byte(`{"cells":[{"cell_type":"code","source":[]} , {"source":"x"}]}`), "", "delete")
	f.Add([]byte(`{"a":1,"cells":[1]}`), "", "replace")
	f.Fuzz(func(t *testing.T, data []byte, source, mode string) {
		if mode != "insert" && mode != "delete" {
			mode = "replace"
		}
		before := 0
		if cells, _, err := spans(data); err == nil {
			before = len(cells)
		}
		out, _, err := Edit(data, Change{Mode: mode, Cell: "0", Source: source})
		if err != nil {
			return
		}
		if !json.Valid(out) {
			t.Fatalf("%q became %q", data, out)
		}
		after, _, err := spans(out)
		if want := before + map[string]int{"insert": 1, "delete": -1}[mode]; err != nil || len(after) != want {
			t.Fatalf("%d cells, want %d: %v", len(after), want, err)
		}
	})
}
