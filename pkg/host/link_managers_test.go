package host

import (
	"testing"

	"github.com/netwright/netwright/pkg/host/hostfs"
)

// Each state of a link in a manager's own words has one of four meanings. The lines that keep it:
// link_managers.go, networkdSetup and setupNM.
func TestSetupIsWhatTheManagerSays(t *testing.T) {
	root := t.TempDir()
	f, err := hostfs.Open(hostfs.Options{Root: root})
	noError(t, err)
	l := &Live{Files: f}
	defer l.Files.Close()
	for says, want := range map[string]Setup{
		"configured":  SetupDone,
		"configuring": SetupGoesOn, "pending": SetupGoesOn, "initialized": SetupGoesOn,
		"failed": SetupFailed, "unmanaged": SetupNone, "linger": SetupNone,
	} {
		text := "# This is private data. Do not parse.\nADMIN_STATE=" + says + "\nOPER_STATE=routable\n"
		write(t, root+"/run/systemd/netif/links/2", text)
		if got, err := l.networkdSetup(2); err != nil || got != want {
			t.Errorf("networkd's %s is %q, %v; want %q", says, got, err, want)
		}
	}
	write(t, root+"/etc/systemd/network/10-x.network", "")
	for file, want := range map[string]Setup{"/etc/systemd/network/10-x.network": SetupDone, "/etc/systemd/network/05-gone.network": SetupGoesOn} {
		write(t, root+"/run/systemd/netif/links/2", "ADMIN_STATE=configured\nNETWORK_FILE="+file+"\n")
		if got, err := l.networkdSetup(2); err != nil || got != want {
			t.Errorf("configured by %s is %q, %v; want %q", file, got, err, want)
		}
	}
	if got, err := l.networkdSetup(3); err != nil || got != SetupNone {
		t.Errorf("a link that networkd has not seen is %q, %v", got, err)
	}
	// The states are those of
	// https://networkmanager.dev/docs/api/latest/nm-dbus-types.html#NMDeviceState.
	for state, want := range map[uint32]Setup{
		0: SetupNone, 10: SetupNone, 20: SetupFailed, 30: SetupFailed,
		40: SetupGoesOn, 70: SetupGoesOn, 90: SetupGoesOn,
		100: SetupDone, 110: SetupGoesOn, 120: SetupFailed,
	} {
		if got := setupNM(state); got != want {
			t.Errorf("NetworkManager's %d is %q, want %q", state, got, want)
		}
	}
}
