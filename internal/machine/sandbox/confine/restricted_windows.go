package confine

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Detect returns the tier Restricted if a real child is held by a restricted token. It runs once per process.
var Detect = sync.OnceValue(func() Support {
	if err := probeRestricted(); err != nil {
		return Support{Why: fmt.Sprintf("a restricted token does not confine here: %v", err)}
	}
	return Support{Tier: Restricted, Why: "Windows restricts the writing of files only: commands read all files of the " +
		"user and have the machine's network"}
})

// probeRestricted has a child write where it may and where it may not.
func probeRestricted() error {
	in, err := os.MkdirTemp("", "lathe-probe-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(in)
	if in, err = filepath.EvalSymlinks(in); err != nil {
		return err
	}
	open := filepath.Join(in, "open")
	shut := filepath.Join(open, "shut")
	if err := os.MkdirAll(shut, 0o700); err != nil {
		return err
	}
	system, err := windows.GetSystemDirectory()
	if err != nil {
		return err
	}
	try := func(name string) error {
		cmd := exec.Command(filepath.Join(system, "cmd.exe"), "/d", "/c", "copy", "/y", "nul", name)
		c, err := Wrap(cmd, &Policy{Mode: Workspace, Write: []string{open}, Protect: []string{shut}},
			Support{Tier: Restricted})
		if err != nil {
			return err
		}
		defer c.Close()
		if err := c.Start(cmd, nil); err != nil {
			return err
		}
		return cmd.Wait()
	}
	if err := try(filepath.Join(open, "x")); err != nil {
		return fmt.Errorf("the writable folder cannot be written: %w", err)
	}
	for _, name := range []string{filepath.Join(in, "x"), filepath.Join(shut, "x")} {
		_ = try(name) // the file proves more than an exit code
		if _, err := os.Lstat(name); err == nil {
			return fmt.Errorf("%s was written", name)
		}
	}
	return nil
}

// Remembered is Detect.
func Remembered(string) Support { return Detect() }

// Child is lathe's side of a confined command.
type Child struct {
	token   windows.Token
	writers []*windows.SID
}

// Wrap makes the token of the command, and lets it write the policy's folders.
func Wrap(cmd *exec.Cmd, p *Policy, s Support) (*Child, error) {
	if s.Tier == None {
		return nil, fmt.Errorf("the command cannot be confined: %s", s.Why)
	}
	open := []string{}
	if p.Mode == Workspace {
		open = append(open, p.Write...)
	}
	if p.Private != "" {
		open = append(open, p.Private)
	}
	if p.Temp != "" {
		open = append(open, p.Temp)
		cmd.Env = append(cmd.Environ(), "TEMP="+p.Temp, "TMP="+p.Temp)
	}
	var sids []*windows.SID
	for _, path := range open {
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		sid, err := writerOf(path)
		if err == nil {
			err = permit(path, sid, windows.GRANT_ACCESS,
				windows.GENERIC_READ|windows.GENERIC_WRITE|windows.GENERIC_EXECUTE|windows.DELETE)
		}
		if err != nil {
			return nil, fmt.Errorf("%s cannot be made writable for the sandbox: %w", path, err)
		}
		sids = append(sids, sid)
	}
	c := &Child{writers: sids}
	if err := c.protect(p.Protect); err != nil {
		return nil, err
	}
	var err error
	if c.token, err = restrict(sids); err != nil {
		return nil, fmt.Errorf("no restricted token: %w", err)
	}
	return c, nil
}

// protect denies the writing of paths that are there.
func (c *Child) protect(paths []string) error {
	for _, path := range paths {
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		for _, sid := range c.writers {
			if err := permit(path, sid, windows.DENY_ACCESS, writing); err != nil {
				return fmt.Errorf("%s cannot be protected from the sandbox: %w", path, err)
			}
		}
	}
	return nil
}

// Cover protects paths once more: a file that replaced another one has the access list of its folder.
func (c *Child) Cover(_ *exec.Cmd, protect, _ []string) error { return c.protect(protect) }

// Start starts the command with its token.
func (c *Child) Start(cmd *exec.Cmd, _ *Stems) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Token = syscall.Token(c.token)
	return cmd.Start()
}

// Started returns at once: the token holds from the first instruction.
func (*Child) Started() (net.Listener, error) { return nil, nil }

// Status is not known beside the command's own.
func (*Child) Status() (status syscall.WaitStatus, left int, ok bool) { return status, 0, false }

// Close releases the token.
func (c *Child) Close() {
	if c.token != 0 {
		_ = c.token.Close()
		c.token = 0
	}
}

// Local returns nothing: the loopback is the machine's.
func (*Child) Local() []int { return nil }

// Top returns the process at the top of the command's tree, whose leader is the argument.
func (*Child) Top(leader int) int { return leader }

// Ended returns at once.
func (*Child) Ended() (stays bool) { return false }

// writing are the rights that change a file, or who may do so.
const writing = windows.FILE_WRITE_DATA | windows.FILE_APPEND_DATA | windows.FILE_WRITE_EA |
	windows.FILE_WRITE_ATTRIBUTES | fileDeleteChild |
	windows.DELETE | windows.WRITE_DAC | windows.WRITE_OWNER

