// Package confine limits a child process by means of the operating system. It makes no decisions: the permission system
// decides whether a command runs; this boundary holds if that decision was wrong.
//
// The words: a [Policy] is the boundary as data; a [Tier] is the part of it that a machine can enforce; [Detect] finds
// the best tier by starting a real child; [Wrap] makes a command start inside.
//
// On Linux a child in new namespaces carries out a list of system calls (package inside): it makes every mount
// read-only but the writable roots, replaces /tmp, /proc and /dev, gives up all capabilities, locks itself with
// Landlock and seccomp, and becomes a small init program, which starts the command as its only child. It is the first
// process of a PID namespace: when the command ends, it ends, and the kernel kills whatever is left.
//
// Promises:
//
//   - A command starts in the requested tier or not at all: a failed step is a start error.
//   - The Policy holds for all descendants of the command, and cannot be lifted from inside.
//   - A path in a Policy that does not exist is skipped. If the command may create it, the caller must check
//     afterwards.
package confine

// Mode is the write access of a confined command.
type Mode string

// Off is no boundary, and so is the zero value.
const (
	Off       Mode = "off"
	ReadOnly  Mode = "read-only" // a private /tmp, nothing else
	Workspace Mode = "workspace" // Policy.Write too
)

// Tier is a strength of the boundary.
type Tier int

// The tiers, weakest first.
const (
	None Tier = iota
	// Windows: a token that writes only where the policy allows, and a job object; reading and the network are as outside
	Restricted
	// Landlock and seccomp: writes outside and all sockets but Unix ones are refused; protected and masked paths are not
	// enforced
	Landlock
	Seatbelt // macOS: a profile for writes, secrets, protected paths and the network but loopback
	Full     // namespaces too: own mounts, network, processes
)

func (t Tier) String() string {
	return [...]string{"none", "restricted", "landlock", "seatbelt", "full"}[t]
}

// Policy is the boundary of one command. Paths are absolute and have no symbolic links in them.
type Policy struct {
	Mode    Mode
	Write   []string // folders that may be written, with Workspace
	Show    []string // folders that stay visible, read-only, if the private /tmp would hide them
	Protect []string // files and folders in Write that stay read-only, and that cannot be moved away with their parents
	Mask    []string // files and folders that cannot be read
	Copies  []Copy
	Overlay []Overlay
	// View are folders that the command changes in a view of its own, with Workspace: they stay as they are, and Upper
	// takes the changes, a folder work in Work tells that it did. None of them contains another. Where the kernel has no
	// overlay for one, it is read-only.
	View []Overlay
	Temp string // the folder that is /tmp inside; "" means a new one for this command
	// TempWork makes Temp take only the changes of /tmp: the machine's /tmp shows through, and stays as it is. It is a
	// folder on Temp's file system that nothing else uses. Where the kernel cannot do that, the machine's /tmp does not
	// show.
	TempWork string
	// Private is a folder for files that only lathe and this command share, with the commands of the same Temp shut out:
	// it is PrivateDir inside, in the tier Full, and has its own path in the others. "" means none.
	Private string
	// HostNetwork gives the command lathe's own network, with no Proxy. Landlock then keeps it from abstract sockets of
	// other programs.
	HostNetwork bool
	Processes   int  // the most processes and threads inside; 0: no limit
	Proxy       bool // listen at ProxyAddr inside, and pass the listener to the caller
	Leave       bool // processes may outlive the command, and lathe
	Local       bool // pass sockets of the inner network to the caller, which reaches servers inside with them (Linux)
	Sockets     bool // allow Unix sockets; otherwise only socketpair works
	// Empty are folders that are empty inside, but for what Show and Write have in them: with Sockets, those of daemons'
	// sockets.
	Empty []string
}

// Overlay makes Dir writable inside and keeps it unchanged outside: changes go to Upper. Work is a folder on the same
// file system that nothing else uses; that of a View is this command's. Where the kernel has no overlay for them, Upper
// alone is mounted on Dir.
type Overlay struct{ Dir, Upper, Work string }

// Copy makes Path, one of Policy.Protect, a link to the file Name in Private, also for programs that replace it: they
// rename a new file over the target of the link, while a mount on the file itself would refuse that. Path stays
// read-only where the kernel cannot do that, in tiers below Full, and with a Carrier.
type Copy struct{ Path, Name string }

// PrivateDir is the place of Policy.Private inside.
const PrivateDir = "/dev/.lathe"

// ProxyAddr is the address of the proxy inside, for a policy with Proxy; ProxyPort is its port.
const (
	ProxyAddr = "127.0.0.1:61017"
	ProxyPort = 61017
)

// Support is the result of Detect.
type Support struct {
	Tier Tier
	Why  string // why the tier is not Full; "" for Full
	ABI  int    // Landlock's ABI version; 0: no Landlock
	User bool   // Full uses a user namespace: lathe may not make the other namespaces without one
	// Carrier is the path of bubblewrap, which makes the namespaces of Full where lathe may make none; "": lathe makes
	// them. With it /tmp and overlays are the folders of the changes alone, and Policy.Processes has no effect.
	Carrier string
}

// Confined reports whether the policy limits anything.
func (p *Policy) Confined() bool { return p != nil && p.Mode != Off && p.Mode != "" }
