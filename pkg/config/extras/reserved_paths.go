package extras

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/host/systemd"
	"github.com/netwright/netwright/pkg/problem"
)

// This is the rule about what no document may write or switch: everything that is needed to correct
// a bad document. That is the agent itself, what the agent and its undo need to run (systemd, the
// message bus, what the machine boots from), and the accounts and logins of the person who corrects
// the document: what decides who may log in and who may become root. /etc/sudoers.d is part of it,
// because its last line wins, and until sudo 1.9.3 one wrong file there stops sudo for everybody. A
// file or unit that only adds something stays allowed, such as a unit that is ordered after one of
// the agent's, or limits for a user who has logged in.
//
// [reservedFile], [reservedUnit] and [reservedText] apply this rule to a path, to a hook's name and
// to a unit's text. It does not stop an attacker, who could have a hook that runs as root. It keeps
// a mistake from making the node unreachable for good.

const logins = "the host's accounts and logins"

// reservedPaths are files, and directories with all that is below them. They have no links of the
// merged /usr: see [canonical].
var reservedPaths = [...]struct{ why, paths string }{
	{"the agent's own", "/etc/netwright /run/netwright /var/lib/netwright /usr/bin/netwright /usr/bin/agent " +
		"/usr/local/bin/netwright /opt/netwright /var/opt/netwright"},
	{"the kernel's devices", "/dev"},
	{"what the machine boots from", "/boot /efi /etc/kernel/cmdline"},
	{"what every program starts with",
		"/usr/sbin/init /usr/lib/systemd/systemd /usr/bin/systemctl /etc/ld.so.preload /etc/ld.so.cache"},
	{"the message bus's own", "/usr/bin/dbus-daemon /usr/bin/dbus-broker /usr/bin/dbus-broker-launch " +
		"/usr/share/dbus-1/system.conf /etc/dbus-1/system.conf"},
	{logins, "/etc/passwd /etc/shadow /etc/group /etc/gshadow /etc/subuid /etc/subgid /etc/passwd- /etc/shadow- " +
		"/etc/group- /etc/gshadow- /etc/subuid- /etc/subgid- " +
		"/etc/sudoers /etc/sudoers.d /etc/pam.conf /etc/pam.d /usr/lib/pam.d /etc/nsswitch.conf /etc/securetty " +
		"/etc/nologin /run/nologin /etc/security/access.conf /etc/security/access.d " +
		"/etc/security/faillock.conf /etc/security/group.conf /etc/security/namespace.conf /etc/security/namespace.d " +
		"/etc/security/namespace.init /etc/security/opasswd " +
		"/etc/security/sepermit.conf /etc/security/time.conf"},
}

// whoseReserved maps each path of [reservedPaths] to its owner. It is a map because documents may
// have ten thousand files.
var whoseReserved = sync.OnceValue(func() map[string]string {
	whose := map[string]string{}
	for _, group := range reservedPaths {
		for at := range strings.FieldsSeq(group.paths) {
			whose[at] = group.why
		}
	}
	return whose
})

// systemdDirs are the directories in and below which systemd reads units: systemd.unit(5).
var systemdDirs = []string{"/etc/systemd/", "/run/systemd/", "/usr/lib/systemd/", "/usr/local/lib/systemd/"}

// These are units of others that no hook may be: those that the agent and its undo need, and those
// that end the boot or the system. systemd.special(7).
var (
	neededUnits = strings.Fields("dbus.service dbus.socket dbus-broker.service dbus-daemon.service messagebus.service " +
		"init.scope -.mount -.slice system.slice " +
		"sysinit.target basic.target local-fs-pre.target local-fs.target network-pre.target network-online.target " +
		"multi-user.target default.target graphical.target")
	endingUnits = strings.Fields("rescue.target emergency.target rescue.service emergency.service shutdown.target " +
		"umount.target final.target exit.target reboot.target " +
		"poweroff.target halt.target kexec.target soft-reboot.target sleep.target suspend.target hibernate.target " +
		"hybrid-sleep.target suspend-then-hibernate.target")
)

