package web

import (
	"fmt"
	"net/http"

	"rsc.io/qr"
)

// quiet is the margin of a QR code, in modules (ISO/IEC 18004, section 6.3.8).
const quiet = 4

// picturedCode sends a text as a QR code, dark on light in every theme.
func picturedCode(w http.ResponseWriter, r *http.Request) {
	code, err := qr.Encode(r.URL.Query().Get("text"), qr.M)
	if err != nil {
		http.Error(w, "this is too long for a code", http.StatusBadRequest)
		return
	}
	var out writer
	size := code.Size + 2*quiet
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" shape-rendering="crispEdges">`, size, size)
	out.tag(`<path fill="#fff" d="M0 0h999v999H0z"/><path d="`)
	for y := range code.Size {
		for x := range code.Size {
			if code.Black(x, y) {
				fmt.Fprintf(&out, "M%d %dh1v1h-1z", x+quiet, y+quiet)
			}
		}
	}
	out.tag(`"/></svg>`)
	w.Header().Set("Content-Type", "image/svg+xml")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte(out.String())) // a browser that is gone needs none
}
