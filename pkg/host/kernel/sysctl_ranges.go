package kernel

import (
	"fmt"
	"strings"
)

// ranges are the whole numbers that keys take which people set, the same in each kernel that is
// still maintained: the kernel itself does not tell them. net/ipv4/sysctl_net_ipv4.c,
// net/ipv6/addrconf.c; a test asks the running kernel.
var ranges = map[string][2]int{
	"net.ipv4.ip_default_ttl":              {1, 255},
	"net.ipv4.tcp_adv_win_scale":           {-31, 31},
	"net.ipv4.tcp_retries1":                {0, 255},
	"net.ipv4.tcp_syn_retries":             {1, 127},
	"net.ipv4.tcp_tw_reuse":                {0, 2},
	"net.ipv6.conf.default.hop_limit":      {1, 255},
	"net.ipv6.conf.default.addr_gen_mode":  {0, 3},
	"net.ipv6.conf.default.ndisc_tclass":   {0, 255},
	"net.netfilter.nf_conntrack_tcp_loose": {0, 1},
}

// pages are where the kernel's documentation has the keys below a name, the longest name first.
var pages = [][2]string{
	{"net.netfilter.nf_conntrack_", "networking/nf_conntrack-sysctl.html"},
	{"net.core.", "admin-guide/sysctl/net.html"},
	{"net.", "networking/ip-sysctl.html"},
	{"kernel.", "admin-guide/sysctl/kernel.html"},
	{"vm.", "admin-guide/sysctl/vm.html"},
	{"fs.", "admin-guide/sysctl/fs.html"},
}

// takes says which values a key takes, as far as that is known, and where it is told.
func takes(key string) string {
	text := "correct it"
	parts := strings.Split(key, ".")
	if len(parts) == 5 && parts[2] == "conf" { // all links are alike
		parts[3] = "default"
	}
	if r, ok := ranges[strings.Join(parts, ".")]; ok {
		text = fmt.Sprintf("the key takes %d to %d", r[0], r[1])
	}
	for _, p := range pages {
		if strings.HasPrefix(key, p[0]) {
			return text + " (https://docs.kernel.org/" + p[1] + ")"
		}
	}
	return text
}
