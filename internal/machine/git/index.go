package git

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
)

// maxIndex bounds the index that is read.
const maxIndex = 64 << 20

// errIndex: the index is damaged, or in an unsupported form (split, sparse, SHA-256).
var errIndex = errors.New("git's index cannot be read here")

// Tracked calls each for every file in the repository's index, in path order, with its path from the top and the hash
// of its contents. The path is valid only during the call.
func Tracked(r Repo, each func(path []byte, hash []byte)) error {
	data, err := readSmall(filepath.Join(r.GitDir, "index"), maxIndex)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return readIndex(data, func(path, entry []byte, _ uint16) { each(path, entry[indexHashAt:indexHashAt+indexHash]) })
}

// The layout of the index: https://git-scm.com/docs/index-format
const (
	indexHeader = 12
	indexHash   = 20
	indexFixed  = 62 // bytes of an entry before its path
	indexModeAt = 24
	indexHashAt = 40
	indexLong   = 0x4000 // flag: two more bytes of flags
	indexTree   = 0o040000
)

// readIndex calls each with the path of an entry, its fixed part, and its extended flags.
func readIndex(data []byte, each func(path, entry []byte, extended uint16)) error {
	if len(data) < indexHeader+indexHash || string(data[:4]) != "DIRC" {
		return errIndex
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 {
		return errIndex
	}
	end := len(data) - indexHash
	at, path := indexHeader, []byte(nil)
	for range count {
		if at+indexFixed > end {
			return errIndex
		}
		name, extended := at+indexFixed, uint16(0)
		if binary.BigEndian.Uint16(data[name-2:])&indexLong != 0 {
			if name+2 > end {
				return errIndex
			}
			extended = binary.BigEndian.Uint16(data[name:])
			name += 2
		}
		if binary.BigEndian.Uint32(data[at+indexModeAt:])&0o170000 == indexTree {
			return errIndex // a sparse index has folders
		}
		if version == 4 {
			drop, n := indexOffset(data[min(name, end):end])
			if n == 0 || drop > len(path) {
				return errIndex
			}
			path, name = path[:len(path)-drop], name+n
		} else {
			path = path[:0]
		}
		length := bytes.IndexByte(data[min(name, end):end], 0)
		if length < 0 {
			return errIndex
		}
		path = append(path, data[name:name+length]...)
		each(path, data[at:at+indexFixed], extended)
		if at, name = name+length+1, at; version < 4 {
			at = name + (at-name+7)/8*8
		}
	}
	return extensions(data[min(at, end):end])
}

// extensions returns an error if an extension of the index changes the files it lists.
func extensions(data []byte) error {
	for len(data) >= 8 {
		name, size := string(data[:4]), int(binary.BigEndian.Uint32(data[4:]))
		if name == "link" || name == "sdir" || size > len(data)-8 {
			return errIndex
		}
		data = data[8+size:]
	}
	if len(data) > 0 {
		return errIndex
	}
	return nil
}

// indexOffset reads a variable-length number and returns its length in bytes, 0 if there is none.
func indexOffset(data []byte) (value, n int) {
	for i, b := range data {
		if i > 4 {
			break
		}
		value = value<<7 | int(b&0x7f)
		if b&0x80 == 0 {
			return value, i + 1
		}
		value++
	}
	return 0, 0
}

// Blob is the hexadecimal hash of a file's contents.
func Blob(hash []byte) string { return hex.EncodeToString(hash) }
