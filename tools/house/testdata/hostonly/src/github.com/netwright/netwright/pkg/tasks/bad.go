package tasks

import (
	"os"
	"os/exec" // want `import of os/exec outside pkg/host`
	"syscall"

	"github.com/vishvananda/netlink" // want `import of github.com/vishvananda/netlink outside pkg/host`
)

var run, links = exec.Command, netlink.LinkList

func bad(root *os.Root, f *os.File, flags int) {
	_ = os.WriteFile("x", nil, 0) // want `os.WriteFile outside pkg/host: use the host's own method; only pkg/host touches the machine`
	_ = os.Rename("x", "y")       // want `os.Rename outside pkg/host`
	write := os.MkdirAll          // want `os.MkdirAll outside pkg/host`
	_ = write("x", 0)
	_ = root.Remove("x")                      // want `\(\*os.Root\).Remove outside pkg/host`
	_ = f.Chmod(0)                            // want `\(\*os.File\).Chmod outside pkg/host`
	_, _ = os.OpenFile("x", os.O_RDWR, 0)     // want `os.OpenFile for writing`
	_, _ = root.OpenFile("x", os.O_CREATE, 0) // want `os.OpenFile for writing`
	_, _ = os.OpenFile("x", flags, 0)         // want `os.OpenFile for writing`
	_ = syscall.Mount("x", "y", "z", 0, "")   // want `syscall.Mount outside pkg/host`
	_, _, _ = syscall.Syscall(1, 2, 3, 4)     // want `syscall.Syscall outside pkg/host`
}
