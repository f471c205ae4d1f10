package facts

import (
	"path"
	"strconv"
	"strings"

	"github.com/netwright/netwright/pkg/lazyregexp"
)

// ServiceState is how far a service of the host may have a say in its network.
type ServiceState string

// The states of a service. One that is not there is in no list.
const (
	ServiceRunning   ServiceState = "running"   // it has processes now
	ServiceEnabled   ServiceState = "enabled"   // it starts at boot
	ServiceInstalled ServiceState = "installed" // it is there and nobody starts it by itself, or it is masked
)

// networkServices are the units that set up links, addresses, routes and packet filters of a host,
// and the target or unit that wants each once it is enabled (systemd.unit(5), [Install]).
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

// networkRules are files of udev rules that configure interfaces which appear.
// https://github.com/amazonlinux/amazon-ec2-net-utils (udev), and Debian's cloud images of 11 and
// before (cloud-ifupdown-helper).
var networkRules = []string{"99-vpc-policy-routes.rules", "75-cloud-ifupdown.rules"}

// Uses says that a service runs here or will at the next boot.
func (f *Facts) Uses(unit string) bool {
	return f.Services[unit] == ServiceRunning || f.Services[unit] == ServiceEnabled
}

// Installed says that a service is there, in whatever state.
func (f *Facts) Installed(unit string) bool { return f.Services[unit] != "" }

// services looks who else sets the network of this host up.
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

// ufwFilters says that ufw is on. Ubuntu enables its unit everywhere, which does nothing without
// this (/lib/ufw/ufw-init-functions).
func (g gatherer) ufwFilters() bool {
	conf, _ := readConfig(g.files, "/etc/ufw/ufw.conf")
	for line := range strings.Lines(string(conf)) {
		if on, set := strings.CutPrefix(strings.TrimSpace(line), "ENABLED="); set {
			return strings.EqualFold(strings.Trim(on, `"'`), "yes")
		}
	}
	return false
}

// serviceState looks for a unit's file, for a link that starts it and for its processes. A mask in
// /etc hides the unit, which is there all the same: what is masked by us would else look absent,
// and be unmasked.
func (g gatherer) serviceState(unit, wantedBy string) ServiceState {
	if g.ServiceRuns(unit) {
		return ServiceRunning
	}
	there, masked := false, false
	for _, dir := range UnitDirs {
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
	for _, dir := range UnitDirs {
		if !masked && isThere(g.files, path.Join(dir, wantedBy+".wants", unit)) {
			return ServiceEnabled
		}
	}
	return ServiceInstalled
}

var sharedLibrary = lazyregexp.New(`^libsystemd-shared-(\d+)`)

// systemdVersion is the release that networkd is of, by the name of the library that all of systemd
// shares; 0 where it has another name.
func (g gatherer) systemdVersion() int {
	dirs := []string{"/usr/lib/systemd", "/usr/lib64/systemd", "/lib/systemd"}
	for _, triplet := range []string{"x86_64-linux-gnu", "aarch64-linux-gnu", "arm-linux-gnueabihf", "s390x-linux-gnu",
		"riscv64-linux-gnu"} {
		dirs = append(dirs, "/usr/lib/"+triplet+"/systemd", "/lib/"+triplet+"/systemd")
	}
	for _, dir := range dirs {
		names, _ := g.files.ReadDir(dir)
		for _, name := range names {
			if found := sharedLibrary().FindStringSubmatch(name); found != nil {
				release, _ := strconv.Atoi(found[1]) // digits
				return release
			}
		}
	}
	return 0
}
