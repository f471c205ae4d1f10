package cleanup

import (
	"slices"
	"testing"
)

func TestPartsOfLeftovers(t *testing.T) {
	all := Residue{Types: []string{"x"}, Links: []LinkSelector{{Name: "cni0"}}, Files: []string{"/etc/cni/net.d/10-x.conflist", "/opt/cni/bin/x", "/run/x/"}}
	if k := all.Kernel(); len(k.Links) != 1 || len(k.Files) != 0 {
		t.Errorf("of the kernel: %+v", k)
	}
	if d := all.OnDisk(); len(d.Links) != 0 || len(d.Files) != 3 || !slices.Equal(d.Types, all.Types) {
		t.Errorf("on disk: %+v", d)
	}
	want := []string{"/etc/cni/net.d/10-x.conflist", "/opt/cni/bin/x", "/run/x/", "/srv/net.d/10-x.conflist", "/srv/bin/x"}
	if got := all.In("/srv/net.d", "/srv/bin", "/opt/cni/bin").Files; !slices.Equal(got, want) {
		t.Errorf("elsewhere: %q, want %q", got, want)
	}
	if got := all.In("", "/opt/cni/bin").Files; !slices.Equal(got, all.Files) {
		t.Errorf("where it usually is: %q", got)
	}
}
