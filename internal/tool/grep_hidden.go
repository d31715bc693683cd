package tool

import (
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

// hidden reports whether a file below the start is left out of the search, and notes its name. It is noted whether
// or not the file would have matched: else searches with one pattern after the other would tell its content.
func (s *search) hidden(path string) bool {
	if s.mayShow(path) {
		return false
	}
	s.left = append(s.left, s.env.Rel(path))
	return true
}

// mayShow reports whether a search may show a file below the start. It may not when a deny rule forbids reading
// it, or reading it by itself would ask although the folder does not (a file with secrets): else a search over
// a folder would be a way around both.
func (s *search) mayShow(path string) bool {
	if s.mayRead == nil || path == s.start.Real {
		return true
	}
	effect := s.mayRead(path)
	return effect == permission.Allow || effect == permission.Ask && !s.open
}

// maxLeft is how many of the files that were left out are named.
const maxLeft = 3

// leftOut names files that a search passed over. Of a large tree that ripgrep searched they are only those in the part
// that was searched before.
func leftOut(left []string) string {
	if len(left) == 0 {
		return ""
	}
	names := strings.Join(left[:min(len(left), maxLeft)], ", ")
	if more := len(left) - maxLeft; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return "Left out, since reading needs permission: " + names + "."
}
