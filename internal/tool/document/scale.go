package document

import (
	"image"
	"image/draw"
)

// scaled makes an image smaller while its rows come in, by the average of the area that becomes one pixel. It holds the
// result and two rows; golang.org/x/image/draw holds 32 bytes for each column of the result and row of the image.
type scaled struct {
	inW, inH  int
	y, made   int          // rows that came, and rows of the result
	across    []share      // for each column of a row
	line      []float32    // the row that came, with the width of the result
	now, next []float32    // sums of the row of the result that is being made, and of the one after
	out       *image.NRGBA // the result; rows that did not come are transparent
}

// share is the part of a column that falls to column at of the result; the rest falls to the one after.
type share struct {
	at          int
	first, rest float32
}

// fit is the size that an image gets so that no edge is longer than edge.
func fit(w, h, edge int) (int, int) {
	long := max(w, h)
	if edge <= 0 || long <= edge {
		return w, h
	}
	return max(1, (w*edge+long/2)/long), max(1, (h*edge+long/2)/long)
}

func newScaled(w, h, edge int) *scaled {
	outW, outH := fit(w, h, edge)
	s := &scaled{inW: w, inH: h, across: make([]share, w), out: image.NewNRGBA(image.Rect(0, 0, outW, outH))}
	for x := range s.across {
		s.across[x] = shareOf(x, outW, w)
	}
	n := 4 * (outW + 1)
	s.line, s.now, s.next = make([]float32, n), make([]float32, n), make([]float32, n)
	return s
}

// scale makes a whole image smaller. One that covers less than w x h, as the first picture of a GIF may, leaves the
// rest transparent.
func scale(img image.Image, w, h, edge int) *image.NRGBA {
	s := newScaled(w, h, edge)
	row := image.NewRGBA(image.Rect(0, 0, w, 1))
	for y := range h {
		clear(row.Pix)
		draw.Draw(row, row.Rect, img, image.Pt(0, y), draw.Src)
		s.row(row.Pix)
	}
	return s.out
}

// shareOf divides one of n parts among the first two of the m <= n that it touches.
func shareOf(i, m, n int) share {
	at := i * m / n
	if edge := (at + 1) * n; (i+1)*m > edge { // in parts of 1/(n*m)
		first := float32(edge-i*m) / float32(n)
		return share{at, first, float32(m)/float32(n) - first}
	}
	return share{at, float32(m) / float32(n), 0}
}

// row takes the next row: red, green, blue, alpha for each pixel, colours multiplied by alpha.
func (s *scaled) row(px []byte) {
	clear(s.line)
	for x, to := range s.across {
		sum := s.line[4*to.at : 4*to.at+8 : 4*to.at+8]
		for k, v := range px[4*x : 4*x+4 : 4*x+4] {
			sum[k] += float32(v) * to.first
			sum[4+k] += float32(v) * to.rest
		}
	}
	at := shareOf(s.y, s.out.Rect.Dy(), s.inH)
	if at.at > s.made {
		s.finish()
	}
	for i, v := range s.line {
		s.now[i] += v * at.first
		s.next[i] += v * at.rest
	}
	if s.y++; s.y == s.inH {
		s.finish()
	}
}

// finish writes the row of the result whose sums are complete.
func (s *scaled) finish() {
	row := s.out.Pix[s.made*s.out.Stride : (s.made+1)*s.out.Stride]
	for i := 0; i < len(row); i += 4 {
		a := s.now[i+3]
		if a <= 0 {
			continue
		}
		for k := range 3 {
			row[i+k] = byte(min(255, s.now[i+k]*255/a+0.5))
		}
		row[i+3] = byte(min(255, a+0.5))
	}
	s.now, s.next = s.next, s.now
	clear(s.next)
	s.made++
}
