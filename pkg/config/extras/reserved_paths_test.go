package extras

import "testing"

// The test has refused documents beside similar ones that are allowed. Each line is a way to get
// round the rule, or a right of the user. The lines that keep it: reserved_paths.go, all of it.
func TestReserved(t *testing.T) {
	for _, c := range []struct {
		kind, name string
		refused    bool
	}{
		{"file", "/etc/netwright/disabled", true},
		{"file", "/etc/netwright", true},
		{"file", "/etc/netwright.d/x", false},
		{"file", "/var/run/netwright/x", true},
		{"file", "/bin/netwright", true},
		{"file", "/sbin/netwright", true},
		{"file", "/usr/sbin/agent", true},
		{"file", "/usr/bin/agents", false},
		{"file", "/dev/vda", true},
		{"file", "/dev/shm/x", true},
		{"file", "/boot/grub/grub.cfg", true},
		{"file", "/etc/default/grub.d/hugepages.cfg", false},
		{"file", "/etc/ld.so.preload", true},
		{"file", "/etc/ld.so.conf.d/x.conf", false},
		{"file", "/etc/passwd", true},
		{"file", "/etc/passwd-", true},
		{"file", "/etc/sudoers", true},
		{"file", "/etc/sudoers.d/ops", true},
		{"file", "/etc/pam.d/sshd", true},
		{"file", "/lib/pam.d/sshd", true},
		{"file", "/etc/security/access.conf", true},
		{"file", "/etc/security/access.d/ops.conf", true},
		{"file", "/etc/security/limits.d/90-files.conf", false},
		{"file", "/etc/security/limits.conf", false},
		{"file", "/etc/security/pam_env.conf", false},
		{"file", "/etc/securetty", true},
		{"file", "/var/run/nologin", true},
		{"file", "/root/.ssh/authorized_keys", true},
		{"file", "/home/ops/.ssh/authorized_keys2", true},
		{"file", "/home/ops/.ssh", false},
		{"file", "/root/.ssh/known_hosts", false},
		{"file", "/etc/ssh/authorized_keys", false},
		{"file", "authorized_keys", false},
		{"file", "/etc/ssh/sshd_config.d/ops.conf", false},
		{"file", "/etc/systemd/system/netwright-undo.service", true},
		{"file", "/lib/systemd/system/netwright-undo.service", true},
		{"file", "/usr/local/lib/systemd/system/netwright-agent.service", true},
		{"file", "/run/systemd/transient/netwright-undo-now.timer", true},
		{"file", "/run/systemd/system.control/netwright-agent.service.d/x.conf", true},
		{"file", "/etc/systemd/system/netwright-.service.d/x.conf", true},
		{"file", "/etc/systemd/system/netwright-agent.service.requires/x.service", true},
		{"file", "/etc/systemd/system/sysinit.target.wants/netwright-undo.service", true},
		{"file", "/etc/systemd/system/service.d/x.conf", true},
		{"file", "/etc/systemd/system/dbus.service.d/x.conf", true},
		{"file", "/etc/systemd/system/multi-user.target.wants/x.service", false},
		{"file", "/etc/systemd/system/kubelet.service.d/50-netwright.conf", false},
		{"file", "/etc/systemd/network/netwright.network", false},
		{"unit", "netwright-agent.service", true},
		{"unit", "netwright-agent@x.service", true},
		{"unit", "netwright-undo-now.timer", true},
		{"unit", "dbus.service", true},
		{"unit", "sysinit.target", true},
		{"unit", "poweroff.target", true},
		{"unit", "nftables.service", false},
		{"unit", "my-netwright-check.service", false},
	} {
		if got := Reserved(c.kind, c.name, nil); (got != "") != c.refused {
			t.Errorf("%s %s: refused as %q, want refused: %v", c.kind, c.name, got, c.refused)
		}
	}
	for text, refused := range map[string]bool{
		"[Install]\nAlias=netwright-agent.service":                true,
		"[Install]\nAlias=x.service \\\n dbus.service":            true,
		"[Unit]\nConflicts=\"netwright-undo.service\"":            true,
		"[Unit]\nConflicts=shutdown.target rescue.target":         false,
		"[Unit]\nPropagatesStopTo=dbus.socket":                    true,
		"[Install]\nRequiredBy=netwright-agent.service":           true,
		"[Install]\nWantedBy=multi-user.target\nAlias=a.service":  false,
		"[Unit]\nAfter=netwright-agent.service\nBefore=x.service": false,
		"[Unit]\nRequires=netwright-agent.service dbus.socket":    false,
		// As systemd 252 reads these lines: pkg/host/systemd/unit_file.go, UnitLines.
		"[Unit]\n# x \\\nConflicts=netwright-agent.service":             true,
		"[Unit]\nConflicts=a.service \\\n; x\n netwright-agent.service": true,
		"[Unit]\nDescription=x\rConflicts=netwright-agent.service":      true,
		"[Unit]\nDescription=x\x00Conflicts=netwright-agent.service":    true,
		"[Unit]\r\nConflicts=a.service \\\r\n netwright-agent.service":  true,
		"[Unit]\nConflicts=netwright-agent.service \\":                  true,
		"\ufeffConflicts=netwright-agent.service":                       true,
		"[Unit]\n# x \\\n# Conflicts=netwright-agent.service":           false,
		"[Unit]\nDescription=x\fConflicts=netwright-agent.service":      false,
	} {
		for _, c := range []struct {
			kind, name string
			refused    bool
		}{
			{"unit", "x.service", refused},
			{"file", "/lib/systemd/system/x.service", refused},
			{"file", "/etc/x.service", false},
		} {
			if got := Reserved(c.kind, c.name, []byte(text)); (got != "") != c.refused {
				t.Errorf("%s %s, %q: refused as %q, want refused: %v", c.kind, c.name, text, got, c.refused)
			}
		}
	}
}
