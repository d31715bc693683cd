package document

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
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
	for name, data := range map[string][]byte{"png": encodePNG(t, img), "jpeg": encodeJPEG(t, img), "gif": animated.Bytes()} {
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

func newBuffered(data []byte) *bufio.Reader { return bufio.NewReader(bytes.NewReader(data)) }

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

// The reader of rows is held against the standard library's on each colour type.
func TestStreamedPNGsAreThoseOfTheStandardLibrary(t *testing.T) {
	rect := image.Rect(0, 0, 37, 23)
	random := rand.New(rand.NewPCG(1, 2))
	fill := func(pix []byte) {
		for i := range pix {
			pix[i] = byte(random.Uint32())
		}
	}
	grey, grey16, full, full16, opaque := image.NewGray(rect), image.NewGray16(rect), image.NewNRGBA(rect), image.NewNRGBA64(rect), image.NewNRGBA(rect)
	fill(grey.Pix)
	fill(grey16.Pix)
	fill(full.Pix)
	fill(full16.Pix)
	fill(opaque.Pix)
	for i := 3; i < len(opaque.Pix); i += 4 {
		opaque.Pix[i] = 255
	}
	all := map[string]image.Image{"grey": grey, "grey16": grey16, "alpha": full, "alpha16": full16, "opaque": opaque}
	for _, n := range []int{2, 4, 16, 200} {
		palette := make(color.Palette, n)
		for i := range palette {
			palette[i] = color.NRGBA{byte(i * 7), byte(255 - i), byte(i * 31), byte(255 - i%3)}
		}
		img := image.NewPaletted(rect, palette)
		for i := range img.Pix {
			img.Pix[i] = byte(random.IntN(n))
		}
		all[fmt.Sprintf("palette of %d", n)] = img
	}
	for name, img := range all {
		data := encodePNG(t, img)
		a, err := shrink(bytes.NewReader(data), int64(len(data)), Request{Edge: 100, Bytes: 1 << 20})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := png.Decode(bytes.NewReader(a.Data))
		if err != nil {
			t.Fatal(err)
		}
		want, _ := png.Decode(bytes.NewReader(data))
		for y := range rect.Dy() {
			for x := range rect.Dx() {
				if color.NRGBAModel.Convert(want.At(x, y)).(color.NRGBA).A > 8 { // below, colours are not kept exactly
					near(t, name, got.At(x, y), want.At(x, y), 2)
				}
			}
		}
	}
}

// Very large JPEGs are read by their averages. This holds that reader against the standard library's.
func TestCoarseJPEGsAreThoseOfTheStandardLibrary(t *testing.T) {
	img := picture(800, 403)
	files := map[string][]byte{"baseline": encodeJPEG(t, img)}
	grey := image.NewGray(img.Rect)
	for y := range 403 {
		for x := range 800 {
			grey.Set(x, y, img.At(x, y))
		}
	}
	files["grey"] = encodeJPEG(t, grey)
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	examples, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "src/image/testdata/video-001.*.jpeg"))
	if len(examples) == 0 {
		t.Log("no examples of progressive files in Go's source")
	}
	for _, path := range examples {
		if strings.Contains(path, "cmyk") || strings.Contains(path, "rgb") {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(path)] = data
	}
	for name, data := range files {
		config, err := jpeg.DecodeConfig(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		edge := max(config.Width, config.Height) / 8
		got, want := newScaled(config.Width, config.Height, edge), newScaled(config.Width, config.Height, edge)
		if err := coarseJPEG(newBuffered(data), got); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		whole, err := jpeg.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		want.feed(whole)
		alike(t, name, got.image(), want.image())
	}
}

// alike holds that the colours of two images differ by 12 of 255 on average at most.
func alike(t *testing.T, name string, a, b *image.NRGBA) {
	t.Helper()
	sum := 0
	for i := range a.Pix {
		d := int(a.Pix[i]) - int(b.Pix[i])
		sum += max(d, -d)
	}
	if a.Rect != b.Rect || sum > 12*len(a.Pix) {
		t.Errorf("%s: %v and %v differ by %d on average", name, a.Rect, b.Rect, sum/len(a.Pix))
	}
}

