package decode

import "testing"

// TestSysctlKey: both spellings of sysctl(8) become one, so that no document sets a key twice under
// two names.
func TestSysctlKey(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"net.ipv4.ip_forward", "net.ipv4.ip_forward"},
		{"net/ipv4/ip_forward", "net.ipv4.ip_forward"},
		{"net.ipv4.conf.eth0/100.rp_filter", "net.ipv4.conf.eth0/100.rp_filter"},
		{"net/ipv4/conf/eth0.100/rp_filter", "net.ipv4.conf.eth0/100.rp_filter"},
		{"net.ipv4.conf.br-1@2:3.rp_filter", "net.ipv4.conf.br-1@2:3.rp_filter"},
		{"", ""}, {"net", ""}, {".net.a", ""}, {"net.", ""}, {"net..a", ""}, {"net/../kernel/panic", ""}, {"net/ipv4/../../kernel", ""}, {"net.a b", ""}, {"net.a\x7f", ""},
		{"net.ipv4.*.x", ""}, {"etc.passwd", ""}, {"net.ipv4.\"x", ""},
	} {
		if got, _ := SysctlKey(c.in); got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
}
