package tool

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/tool/document"
)

// document has a child read a file.
func (t *reader) document(ctx context.Context, f *os.File, r document.Request) (*document.Answer, error) {
	child := document.Child{Runner: t.Runner}
	if t.Boundary.Confined() {
		run, err := t.Boundary.For(nil, boundary.Network{})
		if err != nil {
			return nil, err
		}
		defer run.Done()
		child.Confine = run.Confinement
	}
	return child.Read(ctx, f, r)
}

// image shows an image as it is, or a smaller one where it is more than a model takes.
func (c *readCall) image(
	ctx context.Context, file *os.File, f io.ReadSeeker, info fs.FileInfo, head []byte, mime string,
) (*agent.Result, *Seen, error) {
	config, err := document.Config(io.MultiReader(bytes.NewReader(head), f))
	if err != nil {
		return nil, nil, damagedImage(err)
	}
	if info.Size() > readImageMax || max(config.Width, config.Height) > readEdge {
		return c.smaller(ctx, file, info, mime)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, readImageMax+1))
	if err != nil {
		return nil, nil, err
	}
	if err := checkImage(mime, data); err != nil {
		return nil, nil, err
	}
	if mime == "image/webp" { // its decoder is not of the standard library
		if _, err := c.env.document(ctx, file, document.Request{Kind: "whole"}); err != nil {
			return nil, nil, fmt.Errorf("it cannot be shown: %w; look at it with file in Bash, or make it anew", err)
		}
	}
	return c.showImage(info, mime, mime, data, ""), &Seen{State: StateOf(info, HashOf(data))}, nil
}

func (c *readCall) smaller(
	ctx context.Context, file *os.File, info fs.FileInfo, mime string,
) (*agent.Result, *Seen, error) {
	a, err := c.env.document(ctx, file, document.Request{Kind: "image", Edge: readEdge, Bytes: readImageMax})
	if err != nil {
		return nil, nil, fmt.Errorf("it cannot be shown: %w; look at it with file in Bash, "+
			"or make it smaller with a program", err)
	}
	note := fmt.Sprintf(", %d x %d pixels, shown with %d x %d", a.Width, a.Height, a.W, a.H)
	return c.showImage(info, mime, a.MIME, a.Data, note), &Seen{State: StateOf(info, [sha256.Size]byte{})}, nil
}

// showImage is the result with an image; mime is that of the file, shown that of data.
func (c *readCall) showImage(info fs.FileInfo, mime, shown string, data []byte, note string) *agent.Result {
	name := c.env.Rel(c.path.Lexical)
	return &agent.Result{
		Parts: []llm.Part{
			llm.Text{Text: fmt.Sprintf("[Image %s, %s%s]", mime, size(info.Size()), note)},
			llm.Media{MIME: shown, Data: data, Name: name},
		},
		Title: name,
		View:  event.Image{MIME: shown, Data: data, Name: name},
		Meta: map[string]any{"type": "image", "file": map[string]any{
			"filePath": c.path.Lexical, "type": shown, "originalSize": info.Size(),
		}},
	}
}

// pdf shows the text of pages.
func (c *readCall) pdf(ctx context.Context, file *os.File, info fs.FileInfo) (*agent.Result, *Seen, error) {
	asked := strings.TrimSpace(c.in.Pages)
	whole := asked == wholeDocument
	if whole {
		asked = ""
	}
	first, last, err := pageRange(asked)
	if err != nil {
		return nil, nil, err
	}
	a, err := c.env.document(ctx, file, document.Request{Kind: "pdf", First: first, Last: last, Chars: readChars - 1000})
	if err != nil {
		return nil, nil, fmt.Errorf("%w; try pdftotext in Bash", err)
	}
	if first > a.Pages {
		return nil, nil, fmt.Errorf("the PDF has %s; page %d is past its end. Give pages up to that number",
			count(a.Pages, "page", "pages"), first)
	}
	fits := a.Pages <= documentPages && info.Size() <= documentBytes
	if whole && !fits {
		return nil, nil, fmt.Errorf("the document has %s and %s; up to %d pages and %s are given as they are. "+
			"Read it by pages, such as \"1-5\"", count(a.Pages, "page", "pages"), size(info.Size()), documentPages,
			size(documentBytes))
	}
	text := pagesText(a, last)
	more, note, err := c.seenPages(ctx, file, info, a, whole, fits && asked == "")
	if err != nil {
		return nil, nil, err
	}
	if note != "" {
		text = strings.TrimSuffix(text, noText) + "\n[" + note + "]\n"
	}
	summary := fmt.Sprintf("%d of %s", len(a.Text), count(a.Pages, "page", "pages"))
	r := agent.TextResult(text)
	r.Parts = append(r.Parts, more...)
	r.Title = c.env.Rel(c.path.Lexical)
	r.View = event.TextView{Text: text, Language: "text", Summary: summary}
	r.Meta = map[string]any{"type": "pdf", "file": map[string]any{
		"filePath": c.path.Lexical, "originalSize": info.Size(), "totalPages": a.Pages, "count": len(a.Text),
	}}
	return r, &Seen{State: StateOf(info, [sha256.Size]byte{})}, nil
}

