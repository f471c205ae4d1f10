package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Env is set in a process that [Run] started; its value tells [Enter] what to set up.
const Env = "NETWRIGHT_SANDBOX"

// Config describes temporary namespaces: mount, network, UTS, IPC and PID, over an overlay of /.
// Writes are lost when the last process ends.
type Config struct {
	// Hostname is the host name in the sandbox.
	Hostname string `json:"hostname"`
	// ReadOnly are host directories that stay visible at their paths, read-only.
	ReadOnly []string `json:"keep"`
	// Addresses are the addresses of the uplink eth0 in the sandbox. Its default routes lead
	// nowhere.
	Addresses []netip.Prefix `json:"addresses"`
}

// ErrUnavailable means that the namespaces cannot be created or set up.
var ErrUnavailable = errors.New("no sandbox on this host")

// failure is the file descriptor through which [Enter] tells [Run] why there is no sandbox. It is
// the first one after stdin, stdout and stderr.
const failure = 3

// Run starts this program again with args in new namespaces, and returns its exit code. The new
// process must call [Enter] first. Run returns [ErrUnavailable] if a sandbox is not possible; then
// nothing has run in one.
func Run(ctx context.Context, box Config, args []string, in io.Reader, out, errOut io.Writer) (int, error) {
	if os.Geteuid() != 0 {
		return 0, fmt.Errorf("%w: it needs root to make namespaces and an overlay of /", ErrUnavailable)
	}
	setup, err := json.Marshal(box)
	if err != nil {
		return 0, fmt.Errorf("encode the sandbox: %w", err)
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe", args...) // this program
	cmd.Args[0] = os.Args[0]                                   // the name that ps shows
	cmd.Env = append(os.Environ(), Env+"="+string(setup))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, errOut
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWPID,
		Pdeathsig:  syscall.SIGKILL,
	}
	// Pdeathsig is sent when the thread that started the process ends, not when this process ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	why, err := runUntilEntered(cmd)
	var exited *exec.ExitError
	switch {
	case why != "":
		return 0, fmt.Errorf("%w: %s", ErrUnavailable, why)
	case errors.As(err, &exited) && exited.Exited():
		return exited.ExitCode(), nil
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EINVAL):
		return 0, fmt.Errorf("%w: the kernel refuses new namespaces (%w): a container without CAP_SYS_ADMIN, or "+
			"user.max_*_namespaces is used up", ErrUnavailable, err)
	case err != nil:
		return 0, fmt.Errorf("run in the sandbox: %w", err)
	}
	return 0, nil
}

// runUntilEntered runs a command, and returns the error text that its [Enter] wrote.
func runUntilEntered(cmd *exec.Cmd) (string, error) {
	says, say, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer says.Close()
	cmd.ExtraFiles = []*os.File{say}
	err = cmd.Start()
	say.Close()
	if err != nil {
		return "", err
	}
	why, _ := io.ReadAll(says) // until Enter or the process has ended
	return string(why), cmd.Wait()
}

// Enter sets up the namespaces in which [Run] started this process. It must be called once, before
// any other code looks at the host. If it returns [ErrUnavailable], it has sent the reason to Run.
func Enter() error {
	if os.Getpid() != 1 {
		return fmt.Errorf("%s is set, but this is no sandbox (pid %d): unset it", Env, os.Getpid())
	}
	unix.CloseOnExec(failure)
	tell := os.NewFile(failure, "failure")
	defer tell.Close()
	err := setUp()
	if err != nil {
		if _, failed := fmt.Fprint(tell, err); failed == nil {
			err = fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
	return err
}

func setUp() error {
	var box Config
	if err := json.Unmarshal([]byte(os.Getenv(Env)), &box); err != nil {
		return fmt.Errorf("read %s: %w", Env, err)
	}
	if err := changeRoot(box.ReadOnly); err != nil {
		return fmt.Errorf("make the sandbox's root: %w", err)
	}
	if err := unix.Sethostname([]byte(box.Hostname)); err != nil {
		return fmt.Errorf("set the sandbox's host name: %w", err)
	}
	if err := addUplink(box.Addresses); err != nil {
		return fmt.Errorf("make the sandbox's uplink: %w", err)
	}
	return nil
}
