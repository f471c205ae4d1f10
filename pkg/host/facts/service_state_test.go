package facts

import (
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/netwright/netwright/test/netns"
)

// The facts say which services act on the network of an image. An installed service may be
// disabled, and a masked service is still installed, whatever the form of the mask. The lines that
// keep it: service_state.go, serviceState; unit_files.go, readConfig.
func TestServices(t *testing.T) {
	const lib, wants, unit = "/usr/lib/systemd/system/", "/etc/systemd/system/", "[Unit]\n"
	for name, c := range map[string]struct {
		files map[string]string
		links map[string]string
		want  Facts
	}{
		"AL2023": {
			files: map[string]string{
				lib + "systemd-networkd.service": unit, lib + "systemd-udevd.service": unit, lib + "sysinit.target.wants/systemd-udevd.service": "",
				wants + "multi-user.target.wants/systemd-networkd.service": "", "/usr/lib/udev/rules.d/99-vpc-policy-routes.rules": "",
				"/usr/lib64/systemd/libsystemd-shared-252.23-3.amzn2023.so": "", lib + "cloud-init-hotplugd.socket": unit,
			},
			want: Facts{Systemd: 252, UdevRules: []string{"/usr/lib/udev/rules.d/99-vpc-policy-routes.rules"}, Services: map[string]ServiceState{
				"systemd-networkd.service": ServiceEnabled, "systemd-udevd.service": ServiceEnabled, "cloud-init-hotplugd.socket": ServiceInstalled}},
		},
		"RHEL": {
			files: map[string]string{
				lib + "NetworkManager.service": unit, wants + "multi-user.target.wants/NetworkManager.service": "", lib + "firewalld.service": unit,
				lib + "nm-cloud-setup.timer": unit, wants + "timers.target.wants/nm-cloud-setup.timer": "", lib + "nm-cloud-setup.service": unit,
				wants + "multi-user.target.wants/firewalld.service": "", lib + "dhcpcd.service": unit, wants + "dhcpcd.service": "",
				wants + "multi-user.target.wants/dhcpcd.service": "",
			},
			links: map[string]string{wants + "nm-cloud-setup.service": "/dev/null", wants + "firewalld.service": "../../../dev/null"},
			want: Facts{Services: map[string]ServiceState{"NetworkManager.service": ServiceEnabled, "firewalld.service": ServiceInstalled,
				"dhcpcd.service":       ServiceInstalled,
				"nm-cloud-setup.timer": ServiceEnabled, "nm-cloud-setup.service": ServiceInstalled}},
		},
		"Debian, where networkd is there and unused": {
			files: map[string]string{lib + "systemd-networkd.service": unit, "/usr/lib/x86_64-linux-gnu/systemd/libsystemd-shared-252.so": "", "/etc/udev/rules.d/75-cloud-ifupdown.rules": ""},
			want:  Facts{UdevRules: []string{"/etc/udev/rules.d/75-cloud-ifupdown.rules"}, Services: map[string]ServiceState{"systemd-networkd.service": ServiceInstalled}},
		},
		"Ubuntu, where ufw is on": {
			files: map[string]string{lib + "ufw.service": unit, wants + "multi-user.target.wants/ufw.service": "", "/etc/ufw/ufw.conf": "# on boot\nENABLED=yes\nLOGLEVEL=low\n"},
			want:  Facts{Services: map[string]ServiceState{"ufw.service": ServiceEnabled}},
		},
		"Ubuntu as it comes": {
			files: map[string]string{lib + "ufw.service": unit, wants + "multi-user.target.wants/ufw.service": "", "/etc/ufw/ufw.conf": "ENABLED=no\n"},
			want:  Facts{Services: map[string]ServiceState{"ufw.service": ServiceInstalled}},
		},
		"an alias that enables": {
			files: map[string]string{lib + "firewalld.service": unit},
			links: map[string]string{wants + "multi-user.target.wants/firewalld.service": lib + "firewalld.service"},
			want:  Facts{Services: map[string]ServiceState{"firewalld.service": ServiceEnabled}},
		},
	} {
		root := t.TempDir()
		for path, content := range c.files {
			write(t, root+path, content)
		}
		for path, target := range c.links {
			write(t, root+path+".made", "")
			if err := os.Symlink(target, root+path); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(c.want, *gathered(t, Options{Root: root}), cmpopts.IgnoreFields(Facts{}, "Arch", "Init", "Address")); d != "" {
			t.Errorf("%s (-want +got)\n%s", name, d)
		}
	}
}

// Google's guest agent reads three files, and the owner's file counts most. Our file does not count
// as another program's.
func TestGuestAliases(t *testing.T) {
	const unit, owner = "/usr/lib/systemd/system/google-guest-agent.service", "/etc/default/instance_configs.cfg"
	for name, c := range map[string]struct {
		files map[string]string
		want  *Setting
	}{
		"nobody says":        {map[string]string{owner: "[Accounts]\nip_aliases = false\n"}, nil},
		"ours":               {map[string]string{GuestConfig: OwnFileMark + "\n[IpForwarding]\nip_aliases = false\n"}, nil},
		"the owner":          {map[string]string{owner: "[IpForwarding]\nIP_Aliases=True\n", GuestConfig: "[ipforwarding]\nip_aliases=false\n"}, &Setting{"true", owner}},
		"an image's":         {map[string]string{GuestConfig: "[IpForwarding]\nip_aliases = false\n"}, &Setting{"false", GuestConfig}},
		"an image's, silent": {map[string]string{GuestConfig: "[Daemons]\n"}, &Setting{"", GuestConfig}},
	} {
		c.files[unit] = "[Unit]\n"
		if d := cmp.Diff(c.want, factsOf(t, c.files).GuestAliases); d != "" {
			t.Errorf("%s (-want +got)\n%s", name, d)
		}
	}
}

// A pass looks for the cgroups of services only in the hierarchies that have some. The line that
// keeps it: service_state.go, ServiceRuns.
func TestServicesAreSoughtInSystemdsHierarchies(t *testing.T) {
	const top = "/sys/fs/cgroup"
	if !netns.Alone(t, top) {
		return
	}
	for _, want := range [][]string{nil, {top + "/system.slice"},
		{top + "/systemd/system.slice"}, {top + "/systemd/system.slice", top + "/unified/system.slice"}} {
		for _, slice := range want {
			noError(t, os.MkdirAll(slice+"/runs.service", 0o755))
		}
		s := sourcesOf(t, Options{Root: "/"})
		if got := s.slices(); !slices.Equal(got, want) {
			t.Errorf("it looks in %v, want %v", got, want)
		}
		if s.ServiceRuns("runs.service") != (want != nil) || s.ServiceRuns("stopped.service") {
			t.Errorf("with %v it finds the wrong services", want)
		}
		for _, slice := range want {
			noError(t, os.RemoveAll(slice))
		}
	}
}
