//go:build !linux || (!amd64 && !arm64)

package confine

// Stems are needed on Linux only.
type Stems struct {
	Fork func(start func() error) error
}

// Close does nothing.
func (*Stems) Close() {}
