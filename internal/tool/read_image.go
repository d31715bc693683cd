package tool

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/gif"
	"image/jpeg"
	"io"
)

// decodedMax is how many pixels of an image are decoded to see whether it is whole.
const decodedMax = 40_000_000

// checkImage reports why an image cannot be shown: a provider refuses a damaged one, with every later request of the
// conversation. It takes memory for one decoded image of decodedMax pixels at most.
func checkImage(mime string, data []byte) error {
	err := error(nil)
	switch mime {
	case "image/png":
		err = checkPNG(data)
	case "image/jpeg":
		err = checkDecoded(data, jpeg.DecodeConfig, jpeg.Decode)
	case "image/gif":
		err = checkDecoded(data, gif.DecodeConfig, gif.Decode)
	case "image/webp": // RIFF, the length of the rest, WEBP
		if len(data) < 20 || int64(binary.LittleEndian.Uint32(data[4:]))+8 > int64(len(data)) {
			err = io.ErrUnexpectedEOF
		}
	}
	if err != nil {
		return damagedImage(err)
	}
	return nil
}

func checkDecoded(data []byte, config func(io.Reader) (image.Config, error), decode func(io.Reader) (image.Image, error)) error {
	c, err := config(bytes.NewReader(data))
	if err != nil || c.Width*c.Height > decodedMax {
		return err
	}
	_, err = decode(bytes.NewReader(data))
	return err
}

// checkPNG reads all chunks with their checksums and inflates the pixels without keeping them
// (https://www.w3.org/TR/png-3/, sections 5 and 10).
func checkPNG(data []byte) error {
	rest := data[min(len(data), 8):] // behind the signature
	var pixels []io.Reader
	for first := true; ; first = false {
		if len(rest) < 12 {
			return io.ErrUnexpectedEOF
		}
		n := int64(binary.BigEndian.Uint32(rest))
		if n+12 > int64(len(rest)) {
			return io.ErrUnexpectedEOF
		}
		kind, body := string(rest[4:8]), rest[8:8+n]
		if crc32.ChecksumIEEE(rest[4:8+n]) != binary.BigEndian.Uint32(rest[8+n:]) {
			return errors.New("a checksum is wrong")
		}
		switch {
		case first && (kind != "IHDR" || n != 13 || binary.BigEndian.Uint32(body) == 0 || binary.BigEndian.Uint32(body[4:]) == 0):
			return errors.New("its header is wrong")
		case kind == "IDAT":
			pixels = append(pixels, bytes.NewReader(body))
		case kind == "IEND":
			return inflates(io.MultiReader(pixels...))
		}
		rest = rest[12+n:]
	}
}

// inflateMax is how many bytes of pixels are inflated; a larger image is taken as it is.
const inflateMax = 1 << 30

func inflates(r io.Reader) error {
	z, err := zlib.NewReader(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(z, inflateMax))
	return err
}
