package tool_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"strconv"
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
	if c, err := png.DecodeConfig(bytes.NewReader(media.Data)); err != nil || c.Width != 2000 || c.Height != 40 ||
		media.MIME != "image/png" {
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
	wantIn(t, text(r), "the document itself is attached", `pages="1"`)
	b.put("text.pdf", string(data))
	if r, err = b.call("Read", in{"file_path": "text.pdf"}); err != nil || len(r.Parts) != 1 {
		t.Errorf("%d parts, %v", len(r.Parts), err)
	}
	wantIn(t, text(r), `pages="document"`)
	if r, err = b.call("Read", in{"file_path": "text.pdf", "pages": "document"}); err != nil || len(r.Parts) != 2 ||
		!bytes.Equal(r.Parts[1].(llm.Media).Data, data) {
		t.Errorf("%d parts, %v", len(r.Parts), err)
	}
	b.put("large.pdf", string(data)+strings.Repeat("%", 8<<20))
	b.fails("Read", in{"file_path": "large.pdf", "pages": "document"}, "up to 20 pages", `such as "1-5"`)
	wantIn(t, b.must("Read", in{"file_path": "scan.pdf", "pages": "1"}), "pdftoppm")
}

// scanOf is a PDF whose pages are pictures, by their dictionaries and bytes.
func scanOf(pictures ...[2]string) string {
	var b strings.Builder
	b.WriteString("%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n2 0 obj\n<</Type/Pages/Kids[")
	for i := range pictures {
		fmt.Fprintf(&b, "%d 0 R ", 10+2*i)
	}
	fmt.Fprintf(&b, "]/Count %d>>\nendobj\n", len(pictures))
	for i, p := range pictures {
		fmt.Fprintf(&b,
			"%d 0 obj\n<</Type/Page/Parent 2 0 R/Resources<</XObject<</I %d 0 R>>>>/MediaBox[0 0 9 9]>>\nendobj\n", 10+2*i,
			11+2*i)
		fmt.Fprintf(&b, "%d 0 obj\n<</Type/XObject/Subtype/Image%s/Length %d>>\nstream\n%s\nendstream\nendobj\n", 11+2*i,
			p[0], len(p[1]), p[1])
	}
	return b.String() + "trailer\n<</Root 1 0 R>>\n%%EOF\n"
}

// Each page has a red, a green, a blue and a white pixel, as far as its colours allow.
func TestScannedPagesAreShownAsImages(t *testing.T) {
	img := image.NewRGBA(image.Rect(0, 0, 16, 16))
	for i := range img.Pix {
		img.Pix[i] = []byte{200, 30, 30, 255}[i%4]
	}
	var photo bytes.Buffer
	if err := jpeg.Encode(&photo, img, nil); err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	if _, err := z.Write([]byte{255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255}); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	four := "/Width 4/Height 1/BitsPerComponent "
	b := newBench(t)
	b.put("scan.pdf", scanOf(
		[2]string{"/Width 16/Height 16/BitsPerComponent 8/ColorSpace/DeviceRGB/Filter/DCTDecode", photo.String()},
		[2]string{four + "8/ColorSpace/DeviceRGB/Filter/FlateDecode", packed.String()},
		[2]string{four + "1/ColorSpace/DeviceGray", "\x50"},
		[2]string{four + "1/ColorSpace/DeviceGray/Decode[1 0]", "\x50"},
		[2]string{four + "2/ColorSpace[/Indexed/DeviceRGB 3<FF000000FF000000FFFFFFFF>]", "\x1b"},
		[2]string{four + "8/ColorSpace/DeviceCMYK", "\x00\xff\xff\x00\xff\x00\xff\x00\xff\xff\x00\x00\x00\x00\x00\x00"},
		[2]string{four + "1/ColorSpace/DeviceGray/Filter/JBIG2Decode", "\x00"},
		[2]string{
			four + "1/ColorSpace/DeviceGray/Filter/CCITTFaxDecode/DecodeParms<</K -1/Columns 4>>",
			"\x2f\x80\x08\x00\x80",
		},
		[2]string{four + "1/ColorSpace/DeviceGray/Filter[/FlateDecode/CCITTFaxDecode]/DecodeParms[null<</K -1/Columns " +
			"4/BlackIs1 true>>]", deflated(t, "\x2f\x80\x08\x00\x80")},
		[2]string{
			four + "1/ColorSpace/DeviceGray/Filter/CCITTFaxDecode/DecodeParms<</Columns 4/EndOfLine true>>",
			"\x00\x17\xc0\x04",
		},
		[2]string{four + "1/ColorSpace/DeviceGray/Filter/CCITTFaxDecode/DecodeParms<</K 4/Columns 4>>", "\x00"},
		[2]string{four + "1/ColorSpace/DeviceGray/Filter/JPXDecode", "\x00"},
	))
	r, err := b.call("Read", in{"file_path": "scan.pdf", "pages": "1-12"})
	if err != nil || len(r.Parts) != 5 {
		t.Fatalf("%v %v", r, err)
	}
	wantIn(t, text(r), "page 1, 2, 3, 4.", `pages="5-12"`)
	rgbw := []color.RGBA{{255, 0, 0, 255}, {0, 255, 0, 255}, {0, 0, 255, 255}, {255, 255, 255, 255}}
	black, white := color.RGBA{0, 0, 0, 255}, color.RGBA{255, 255, 255, 255}
	for page, want := range map[int][]color.RGBA{
		2: rgbw, 3: {black, white, black, white}, 4: {white, black, white, black}, 5: rgbw, 6: rgbw,
		8: {white, white, black, black}, 9: {black, black, white, white}, 10: {white, white, black, black},
	} {
		r, err := b.call("Read", in{"file_path": "scan.pdf", "pages": strconv.Itoa(page)})
		if err != nil || len(r.Parts) != 2 {
			t.Fatalf("page %d: %v %v", page, r, err)
		}
		got, err := png.Decode(bytes.NewReader(r.Parts[1].(llm.Media).Data))
		if err != nil {
			t.Fatal(err)
		}
		for x, c := range want {
			if g := color.RGBAModel.Convert(got.At(x, 0)); g != c {
				t.Errorf("page %d, pixel %d: %v, want %v", page, x, g, c)
			}
		}
	}
	r, err = b.call("Read", in{"file_path": "scan.pdf", "pages": "1"})
	if err != nil || r.Parts[1].(llm.Media).MIME != "image/jpeg" {
		t.Errorf("%v %v", r, err)
	}
	for page, format := range map[string]string{"7": "JBIG2", "11": "a fax in two dimensions", "12": "JPEG 2000"} {
		wantIn(t, b.must("Read", in{"file_path": "scan.pdf", "pages": page}), "pdftoppm", "Page "+page+
			" is not shown as an image", "it is "+format)
	}
}

