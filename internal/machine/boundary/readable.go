package boundary

import (
	"os"
	"path/filepath"
)

// except takes readable paths out of masked ones. A masked folder above a readable path becomes masks on all else in
// it, as it is now.
func except(masked, readable []string) []string {
	for _, open := range readable {
		var out []string
		for _, m := range masked {
			switch {
			case within(m, open):
			case within(open, m):
				out = append(out, beside(m, open)...)
			default:
				out = append(out, m)
			}
		}
		masked = out
	}
	return masked
}

// beside returns the entries below dir that are not on the way to path.
func beside(dir, path string) (out []string) {
	for dir != path && within(path, dir) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return append(out, dir)
		}
		next := ""
		for _, e := range entries {
			name := filepath.Join(dir, e.Name())
			if within(path, name) {
				next = name
				continue
			}
			out = append(out, name)
		}
		if next == "" { // the readable path does not exist
			return out
		}
		dir = next
	}
	return out
}
