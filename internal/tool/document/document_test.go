package document

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/tool/document/pdftest"
)

// read has a real child read data.
func read(t *testing.T, data []byte, r Request) (*Answer, error) {
	t.Helper()
	return readIn(t, data, r, 0)
}

func readIn(t *testing.T, data []byte, r Request, limit time.Duration) (*Answer, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	runner := sandbox.New()
	defer runner.Close()
	return Child{Runner: runner, Limit: limit}.Read(t.Context(), f, r)
}

// picture has smooth colours with a mark in the upper left quarter.
func picture(w, h int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := color.NRGBA{uint8(x * 255 / w), uint8(y * 255 / h), 128, 255}
			if x < w/4 && y < h/4 {
				c = color.NRGBA{255, 255, 255, 255}
			}
			img.SetNRGBA(x, y, c)
		}
	}
	return img
}

func encodePNG(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func encodeJPEG(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: 95}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestLargeImagesBecomeSmallOnesThatLookTheSame(t *testing.T) {
	img := picture(600, 300)
	var animated bytes.Buffer
	if err := gif.Encode(&animated, img, nil); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"png": encodePNG(t, img), "jpeg": encodeJPEG(t, img), "gif": animated.Bytes(),
	} {
		a, err := read(t, data, Request{Kind: "image", Edge: 100, Bytes: 1 << 20})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, _, err := image.Decode(bytes.NewReader(a.Data))
		if err != nil || got.Bounds().Dx() != 100 || got.Bounds().Dy() != 50 || a.Width != 600 || a.W != 100 || a.H != 50 {
			t.Errorf("%s: %v, %v", name, got.Bounds(), err)
			continue
		}
		for _, at := range []image.Point{{5, 5}, {80, 40}, {98, 4}, {50, 25}} {
			near(t, name, got.At(at.X, at.Y), img.At(at.X*6, at.Y*6), 40)
		}
	}
}

func near(t *testing.T, name string, a, b color.Color, most int) {
	t.Helper()
	x, y := color.NRGBAModel.Convert(a).(color.NRGBA), color.NRGBAModel.Convert(b).(color.NRGBA)
	for _, d := range []int{int(x.R) - int(y.R), int(x.G) - int(y.G), int(x.B) - int(y.B), int(x.A) - int(y.A)} {
		if max(d, -d) > most {
			t.Errorf("%s: %v, want near %v", name, x, y)
			return
		}
	}
}