// noText is the note on pages without text.
const noText = "\n[The pages have no text; they may be scans. " +
	"Make images of them (pdftoppm -png -r 100 in Bash) and Read those.]\n"

// wholeDocument as pages asks for the document itself.
const wholeDocument = "document"

// The largest document that is given to the model as it is: providers take 100 pages, and the request must stay within
// their limits. Of scanned pages a call shows a few as images.
const (
	documentPages = 20
	documentBytes = 8 << 20
	pageImages    = 4
)

// seenPages are what the model can look at beside the text: the document itself where it was asked for, or has no text
// and no page was named; else the pictures of scanned pages.
func (c *readCall) seenPages(
	ctx context.Context, file *os.File, info fs.FileInfo, a *document.Answer, whole, small bool,
) ([]llm.Part, string, error) {
	blank := len(a.Text) > 0 && !slices.ContainsFunc(a.Text, func(p document.Page) bool { return p.Text != "" })
	switch {
	case whole:
		doc, err := c.attached(file, info)
		return doc, "The document itself is attached. If you cannot see it, " +
			"make images of its pages (pdftoppm -png -r 100 in Bash) and Read those.", err
	case blank && small:
		doc, err := c.attached(file, info)
		return doc, "The pages have no text; the document itself is attached. If you cannot see it, " +
			"Read one page (pages=\"1\"), which shows a scan as an image.", err
	case blank:
		parts, note := c.pictures(ctx, file, a)
		return parts, note, nil
	case a.Pages <= documentPages && info.Size() <= documentBytes:
		return nil, "For figures and layout: pages=\"" + wholeDocument + "\" attaches the document itself.", nil
	}
	return nil, "", nil
}

