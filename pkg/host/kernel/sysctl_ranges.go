package kernel

import (
	"fmt"
	"strings"
)

// ranges are the integers that common keys accept. They are the same in all maintained kernels; the
// kernel itself does not report them. Sources: net/ipv4/sysctl_net_ipv4.c, net/ipv6/addrconf.c. A
// test asks the running kernel.
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

// pages are the pages of the kernel's documentation by prefix of the key, the longest prefix first.
var pages = [][2]string{
	{"net.netfilter.nf_conntrack_", "networking/nf_conntrack-sysctl.html"},
	{"net.core.", "admin-guide/sysctl/net.html"},
	{"net.", "networking/ip-sysctl.html"},
	{"kernel.", "admin-guide/sysctl/kernel.html"},
	{"vm.", "admin-guide/sysctl/vm.html"},
	{"fs.", "admin-guide/sysctl/fs.html"},
}

// takes says which values a key accepts, if known, and where this is documented.
func takes(key string) string {
	text := "correct it"
	parts := strings.Split(key, ".")
	if len(parts) == 5 && parts[2] == "conf" { // the ranges are the same for all links
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
