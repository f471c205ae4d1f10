package trap

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// launchEnv says that this process is to put itself into the trap and become the program of its
// arguments.
const launchEnv = "NETWRIGHT_TRAP"

// launchLooking is its value where calls are announced that only look, too.
const launchLooking = "looking"

// listenerFD is where the program has the listener until the test has taken it: a number that no
// runtime chooses by itself.
const listenerFD = 199

// Main becomes the trapped program if [Run] started this process for that. Otherwise it returns nil
// at once. An error says why the process could not become the program.
func Main() error {
	if os.Getenv(launchEnv) == "" {
		return nil
	}
	return launch(os.Args[1:])
}

func launch(args []string) error {
	runtime.LockOSThread() // the filter is this thread's, and the one that calls exec lives on
	path, err := exec.LookPath(args[0])
	if err != nil {
		return fmt.Errorf("find the program: %w", err)
	}
	looks := os.Getenv(launchEnv) == launchLooking
	if err := os.Unsetenv(launchEnv); err != nil {
		return fmt.Errorf("clean the environment: %w", err)
	}
	env := os.Environ()
	code := filter(looks)
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	fd, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return fmt.Errorf("install the filter: %w", errno)
	}
	if err := unix.Dup3(int(fd), listenerFD, 0); err != nil { // without close-on-exec: the test may come late
		return fmt.Errorf("name the listener: %w", err)
	}
	if err := unix.Exec(path, args, env); err != nil {
		return fmt.Errorf("start %s: %w", strconv.Quote(path), err)
	}
	return nil
}
