package pdf_test

import (
	"bytes"
	"compress/zlib"
	"encoding/ascii85"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/tool/document/pdf"
)

func open(t *testing.T, data []byte) *pdf.Reader {
	t.Helper()
	r, err := pdf.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// drawn is all the text that a page draws, one line for each operator.
func drawn(r *pdf.Reader, n int) string {
	p := r.Page(n)
	return strings.TrimSpace(drawnBy(p, p.Contents(), p.Resources, 0))
}

func drawnBy(p *pdf.Page, contents []byte, resources pdf.Dict, depth int) string {
	var b strings.Builder
	var font *pdf.Font
	show := func(v any) {
		if s, ok := v.(pdf.String); ok && font != nil {
			font.Each(s, func(text string, _, _ int) { b.WriteString(text) })
		}
	}
	steps := 0
	pdf.Operators(contents, func(op string, args []any) bool {
		switch {
		case len(args) == 0:
		case op == "Tf":
			name, _ := args[0].(pdf.Name)
			font = p.Font(resources, name)
		case op == "Tj":
			show(args[0])
			b.WriteByte('\n')
		case op == "TJ":
			list, _ := args[0].(pdf.Array)
			for _, v := range list {
				show(v)
			}
			b.WriteByte('\n')
		case op == "Do" && depth < 2:
			name, _ := args[0].(pdf.Name)
			if f, ok := p.Form(resources, name); ok {
				b.WriteString(drawnBy(p, f.Contents, f.Resources, depth+1))
			}
		}
		steps++
		return steps < 2000
	})
	return b.String()
}

const expected = "café ﬁnd € flat (x)\nWordgap\nAB C\nαβ\n😀\nin a form"

// The files of testdata were made from plain.pdf by pdfcpu: with object streams, and encrypted with an empty user's
// password.
func TestFilesOfEveryKindReadTheSame(t *testing.T) {
	for _, name := range []string{"plain", "streams", "rc4-40", "rc4-128", "aes-128", "aes-256", "aes-256-r6"} {
		data, err := os.ReadFile(filepath.Join("testdata", name+".pdf"))
		if err != nil {
			t.Fatal(err)
		}
		r := open(t, data)
		if r.Pages() != 1 || drawn(r, 1) != expected {
			t.Errorf("%s: %d pages, %q", name, r.Pages(), drawn(r, 1))
		}
	}
}

func TestAPasswordIsReported(t *testing.T) {
	data, err := os.ReadFile("testdata/password.pdf")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pdf.Open(bytes.NewReader(data), int64(len(data))); !errors.Is(err, pdf.ErrPassword) {
		t.Error(err)
	}
}

func TestADamagedTableOfObjectsIsRebuilt(t *testing.T) {
	for _, name := range []string{"plain", "streams"} {
		data, err := os.ReadFile(filepath.Join("testdata", name+".pdf"))
		if err != nil {
			t.Fatal(err)
		}
		shifted := append([]byte("%PDF-1.4\n% a line that moves every object\n"), data...)
		cut := data[:bytes.LastIndex(data, []byte("startxref"))]
		for kind, damaged := range map[string][]byte{"shifted": shifted, "cut": cut} {
			if got := drawn(open(t, damaged), 1); got != expected {
				t.Errorf("%s, %s: %q", name, kind, got)
			}
		}
	}
}

func TestAWrongLengthOfAStreamIsCorrected(t *testing.T) {
	data, err := os.ReadFile("testdata/plain.pdf")
	if err != nil {
		t.Fatal(err)
	}
	i := bytes.Index(data, []byte("/Length "))
	data[i+len("/Length ")] = '9'
	if got := drawn(open(t, data), 1); got != expected {
		t.Errorf("%q", got)
	}
}

// file is a file with these objects, of which the first is the catalogue.
func file(objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	var offsets []int
	for i, o := range objects {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, start)
	return b.Bytes()
}

func stream(dict, data string) string {
	return fmt.Sprintf("<< /Length %d %s >>\nstream\n%s\nendstream", len(data), dict, data)
}

func withContents(contents string) []byte {
	return file("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>", contents)
}

func TestFiltersDecode(t *testing.T) {
	const text = "-----A---B"
	var base85 strings.Builder
	e := ascii85.NewEncoder(&base85)
	_, _ = e.Write([]byte(text))
	_ = e.Close()
	var flate bytes.Buffer
	z := zlib.NewWriter(&flate)
	_, _ = z.Write([]byte("\x00-----\x02\x00\x14\x00\x00\x00"))
	_ = z.Close()
	for name, s := range map[string]string{
		"hex":     stream("/Filter /ASCIIHexDecode", "2D2D2D2D2D 412D2D2D42>"),
		"base 85": stream("/Filter /ASCII85Decode", "<~"+base85.String()+"~>"),
		"runs":    stream("/Filter /RunLengthDecode", "\xfc-\x00A\xfe-\x00B\x80"),
		"two":     stream("/Filter [/ASCIIHexDecode /RunLengthDecode]", "FC2D 0041 FE2D 0042 80>"),
		// the example of section 7.4.4.2
		"LZW":       stream("/Filter [/ASCIIHexDecode /LZWDecode]", "80 0B 60 50 22 0C 0C 85 01>"),
		"not there": stream("", text),
	} {
		if got := string(open(t, withContents(s)).Page(1).Contents()); got != text {
			t.Errorf("%s: %q", name, got)
		}
	}
	predicted := stream("/Filter /FlateDecode /DecodeParms << /Predictor 15 /Columns 5 >>", flate.String())
	if got := string(open(t, withContents(predicted)).Page(1).Contents()); got != "------A---" {
		t.Errorf("predictor: %q", got)
	}
}

func TestAPageTakesResourcesFromTheNodeAboveIt(t *testing.T) {
	data := file("<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R 2 0 R 3 0 R 99 0 R] /Count 7 /Resources << /Font << /F 5 0 R >> >> >>",
		"<< /Type /Page /Parent 2 0 R /Contents [4 0 R 4 0 R] >>",
		stream("", "/F 1 Tf (a'\\251) Tj"),
		"<< /Type /Font /Subtype /Type1 >>")
	r := open(t, data)
	if got := drawn(r, 1); r.Pages() != 1 || got != "a’'\na’'" {
		t.Errorf("%d pages, %q", r.Pages(), got)
	}
}

// FuzzAnythingIsReadOrRefused holds that no file makes the reader panic or run without end.
func FuzzAnythingIsReadOrRefused(f *testing.F) {
	names, err := filepath.Glob("testdata/*.pdf")
	if err != nil || len(names) < 7 {
		f.Fatal(names, err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add(file("<< /Type /Catalog /Pages 2 0 R >>", "<< /Kids [2 0 R] >>"))
	f.Add(withContents("<< /Length 4 0 R >>\nstream\n" + strings.Repeat("[", 1000)))
	f.Fuzz(func(_ *testing.T, data []byte) {
		r, err := pdf.Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		for n := 1; n <= min(3, r.Pages()); n++ {
			drawn(r, n)
		}
	})
}

func TestEncodingsOfFontsAreRead(t *testing.T) {
	for encoding, want := range map[string]string{
		"": "’Æ–", "/Encoding /WinAnsiEncoding": "'á±",
		"/Encoding /MacRomanEncoding": "'·±",
	} {
		data := file("<< /Type /Catalog /Pages 2 0 R >>",
			"<< /Type /Pages /Kids [3 0 R] /Resources << /Font << /F << /Type /Font /Subtype /Type1 "+encoding+" >> >> >> >>",
			"<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>", stream("", "/F 1 Tf ('\341\261) Tj"))
		if got := drawn(open(t, data), 1); got != want {
			t.Errorf("%s: %q", encoding, got)
		}
	}
}
