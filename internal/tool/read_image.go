package tool

import (
	"bytes"
	"encoding/binary"
	"image"
	"io"

	"github.com/lathe-dev/lathe/internal/tool/document" // has the readers of image.Decode
)

// decodedMax is how many pixels of an image are decoded to see whether it is whole.
const decodedMax = 40_000_000

// checkImage reports why an image cannot be shown: a provider refuses a damaged one, with every later request of the
// conversation. It takes memory for one decoded image of decodedMax pixels at most.
func checkImage(mime string, data []byte) error {
	if mime == "image/webp" { // RIFF, the length of the rest, WEBP
		if len(data) < 20 || int64(binary.LittleEndian.Uint32(data[4:]))+8 > int64(len(data)) {
			return damagedImage(io.ErrUnexpectedEOF)
		}
		return nil
	}
	c, err := document.Config(bytes.NewReader(data))
	if err == nil && c.Width*c.Height <= decodedMax {
		_, _, err = image.Decode(bytes.NewReader(data))
	}
	if err != nil {
		return damagedImage(err)
	}
	return nil
}
