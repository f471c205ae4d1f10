package host

import (
	"path/filepath"
	"strings"

	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/kernel"
)

// BootArgs returns the words of the kernel's command line. In a container, it returns the arguments
// of process 1, as systemd's ConditionKernelCommandLine= does. It returns none for an image.
// https://www.freedesktop.org/software/systemd/man/latest/systemd.unit.html#ConditionKernelCommandLine=
func BootArgs(opt Options) []string {
	if !opt.live() {
		return nil
	}
	k := kernel.Open(true)
	file := filepath.Join(k.Proc, "cmdline")
	if facts.Container(k, opt.Sandbox) != "" {
		file = filepath.Join(k.Proc, "1/cmdline")
	}
	raw, err := sys.ReadKernelFile(file)
	if err != nil {
		return nil
	}
	return strings.Fields(strings.ReplaceAll(string(raw), "\x00", " "))
}
