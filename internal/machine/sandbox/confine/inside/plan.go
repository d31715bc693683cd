//go:build linux && (amd64 || arm64)

package inside

// Overlay is a folder whose changes go to another one, as in overlayfs.
type Overlay struct{ Dir, Upper, Work string }

// Copy makes Path a link to the file Name in Private.
type Copy struct{ Path, Name string }

// Plan is a policy resolved to mounts and rules, so that the script decides nothing.
type Plan struct {
	Namespaces bool // the first process is that of new namespaces
	Carried    bool // another program made them, with the mounts
	ABI        int  // Landlock's version
	Dir        string
	Temp       string
	TempWork   string // not empty: Temp and it are the upper and work folders of an overlay on /tmp
	Private    string // mounted writable at privateDir; "": none
	HostNet    bool   // the network namespace is lathe's own
	Processes  int    // the most processes and threads; 0: no limit
	Proxy      bool
	Local      bool
	Sockets    bool
	Leave      bool     // processes may outlive the command, and lathe
	Write      []string // writable mounts, parents first
	Empty      []string // folders replaced by empty ones
	Show       []string // read-only paths that stay visible below a private folder
	Pin        []string // folders bind-mounted on themselves so that they cannot be renamed, parents first
	Protect    []string // mounted read-only, parents first
	Mask       []string
	Copies     []Copy // of Protect
	Overlay    []Overlay
	View       []Overlay // as Overlay, and read-only where the kernel has none
}
