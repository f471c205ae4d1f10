package firewall

import "github.com/netwright/netwright/pkg/host/internal/sys"

// Loaded says whether nf_tables is in the running kernel. Where it is not no table can exist.
// Root is put before the paths, for tests.
func Loaded(root string) bool { return sys.HasModule(root, "nf_tables", "CONFIG_NF_TABLES") }
