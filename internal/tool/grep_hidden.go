package tool

import (
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

// hidden reports whether a file below the start is left out of the search: a deny rule forbids reading it, or
// reading it by itself would ask although the folder does not (a file with secrets). Else a search over a
// folder would be a way around both.
func (s *search) hidden(path string) bool {
	if s.env.MayRead == nil || path == s.start.Real {
		return false
	}
	effect := s.env.MayRead(path)
	if effect == permission.Allow || effect == permission.Ask && !s.open {
		return false
	}
	s.left = append(s.left, s.env.Rel(path))
	return true
}

// maxLeft is how many of the files that were left out are named.
const maxLeft = 3

// leftOut says what was not searched, or found and not shown.
func (s *search) leftOut() string {
	return leftOut(s.left)
}

// leftOut names files that a search passed over.
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
