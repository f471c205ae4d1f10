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

// The rule of what no document may write or switch: whatever a bad document is mended with. That is
// the agent itself, what it and its undo run by (systemd, the message bus, what the machine boots
// from), and the accounts and logins of the person who has to mend it: what decides who may come
// in, and who may be root then. That is /etc/sudoers.d, too: its last line wins, and until sudo
// 1.9.3 one that is wrong ends sudo for everybody. What only adds beside it stays allowed: a unit
// that is ordered after one of ours, limits of who has come in.
//
// [reservedFile], [reservedUnit] and [reservedText] are this rule for a path, for a hook's name and
// for a unit's text. It holds no attacker off, who has a hook that runs as root: it keeps a mistake
// from being the last one.

const logins = "the host's accounts and logins"

// reservedPaths are files, and directories with all that is below them, without links of the merged
// /usr: see [canonical].
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

// whoseReserved says of each of [reservedPaths] whose it is: documents may have ten thousand files.
var whoseReserved = sync.OnceValue(func() map[string]string {
	whose := map[string]string{}
	for _, group := range reservedPaths {
		for at := range strings.FieldsSeq(group.paths) {
			whose[at] = group.why
		}
	}
	return whose
})

// systemdDirs are those that systemd reads units from, in whatever directory below:
// systemd.unit(5).
var systemdDirs = []string{"/etc/systemd/", "/run/systemd/", "/usr/lib/systemd/", "/usr/local/lib/systemd/"}

// Others' units that no hook may be: those that the agent and its undo cannot do without, and those
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

// merged are directories that are links on a host with a merged /usr, and where they lead;
// elsewhere both have their programs.
var merged = [...][2]string{{"/bin/", "/usr/bin/"}, {"/sbin/", "/usr/sbin/"}, {"/lib/", "/usr/lib/"},
	{"/var/run/", "/run/"}}

// canonical is a path as the rule is written, however it is spelt.
func canonical(at string) string {
	at = path.Clean(at)
	for _, link := range merged {
		if below, ok := strings.CutPrefix(at, link[0]); ok {
			at = link[1] + below
			break
		}
	}
	if name, ok := strings.CutPrefix(at, "/usr/sbin/"); ok && name != "init" {
		return "/usr/bin/" + name // one directory by now, with some
	}
	return at
}

// reservedFile says whose a path is that no document may write; "": it may.
func reservedFile(at string) string {
	at = canonical(at)
	for dir := at; dir != "/" && dir != "."; dir = path.Dir(dir) {
		if why, ok := whoseReserved()[dir]; ok {
			return why
		}
	}
	// of whatever home: sshd(8)
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

// reservedName says whose a file or directory of systemd's is: a unit, its drop-ins, what it wants.
// Nobody's business is what another unit's directory adds to a target of the system.
func reservedName(name string) string {
	switch {
	case ours(name):
		return "a unit of the agent"
	case name == "service.d" || name == "timer.d":
		return "a drop-in of every unit, the agent's too"
	}
	return reservedUnit(strings.TrimSuffix(name, ".d"))
}

// reservedUnit says whose a unit is that no hook may be; "": it may.
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

// ours says that a name is a unit's that the agent keeps for itself, or of a directory beside it:
// also those to come, and what begins as they do, since netwright-.service.d is a drop-in of them
// all.
func ours(name string) bool {
	for _, beside := range [...]string{".d", ".wants", ".requires", ".upholds"} {
		name = strings.TrimSuffix(name, beside)
	}
	rest, ok := strings.CutPrefix(name, "netwright")
	return ok && rest != "" && strings.Contains("-@.", rest[:1]) && slices.Contains(unitTypes, path.Ext(name))
}

var unitTypes = strings.Fields(".service .socket .timer .mount .automount .path .target .slice .scope .swap .device")

// bearing are the settings of a unit by which it takes the place of another, or stops it; those of
// joining have another need or want it, which does harm to ours only: systemd.unit(5). To be
// ordered beside one of ours, or to need it, does it none.
var (
	bearing = []string{"Alias", "Also", "Conflicts", "PropagatesStopTo"}
	joining = []string{"WantedBy", "RequiredBy", "UpheldBy"}
)

// reservedText says what a unit's text does to a unit of the rule; "": nothing.
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

// Reserved says whose a file or unit is that no document may write or switch, or what its text
// (nil: not known) does to one of those; "" of all others. What an earlier release wrote there is
// not removed either, and a revision of it has it no more than documents.
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

// readBySystemd says that systemd may read a file as a unit's text.
func readBySystemd(at string) bool {
	return slices.ContainsFunc(systemdDirs, func(dir string) bool { return strings.HasPrefix(canonical(at), dir) })
}

// refuse reports what the rule refuses: an error where documents are checked. On a node, which may
// have got them from an older release, it is a warning, and what comes back is why this one key
// fails there.
func refuse(v decode.Reading, why, expected, hint string) string {
	v.Checked(document.Diagnostic{ID: problem.Reserved, Summary: v.Path + " is " + v.Show() + ": " + why,
		Expected: expected, Hint: hint})
	return why + ": no document writes or switches that; " + hint
}
