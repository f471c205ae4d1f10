package systemd

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// confinement is a sandboxing directive of systemd.exec(5), with its form in D-Bus:
// https://www.freedesktop.org/software/systemd/man/latest/org.freedesktop.systemd1.html
type confinement struct {
	// First systemd release with this property. An older one refuses a unit with an unknown
	// property.
	since int
	value func(string) any
}

// nameList is a list of names that are either allowed or denied.
type nameList struct {
	Allow bool
	Names []string
}

var confinements = map[string]confinement{
	"CapabilityBoundingSet":   {0, capabilityMask},
	"DevicePolicy":            {208, word},
	"LockPersonality":         {235, yes},
	"MemoryDenyWriteExecute":  {231, yes},
	"NoNewPrivileges":         {187, yes},
	"PrivateMounts":           {239, yes},
	"ProtectClock":            {245, yes},
	"ProtectKernelLogs":       {244, yes},
	"RestrictAddressFamilies": {211, nameSet},
	"RestrictNamespaces":      {233, noNamespaces},
	"RestrictRealtime":        {231, yes},
	"RestrictSUIDSGID":        {242, yes},
	"SystemCallArchitectures": {209, func(s string) any { return strings.Fields(s) }},
	"SystemCallErrorNumber":   {209, errorNumber},
	"SystemCallFilter":        {187, nameSet},
}

func word(s string) any { return s }
func yes(s string) any  { return s == "yes" }

func nameSet(s string) any {
	rest, denied := strings.CutPrefix(s, "~")
	return nameList{!denied, strings.Fields(rest)}
}

// noNamespaces converts yes to the set of namespaces that may be created.
func noNamespaces(s string) any {
	if s == "yes" {
		return uint64(0)
	}
	return uint64(unix.CLONE_NEWCGROUP | unix.CLONE_NEWIPC | unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUSER | unix.CLONE_NEWUTS)
}

func errorNumber(s string) any {
	if s == "EPERM" {
		return int32(unix.EPERM)
	}
	return int32(unix.ENOSYS)
}

// capabilities are the capabilities that the agent's units name.
var capabilities = map[string]uint{
	"CAP_CHOWN": unix.CAP_CHOWN, "CAP_DAC_OVERRIDE": unix.CAP_DAC_OVERRIDE, "CAP_FOWNER": unix.CAP_FOWNER,
	"CAP_NET_ADMIN": unix.CAP_NET_ADMIN, "CAP_NET_RAW": unix.CAP_NET_RAW,
}

func capabilityMask(s string) any {
	var mask uint64
	for name := range strings.FieldsSeq(s) {
		mask |= 1 << capabilities[name]
	}
	return mask
}

// confined returns the sandboxing properties in the [Service] section of a unit, for a transient
// service. It leaves out those that this systemd does not know.
func confined(unit string, systemd int) (list []unitProperty) {
	u := ParseUnitFile([]byte(unit))
	for name, c := range confinements {
		if systemd < c.since {
			continue
		}
		for _, value := range u.Values("Service", name) {
			list = append(list, property(name, c.value(value)))
		}
	}
	slices.SortStableFunc(list, func(a, b unitProperty) int { return strings.Compare(a.Name, b.Name) })
	return list
}