func TestATransparentImageKeepsItsColours(t *testing.T) {
	img := image.NewNRGBA(image.Rect(0, 0, 300, 300))
	for i := 0; i < len(img.Pix); i += 4 { // columns of ten opaque and ten transparent pixels
		copy(img.Pix[i:], []byte{200, 100, 50, byte(i / 40 % 2 * 255)})
	}
	a, err := read(t, encodePNG(t, img), Request{Kind: "image", Edge: 15, Bytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	got, err := png.Decode(bytes.NewReader(a.Data))
	if err != nil {
		t.Fatal(err)
	}
	near(t, "half transparent", got.At(7, 7), color.NRGBA{200, 100, 50, 128}, 2)
}

func TestAnImageOf20000PixelsIsRead(t *testing.T) {
	img := image.NewPaletted(image.Rect(0, 0, 20000, 500), color.Palette{color.White, color.Black})
	for i := range img.Pix {
		img.Pix[i] = byte(i >> 12 & 1)
	}
	data := encodePNG(t, img)
	a, err := read(t, data, Request{Kind: "image", Edge: 2000, Bytes: 1 << 20})
	if err != nil || a.W != 2000 || a.H != 50 {
		t.Fatalf("%+v, %v", a, err)
	}
}

func TestPhotosAreTurnedUpright(t *testing.T) {
	data := encodeJPEG(t, picture(400, 200))
	exif := []byte("\xFF\xE1\x00\x22Exif\x00\x00MM\x00\x2a\x00\x00\x00\x08\x00\x01" +
		"\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00\x00\x00\x00\x00")
	data = append(append(append([]byte{}, data[:2]...), exif...), data[2:]...)
	a, err := read(t, data, Request{Kind: "image", Edge: 100, Bytes: 1 << 20})
	if err != nil || a.W != 50 || a.H != 100 {
		t.Fatalf("%+v, %v", a, err)
	}
	img, err := jpeg.Decode(bytes.NewReader(a.Data))
	if err != nil {
		t.Fatal(err)
	}
	near(t, "the mark", img.At(45, 5), color.White, 30) // it was at the upper left
}

func TestHostileFilesCostOnlyTheChild(t *testing.T) {
	bomb := encodePNG(t, image.NewGray(image.Rect(0, 0, 10, 10)))
	copy(bomb[16:], "\x00\x0f\xff\xff\x00\x0f\xff\xff") // a size of a million pixels each way, with a wrong checksum
	cut := encodeJPEG(t, picture(300, 300))
	for name, c := range map[string]struct {
		data []byte
		kind string
		want string
	}{
		"a size that is a lie": {bomb, "image", "damaged"},
		"more pixels than fit": {tooLarge(t), "image", "20000 x 20000 pixels; up to 150 million are read"},
		"a cut JPEG":           {cut[:len(cut)/2], "image", "damaged"},
		"no image":             {[]byte("hello, this is text"), "image", "not read"},
		"no PDF":               {[]byte("%PDF-1.7\n1 0 obj\n<<>>\n"), "pdf", "damaged"},
		"a PDF that refers to itself": {
			[]byte("%PDF-1.4\n1 0 obj\n1 0 R\nendobj\nxref\n0 2\n0000000000 65535 f \n0000000009 00000 n \n" +
				"trailer\n<</Size 2/Root 1 0 R>>\nstartxref\n31\n%%EOF\n"),
			"pdf", "",
		},
		"a zip without an end":        {[]byte("PK\x03\x04aaaaaaaaaaaaaaaaaaaaaaaaa"), "list", "damaged"},
		"a database of one page":      {append([]byte(sqliteMagic), make([]byte, 600)...), "list", "damaged"},
		"a database that is a circle": {circle(), "list", "damaged"},
	} {
		a, err := readIn(t, c.data, Request{Kind: c.kind, Edge: 100, Bytes: 1 << 20, Chars: 1000}, 3*time.Second)
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
}

// tooLarge is a PNG whose header gives 400 million pixels.
func tooLarge(t *testing.T) []byte {
	data := encodePNG(t, image.NewGray(image.Rect(0, 0, 10, 10)))
	binary.BigEndian.PutUint32(data[16:], 20000)
	binary.BigEndian.PutUint32(data[20:], 20000)
	binary.BigEndian.PutUint32(data[29:], crc32.ChecksumIEEE(data[12:29]))
	return data
}

// circle is a database whose schema is an interior page that leads to itself.
func circle() []byte {
	b := make([]byte, 1024)
	copy(b, sqliteMagic)
	b[16], b[17] = 4, 0
	b[100], b[104] = 5, 1 // an interior page with one cell
	b[111] = 1            // and page 1 at its end
	b[112], b[113] = 1, 0
	b[256+3] = 1
	return b
}

func TestArchivesAreListed(t *testing.T) {
	var z, g bytes.Buffer
	zw := zip.NewWriter(&z)
	for _, name := range []string{"a.txt", "dir/b\nc.txt"} {
		w, err := zw.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(w, "hello")
	}
	zw.Close()
	gw := gzip.NewWriter(&g)
	tw := tar.NewWriter(gw)
	for i := range 1500 {
		if err := tw.WriteHeader(&tar.Header{Name: fmt.Sprintf("f%04d", i), Size: 0, Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
	}
	tw.Close()
	gw.Close()
	a, err := read(t, z.Bytes(), Request{Kind: "list"})
	if err != nil || strings.Join(a.Items, "|") != `a.txt (5 bytes)|dir/b\nc.txt (5 bytes)` {
		t.Errorf("%+v, %v", a, err)
	}
	a, err = read(t, g.Bytes(), Request{Kind: "list"})
	if err != nil || len(a.Items) != itemsMax || !a.More || a.Items[999] != "f0999 (0 bytes)" {
		t.Errorf("%d items, %v", len(a.Items), err)
	}
}

func TestDatabasesAreListedWithTheirTables(t *testing.T) {
	sqlite, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Skip("no sqlite3")
	}
	path := filepath.Join(t.TempDir(), "x.db")
	long := strings.Repeat("a_long_column_name_to_overflow INTEGER, ", 200)
	for i := range 199 {
		long = strings.Replace(long, "overflow I", fmt.Sprintf("overflow%d I", i), 1)
	}
	sql := "PRAGMA page_size=1024; CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT);" +
		"CREATE INDEX by_name ON users(name);" +
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<5000)" +
		"INSERT INTO users SELECT i, 'name '||i FROM n;" +
		"CREATE TABLE kv(k TEXT PRIMARY KEY, v) WITHOUT ROWID; INSERT INTO kv VALUES ('a',1),('b',2);" +
		"CREATE TABLE wide(" + strings.TrimSuffix(long, ", ") + ");"
	if out, err := exec.Command(sqlite, path, sql).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a, err := read(t, data, Request{Kind: "list"})
	if err != nil || len(a.Items) != 4 {
		t.Fatalf("%+v, %v", a, err)
	}
	for i, want := range []string{
		"[5000 rows] CREATE TABLE users(", "CREATE INDEX by_name", "[2 rows] CREATE TABLE kv(",
		"[0 rows] CREATE TABLE wide(a_long",
	} {
		if !strings.HasPrefix(a.Items[i], want) {
			t.Errorf("%q, want %q", a.Items[i], want)
		}
	}
}

func TestThePagesOfAPDFAreReadAsText(t *testing.T) {
	data := pdftest.File("(First line) Tj 0 -14 Td (second) Tj", "[(Ker) -20 (ned) -400 (words)] TJ", "(third) Tj")
	a, err := read(t, data, Request{Kind: "pdf", First: 1, Chars: 10_000})
	if err != nil || a.Pages != 3 || len(a.Text) != 3 {
		t.Fatalf("%+v, %v", a, err)
	}
	for i, want := range []string{"First line\nsecond", "Kerned words", "third"} {
		if a.Text[i].Text != want || a.Text[i].Number != i+1 {
			t.Errorf("%+v, want %q", a.Text[i], want)
		}
	}
	a, err = read(t, data, Request{Kind: "pdf", First: 2, Last: 2, Chars: 6})
	if err != nil || len(a.Text) != 1 || a.Text[0].Text != "Kerned" || !a.Text[0].Cut {
		t.Errorf("%+v, %v", a, err)
	}
}

func FuzzFilesAreReadOrRefused(f *testing.F) {
	img := picture(40, 30)
	f.Add(encodePNG(f, img))
	f.Add(encodeJPEG(f, img))
	f.Add(pdftest.File("(x) Tj", "[(a) 1 (b)] TJ"))
	f.Add(circle())
	f.Add([]byte("GIF89a\x01\x00\x01\x00" +
		"\x80\x00\x00\xff\xff\xff\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"))
	f.Add([]byte("PK\x03\x04\x00\x00"))
	f.Add([]byte("RIFF\x1a\x00\x00\x00WEBPVP8L\r\x00\x00\x00/\x00\x00\x00\x10\a\x10\x11\x11\x88\x88\xfe\a\x00"))
	f.Add([]byte("%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n" +
		"2 0 obj\n<</Type/Pages/Kids[3 0 R]/Count 1>>\nendobj\n" +
		"3 0 obj\n<</Type/Page/Parent 2 0 R/Resources<</XObject<</I 4 0 R>>>>>>\nendobj\n" +
		"4 0 obj\n<</Subtype/Image/Width 4/Height 1/BitsPerComponent 2" +
		"/ColorSpace[/Indexed/DeviceRGB 3<FF000000FF000000FFFFFFFF>]/Length 1>>\nstream\n\x1b\nendstream\nendobj\n" +
		"trailer\n<</Root 1 0 R>>\n"))
	path := filepath.Join(f.TempDir(), "f")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		for _, kind := range []string{"image", "list", "whole", "page"} {
			a, err := perform(Request{Kind: kind, First: 1, Edge: 16, Bytes: 1 << 20}, file)
			if err == nil && (a.W > 16 || a.H > 16) {
				t.Errorf("%d x %d", a.W, a.H)
			}
		}
	})
}
