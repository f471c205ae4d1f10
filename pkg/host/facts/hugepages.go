package facts

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/kernel"
)

// hugepages is how many huge pages of each size this kernel has set aside; sizes that it could have
// and has none of are 0. Nil where nobody can tell.
// https://docs.kernel.org/admin-guide/mm/hugetlbpage.html
func hugepages(k *kernel.Reader) map[string]int {
	if unix.Access(k.Sys+"/kernel/mm", unix.F_OK) != nil {
		return nil
	}
	out := map[string]int{}
	sizes, err := os.ReadDir(k.Sys + "/kernel/mm/hugepages")
	if err != nil { // a kernel without
		return out
	}
	for _, e := range sizes {
		kb, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(e.Name(), "hugepages-"), "kB"))
		if err != nil {
			continue
		}
		size := strconv.Itoa(kb) + "K"
		switch {
		case kb >= 1<<20:
			size = strconv.Itoa(kb>>20) + "G"
		case kb >= 1<<10:
			size = strconv.Itoa(kb>>10) + "M"
		}
		out[size] = 0
		if raw, err := sys.ReadKernelFile(k.Sys + "/kernel/mm/hugepages/" + e.Name() + "/nr_hugepages"); err == nil {
			out[size], _ = strconv.Atoi(strings.TrimSpace(string(raw))) // the kernel writes numbers
		}
	}
	return out
}
