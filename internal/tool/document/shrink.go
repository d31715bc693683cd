package document

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/draw"
	_ "image/gif" // registers its reader
	"image/jpeg"
	"image/png"
	"io"

	_ "golang.org/x/image/webp" // registers the format with package image

	"github.com/lathe-dev/lathe/internal/llm"
)

// pixelsMax is how many pixels an image has at most. Readers of images hold all of it, with 1 to 15 bytes a pixel; the
// limit of the child's memory does the rest.
const pixelsMax = 150_000_000

// Config is the size of an image in pixels. It reads the beginning only.
func Config(r io.Reader) (image.Config, error) {
	c, _, err := image.DecodeConfig(r)
	return c, err
}

// decoded is an image in memory.
type decoded struct {
	image.Image
	mime          string
	width, height int // of the whole; the first picture of a GIF may be smaller
}

// decode reads an image to its end.
func decode(f io.ReadSeeker) (*decoded, error) {
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	p := &decoded{mime: llm.ImageType(head[:n])}
	if animated(p.mime, head[:n]) {
		return nil, errAnimated
	}
	c, err := fromStart(f, Config)
	if errors.Is(err, image.ErrFormat) {
		return nil, errors.New("its format is not read")
	}
	if err != nil {
		return nil, damaged(err)
	}
	if p.width, p.height = c.Width, c.Height; p.width <= 0 || p.height <= 0 || p.width > pixelsMax/p.height {
		return nil, fmt.Errorf("it has %d x %d pixels; up to %d million are read",
			p.width, p.height, pixelsMax/1_000_000)
	}
	p.Image, err = fromStart(f, func(r io.Reader) (image.Image, error) {
		img, _, err := image.Decode(r)
		return img, err
	})
	if err != nil {
		return nil, damaged(err)
	}
	return p, nil
}

func fromStart[T any](f io.ReadSeeker, read func(io.Reader) (T, error)) (v T, err error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return v, err
	}
	return read(bufio.NewReaderSize(f, 256<<10))
}

var errAnimated = errors.New("it is an animated WebP, which is not read")

// animated reports whether an image is a WebP with frames.
func animated(mime string, head []byte) bool {
	return mime == "image/webp" && len(head) > 20 && string(head[12:16]) == "VP8X" && head[20]&2 != 0
}

func damaged(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = errors.New("it ends too early")
	}
	return fmt.Errorf("the image is damaged (%w)", err)
}

// shrink makes an image fit the request.
func shrink(f io.ReadSeeker, r Request) (*Answer, error) {
	p, err := decode(f)
	if err != nil {
		return nil, err
	}
	out := scale(p.Image, p.width, p.height, r.Edge)
	if p.mime == "image/jpeg" {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		out = upright(out, orientation(bufio.NewReader(f)))
	}
	a := &Answer{Width: p.width, Height: p.height, W: out.Rect.Dx(), H: out.Rect.Dy()}
	a.MIME, a.Data, err = encode(out, p.mime == "image/jpeg", r.Bytes)
	return a, err
}

// whole reads an image to its end, to see that it is not damaged.
func whole(f io.ReadSeeker) (*Answer, error) {
	if _, err := decode(f); err != nil && !errors.Is(err, errAnimated) { // no reader here knows these
		return nil, err
	}
	return &Answer{}, nil
}

// encode writes an image in at most the given bytes: as PNG where that is not much larger than a JPEG would be.
func encode(img *image.NRGBA, photo bool, most int) (mime string, data []byte, err error) {
	var b bytes.Buffer
	if !photo {
		if err := png.Encode(&b, img); err != nil {
			return "", nil, err
		}
		if b.Len() <= most/2 {
			return "image/png", b.Bytes(), nil
		}
	}
	flat := image.NewRGBA(img.Rect)
	draw.Draw(flat, flat.Rect, image.White, image.Point{}, draw.Src)
	draw.Draw(flat, flat.Rect, img, image.Point{}, draw.Over)
	for _, quality := range []int{85, 70, 50, 30, 10} {
		b.Reset()
		if err := jpeg.Encode(&b, flat, &jpeg.Options{Quality: quality}); err != nil {
			return "", nil, err
		}
		if b.Len() <= most {
			return "image/jpeg", b.Bytes(), nil
		}
	}
	return "", nil, errors.New("it does not become small enough")
}
