package sys

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/blob"
)

// HasModule reports whether a module is loaded or built in, without making the kernel load it.
// Opening NETLINK_NETFILTER would load nfnetlink, and the first request its subsystem
// (net/netlink/af_netlink.c, netlink_create; net/netfilter/nfnetlink.c, nfnetlink_rcv_msg). A plan
// must not do this.
func HasModule(root, module, option string) bool {
	if unix.Access(filepath.Join(root, "/sys/module", module), unix.F_OK) == nil {
		return true // one system call; to read the list of all takes many
	}
	modules, err := blob.ReadFile(filepath.Join(root, "/proc/modules"))
	if err != nil {
		return true // a kernel without modules: nothing can be loaded
	}
	named := []byte(module + " ")
	return bytes.HasPrefix(modules, named) || bytes.Contains(modules, append([]byte("\n"), named...)) ||
		hasBuiltin(root, module, option)
}

// hasBuiltin looks for the module in the lists of what is built into the kernel. A container may
// have none of these lists; then the module counts as not loaded.
func hasBuiltin(root, module, option string) bool {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return false
	}
	release := unix.ByteSliceToString(name.Release[:])
	if list, err := blob.ReadFile(filepath.Join(root, "/lib/modules", release, "modules.builtin")); err == nil {
		return bytes.Contains(list, []byte("/"+module+".ko"))
	}
	yes := option + "=y"
	if config, err := blob.Open(filepath.Join(root, "/boot/config-"+release)); err == nil {
		defer config.Close()
		return hasLine(config, yes)
	}
	if packed, err := blob.Open(filepath.Join(root, "/proc/config.gz")); err == nil {
		defer packed.Close()
		if config, err := gzip.NewReader(packed); err == nil {
			return hasLine(config, yes)
		}
	}
	return false
}

func hasLine(r io.Reader, line string) bool {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if strings.TrimSpace(lines.Text()) == line {
			return true
		}
	}
	return false
}