func deflated(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	if _, err := z.Write([]byte(s)); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	return b.String()
}

func notebookWith(cells ...map[string]any) string {
	data, err := json.MarshalIndent(map[string]any{
		"cells": cells, "metadata": map[string]any{}, "nbformat": 4,
		"nbformat_minor": 5,
	}, "", " ")
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
			map[string]any{"output_type": "display_data", "data": map[string]any{
				"image/png":  picture,
				"text/plain": "<Figure>",
			}},
			map[string]any{
				"output_type": "error", "ename": "ValueError", "evalue": "no",
				"traceback": []string{"\x1b[31mTraceback\x1b[0m", "ValueError: no"},
			},
		}},
	))
	r, err := b.call("Read", in{"file_path": "a.ipynb"})
	if err != nil {
		t.Fatal(err)
	}
	want := "<cell id=\"intro\" type=\"markdown\">\n# Title\ntext\n</cell>\n<cell id=\"cell-1\" " +
		"type=\"code\">\nprint(1)\n</cell>\n" +
		"<output>\n1\n</output>\n<output>\n[image 1 below]\n</output>\n<output>\nTraceback\nValueError: no\n</output>\n"
	got := r.Parts[0].(llm.Text).Text
	if got != want || len(r.Parts) != 2 {
		t.Errorf("%d parts:\n%s", len(r.Parts), got)
	}
	wantIn(t, b.must("Read", in{"file_path": "a.ipynb", "limit": 1}), "Showing cells 1-1 of 2. Use offset=2 to read on.")
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
	wantIn(t, b.must("Read", in{"file_path": "a.zip"}), "A zip archive", "with 3 entries:\nf0 (0 bytes)\nf1 (0 bytes)",
		"unzip -p")
	b.put("a.7z", "7z\xbc\xaf\x27\x1c\x00\x00\x00\x00")
	b.fails("Read", in{"file_path": "a.7z"}, "7-Zip archive", "7z l")
	b.put("a.rar", "Rar!\x1a\x07\x01\x00")
	b.fails("Read", in{"file_path": "a.rar"}, "RAR archive", "unrar l")
	b.put("strange", "\x00\x01\x02\x03")
	b.fails("Read", in{"file_path": "strange"}, "4 bytes in a format that is not known here", "`file`", "xxd")
	b.put("bz.txt", "BZh is how bzip2 begins\n")
	wantIn(t, b.must("Read", in{"file_path": "bz.txt"}), "1\tBZh is how")
	b.put("empty.zip", "PK\x05\x06"+strings.Repeat("\x00", 18))
	wantIn(t, b.must("Read", in{"file_path": "empty.zip"}), "A zip archive", "with 0 entries")
	b.put("a.zip", "PK\x03\x04\x00\x00\x00\x00 no end")
	b.fails("Read", in{"file_path": "a.zip"}, "cannot be listed", "ends too early", "unzip -p")
}

func TestReadListsWhatIsPacked(t *testing.T) {
	b := newBench(t)
	var plain, packed, single bytes.Buffer
	w := tar.NewWriter(&plain)
	if err := w.WriteHeader(&tar.Header{Name: "dir/hello.txt", Size: 6, Mode: 0o600}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("hello\n")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for out, data := range map[*bytes.Buffer][]byte{&packed: plain.Bytes(), &single: []byte("hello\n")} {
		z := gzip.NewWriter(out)
		if _, err := z.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	const bz2 = "QlpoOTFBWSZTWcHAgOIAAAFBAAAQAkSgADDNAMNGKZcXckU4UJDBwIDi" // hello, of bzip2
	raw, err := base64.StdEncoding.DecodeString(bz2)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ content, want string }{
		"a.tar":    {plain.String(), "A tar archive, "},
		"a.tgz":    {packed.String(), "A tar archive, packed with gzip, "},
		"hello.gz": {single.String(), "A gzip file, "},
		"hello":    {string(raw), "A bzip2 file, "},
	} {
		b.put(name, c.content)
		entry := "(6 bytes unpacked)"
		if strings.Contains(c.want, "tar") {
			entry = "dir/hello.txt (6 bytes)"
		}
		wantIn(t, b.must("Read", in{"file_path": name}), c.want, "with 1 entry:\n", entry,
			"[To get at the contents, use Bash (")
	}
}

// A notebook of pictures is read one cell at a time.
func TestALargeNotebookIsRead(t *testing.T) {
	b := newBench(t)
	path := filepath.Join(b.dir, "big.ipynb")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	cell := `{"cell_type":"code","source":["x"],"outputs":[{"output_type":"display_data","data":{"image/png":"` +
		strings.Repeat("A", 1<<20) + `"}}]}`
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
