package x

import (
	"fmt"
	"os"
	"os/user"
)

func bad(path string, root *os.Root) {
	_, _ = os.Open(path)                 // want `os.Open waits without end where it finds a named pipe: use Open or ReadFile of pkg/blob`
	_, _ = os.ReadFile("/etc/passwd")    // want `os.ReadFile waits`
	_, _ = os.ReadFile(path + "/proc/")  // the end is no pipe
	_, _ = os.ReadFile(path + "/proc/x") // want `os.ReadFile waits`
	_, _ = os.OpenRoot(path)             // want `os.OpenRoot waits`
	_, _ = root.Open(path)               // want `\(\*os.Root\).Open waits`
	_, _ = user.Current()                // want `user.Current waits`
	read := os.ReadFile                  // want `os.ReadFile waits`
	_, _ = read("/proc/self/maps")
}

func good(path string, pid int, root *os.Root) {
	_, _ = os.Open("/proc/self/exe")
	_, _ = os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, _ = os.ReadFile("/sys/class/net/" + path + "/mtu")
	_, _ = os.OpenRoot(path + "/")
	_, _ = root.OpenFile(path, os.O_RDONLY, 0)
	_, _ = os.Open(path) //nolint:house pipes the reason stands here
}
