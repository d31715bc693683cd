// Package confine limits the reach of a child process with the operating system's means. It decides nothing: who may
// run a command is the permission system's; this is the boundary for the case that it was wrong.
//
// The words: a [Policy] is the boundary as data; a [Tier] is how much of it this machine can enforce; [Detect] finds the
// best one with a real child; [Wrap] makes a command start inside.
//
// On Linux lathe starts itself again as a helper (package inside), in new namespaces. The helper makes every mount
// read-only but the writable roots, replaces /tmp, /proc and /dev, gives up all capabilities, locks itself with
// Landlock and seccomp, and only then starts the command, as its only child. The helper is the first process of a PID
// namespace: when the command ends, it ends, and the kernel kills whatever is left.
//
// Promises:
//
//   - A command starts in the tier that was asked for or not at all: a step that fails in the helper is an error of the start.
//   - Policy holds for everything the command starts, and cannot be lifted from inside.
//   - A path that a Policy names and that is not there is left out. What appears there is for the caller to look at afterwards.
package confine

// Mode is how much a confined command may write.
type Mode string

// Off is no boundary; the zero value means it too.
const (
	Off       Mode = "off"
	ReadOnly  Mode = "read-only" // a private /tmp, nothing else
	Workspace Mode = "workspace" // Policy.Write too
)

// Tier is a strength of the boundary.
type Tier int

// The tiers, weakest first.
const (
	None     Tier = iota
	Landlock      // Landlock and seccomp: writes outside and all sockets but Unix ones are refused; protected and masked paths are not enforced
	Full          // namespaces too: own mounts, network, processes
)

func (t Tier) String() string { return [...]string{"none", "landlock", "full"}[t] }

// Policy is the boundary of one command. Paths are absolute and have no symbolic links in them.
type Policy struct {
	Mode    Mode
	Write   []string // folders that may be written, with Workspace
	Protect []string // files and folders in Write that stay read-only, and that cannot be moved away with their parents
	Mask    []string // files and folders that cannot be read
	Overlay []Overlay
	Temp    string // the folder that is /tmp inside; empty means an empty one that is gone with the command
	Proxy   bool   // a listener at ProxyAddr inside, handed to the caller; else nothing listens
	Sockets bool   // Unix sockets may be made and connected to; off, only pairs of connected ones
}

// Overlay is a folder whose changes go to another one: inside, Dir can be written, and outside it stays as it is.
// Upper and Work are empty folders of the same file system.
type Overlay struct{ Dir, Upper, Work string }

// ProxyAddr is where the proxy of a policy with Proxy listens, inside.
const ProxyAddr = "127.0.0.1:61017"

// Support is the outcome of Detect.
type Support struct {
	Tier Tier
	Why  string // why the tier is not Full; empty for Full
	ABI  int    // Landlock's version; 0 where there is none
	User bool   // Full uses a user namespace: lathe is not root, or root without the right to make the others
}

// Confined reports whether the policy limits anything.
func (p *Policy) Confined() bool { return p != nil && p.Mode != Off && p.Mode != "" }