// attached is the document. It was read by the child, so that it is a PDF that can be opened; its bytes are not
// interpreted here.
func (c *readCall) attached(file *os.File, info fs.FileInfo) ([]llm.Part, error) {
	data := make([]byte, info.Size())
	if _, err := file.ReadAt(data, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return []llm.Part{llm.Media{MIME: "application/pdf", Data: data, Name: c.env.Rel(c.path.Lexical)}}, nil
}

// pictures are those of scanned pages, and a note on them, or why there are none.
func (c *readCall) pictures(ctx context.Context, file *os.File, a *document.Answer) (parts []llm.Part, note string) {
	var shown []string
	for _, p := range a.Text[:min(len(a.Text), pageImages)] {
		i, err := c.env.document(ctx, file, document.Request{
			Kind: "page", First: p.Number, Edge: readEdge, Bytes: readImageMax,
		})
		if err != nil {
			if len(parts) == 0 {
				return nil, fmt.Sprintf("No text. Page %d is not shown as an image: %v. "+
					"Make images of the pages (pdftoppm -png -r 100 in Bash) and Read those.", p.Number, err)
			}
			break
		}
		shown = append(shown, strconv.Itoa(p.Number))
		name := fmt.Sprintf("%s page %d", c.env.Rel(c.path.Lexical), p.Number)
		parts = append(parts, llm.Media{MIME: i.MIME, Data: i.Data, Name: name})
	}
	if len(parts) == 0 {
		return nil, ""
	}
	note = "No text: the scan is shown as an image, page " + strings.Join(shown, ", ") + "."
	if left := a.Text[len(parts):]; len(left) > 0 {
		note += fmt.Sprintf(" Use pages=\"%d-%d\" to read on.", left[0].Number, a.Text[len(a.Text)-1].Number)
	}
	return parts, note
}

// pagesText writes pages with their numbers, and how to go on. last is the last page asked for, 0 for all.
func pagesText(a *document.Answer, last int) string {
	var b strings.Builder
	empty, shown := true, 0
	for _, p := range a.Text {
		shown = p.Number
		fmt.Fprintf(&b, "--- Page %d ---\n%s\n", p.Number, p.Text)
		empty = empty && p.Text == ""
		if p.Cut {
			fmt.Fprintf(&b, "[Page %d is cut here.]\n", p.Number)
		}
	}
	if last == 0 || last > a.Pages {
		last = a.Pages
	}
	if shown < last {
		fmt.Fprintf(&b, "\n[Pages to %d of %d. Use pages=\"%d-%d\" to read on.]\n", shown, a.Pages, shown+1, last)
	}
	if empty {
		b.WriteString(noText)
	}
	return b.String()
}

// pageRange reads "3", "1-5" and "4-".
func pageRange(s string) (first, last int, err error) {
	if s = strings.TrimSpace(s); s == "" {
		return 1, 0, nil
	}
	from, to, isRange := strings.Cut(s, "-")
	if first, err = strconv.Atoi(strings.TrimSpace(from)); err == nil {
		switch to = strings.TrimSpace(to); {
		case !isRange:
			last = first
		case to != "":
			last, err = strconv.Atoi(to)
		}
	}
	if err != nil || first < 1 || last != 0 && last < first {
		return 0, 0, fmt.Errorf("pages is %q; give one page (\"3\") or a range (\"1-5\", \"4-\")", s)
	}
	return first, last, nil
}

// listing shows the entries of an archive or the tables of a database.
func (c *readCall) listing(
	ctx context.Context, file *os.File, info fs.FileInfo, kind string,
) (*agent.Result, *Seen, error) {
	a, err := c.env.document(ctx, file, document.Request{Kind: "list"})
	if err != nil {
		return nil, nil, fmt.Errorf("it is a binary file (%s, %s) that cannot be listed: %w. "+
			"Look at it with a program in Bash%s, or make it anew", kind, size(info.Size()), err, programsFor(kind))
	}
	total := count(len(a.Items), "entry", "entries")
	if a.More {
		total = "more than " + total
	}
	text := fmt.Sprintf("A %s, %s, with %s:\n%s\n", a.What, size(info.Size()), total, strings.Join(a.Items, "\n"))
	if hint := programsFor(kind); hint != "" {
		text += "[To get at the contents, use Bash" + hint + ".]\n"
	}
	text, cut := cutText(text)
	r := agent.TextResult(text)
	r.Title = c.env.Rel(c.path.Lexical)
	r.View = event.Listing{Title: r.Title, Items: a.Items, Total: len(a.Items), Truncated: a.More || cut}
	r.Meta = map[string]any{"type": "listing", "file": map[string]any{
		"filePath": c.path.Lexical, "kind": a.What, "entries": len(a.Items),
	}}
	return r, &Seen{State: StateOf(info, [sha256.Size]byte{})}, nil
}

// cutText cuts a text to what stays inline.
func cutText(text string) (string, bool) {
	if short := cutLine(text, readChars); short != text {
		return short + "\n[cut]\n", true
	}
	return text, false
}

// programsFor names programs for a binary format.
func programsFor(kind string) string {
	switch kind {
	case "PDF":
		return " (pdftotext FILE -)"
	case "zip archive":
		return " (unzip -p FILE ENTRY)"
	case "tar archive":
		return " (tar -xOf FILE ENTRY)"
	case "gzip", "compress":
		return " (zcat, or tar -xzOf FILE ENTRY)"
	case "bzip2":
		return " (bzcat, or tar -xjOf FILE ENTRY)"
	case "xz":
		return " (xz -dc, or tar -tJf)"
	case "zstd":
		return " (zstd -dc, or tar --zstd -tf)"
	case "LZ4":
		return " (lz4 -dc)"
	case "SQLite database":
		return " (sqlite3 -readonly FILE \"SELECT ...\")"
	case "7-Zip archive", "cabinet archive":
		return " (7z l, 7z x -so FILE ENTRY)"
	case "RAR archive":
		return " (unrar l, bsdtar -tf, 7z l)"
	case "Debian package":
		return " (dpkg-deb -c, dpkg-deb -I)"
	case "RPM package":
		return " (rpm -qlp, rpm2cpio)"
	case "ar archive":
		return " (ar t)"
	case "ELF program", "Mach-O program", "Windows program", "Java class or Mach-O program":
		return " (file, nm, strings; javap -c for Java)"
	case "WebAssembly":
		return " (wasm-objdump -x, wasm2wat)"
	case "compiled Python", "compiled Lua":
		return ", or read the source file that it was made of"
	case "document of old Microsoft Office":
		return " (soffice --headless --convert-to pdf, antiword, xls2csv)"
	case "Parquet table", "Arrow table", "HDF5 data", "NumPy array":
		return " (python3 with pandas, h5py or numpy; duckdb for Parquet)"
	case "binary property list":
		return " (plutil -p; python3 with plistlib)"
	case "pack of git", "index of git":
		return " (git verify-pack -v, git ls-files --stage)"
	case "packet capture":
		return " (tcpdump -r, tshark -r)"
	case "font":
		return " (fc-scan)"
	}
	switch {
	case strings.HasSuffix(kind, "image"):
		return " (convert FILE x.png, then Read that)"
	case strings.HasSuffix(kind, "audio"), strings.HasSuffix(kind, "video"), strings.HasSuffix(kind, "media"):
		return " (ffprobe)"
	}
	return ""
}

func damagedImage(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = errors.New("it ends too early")
	}
	return fmt.Errorf("the image is damaged (%w), so it cannot be shown; "+
		"look at it with file in Bash, or make it anew", err)
}
