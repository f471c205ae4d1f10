package model

import (
	"testing"

	"github.com/netwright/netwright/pkg/archive"
	"github.com/netwright/netwright/pkg/model/network"
)

func TestMirrored(t *testing.T) {
	for _, c := range [][3]string{
		{"https://github.com/a/b.tgz", "", "https://github.com/a/b.tgz"},
		{"https://github.com/a/b.tgz", "https://m.example/x/", "https://m.example/x/a/b.tgz"},
		{"http://h:8080/a%20b?c=d", "https://m.example", "https://m.example/a%20b?c=d"},
		{"assets/b.tgz", "https://m.example", "assets/b.tgz"},
		{"file:///srv/b.tgz", "https://m.example", "file:///srv/b.tgz"},
	} {
		if got := Mirrored(c[0], c[1]); got != c[2] {
			t.Errorf("%s by mirror %q: got %s, want %s", c[0], c[1], got, c[2])
		}
	}
}

func TestOlder(t *testing.T) {
	for _, c := range []struct {
		version, minimum string
		want             bool
	}{
		{"v0.8.7", "v0.8.0", false}, {"v0.8.0", "v0.8.0", false}, {"v0.8.0", "v0.8.7", true}, {"v0.7.5", "v0.8.0", true},
		{"v1.0.0", "v0.9.1", false}, {"", "v0.8.0", false}, {"main-2f3a", "v0.8.0", false}, {"v0.1.0", "", false},
	} {
		if got := older(c.version, c.minimum); got != c.want {
			t.Errorf("older(%q, %q) = %v", c.version, c.minimum, got)
		}
	}
}

// TestPluginTable: the releases are newest first, and every hash has the right form.
func TestPluginTable(t *testing.T) {
	all := pluginReleases()
	for i, r := range all {
		if i > 0 && r.Since.AtLeast(all[i-1].Since.Major, all[i-1].Since.Minor) {
			t.Errorf("%s stands after an older one", r.Version)
		}
		for arch, sum := range r.SHA256 {
			if _, err := archive.ParseChecksum(sum); err != nil {
				t.Errorf("%s %s: ParseChecksum returns %v", r.Version, arch, err)
			}
		}
	}
	if r := releaseFor(network.CNIPlugins, kubernetes(33)); r == nil || r.Version != "v1.6.2" {
		t.Errorf("Kubernetes 1.33 gets %v, want v1.6.2", r)
	}
	if r := releaseFor(network.CNIPlugins, kubernetes(14)); r != nil {
		t.Errorf("Kubernetes 1.14 gets %s, want none: upstream has SHA-1 only", r.Version)
	}
}
