package tasks

import (
	"fmt"
	"os"
	"syscall"
)

func good(root *os.Root) {
	_, _ = os.ReadFile("x")
	_, _ = root.Open("x")
	_, _ = os.OpenFile("x", os.O_RDONLY|syscall.O_NONBLOCK, 0)
	_ = syscall.Stat("x", nil)
	fmt.Fprintln(os.Stdout, "data")
	_ = os.Remove("x") //nolint:house hostonly the reason stands here
	//nolint:house hostonly and here for the line below
	_ = os.Remove("x")
	Remove("x")
}

// Remove only has the name of a writer.
func Remove(string) {}
