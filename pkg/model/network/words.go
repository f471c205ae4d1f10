package network

import (
	"fmt"
	"strings"
)

// Words says what a host must have.
func (r Requires) Words() []string {
	var out []string
	if !r.Kernel.IsZero() {
		out = append(out, fmt.Sprintf("Linux %d.%d or newer", r.Kernel.Major, r.Kernel.Minor))
	}
	if len(r.Clouds) > 0 {
		out = append(out, "cloud "+strings.Join(r.Clouds, " or "))
	}
	if r.Hugepages != "" {
		out = append(out, "huge pages of "+r.Hugepages)
	}
	return out
}

// Words says for each service of the host what it must leave alone.
func (s SharedHost) Words() []Shared {
	var out []Shared
	links := strings.Join(s.Links, ", ")
	if links != "" {
		out = append(out, Shared{"NetworkManager", "the links " + links}, Shared{"systemd-networkd", "the links " + links})
	}
	if s.Routes {
		out = append(out, Shared{"systemd-networkd", "foreign routes and rules (ManageForeignRoutes=no, ManageForeignRoutingPolicyRules=no)"})
	}
	if len(s.MAC) > 0 {
		out = append(out, Shared{"udev", "the MAC address of " + strings.Join(s.MAC, ", ") + " (MACAddressPolicy=none)"})
	}
	if s.ENIs {
		out = append(out, Shared{"every service", "further interfaces of the cloud: they are the network's"})
	}
	if s.Firewall {
		out = append(out, Shared{"firewalld", "forwarded traffic; its nft rules can drop or flush what pods need"})
	}
	return append(out, s.Others...)
}
