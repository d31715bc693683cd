package files

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Several that add to one file lose nothing that was acknowledged: who comes too late is told, and tries again.
func TestWritersOfOneFileLoseNothing(t *testing.T) {
	dir := realTemp(t)
	path := filepath.Join(dir, "count")
	write(t, path, "0")
	const writers, each = 4, 40
	errs := make(chan error, writers)
	var all sync.WaitGroup
	for range writers {
		target := hold(t, newRoots(t, dir), dir, "count")
		all.Go(func() {
			for range each {
				if err := increment(target); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
	wantFile(t, path, fmt.Sprint(writers*each))
	leftovers(t, dir)
}

// increment adds one to the number in a file, as often as it takes.
func increment(target *Target) error {
	for {
		data, info, err := target.Read(1 << 10)
		if errors.Is(err, ErrMoved) {
			continue
		}
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(data)))
		if err != nil {
			return err
		}
		if _, err = target.Replace([]byte(strconv.Itoa(n+1)), info); !errors.Is(err, ErrChanged) {
			return err
		}
	}
}

func TestAFileThatWasReplacedAtTheLastMomentIsNamed(t *testing.T) {
	if err := errReplaced; !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), "another process replaced") {
		t.Error(err)
	}
	dir := realTemp(t)
	write(t, filepath.Join(dir, "a"), "old")
	target := hold(t, newRoots(t, dir), dir, "a")
	info, err := target.Stat()
	if err != nil {
		t.Fatal(err)
	}
	parent, err := target.parent()
	if err != nil {
		t.Fatal(err)
	}
	defer parent.Close()
	temp, err := target.stage(parent, "a", []byte("mine"), info)
	if err != nil {
		t.Fatal(err)
	}
	defer temp.discard()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("theirs, meanwhile"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := temp.putOver("a", info); !errors.Is(err, ErrChanged) {
		t.Errorf("%v", err)
	}
}
