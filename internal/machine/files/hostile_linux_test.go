package files

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestPipesAndDevicesAreNeverOpened(t *testing.T) {
	dir := realTemp(t)
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := newRoots(t, dir)
	for _, path := range []string{"pipe", "/dev/zero", "/dev/tty", "."} {
		target := hold(t, r, dir, path)
		done := make(chan error, 1)
		go func() { _, _, err := target.Read(100); done <- err }()
		select {
		case err := <-done:
			if err == nil {
				t.Errorf("%s was read", path)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("reading %s hangs", path)
		}
	}
}

func TestAFileSwappedForAPipeIsNotWaitedFor(t *testing.T) {
	dir := realTemp(t)
	path := filepath.Join(dir, "a")
	write(t, path, "x")
	target := hold(t, newRoots(t, dir), dir, "a")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := target.Read(100); err == nil {
		t.Error("a pipe was read")
	}
}

// tinyDisk mounts a file system of size bytes, or skips.
func tinyDisk(t *testing.T, size string) string {
	t.Helper()
	dir := realTemp(t)
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("cannot mount a small file system: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

func TestAFullDiskLeavesTheOldFile(t *testing.T) {
	dir := tinyDisk(t, "1m")
	path := filepath.Join(dir, "a")
	old := strings.Repeat("old ", 100_000)
	write(t, path, old)
	target := hold(t, newRoots(t, dir), dir, "a")
	_, err := replace(t, target, strings.Repeat("new!", 200_000))
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error %v", err)
	}
	wantFile(t, path, old)
	leftovers(t, dir)
	fresh := hold(t, newRoots(t, dir), dir, "x/y/b")
	if _, err := replace(t, fresh, strings.Repeat("new!", 300_000)); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "x")); err == nil {
		t.Error("the folders made for the file were left")
	}
}

func TestAMountedFileIsWrittenInPlace(t *testing.T) {
	dir := realTemp(t)
	write(t, filepath.Join(dir, "source"), "old content")
	write(t, filepath.Join(dir, "mounted"), "")
	if err := unix.Mount(filepath.Join(dir, "source"), filepath.Join(dir, "mounted"), "", unix.MS_BIND, ""); err != nil {
		t.Skipf("cannot mount: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(filepath.Join(dir, "mounted"), unix.MNT_DETACH) })
	done, err := replace(t, hold(t, newRoots(t, dir), dir, "mounted"), "new")
	if err != nil || !done.InPlace {
		t.Fatalf("%+v, %v", done, err)
	}
	wantFile(t, filepath.Join(dir, "source"), "new")
	leftovers(t, dir)
}

func TestAFullDiskInPlaceBringsTheOldContentBack(t *testing.T) {
	dir := tinyDisk(t, "1m")
	old := strings.Repeat("old ", 100_000)
	write(t, filepath.Join(dir, "source"), old)
	other := realTemp(t)
	write(t, filepath.Join(other, "mounted"), "")
	if err := unix.Mount(filepath.Join(dir, "source"), filepath.Join(other, "mounted"), "", unix.MS_BIND, ""); err != nil {
		t.Skipf("cannot mount: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(filepath.Join(other, "mounted"), unix.MNT_DETACH) })
	_, err := replace(t, hold(t, newRoots(t, other), other, "mounted"), strings.Repeat("new!", 400_000))
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error %v", err)
	}
	wantFile(t, filepath.Join(dir, "source"), old)
	leftovers(t, other)
}

func TestExtendedAttributesAreKept(t *testing.T) {
	dir := realTemp(t)
	path := filepath.Join(dir, "a")
	write(t, path, "x")
	if err := unix.Setxattr(path, "user.note", []byte("keep me"), 0); err != nil {
		t.Skipf("no extended attributes here: %v", err)
	}
	if _, err := replace(t, hold(t, newRoots(t, dir), dir, "a"), "y"); err != nil {
		t.Fatal(err)
	}
	value := make([]byte, 100)
	n, err := unix.Getxattr(path, "user.note", value)
	if err != nil || !bytes.Equal(value[:n], []byte("keep me")) {
		t.Errorf("%q, %v", value[:max(n, 0)], err)
	}
}

func TestOwnersAreKept(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	dir := realTemp(t)
	path := filepath.Join(dir, "a")
	write(t, path, "x")
	if err := os.Chown(path, 1234, 5678); err != nil {
		t.Skipf("cannot give files away: %v", err)
	}
	if _, err := replace(t, hold(t, newRoots(t, dir), dir, "a"), "y"); err != nil {
		t.Fatal(err)
	}
	info, _ := os.Stat(path)
	if st := info.Sys().(*syscall.Stat_t); st.Uid != 1234 || st.Gid != 5678 {
		t.Errorf("owner %d:%d", st.Uid, st.Gid)
	}
}