const fileDeleteChild = 0x40 // FILE_DELETE_CHILD

// permitted are the entries for writing that this process made: setting one goes through all files below a folder.
var permitted sync.Map

// permit adds an entry for a SID to the access list of a path, which what is below inherits. It stays: no account has
// the SID.
func permit(path string, sid *windows.SID, mode windows.ACCESS_MODE, rights windows.ACCESS_MASK) error {
	key := fmt.Sprint(path, sid, mode)
	if _, done := permitted.Load(key); done && mode == windows.GRANT_ACCESS {
		return nil
	}
	old, err := windows.GetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		return err
	}
	list, _, err := old.DACL()
	if err != nil {
		return err
	}
	list, err = windows.ACLFromEntries([]windows.EXPLICIT_ACCESS{{
		AccessPermissions: rights, AccessMode: mode, Inheritance: windows.SUB_CONTAINERS_AND_OBJECTS_INHERIT,
		Trustee: windows.TRUSTEE{
			TrusteeForm: windows.TRUSTEE_IS_SID, TrusteeType: windows.TRUSTEE_IS_UNKNOWN,
			TrusteeValue: windows.TrusteeValueFromSID(sid),
		},
	}}, list)
	if err == nil {
		err = windows.SetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION, nil, nil, list,
			nil)
	}
	if err == nil {
		permitted.Store(key, true)
	}
	return err
}

// restrict returns lathe's token without its privileges. It writes only files that one of the SIDs may write, or
// everybody.
func restrict(writers []*windows.SID) (windows.Token, error) {
	var own, out windows.Token
	const rights = windows.TOKEN_DUPLICATE | windows.TOKEN_QUERY | windows.TOKEN_ASSIGN_PRIMARY |
		windows.TOKEN_ADJUST_DEFAULT
	if err := windows.OpenProcessToken(windows.CurrentProcess(), rights, &own); err != nil {
		return 0, err
	}
	defer own.Close()
	logon, err := logonSID(own)
	if err != nil {
		return 0, err
	}
	everybody, err := windows.CreateWellKnownSid(windows.WinWorldSid)
	if err != nil {
		return 0, err
	}
	sids := append([]*windows.SID{everybody, logon}, writers...)
	list := make([]windows.SIDAndAttributes, 0, len(sids))
	for _, sid := range sids {
		list = append(list, windows.SIDAndAttributes{Sid: sid})
	}
	const disableMaxPrivilege, luaToken, writeRestricted = 1, 4, 8
	create := windows.NewLazySystemDLL("advapi32.dll").NewProc("CreateRestrictedToken")
	if err := create.Find(); err != nil {
		return 0, err
	}
	ok, _, err := create.Call(uintptr(own), disableMaxPrivilege|luaToken|writeRestricted, 0, 0, 0, 0,
		uintptr(len(list)), uintptr(unsafe.Pointer(&list[0])), uintptr(unsafe.Pointer(&out)))
	if ok == 0 {
		return 0, err
	}
	if err := defaultAccess(out, sids); err != nil {
		return 0, errors.Join(err, out.Close())
	}
	return out, nil
}

// logonSID is the group of the logon session, which owns the desktop and the console.
func logonSID(t windows.Token) (*windows.SID, error) {
	groups, err := t.GetTokenGroups()
	if err != nil {
		return nil, err
	}
	for _, g := range groups.AllGroups() {
		if g.Attributes&windows.SE_GROUP_LOGON_ID == windows.SE_GROUP_LOGON_ID {
			return g.Sid.Copy()
		}
	}
	return nil, errors.New("the token has no logon session")
}

// defaultAccess lets the processes with a token use the pipes and events that they make.
func defaultAccess(t windows.Token, sids []*windows.SID) error {
	user, err := t.GetTokenUser()
	if err != nil {
		return err
	}
	var entries []windows.EXPLICIT_ACCESS
	for _, sid := range append([]*windows.SID{user.User.Sid}, sids[1:]...) { // not everybody
		entries = append(entries, windows.EXPLICIT_ACCESS{
			AccessPermissions: windows.GENERIC_ALL, AccessMode: windows.GRANT_ACCESS,
			Trustee: windows.TRUSTEE{
				TrusteeForm: windows.TRUSTEE_IS_SID, TrusteeType: windows.TRUSTEE_IS_UNKNOWN,
				TrusteeValue: windows.TrusteeValueFromSID(sid),
			},
		})
	}
	list, err := windows.ACLFromEntries(entries, nil)
	if err != nil {
		return err
	}
	info := struct{ dacl *windows.ACL }{list} // TOKEN_DEFAULT_DACL
	return windows.SetTokenInformation(t, windows.TokenDefaultDacl, (*byte)(unsafe.Pointer(&info)),
		uint32(unsafe.Sizeof(info)))
}

// writerOf is the SID that stands for writing a folder.
func writerOf(path string) (*windows.SID, error) { return windows.StringToSid(writerSID(path)) }
