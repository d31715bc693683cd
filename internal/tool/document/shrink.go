package document

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/webp"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Sizes in pixels up to which the readers of the standard library are used, which hold a whole image.
const (
	wholeMax       = 150_000_000
	progressiveMax = 40_000_000 // their coefficients take 12 bytes a pixel
)

// Config is the size of an image in pixels. It reads the beginning only.
func Config(mime string, r io.Reader) (image.Config, error) {
	switch mime {
	case "image/png":
		return png.DecodeConfig(r)
	case "image/jpeg":
		return jpeg.DecodeConfig(r)
	case "image/gif":
		return gif.DecodeConfig(r)
	case "image/webp":
		return webp.DecodeConfig(r)
	}
	return image.Config{}, fmt.Errorf("%s is not read", mime)
}

// shrink makes an image fit the request.
func shrink(f io.ReadSeeker, size int64, r Request) (*Answer, error) {
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	mime := llm.ImageType(head[:n])
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	c, err := Config(mime, bufio.NewReader(f))
	if err != nil {
		return nil, damaged(err)
	}
	if c.Width <= 0 || c.Height <= 0 || c.Width > 1<<20 || c.Height > 1<<20 {
		return nil, fmt.Errorf("its header gives a size of %d x %d pixels", c.Width, c.Height)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	small := newScaled(c.Width, c.Height, r.Edge)
	if err := decode(mime, f, size, c, small); err != nil {
		return nil, damaged(err)
	}
	out := small.image()
	if mime == "image/jpeg" {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		out = upright(out, orientation(bufio.NewReader(f)))
	}
	a := &Answer{Width: c.Width, Height: c.Height, W: out.Rect.Dx(), H: out.Rect.Dy()}
	a.MIME, a.Data, err = encode(out, mime == "image/jpeg", r.Bytes)
	return a, err
}

// decodes reads an image to its end.
func decodes(f io.ReadSeeker) (*Answer, error) {
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	mime := llm.ImageType(head[:n])
	if animated(mime, head[:n]) {
		return &Answer{}, nil // no reader here knows them
	}
	var img image.Image
	for _, do := range []func(io.Reader) error{
		func(r io.Reader) error {
			c, err := Config(mime, r)
			if err == nil && c.Width*c.Height > wholeMax {
				err = fmt.Errorf("it has %d x %d pixels", c.Width, c.Height)
			}
			return err
		},
		func(r io.Reader) (err error) { img, _, err = image.Decode(r); return err },
	} {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		if err := do(bufio.NewReaderSize(f, 256<<10)); err != nil {
			return nil, damaged(err)
		}
	}
	return &Answer{MIME: mime, Width: img.Bounds().Dx(), Height: img.Bounds().Dy()}, nil
}

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

// decode feeds the rows of an image to small.
func decode(mime string, f io.ReadSeeker, size int64, c image.Config, small *scaled) error {
	r := bufio.NewReaderSize(f, 256<<10)
	var img image.Image
	var err error
	switch mime {
	case "image/png":
		return streamPNG(r, small)
	case "image/jpeg":
		if progressive, perr := isProgressive(r); perr != nil {
			return perr
		} else if pixels := c.Width * c.Height; pixels > wholeMax || progressive && pixels > progressiveMax {
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				return err
			}
			return coarseJPEG(bufio.NewReaderSize(f, 256<<10), small)
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		img, err = jpeg.Decode(bufio.NewReaderSize(f, 256<<10))
	case "image/gif":
		img, err = gif.Decode(r)
	default:
		img, err = webp.Decode(r)
	}
	if err != nil {
		return err
	}
	small.feed(img)
	return nil
}

// feed takes the rows of an image. One that covers less than the whole, as the first picture of a GIF may, leaves the rest
// transparent.
func (s *scaled) feed(img image.Image) {
	row := make([]byte, 4*s.inW)
	b := img.Bounds()
	for y := range s.inH {
		clear(row)
		if y >= b.Min.Y && y < b.Max.Y {
			fillRow(row, img, y, s.inW)
		}
		s.row(row)
	}
}

func fillRow(row []byte, img image.Image, y, width int) {
	b := img.Bounds()
	from, to := max(0, b.Min.X), min(width, b.Max.X)
	switch img := img.(type) {
	case *image.YCbCr:
		for x := from; x < to; x++ {
			i, j := img.YOffset(x, y), img.COffset(x, y)
			row[4*x], row[4*x+1], row[4*x+2] = color.YCbCrToRGB(img.Y[i], img.Cb[j], img.Cr[j])
			row[4*x+3] = 255
		}
	case *image.Gray:
		for x := from; x < to; x++ {
			v := img.Pix[img.PixOffset(x, y)]
			row[4*x], row[4*x+1], row[4*x+2], row[4*x+3] = v, v, v, 255
		}
	case *image.NRGBA:
		i := img.PixOffset(from, y)
		copy(row[4*from:4*to], img.Pix[i:])
	default:
		for x := from; x < to; x++ {
			c := color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA)
			row[4*x], row[4*x+1], row[4*x+2], row[4*x+3] = c.R, c.G, c.B, c.A
		}
	}
}

// encode writes an image in at most the given bytes: as PNG where that is not much larger than a JPEG would be.
func encode(img *image.NRGBA, photo bool, most int) (mime string, data []byte, err error) {
	var b bytes.Buffer
	if !photo {
		e := png.Encoder{CompressionLevel: png.DefaultCompression}
		if err := e.Encode(&b, img); err != nil {
			return "", nil, err
		}
		if b.Len() <= most/2 {
			return "image/png", b.Bytes(), nil
		}
	}
	flat := onWhite(img)
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

func onWhite(img *image.NRGBA) *image.NRGBA {
	for i := 0; i < len(img.Pix); i += 4 {
		a := int(img.Pix[i+3])
		for k := range 3 {
			img.Pix[i+k] = byte((int(img.Pix[i+k])*a + 255*(255-a)) / 255)
		}
		img.Pix[i+3] = 255
	}
	return img
}
