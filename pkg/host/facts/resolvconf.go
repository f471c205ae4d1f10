package facts

import (
	"net/netip"
	"strings"
)

// resolvConfs are the files that say whom a host asks for names: its own, and those that
// systemd-resolved and NetworkManager keep of the servers behind their stub.
// https://www.freedesktop.org/software/systemd/man/latest/systemd-resolved.service.html#/etc/resolv.conf
// https://networkmanager.dev/docs/api/latest/NetworkManager.conf.html (rc-manager)
var resolvConfs = []string{"/etc/resolv.conf", "/run/systemd/resolve/resolv.conf",
	"/run/NetworkManager/no-stub-resolv.conf"}

func (g gatherer) resolvConf() {
	for _, file := range resolvConfs {
		raw, err := g.from.files.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(raw)) {
			words := strings.Fields(line)
			if len(words) < 2 || words[0] != "nameserver" {
				continue
			}
			if server, err := netip.ParseAddr(words[1]); err == nil && !server.IsLoopback() {
				g.facts.ResolvConf = file
				return
			}
		}
	}
}