func TestAnImageOf20000PixelsIsReadInBoundedMemory(t *testing.T) {
	img := image.NewPaletted(image.Rect(0, 0, 20000, 500), color.Palette{color.White, color.Black})
	for i := range img.Pix {
		img.Pix[i] = byte(i >> 12 & 1)
	}
	data := encodePNG(t, img)
	a, err := read(t, data, Request{Kind: "image", Edge: 2000, Bytes: 1 << 20})
	if err != nil || a.W != 2000 || a.H != 50 {
		t.Fatalf("%+v, %v", a, err)
	}
	small := newScaled(20000, 20000, 2000)
	if n := 4*(len(small.line)+len(small.now)+len(small.next)) + 12*len(small.across) + len(small.out.Pix); n > 20<<20 {
		t.Errorf("%d bytes are held for 20,000 x 20,000 pixels", n)
	}
}

func TestPhotosAreTurnedUpright(t *testing.T) {
	data := encodeJPEG(t, picture(400, 200))
	exif := []byte("\xFF\xE1\x00\x22Exif\x00\x00MM\x00\x2a\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00\x00\x00\x00\x00")
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
		"a cut JPEG":           {cut[:len(cut)/2], "image", "damaged"},
		"no image":             {[]byte("hello, this is text"), "image", "not read"},
		"no PDF":               {[]byte("%PDF-1.7\n1 0 obj\n<<>>\n"), "pdf", "damaged"},
		"a PDF that refers to itself": {
			[]byte("%PDF-1.4\n1 0 obj\n1 0 R\nendobj\nxref\n0 2\n0000000000 65535 f \n0000000009 00000 n \ntrailer\n<</Size 2/Root 1 0 R>>\nstartxref\n31\n%%EOF\n"),
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
	sql := "PRAGMA page_size=1024; CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT); CREATE INDEX by_name ON users(name);" +
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<5000) INSERT INTO users SELECT i, 'name '||i FROM n;" +
		"CREATE TABLE kv(k TEXT PRIMARY KEY, v) WITHOUT ROWID; INSERT INTO kv VALUES ('a',1),('b',2); CREATE TABLE wide(" + strings.TrimSuffix(long, ", ") + ");"
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
	for i, want := range []string{"[5000 rows] CREATE TABLE users(", "CREATE INDEX by_name", "[2 rows] CREATE TABLE kv(", "[0 rows] CREATE TABLE wide(a_long"} {
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
	f.Add([]byte("GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"))
	f.Add([]byte("PK\x03\x04\x00\x00"))
	f.Add([]byte("RIFF\x1a\x00\x00\x00WEBPVP8L\r\x00\x00\x00/\x00\x00\x00\x10\a\x10\x11\x11\x88\x88\xfe\a\x00"))
	f.Add([]byte("%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n2 0 obj\n<</Type/Pages/Kids[3 0 R]/Count 1>>\nendobj\n" +
		"3 0 obj\n<</Type/Page/Parent 2 0 R/Resources<</XObject<</I 4 0 R>>>>>>\nendobj\n" +
		"4 0 obj\n<</Subtype/Image/Width 4/Height 1/BitsPerComponent 2/ColorSpace[/Indexed/DeviceRGB 3<FF000000FF000000FFFFFFFF>]/Length 1>>\nstream\n\x1b\nendstream\nendobj\n" +
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
			if a, err := perform(Request{Kind: kind, First: 1, Edge: 16, Bytes: 1 << 20}, file); err == nil && (kind == "image" || kind == "page") && (a.W > 16 || a.H > 16) {
				t.Errorf("%d x %d", a.W, a.H)
			}
		}
		if len(data) > 2 {
			_ = coarseJPEG(newBuffered(data), newScaled(16, 16, 16))
		}
	})
}
