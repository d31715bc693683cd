package files

import (
	"errors"
	"io/fs"
	"os"
)

// OnTemp has a function called whenever a file got a temporary name.
func OnTemp(f func()) { onTemp = f }

// NameEveryTemp makes files without a name impossible, as they are on most systems.
func NameEveryTemp() {
	openNoName = func(*os.Root, fs.FileMode) (*os.File, error) { return nil, errors.ErrUnsupported }
}
