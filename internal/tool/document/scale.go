package document

import "image"

// scaled makes an image smaller while its rows come in, by the average of the area that becomes one pixel. It holds the
// result and two rows.
type scaled struct {
	inW, inH, outW, outH int
	y                    int       // rows that came
	across               []share   // for each column of a row
	line                 []float32 // the row that came, with the width of the result
	now, next            []float32 // sums of the row of the result that is being made, and of the one after
	out                  *image.NRGBA
	made                 int // rows of the result
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
	s := &scaled{inW: w, inH: h}
	s.outW, s.outH = fit(w, h, edge)
	s.across = make([]share, w)
	for x := range s.across {
		s.across[x] = shareOf(x, s.outW, w)
	}
	n := 4 * (s.outW + 1)
	s.line, s.now, s.next = make([]float32, n), make([]float32, n), make([]float32, n)
	s.out = image.NewNRGBA(image.Rect(0, 0, s.outW, s.outH))
	return s
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

// row takes the next row: red, green, blue, alpha for each pixel, not multiplied. Rows too many are dropped.
func (s *scaled) row(px []byte) {
	if s.y >= s.inH {
		return
	}
	s.narrow(px)
	at := shareOf(s.y, s.outH, s.inH)
	s.y++
	for at.at > s.made {
		s.finish()
	}
	for i, v := range s.line {
		s.now[i] += v * at.first
	}
	if at.rest > 0 {
		for i, v := range s.line {
			s.next[i] += v * at.rest
		}
	}
	if s.y == s.inH {
		s.finish()
	}
}

// narrow sums a row into line, with colours multiplied by alpha.
func (s *scaled) narrow(px []byte) {
	clear(s.line)
	for x, to := range s.across {
		p := px[4*x : 4*x+4 : 4*x+4]
		a := float32(p[3])
		m := a / 255
		r, g, b := float32(p[0])*m, float32(p[1])*m, float32(p[2])*m
		sum := s.line[4*to.at : 4*to.at+8 : 4*to.at+8]
		sum[0] += r * to.first
		sum[1] += g * to.first
		sum[2] += b * to.first
		sum[3] += a * to.first
		if to.rest > 0 {
			sum[4] += r * to.rest
			sum[5] += g * to.rest
			sum[6] += b * to.rest
			sum[7] += a * to.rest
		}
	}
}

// finish writes the row of the result whose sums are complete.
func (s *scaled) finish() {
	if s.made >= s.outH {
		return
	}
	row := s.out.Pix[s.made*s.out.Stride:]
	for x := range s.outW {
		sum := s.now[4*x : 4*x+4]
		if a := sum[3]; a > 0 {
			for k := range 3 {
				row[4*x+k] = byte(min(255, sum[k]*255/a+0.5))
			}
			row[4*x+3] = byte(min(255, a+0.5))
		}
	}
	s.now, s.next = s.next, s.now
	clear(s.next)
	s.made++
}

// image is the result; rows that did not come are transparent.
func (s *scaled) image() *image.NRGBA {
	for s.made < s.outH && s.y > 0 {
		s.finish()
	}
	return s.out
}
