//go:build !linux && !darwin && !windows

package cli

import "errors"

func freeSpace(string) (uint64, error) { return 0, errors.ErrUnsupported }
