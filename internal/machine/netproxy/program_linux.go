package netproxy

import (
	"bufio"
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ProgramBehind names the program at a client's address, among a process and its descendants. It is for people and
// proves nothing: a process chooses its own name. "" if it is not found.
func ProgramBehind(pid int, client netip.AddrPort) string {
	inode := socketInode(pid, client)
	if inode == "" {
		return ""
	}
	want := "socket:[" + inode + "]"
	for _, p := range descendants(pid) {
		if !holds(p, want) {
			continue
		}
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", p))
		if err != nil {
			continue
		}
		return strings.TrimSuffix(filepath.Base(exe), " (deleted)")
	}
	return ""
}

// A command must not keep lathe busy with the search.
const (
	mostProcesses = 256
	mostFiles     = 256 // of each
)

// socketInode finds the socket that is bound to the address, in the network of a process.
func socketInode(pid int, client netip.AddrPort) string {
	f, err := os.Open(fmt.Sprintf("/proc/%d/net/tcp", pid))
	if err != nil || !client.Addr().Is4() {
		return ""
	}
	defer f.Close()
	a := client.Addr().As4()
	local := fmt.Sprintf("%02X%02X%02X%02X:%04X", a[3], a[2], a[1], a[0], client.Port())
	for s := bufio.NewScanner(f); s.Scan(); {
		if fields := strings.Fields(s.Text()); len(fields) > 9 && fields[1] == local {
			return fields[9]
		}
	}
	return ""
}

func holds(pid int, socket string) bool {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	d, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer d.Close()
	names, _ := d.Readdirnames(mostFiles)
	for _, name := range names {
		if target, err := os.Readlink(dir + "/" + name); err == nil && target == socket {
			return true
		}
	}
	return false
}

// descendants returns a process and those below it.
func descendants(pid int) []int {
	all := []int{pid}
	for i := 0; i < len(all) && len(all) < mostProcesses; i++ {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", all[i]))
		for _, task := range tasks {
			b, _ := os.ReadFile(task)
			for _, field := range bytes.Fields(b) {
				if n, err := strconv.Atoi(string(field)); err == nil {
					all = append(all, n)
				}
			}
		}
	}
	return all
}
