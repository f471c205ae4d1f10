package config

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/config/document"
)

func TestParseVersion(t *testing.T) {
	for _, c := range []struct {
		in, want string
	}{
		{"1.31.2", "1.31.2"}, {"v1.31.2", "1.31.2"}, {"1.30", "1.30.0"}, {"1.24.0-alpha.1", "1.24.0"}, {"v1.30.4+k3s1", "1.30.4"}, {"1.30.4-gke.1+x-y", "1.30.4"},
		{"", ""}, {"1", ""}, {"1.2.3.4", ""}, {"1.x", ""}, {"1.-2", ""}, {"01.30.0", ""}, {"1.30.00", ""}, {"1.99999", ""}, {"1.+3", ""}, {" 1.30", ""},
	} {
		v, err := ParseVersion(c.in)
		if v.String() != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q: got %q, %v; want %q", c.in, v, err, c.want)
		}
	}
}

func TestAtLeast(t *testing.T) {
	v := Version{Major: 1, Minor: 24, Patch: 0}
	for _, c := range []struct {
		major, minor int
		want         bool
	}{{1, 23, true}, {1, 24, true}, {1, 25, false}, {0, 99, true}, {2, 0, false}} {
		if v.AtLeast(c.major, c.minor) != c.want {
			t.Errorf("%s at least %d.%d: want %t", v, c.major, c.minor, c.want)
		}
	}
}

func TestBefore(t *testing.T) {
	v := Version{Major: 4, Minor: 19, Patch: 57}
	for other, want := range map[Version]bool{
		{4, 19, 57}: false, {4, 19, 58}: true, {4, 19, 0}: false, {4, 20, 0}: true, {4, 9, 99}: false, {5, 0, 0}: true, {3, 99, 0}: false, {}: false,
	} {
		if v.Before(other) != want {
			t.Errorf("%s before %s: want %t", v, other, want)
		}
	}
}

// TestSysctlKey: both spellings of sysctl(8) end in one, so that a key cannot be set twice by
// another name.
func TestSysctlKey(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"net.ipv4.ip_forward", "net.ipv4.ip_forward"},
		{"net/ipv4/ip_forward", "net.ipv4.ip_forward"},
		{"net.ipv4.conf.eth0/100.rp_filter", "net.ipv4.conf.eth0/100.rp_filter"},
		{"net/ipv4/conf/eth0.100/rp_filter", "net.ipv4.conf.eth0/100.rp_filter"},
		{"net.ipv4.conf.br-1@2:3.rp_filter", "net.ipv4.conf.br-1@2:3.rp_filter"},
		{"", ""}, {"net", ""}, {".net.a", ""}, {"net.", ""}, {"net..a", ""}, {"net/../kernel/panic", ""}, {"net/ipv4/../../kernel", ""}, {"net.a b", ""},
		{"net.ipv4.*.x", ""}, {"etc.passwd", ""}, {"net.ipv4.\"x", ""},
	} {
		if got, _ := sysctlKey(c.in); got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"address", "assets", "bridge", "calico", "mtu", "nodes", "podCIDRs"}
	for _, c := range []struct{ in, want string }{
		{"adress", "address"}, {"mtuu", "mtu"}, {"MTU", "mtu"}, {"utm", "mtu"}, {"umt", "mtu"}, {"podCidr", "podCIDRs"}, {"brigde", "bridge"}, {"x", ""}, {"", ""}, {"kubernetesVersion", ""},
	} {
		if got := document.Nearest(c.in, names); got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
}

func TestMaskURLs(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"https://example.com/a@b", "https://example.com/a@b"},
		{"[https://me:x@example.com, s3://é@b]", "[https://****@example.com, s3://*@b]"},
		{"https://a:p@ss@example.com", "https://******@example.com"},
		{"x://", "x://"},
		{`urls: ["https://é:p@b/x?sig=é&t=1", "s3://b/c?"], why: is it?`, `urls: ["https://***@b/x?*********", "s3://b/c?"], why: is it?`},
	} {
		if got := document.MaskURLs(c.in); got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
}

func TestURLsInJSONHaveNoCredentials(t *testing.T) {
	f := AssetFile{URLs: []string{"https://bucket.example.com/a.tgz?X-Amz-Signature=abc"}}
	got, err := json.Marshal(f)
	if err != nil || strings.Contains(string(got), "abc") || !strings.Contains(string(got), "/a.tgz?***") {
		t.Errorf("%s, %v", got, err)
	}
	if !strings.HasSuffix(f.URLs[0], "abc") {
		t.Error("the URL itself was changed")
	}
}

func TestCertificateFiles(t *testing.T) {
	for dir, want := range map[string][3]string{
		"/srv/kubernetes/calico":    {"/srv/kubernetes/calico/ca.pem", "/srv/kubernetes/calico/calico-client.pem", "/srv/kubernetes/calico/calico-client-key.pem"},
		"/etc/cni/net.d/calico-tls": {"/etc/cni/net.d/calico-tls/etcd-ca", "/etc/cni/net.d/calico-tls/etcd-cert", "/etc/cni/net.d/calico-tls/etcd-key"},
	} {
		c := Certificates{Dir: dir}
		if got := [3]string{c.CAFile(), c.CertFile(), c.KeyFile()}; got != want {
			t.Errorf("%s: got %v, want %v", dir, got, want)
		}
	}
}
