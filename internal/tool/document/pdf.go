package document

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/tool/document/pdf"
)

// readPDF reads the text of pages.
func readPDF(f io.ReaderAt, size int64, r Request) (*Answer, error) {
	doc, err := openPDF(f, size)
	if err != nil {
		return nil, err
	}
	a := &Answer{Pages: doc.Pages()}
	last := a.Pages
	if r.Last > 0 {
		last = min(last, r.Last)
	}
	chars := r.Chars
	for n := max(1, r.First); n <= last && chars > 0; n++ {
		p := pageText(doc, n)
		if runes := utf8.RuneCountInString(p.Text); runes > chars {
			p.Text, p.Cut = firstRunes(p.Text, chars), true
		}
		chars -= utf8.RuneCountInString(p.Text) + 20
		a.Text = append(a.Text, p)
	}
	return a, nil
}

func openPDF(f io.ReaderAt, size int64) (*pdf.Reader, error) {
	doc, err := pdf.Open(f, size)
	if err != nil && !errors.Is(err, pdf.ErrPassword) {
		err = fmt.Errorf("the PDF is damaged (%w)", err)
	}
	return doc, err
}

func firstRunes(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}

// pageText is the text of one page. One that cannot be read does not keep the others from being read.
func pageText(doc *pdf.Reader, n int) (p Page) {
	p.Number = n
	defer func() {
		if v := recover(); v != nil {
			p.Text = fmt.Sprintf("[The page cannot be read: %v]", v)
		}
	}()
	p.Text = strings.TrimSpace(strings.ToValidUTF8(newTextReader(doc.Page(n)).read(), "\uFFFD"))
	return p
}
