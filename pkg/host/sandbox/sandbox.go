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

// Env marks a process that [Run] started; its value tells [Enter] what to set up.
const Env = "NETWRIGHT_SANDBOX"

// Config describes throw-away namespaces: mount, network, UTS, IPC and PID,
// over an overlay of /. What is written there is gone with its last process.
type Config struct {
	// Hostname inside.
	Hostname string `json:"hostname"`
	// ReadOnly are host directories that stay visible at their place, read-only.
	ReadOnly []string `json:"keep"`
	// Addresses of the uplink that is made inside, eth0; its default routes go nowhere.
	Addresses []netip.Prefix `json:"addresses"`
}

// ErrUnavailable says that the namespaces cannot be made here, or not be set up.
var ErrUnavailable = errors.New("no sandbox on this host")

// failure is the descriptor by which [Enter] tells [Run] why there is no sandbox: the first after
// those that each process has.
const failure = 3

// Run starts this program again with args in new namespaces, and
// returns its exit code. The process there must call [Enter] first.
// It is [ErrUnavailable] where there can be no sandbox; nothing was run in one then.
func Run(ctx context.Context, box Config, args []string, in io.Reader, out, errOut io.Writer) (int, error) {
	if os.Geteuid() != 0 {
		return 0, fmt.Errorf("%w: it needs root to make namespaces and an overlay of /", ErrUnavailable)
	}
	setup, err := json.Marshal(box)
	if err != nil {
		return 0, fmt.Errorf("encode the sandbox: %w", err)
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe", args...) // ourselves
	cmd.Args[0] = os.Args[0]                                   // as ps shows us
	cmd.Env = append(os.Environ(), Env+"="+string(setup))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, errOut
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWPID,
		Pdeathsig:  syscall.SIGKILL,
	}
	// The signal would come at the death of the thread that started it, not of the process.
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

// runUntilEntered runs a command, and returns what its [Enter] says.
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
	why, _ := io.ReadAll(says) // until Enter, or the process, has ended
	return string(why), cmd.Wait()
}

// Enter sets the namespaces up in which [Run] started this
// process. It must be called once, before anything else looks at the host.
// Where it is [ErrUnavailable], Run has the reason.
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
