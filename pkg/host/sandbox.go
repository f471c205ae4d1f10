package host

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

// SandboxEnv marks a process that [RunSandbox] started; its value tells
// [EnterSandbox] what to set up.
const SandboxEnv = "NETWRIGHT_SANDBOX"

// Sandbox describes throw-away namespaces: mount, network, UTS, IPC and PID,
// over an overlay of /. What is written there is gone with its last process.
type Sandbox struct {
	// Hostname inside.
	Hostname string `json:"hostname"`
	// Keep are host directories that stay visible at their place, read-only.
	Keep []string `json:"keep"`
	// Addresses of the uplink that is made inside, eth0; its default routes go nowhere.
	Addresses []netip.Prefix `json:"addresses"`
}

// ErrSandbox says that the namespaces cannot be made here.
var ErrSandbox = errors.New("no sandbox on this host")

// RunSandbox starts this program again with args in new namespaces, and
// returns its exit code. The process there must call [EnterSandbox] first.
func RunSandbox(ctx context.Context, box Sandbox, args []string, in io.Reader, out, errOut io.Writer) (int, error) {
	if os.Geteuid() != 0 {
		return 0, fmt.Errorf("%w: it needs root to make namespaces and an overlay of /", ErrSandbox)
	}
	setup, err := json.Marshal(box)
	if err != nil {
		return 0, fmt.Errorf("encode the sandbox: %w", err)
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe", args...) // ourselves
	cmd.Args[0] = os.Args[0]                                   // as ps shows us
	cmd.Env = append(os.Environ(), SandboxEnv+"="+string(setup))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, errOut
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWPID,
		Pdeathsig:  syscall.SIGKILL,
	}
	// The signal would come at the death of the thread that started it, not of the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = cmd.Run()
	var exited *exec.ExitError
	switch {
	case errors.As(err, &exited) && exited.Exited():
		return exited.ExitCode(), nil
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EINVAL):
		return 0, fmt.Errorf("%w: the kernel refuses new namespaces (%w): a container without CAP_SYS_ADMIN, or user.max_*_namespaces is used up", ErrSandbox, err)
	case err != nil:
		return 0, fmt.Errorf("run in the sandbox: %w", err)
	}
	return 0, nil
}

// EnterSandbox sets the namespaces up in which [RunSandbox] started this
// process. It must be called once, before anything else looks at the host.
func EnterSandbox() error {
	var box Sandbox
	if err := json.Unmarshal([]byte(os.Getenv(SandboxEnv)), &box); err != nil {
		return fmt.Errorf("read %s: %w", SandboxEnv, err)
	}
	if os.Getpid() != 1 {
		return fmt.Errorf("%s is set, but this is no sandbox (pid %d): unset it", SandboxEnv, os.Getpid())
	}
	if err := sandboxRoot(box.Keep); err != nil {
		return fmt.Errorf("make the sandbox's root: %w", err)
	}
	if err := unix.Sethostname([]byte(box.Hostname)); err != nil {
		return fmt.Errorf("set the sandbox's host name: %w", err)
	}
	if err := sandboxUplink(box.Addresses); err != nil {
		return fmt.Errorf("make the sandbox's uplink: %w", err)
	}
	return nil
}