// reservedFile returns whose a path is that no document may write, or "" if documents may.
func reservedFile(at string) string {
	at = canonical(at)
	for dir := at; dir != ""; dir = dir[:max(strings.LastIndexByte(dir, '/'), 0)] {
		if why, ok := whoseReserved()[dir]; ok {
			return why
		}
	}
	// In any home directory: sshd(8).
	if i := strings.LastIndexByte(at, '/'); i > 0 && strings.HasSuffix(at[:i], "/.ssh") &&
		strings.HasPrefix(at[i+1:], "authorized_keys") {
		return logins
	}
	for _, dir := range systemdDirs {
		below, ok := strings.CutPrefix(at, dir)
		if !ok {
			continue
		}
		for name := range strings.SplitSeq(below, "/") {
			if why := reservedName(name); why != "" {
				return why
			}
		}
	}
	return ""
}

// reservedName returns whose a file or directory of systemd's is: a unit, its drop-ins, or what it
// wants. It allows a directory such as multi-user.target.wants, with which another unit is added to
// a target of the system.
func reservedName(name string) string {
	switch {
	case ours(name):
		return "a unit of the agent"
	case name == "service.d" || name == "timer.d":
		return "a drop-in of every unit, the agent's too"
	}
	return reservedUnit(strings.TrimSuffix(name, ".d"))
}

// reservedUnit returns whose a unit is that no hook may be, or "" if a hook may.
func reservedUnit(name string) string {
	switch {
	case ours(name):
		return "a unit of the agent"
	case slices.Contains(neededUnits, name):
		return "a unit that the agent and its undo cannot do without"
	case slices.Contains(endingUnits, name):
		return "a unit that ends the boot or the system"
	}
	return ""
}

// ours reports whether a name belongs to a unit that the agent reserves, or to a directory of such
// a unit. Future units are reserved too, and so is every name with the same beginning, because
// netwright-.service.d is a drop-in directory of all of them.
func ours(name string) bool {
	for _, beside := range [...]string{".d", ".wants", ".requires", ".upholds"} {
		name = strings.TrimSuffix(name, beside)
	}
	rest, ok := strings.CutPrefix(name, "netwright")
	return ok && rest != "" && strings.Contains("-@.", rest[:1]) && slices.Contains(unitTypes, path.Ext(name))
}

var unitTypes = strings.Fields(".service .socket .timer .mount .automount .path .target .slice .scope .swap .device")

// bearing are the settings by which a unit replaces another unit or stops it. joining are the
// settings by which another unit needs or wants this one. They do harm only with the agent's units:
// systemd.unit(5). A unit may be ordered next to one of the agent's units, or need it, without
// harm.
var (
	bearing = []string{"Alias", "Also", "Conflicts", "PropagatesStopTo"}
	joining = []string{"WantedBy", "RequiredBy", "UpheldBy"}
)

// reservedText returns what a unit's text does to a unit of the rule, or "" if it does nothing.
func reservedText(text string) string {
	for line := range systemd.UnitLines(text) {
		setting, value, _ := strings.Cut(line, "=")
		setting = strings.TrimSpace(setting)
		for name := range strings.FieldsSeq(value) {
			name = strings.Trim(name, `"'`)
			why := reservedUnit(name)
			switch {
			case why == "":
			case slices.Contains(joining, setting) && ours(name),
				slices.Contains(bearing, setting) && (setting != "Conflicts" || !slices.Contains(endingUnits, name)):
				return setting + "=" + name + ": " + why
			}
		}
	}
	return ""
}

// Reserved returns whose a file or unit is that no document may write or switch, or what its text
// does to such a unit. text is nil if it is not known. It returns "" for all others. What an
// earlier release wrote there is not removed either, and a revision with it may not write it
// either.
func Reserved(kind, name string, text []byte) string {
	why := ""
	switch kind {
	case "file":
		why = reservedFile(name)
		if !readBySystemd(name) {
			text = nil
		}
	case "unit":
		why = reservedUnit(name)
	}
	if said := reservedText(string(text)); why == "" && said != "" {
		return "a unit that says " + said
	}
	return why
}

// readBySystemd reports whether systemd may read a file as a unit's text.
func readBySystemd(at string) bool {
	at = canonical(at)
	return slices.ContainsFunc(systemdDirs, func(dir string) bool { return strings.HasPrefix(at, dir) })
}

// refuse reports what the rule refuses, as an error where documents are checked. On a node, whose
// documents may come from an older release, it is a warning. The returned text says why this one
// key fails there.
func refuse(v decode.Reading, why, expected, hint string) string {
	v.Checked(document.Diagnostic{ID: problem.Reserved, Summary: v.Path + " is " + v.Show() + ": " + why,
		Expected: expected, Hint: hint})
	return why + ": no document writes or switches that; " + hint
}
