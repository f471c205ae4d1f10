package hostpath

import (
	"slices"
	"strings"
)

// programDirs are directories of programs that may be symlinks to each other: file-hierarchy(7).
var programDirs = strings.Fields("/bin /sbin /lib /lib32 /lib64 /libx32 /usr/bin /usr/sbin /usr/lib /usr/lib32 " +
	"/usr/lib64 /usr/libx32")

// shippedLinks are the other symlinks of operating systems, and the directories that they may lead
// into. From /home on they are of systems with a read-only root
// (https://ostreedev.github.io/ostree/).
var shippedLinks = map[string][]string{
	"/var/run": {"/run"}, "/var/lock": {"/run/lock"}, "/usr/tmp": {"/var/tmp"},
	"/etc/resolv.conf": {"/run", "/usr/lib"}, "/etc/mtab": {"/proc"}, "/etc/localtime": {"/usr/share/zoneinfo"},
	"/etc/os-release": {"/usr/lib"},
	"/home":           {"/var/home"}, "/mnt": {"/var/mnt"}, "/opt": {"/var/opt"}, "/root": {"/var/roothome"},
	"/srv": {"/var/srv"}, "/usr/local": {"/var/usrlocal"},
}

// follows reports whether a link that leads to a path is followed.
func (r Root) follows(link, to string) bool {
	return !r.strict || r.AnyLink || shipped(link, to) || slices.Contains(r.Links, link)
}

// shipped reports whether an operating system ships a link that leads to this path.
func shipped(link, to string) bool {
	if slices.Contains(programDirs, link) && slices.Contains(programDirs, to) {
		return true
	}
	return slices.ContainsFunc(shippedLinks[link], func(dir string) bool {
		return to == dir || strings.HasPrefix(to, dir+"/")
	})
}
