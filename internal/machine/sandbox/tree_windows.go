package sandbox

import (
	"os"
	"os/exec"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// tree is a job object: its children are in it too, and the kernel ends all of it when the last
// handle to it closes, also when lathe is killed.
type tree struct {
	cmd *exec.Cmd
	job windows.Handle
}

func (t *tree) env(env []string, _ string) []string { return append([]string(nil), env...) }

func (t *tree) watch(*os.File) {}

// start puts the leader into the job right after its start. A grandchild made in between escapes.
func (t *tree) start(cmd *exec.Cmd, begin func() error) error {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return err
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		windows.CloseHandle(job)
		return err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		HideWindow:    true,
		CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW,
	}
	if err := begin(); err != nil {
		windows.CloseHandle(job)
		return err
	}
	t.cmd, t.job = cmd, job
	return t.assign(uint32(cmd.Process.Pid))
}

func (t *tree) assign(pid uint32) error {
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, pid)
	if err != nil {
		return nil // it has ended already
	}
	defer windows.CloseHandle(h)
	if err := windows.AssignProcessToJobObject(t.job, h); err != nil {
		_ = t.cmd.Process.Kill()
		_ = t.cmd.Wait()
		windows.CloseHandle(t.job)
		return err
	}
	return nil
}

func (t *tree) waitLeader() { _ = t.cmd.Wait() }

func (t *tree) close() { windows.CloseHandle(t.job) }

// canLeave is false: the job object ends with lathe and ends all that is in it.
const canLeave = false

func (t *tree) survivors() []int { return nil }

func (t *tree) leftovers(grace time.Duration) (ended, alive int) { return t.end(grace) }

// end terminates the job. Windows has no SIGTERM for programs without a console, so there is no grace.
func (t *tree) end(time.Duration) (ended, alive int) {
	_ = windows.TerminateJobObject(t.job, 1)
	return 0, 0
}
