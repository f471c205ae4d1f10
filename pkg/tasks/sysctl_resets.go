package tasks

import (
	"strings"

	"github.com/netwright/netwright/pkg/host"
)

// sysctlsBefore returns the keys that must be written before a key of net.ipv4.conf or
// net.ipv6.conf, because the kernel copies values (Documentation/networking/ip-sysctl.rst).
// ip_forward resets others. "all" may change "default" and the links, and "default" the links. IPv6
// forwarding stops router advertisements unless accept_ra is 2 before. A stable_secret changes
// addr_gen_mode, and the one of "default" changes it on each link (net/ipv6/addrconf.c,
// addrconf_sysctl_stable_secret).
func sysctlsBefore(key string) []string {
	parts := strings.Split(key, ".")
	if len(parts) < 5 || parts[0] != "net" || parts[2] != "conf" {
		return nil
	}
	of, leaf := parts[3], strings.Join(parts[4:], ".")
	at := func(of, leaf string) string { return strings.Join([]string{"net", parts[1], "conf", of, leaf}, ".") }
	var before []string
	if parts[1] == "ipv4" {
		before = append(before, ipForward)
	}
	if of != "all" {
		before = append(before, at("all", leaf))
	}
	if of != "all" && of != "default" {
		before = append(before, at("default", leaf))
	}
	if parts[1] == "ipv6" && leaf == "forwarding" {
		before = append(before, at(of, "accept_ra"))
		if of == "all" {
			before = append(before, at("default", "accept_ra"))
		}
	}
	if parts[1] == "ipv6" && leaf == "addr_gen_mode" {
		before = append(before, at("default", "stable_secret"))
		if of != "all" && of != "default" {
			before = append(before, at(of, "stable_secret"))
		}
	}
	return before
}

// sysctlsResetBy reads the keys that the kernel may change with a write of key: "all" and "default"
// change the links, ip_forward changes every link and the redirects (net/ipv4/devinet.c,
// inet_forward_change and devinet_copy_dflt_conf; net/ipv6/addrconf.c, addrconf_forward_change).
func sysctlsResetBy(v host.View, key string) map[string]string {
	if key == ipForward {
		key = "net.ipv4.conf.all.forwarding"
	}
	parts := strings.SplitN(key, ".", 5)
	if len(parts) < 5 || parts[0] != "net" || parts[2] != "conf" || parts[3] != "all" && parts[3] != "default" {
		return nil
	}
	links, err := v.Files.ReadDir("/proc/sys/net/" + parts[1] + "/conf")
	if err != nil {
		return nil // the kernel does not have this family
	}
	out := map[string]string{}
	read := func(key string) {
		if value, err := v.Kernel.Sysctl(key); err == nil {
			out[key] = value
		}
	}
	at := func(link, leaf string) string {
		return strings.Join([]string{"net", parts[1], "conf", strings.ReplaceAll(link, ".", "/"), leaf}, ".")
	}
	for _, link := range links {
		if other := at(link, parts[4]); other != key {
			read(other)
		}
	}
	if key == "net.ipv4.conf.all.forwarding" {
		read(at("all", "accept_redirects"))
	}
	return out
}
