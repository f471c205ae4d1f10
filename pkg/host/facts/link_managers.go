package facts

import "strconv"

// linkManagers returns a function that finds a link's manager by its index. It reads the state
// files of systemd-networkd and NetworkManager, because a D-Bus request takes a hundred times as
// long. Files of a daemon that does not run are old and are ignored.
func (g gatherer) linkManagers() func(index int) string {
	networkd := g.ServiceRuns("systemd-networkd.service")
	manager := g.ServiceRuns("NetworkManager.service")
	says := func(dir string, index int, name string) string {
		raw, _ := g.files.ReadFile(dir + strconv.Itoa(index)) // an unmanaged link has no file
		return ParseAssignments(raw)[name]
	}
	return func(index int) string {
		if networkd {
			switch says("/run/systemd/netif/links/", index, "ADMIN_STATE") {
			case "configuring", "configured", "failed", "linger":
				return "systemd-networkd"
			}
		}
		if manager {
			switch says("/run/NetworkManager/devices/", index, "managed") {
			case "true", "1":
				return "NetworkManager"
			}
		}
		return ""
	}
}
