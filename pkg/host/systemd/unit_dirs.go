package systemd

import "slices"

// The directories of units that the administrator and the running system enable and mask.
const (
	AdminUnitDir   = "/etc/systemd/system"
	RuntimeUnitDir = "/run/systemd/system"
)

// VendorUnitDirs are the directories in which packages and images install units. Where /usr is
// split, systemd was built to read /lib before /usr/lib; elsewhere /lib is a link to /usr/lib.
var VendorUnitDirs = []string{"/usr/local/lib/systemd/system", "/lib/systemd/system", "/usr/lib/systemd/system"}

// InstalledUnitDirs are the directories of units that stay over a boot.
var InstalledUnitDirs = slices.Concat([]string{AdminUnitDir}, VendorUnitDirs)

// UnitDirs are all directories of units, the highest priority first: systemd.unit(5),
// `systemd-analyze unit-paths`, and src/libsystemd/sd-path/path-lookup.c of systemd.
var UnitDirs = slices.Concat([]string{
	"/etc/systemd/system.control", "/run/systemd/system.control", "/run/systemd/transient",
	"/run/systemd/generator.early", AdminUnitDir, "/etc/systemd/system.attached",
	RuntimeUnitDir, "/run/systemd/system.attached", "/run/systemd/generator",
}, VendorUnitDirs, []string{"/run/systemd/generator.late"})
