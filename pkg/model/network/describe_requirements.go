package network

import (
	"cmp"
	"fmt"
	"strings"
)

// Describe returns what a host must have: one line for the network itself, then one for each
// variant.
func (r Requires) Describe() []string {
	var parts []string
	if !r.Kernel.IsZero() {
		parts = append(parts, r.DescribeKernel())
	}
	if len(r.Clouds) > 0 {
		parts = append(parts, "cloud "+strings.Join(r.Clouds, " or "))
	}
	if r.Hugepages != "" {
		parts = append(parts, "huge pages of "+r.Hugepages)
	}
	var out []string
	if words := strings.Join(parts, ", "); words != "" {
		if r.When != "" {
			words = r.When + ": " + words
		}
		out = append(out, words)
	}
	for _, v := range r.Variants {
		out = append(out, v.Describe()...)
	}
	return out
}

// DescribeKernel returns which kernels are new enough.
func (r Requires) DescribeKernel() string {
	words := fmt.Sprintf("Linux %d.%d", r.Kernel.Major, r.Kernel.Minor)
	if r.Kernel.Patch > 0 {
		words += fmt.Sprintf(".%d", r.Kernel.Patch)
	}
	words += " or newer"
	if len(r.Backports) > 0 {
		words += " (or " + cmp.Or(r.Backported, strings.Join(r.Backports, ", ")) + ")"
	}
	return words
}

// Describe returns what each service of the host must leave alone.
func (s SharedHost) Describe() []Shared {
	var out []Shared
	links := strings.Join(s.Links, ", ")
	if links != "" {
		out = append(out, Shared{"NetworkManager", "the links " + links},
			Shared{"systemd-networkd", "the links " + links})
	}
	if s.Routes {
		out = append(out, Shared{"systemd-networkd",
			"foreign routes and rules (ManageForeignRoutes=no, ManageForeignRoutingPolicyRules=no)"})
	}
	if len(s.MAC) > 0 {
		out = append(out,
			Shared{"udev", "the MAC address of " + strings.Join(s.MAC, ", ") + " (MACAddressPolicy=none)"})
	}
	if s.ENIs {
		when := s.ENIsWhen
		if when != "" {
			when = " (" + when + ")"
		}
		out = append(out, Shared{"every service",
			"further interfaces of the cloud and further addresses: they are the network's" + when})
	}
	if s.Aliases {
		out = append(out, Shared{"google-guest-agent",
			"alias ranges (ip_aliases = false): else the node takes pods' addresses for its own, as local routes of " +
				"proto 66"})
	}
	if s.Firewall {
		out = append(out, Shared{"firewalld", "forwarded traffic; its nft rules can drop or flush what pods need"})
	}
	return append(out, s.Others...)
}
