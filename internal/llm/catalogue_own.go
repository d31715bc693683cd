package llm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// MaxCatalogue is the size in bytes above which a catalogue is not read.
const MaxCatalogue = 4 << 20

// ownCatalogue is the path of the user's copy.
var ownCatalogue atomic.Pointer[string]

// ownFault is why the user's copy has no effect, once it was read.
var ownFault atomic.Pointer[error]

// UseCatalogue names a file with a newer catalogue. It is read when a model is first looked up, so the name must be
// given before. Its models come before the built-in ones; a file that is missing or not valid has no effect.
func UseCatalogue(path string) { ownCatalogue.Store(&path) }

// CatalogueRemedy is what the user can do about a CatalogueFault.
const CatalogueRemedy = "correct the file, remove it, or replace it with lathe models update"

// CatalogueFault is why the user's copy has no effect, with the file and the line. It is nil when the file is missing,
// and before it was read: asking does not read it.
func CatalogueFault() error {
	if err := ownFault.Load(); err != nil {
		return *err
	}
	return nil
}

// readOwnCatalogue returns the user's copy, or "".
func readOwnCatalogue() string {
	path := ownCatalogue.Load()
	if path == nil || *path == "" {
		return ""
	}
	b, err := readRegular(*path, MaxCatalogue+1)
	if err == nil {
		_, err = CheckCatalogue(b)
	}
	switch {
	case err == nil:
		return string(b)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR): // nobody made one
	default:
		if cause, ok := errors.AsType[*fs.PathError](err); ok { // the path is named already
			err = cause.Err
		}
		err = fmt.Errorf("the catalogue %s is not used: %w", *path, err)
		ownFault.Store(&err)
	}
	return ""
}

// readRegular reads the beginning of a file that is not a pipe or device: one of those might never end.
func readRegular(path string, limit int64) ([]byte, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

// CheckCatalogue returns the number of models in a catalogue, or an error with the line that is not valid.
func CheckCatalogue(text []byte) (models int, err error) {
	if len(text) > MaxCatalogue {
		return 0, fmt.Errorf("it is larger than %d MB", MaxCatalogue>>20)
	}
	section := false
	for n, line := range bytes.Split(text, []byte("\n")) {
		switch s := string(line); {
		case s == "" || strings.HasPrefix(s, "//"):
		case strings.HasPrefix(s, "# "):
			section = true
			if n == 0 {
				return 0, errors.New("line 1: a comment must come before the first host")
			}
			if fields := strings.Fields(s); len(fields) < 2 || len(fields) > 3 {
				return 0, fmt.Errorf("line %d: a host is \"# name address\"", n+1)
			}
		case !section:
			return 0, fmt.Errorf("line %d: a model comes before the first host", n+1)
		default:
			if err := checkModelLine(s); err != nil {
				return 0, fmt.Errorf("line %d: %w", n+1, err)
			}
			models++
		}
	}
	if models == 0 {
		return 0, errors.New("it has no models")
	}
	return models, nil
}

// columns of a line with numbers: tokens, then prices.
const firstNumber, firstPrice, lastPrice, lastColumn = 2, 4, 7, 9

func checkModelLine(line string) error {
	cols := strings.Split(line, "\t")
	if len(cols) <= firstNumber || cols[0] == "" || len(cols) > lastColumn+1 {
		return errors.New("a model has an id, a name and a window, and at most ten columns")
	}
	for i := firstNumber; i < len(cols) && i <= lastPrice; i++ {
		if cols[i] == "" {
			continue
		}
		v, err := strconv.ParseFloat(cols[i], 64)
		if err != nil || !(v >= 0) || v > 1e9 || i < firstPrice && v != float64(int(v)) {
			return fmt.Errorf("column %d: %q is not a number of tokens or dollars", i+1, cols[i])
		}
	}
	if atoi(cols[firstNumber]) == 0 {
		return errors.New("the window has no tokens")
	}
	return nil
}
