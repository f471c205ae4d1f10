package tasks

import (
	"slices"
	"testing"

	"github.com/netwright/netwright/pkg/graph"
)

// The line that keeps it: read_at_boot.go, ReadAtBoot.
func TestReadAtBoot(t *testing.T) {
	yes := true
	for _, c := range []struct {
		name         string
		task         Task
		key          graph.Key
		files, units []string
	}{
		{"a file of networkd", File{Path: "/etc/systemd/network/x.network"}, "", []string{"/etc/systemd/network/x.network"}, nil},
		{"a file that nobody knows", File{Path: "/usr/local/etc/x"}, "", []string{"/usr/local/etc/x"}, nil},
		{"one that a boot takes away", File{Path: "/run/systemd/network/x.network"}, "", nil, nil},
		{"our list of sysctls", File{Path: ownSysctls}, "", nil, nil},
		{"a list of others", File{Path: "/etc/sysctl.d/zz.conf"}, "", []string{"/etc/sysctl.d/zz.conf"}, nil},
		{"a link to a file", SymbolicLink{Path: "/etc/resolv.conf"}, "", []string{"/etc/resolv.conf"}, nil},
		{"a file that goes", Removal{Key: FileKey("/etc/x")}, FileKey("/etc/x"), []string{"/etc/x"}, nil},
		{"an enabled unit", UnitState{Name: "x.service", Enabled: &yes, Active: &yes}, "", nil, []string{"x.service"}},
		{"a certificate", CertificateSet{}, FileKey("/etc/x/tls.key"), nil, nil},
		{"a sysctl", Sysctl{Key: "net.ipv4.ip_forward", Value: "1"}, "", nil, nil},
		{"a link", Link{Name: "br0"}, "", nil, nil},
		{"a reload", Effect{Action: ActionReload, Unit: "systemd-networkd.service"}, "", nil, nil},
	} {
		key := c.key
		if key == "" {
			key = c.task.Owns()[0]
		}
		files, units := ReadAtBoot(c.task, key)
		if !slices.Equal(files, c.files) || !slices.Equal(units, c.units) {
			t.Errorf("%s: files %q and units %q, want %q and %q", c.name, files, units, c.files, c.units)
		}
	}
}
