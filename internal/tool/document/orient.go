package document

import (
	"encoding/binary"
	"image"
	"io"
)

// orientation is the value of the EXIF tag of that name in a JPEG, from 1 to 8; 1 where there is none
// (CIPA DC-008, section 4.6.5).
func orientation(r io.Reader) int {
	var head [4]byte // of a segment: its marker, and the length of the rest
	if _, err := io.ReadFull(r, head[:2]); err != nil {
		return 1
	}
	for {
		if _, err := io.ReadFull(r, head[:]); err != nil || head[0] != 0xFF || head[1] == 0xDA {
			return 1 // the pixels begin
		}
		body := make([]byte, max(0, int(binary.BigEndian.Uint16(head[2:]))-2))
		if _, err := io.ReadFull(r, body); err != nil {
			return 1
		}
		if head[1] == 0xE1 && len(body) > 14 && string(body[:6]) == "Exif\x00\x00" {
			return exifOrientation(body[6:])
		}
	}
}

func exifOrientation(tiff []byte) int {
	var order binary.ByteOrder = binary.BigEndian
	if string(tiff[:2]) == "II" {
		order = binary.LittleEndian
	}
	at := int64(order.Uint32(tiff[4:]))
	if at+2 > int64(len(tiff)) {
		return 1
	}
	count := int64(order.Uint16(tiff[at:]))
	for i := range count {
		e := at + 2 + 12*i
		if e+12 > int64(len(tiff)) {
			return 1
		}
		if order.Uint16(tiff[e:]) == 0x0112 {
			if v := int(order.Uint16(tiff[e+8:])); v >= 1 && v <= 8 {
				return v
			}
		}
	}
	return 1
}

// upright turns an image as its orientation says.
func upright(img *image.NRGBA, orientation int) *image.NRGBA {
	if orientation <= 1 {
		return img
	}
	w, h := img.Rect.Dx(), img.Rect.Dy()
	ow, oh := w, h
	if orientation >= 5 {
		ow, oh = h, w
	}
	out := image.NewNRGBA(image.Rect(0, 0, ow, oh))
	for y := range h {
		for x := range w {
			ox, oy := x, y
			switch orientation {
			case 2:
				ox = w - 1 - x
			case 3:
				ox, oy = w-1-x, h-1-y
			case 4:
				oy = h - 1 - y
			case 5:
				ox, oy = y, x
			case 6:
				ox, oy = h-1-y, x
			case 7:
				ox, oy = h-1-y, w-1-x
			case 8:
				ox, oy = y, w-1-x
			}
			copy(out.Pix[out.PixOffset(ox, oy):][:4], img.Pix[img.PixOffset(x, y):])
		}
	}
	return out
}
