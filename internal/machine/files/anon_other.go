//go:build !linux

package files

import (
	"errors"
	"io/fs"
	"os"
)

func openAnonymous(*os.Root, fs.FileMode) (*os.File, error) { return nil, errors.ErrUnsupported }

func linkAnonymous(*os.File, *os.Root, string) error { return errors.ErrUnsupported }
