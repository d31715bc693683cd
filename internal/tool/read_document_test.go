package tool_test

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm"
)

func bigPNG(t *testing.T, w, h int) []byte {
	t.Helper()
	img := image.NewGray(image.Rect(0, 0, w, h))
	img.Set(1, 1, color.White)
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestReadShowsALargeImageSmaller(t *testing.T) {
	b := newBench(t)
	b.put("wide.png", string(bigPNG(t, 5000, 100)))
	r, err := b.call("Read", in{"file_path": "wide.png"})
	if err != nil {
		t.Fatal(err)
	}
	wantIn(t, text(r), "5000 x 100 pixels, shown with 2000 x 40")
	media, ok := r.Parts[1].(llm.Media)
	if !ok {
		t.Fatalf("%T", r.Parts[1])
	}
	if c, err := png.DecodeConfig(bytes.NewReader(media.Data)); err != nil || c.Width != 2000 || c.Height != 40 || media.MIME != "image/png" {
		t.Errorf("%v, %v", c, err)
	}
	damaged := bigPNG(t, 5000, 100)
	damaged[len(damaged)-20] ^= 0xFF
	b.put("damaged.png", string(damaged))
	b.fails("Read", in{"file_path": "damaged.png"}, "cannot be shown", "damaged")
}

func TestReadShowsThePagesOfAPDF(t *testing.T) {
	b := newBench(t)
	data, err := os.ReadFile("testdata/three-pages.pdf")
	if err != nil {
		t.Fatal(err)
	}
	b.put("a.pdf", string(data))
	got := b.must("Read", in{"file_path": "a.pdf"})
	wantIn(t, got, "--- Page 1 ---\nThe first page", "--- Page 3 ---\nThe third page")
	got = b.must("Read", in{"file_path": "a.pdf", "pages": "2"})
	if strings.Contains(got, "first") || !strings.Contains(got, "--- Page 2 ---\nThe second page") {
		t.Errorf("pages 2: %s", got)
	}
	wantIn(t, b.must("Read", in{"file_path": "a.pdf", "page_range": "2-"}), "Page 2", "Page 3")
	b.fails("Read", in{"file_path": "a.pdf", "pages": "x"}, `give one page ("3") or a range`)
	b.fails("Read", in{"file_path": "a.pdf", "pages": "9"}, "has 3 pages")
	b.put("a.txt", "x\n")
	b.fails("Read", in{"file_path": "a.txt", "pages": "1"}, "it is no PDF")
	b.put("cut.pdf", string(data[:200]))
	b.fails("Read", in{"file_path": "cut.pdf"}, "damaged", "pdftotext")
}

func TestAPDFWithoutTextIsAttachedForTheModelToSee(t *testing.T) {
	b := newBench(t)
	data, err := os.ReadFile("testdata/three-pages.pdf")
	if err != nil {
		t.Fatal(err)
	}
	scan := bytes.ReplaceAll(data, []byte("Tj"), []byte("  ")) // the same without the operator that shows text
	if bytes.Equal(scan, data) {
		t.Fatal("the file shows its text in another way")
	}
	b.put("scan.pdf", string(scan))
	r, err := b.call("Read", in{"file_path": "scan.pdf"})
	if err != nil {
		t.Fatal(err)
	}
	media, ok := r.Parts[len(r.Parts)-1].(llm.Media)
	if !ok || media.MIME != "application/pdf" || !bytes.Equal(media.Data, scan) {
		t.Errorf("no document: %T", r.Parts[len(r.Parts)-1])
	}
	wantIn(t, text(r), "the document itself is attached", "pdftoppm")
	b.put("text.pdf", string(data))
	if r, err = b.call("Read", in{"file_path": "text.pdf"}); err != nil || len(r.Parts) != 1 {
		t.Errorf("%d parts, %v", len(r.Parts), err)
	}
}

func notebookWith(cells ...map[string]any) string {
	data, err := json.MarshalIndent(map[string]any{"cells": cells, "metadata": map[string]any{}, "nbformat": 4, "nbformat_minor": 5}, "", " ")
	if err != nil {
		panic(err)
	}
	return string(data)
}

func TestReadShowsANotebookAsCells(t *testing.T) {
	b := newBench(t)
	picture := base64.StdEncoding.EncodeToString(bigPNG(t, 3, 3))
	b.put("a.ipynb", notebookWith(
		map[string]any{"cell_type": "markdown", "id": "intro", "source": []string{"# Title\n", "text"}},
		map[string]any{"cell_type": "code", "source": "print(1)", "outputs": []any{
			map[string]any{"output_type": "stream", "name": "stdout", "text": []string{"1\n"}},
			map[string]any{"output_type": "display_data", "data": map[string]any{"image/png": picture, "text/plain": "<Figure>"}},
			map[string]any{"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": []string{"\x1b[31mTraceback\x1b[0m", "ValueError: no"}},
		}},
	))
	r, err := b.call("Read", in{"file_path": "a.ipynb"})
	if err != nil {
		t.Fatal(err)
	}
	want := "<cell id=\"intro\" type=\"markdown\">\n# Title\ntext\n</cell>\n<cell id=\"cell-1\" type=\"code\">\nprint(1)\n</cell>\n" +
		"<output>\n1\n</output>\n<output>\n[image 1 below]\n</output>\n<output>\nTraceback\nValueError: no\n</output>\n"
	got := r.Parts[0].(llm.Text).Text
	if got != want || len(r.Parts) != 2 {
		t.Errorf("%d parts:\n%s", len(r.Parts), got)
	}
	wantIn(t, b.must("Read", in{"file_path": "a.ipynb", "limit": 1}), "Cells 1-1 of 2. To go on: offset=2.")
	if got := b.must("Read", in{"file_path": "a.ipynb", "offset": 2}); strings.Contains(got, "Title") {
		t.Errorf("from cell 2: %s", got)
	}
	b.put("broken.ipynb", "{\"cells\": [ oops\n")
	wantIn(t, b.must("Read", in{"file_path": "broken.ipynb"}), "1\t{\"cells\": [ oops")
}

func TestReadListsArchivesAndNamesOtherBinaries(t *testing.T) {
	b := newBench(t)
	var z bytes.Buffer
	w := zip.NewWriter(&z)
	for i := range 3 {
		if _, err := w.Create(fmt.Sprintf("f%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	b.put("a.zip", z.String())
	wantIn(t, b.must("Read", in{"file_path": "a.zip"}), "A zip archive", "with 3 entries:\nf0 (0 bytes)\nf1 (0 bytes)", "unzip -p")
	b.put("a.7z", "7z\xbc\xaf\x27\x1c\x00\x00\x00\x00")
	b.fails("Read", in{"file_path": "a.7z"}, "7-Zip archive", "7z l")
	b.put("a.zip", "PK\x03\x04\x00\x00\x00\x00 no end")
	b.fails("Read", in{"file_path": "a.zip"}, "cannot be listed", "ends too early")
}

// A notebook of pictures is read one cell at a time.
func TestALargeNotebookIsRead(t *testing.T) {
	b := newBench(t)
	path := filepath.Join(b.dir, "big.ipynb")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	cell := `{"cell_type":"code","source":["x"],"outputs":[{"output_type":"display_data","data":{"image/png":"` + strings.Repeat("A", 1<<20) + `"}}]}`
	fmt.Fprint(f, `{"nbformat":4,"cells":[`)
	for i := range 30 {
		if i > 0 {
			fmt.Fprint(f, ",")
		}
		fmt.Fprint(f, cell)
	}
	fmt.Fprint(f, `]}`)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	got := b.must("Read", in{"file_path": "big.ipynb"})
	if strings.Count(got, "[image/png, 768.0 kB]") != 30 {
		t.Errorf("%.300s", got)
	}
}
