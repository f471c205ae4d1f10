package facts

import (
	"path"
	"slices"
	"strings"
)

// ServiceState is the state of a service that may change the host's network.
type ServiceState string

// The states of a service. A service that does not exist has none.
const (
	ServiceRunning   ServiceState = "running"   // it has processes now
	ServiceEnabled   ServiceState = "enabled"   // it starts at boot
	ServiceInstalled ServiceState = "installed" // it does not start at boot, or is masked
)

// networkServices are the units that set up links, addresses, routes and packet filters of a host.
// Each has the target or unit that wants it when it is enabled (systemd.unit(5), [Install]).
var networkServices = []struct{ unit, wantedBy string }{
	{"systemd-networkd.service", "multi-user.target"},
	{"systemd-udevd.service", "sysinit.target"},
	{"NetworkManager.service", "multi-user.target"},
	{"nm-cloud-setup.service", "NetworkManager.service"},
	{"nm-cloud-setup.timer", "timers.target"},
	{"firewalld.service", "multi-user.target"},
	{"ufw.service", "multi-user.target"},
	{"cloud-init-hotplugd.socket", "cloud-config.target"},
	{"google-guest-agent.service", "multi-user.target"},
	{"dhcpcd.service", "multi-user.target"},
}

// networkRules are files of udev rules that configure new interfaces. Sources: directory udev of
// https://github.com/amazonlinux/amazon-ec2-net-utils, and Debian's cloud images up to version 11
// (cloud-ifupdown-helper).
var networkRules = []string{"99-vpc-policy-routes.rules", "75-cloud-ifupdown.rules"}

// Uses reports whether a service runs now or will run after the next boot.
func (f *Facts) Uses(unit string) bool {
	return f.Services[unit] == ServiceRunning || f.Services[unit] == ServiceEnabled
}

// Installed reports whether a service exists, in any state.
func (f *Facts) Installed(unit string) bool { return f.Services[unit] != "" }

// services finds the other services that set up the network of this host.
func (g gatherer) services() {
	for _, s := range networkServices {
		state := g.serviceState(s.unit, s.wantedBy)
		if s.unit == "ufw.service" && state == ServiceEnabled && !g.ufwFilters() {
			state = ServiceInstalled
		}
		if state != "" {
			if g.facts.Services == nil {
				g.facts.Services = map[string]ServiceState{}
			}
			g.facts.Services[s.unit] = state
		}
	}
	for _, name := range networkRules {
		for _, dir := range []string{"/usr/lib/udev/rules.d", "/lib/udev/rules.d", "/etc/udev/rules.d"} {
			if isThere(g.files, path.Join(dir, name)) {
				g.facts.UdevRules = append(g.facts.UdevRules, path.Join(dir, name))
				break
			}
		}
	}
	if g.facts.Installed("google-guest-agent.service") {
		g.facts.GuestAliases = g.guestAliases()
	}
	if g.facts.Uses("systemd-networkd.service") {
		g.facts.Systemd = g.systemdVersion()
	}
}

// ufwFilters reports whether ufw is enabled in its configuration. Ubuntu enables its unit
// everywhere, but without this setting the unit does nothing (/lib/ufw/ufw-init-functions).
func (g gatherer) ufwFilters() bool {
	conf, _ := readConfig(g.files, "/etc/ufw/ufw.conf")
	for line := range strings.Lines(string(conf)) {
		if on, set := strings.CutPrefix(strings.TrimSpace(line), "ENABLED="); set {
			return strings.EqualFold(strings.Trim(on, `"'`), "yes")
		}
	}
	return false
}

// serviceState looks for a unit's file, for a link that starts it, and for its processes. A unit
// that is masked in /etc still exists. Otherwise a unit that the agent masked would look missing,
// and the agent would unmask it.
func (g gatherer) serviceState(unit, wantedBy string) ServiceState {
	if g.ServiceRuns(unit) {
		return ServiceRunning
	}
	there, masked := false, false
	for _, dir := range g.dirs {
		file := path.Join(dir, unit)
		if !isThere(g.files, file) {
			continue
		}
		content, err := readConfig(g.files, file)
		if there = err != nil || len(content) > 0; there {
			break
		}
		masked = true
	}
	if !there {
		return ""
	}
	for _, dir := range g.dirs {
		if !masked && isThere(g.files, path.Join(dir, wantedBy+".wants", unit)) {
			return ServiceEnabled
		}
	}
	return ServiceInstalled
}

// ServiceRuns reports whether a system service has processes: systemd keeps the service's cgroup as
// long. This takes one system call; a D-Bus request takes 0.3 ms.
func (l *Sources) ServiceRuns(unit string) bool {
	return slices.ContainsFunc(l.slices(), func(slice string) bool { return isThere(l.files, path.Join(slice, unit)) })
}

// systemSlices returns the cgroups that have those of the system services: one with version 2 of
// cgroups, one or two with version 1, and none for an image.
func (l *Sources) systemSlices() (out []string) {
	for _, top := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified"} {
		if slice := path.Join(top, "system.slice"); l.opt.live() && isThere(l.files, slice) {
			out = append(out, slice)
		}
	}
	return out
}
