package host

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Diagnosis is a program that shows something of this host and changes nothing.
type Diagnosis struct {
	Name         string // of what it shows: "ip-route"
	command      string
	loadsNothing func() bool // that it makes the kernel load nothing; nil: it never does
}

// Diagnoses are those there are. Programs that make the kernel load a module when they are only
// asked to show (nft, iptables-save) are run where it has that module already. None starts a
// service, or asks one to start.
func Diagnoses() []Diagnosis {
	nft := func() bool { return firewall.Loaded("/") }
	units := []string{"netwright-agent.service", "netwright-recover.service", "netwright-undo.service"}
	around := append([]string{"kubelet.service", "containerd.service", "crio.service", "systemd-networkd.service",
		"NetworkManager.service", "firewalld.service"}, units...)
	// Not with Environment= and the like: they may hold secrets.
	shown := "--property=Id,LoadState,ActiveState,SubState,Result,UnitFileState,FragmentPath,DropInPaths,NRestarts,ExecMainStatus,ExecMainStartTimestamp," +
		"StatusText,ConditionResult,ConditionTimestamp,StateChangeTimestamp,NeedDaemonReload,MemoryCurrent,CPUUsageNSec,Job "
	return []Diagnosis{
		{"ip-link", "ip -d link show", nil},
		{"ip-address", "ip address show", nil},
		{"ip-route", "ip -4 route show table all", nil},
		{"ip-route6", "ip -6 route show table all", nil},
		{"ip-rule", "ip -4 rule show", nil},
		{"ip-rule6", "ip -6 rule show", nil},
		{"ip-neigh", "ip neigh show", nil},
		{"nft", "nft list ruleset", nft},
		{"iptables-save", legacySave("iptables"), func() bool { return hasTables("/proc/net/ip_tables_names") }},
		{"ip6tables-save", legacySave("ip6tables"), func() bool { return hasTables("/proc/net/ip6_tables_names") }},
		{"systemctl-show", "systemctl show --no-pager " + shown + strings.Join(around, " "), nil},
		{"systemctl-failed", "systemctl list-units --failed --no-pager --no-legend --plain", nil},
		{"journal", "journalctl --no-pager --output=short-precise --lines=4000 --boot=0 --unit=" +
			strings.Join(units, " --unit="), nil},
	}
}

// legacySave is the legacy flavour, which speaks to tables of its own: those of the other are nft's
// to show.
func legacySave(name string) string {
	if _, err := sys.FindProgram(name + "-legacy-save"); err == nil {
		return name + "-legacy-save"
	}
	return name + "-save"
}

// hasTables says that the legacy flavour has tables: then the save programs ask for these and load
// nothing.
func hasTables(names string) bool {
	raw, err := os.ReadFile(names)
	return err == nil && len(bytes.TrimSpace(raw)) > 0
}

// Diagnose runs one and returns what it showed. [ErrNoLiveState]: of an image nothing is shown.
func (l *Live) Diagnose(ctx context.Context, d Diagnosis, limit time.Duration, most int) ([]byte, error) {
	if l.opt.live() && d.loadsNothing != nil && !d.loadsNothing() {
		return nil, fmt.Errorf("%s was not run: the kernel has nothing of it loaded, and to ask would load it", d.Name)
	}
	env := append(os.Environ(), "LC_ALL=C", "SYSTEMD_PAGER=", "SYSTEMD_COLORS=0", "DBUS_SESSION_BUS_ADDRESS=")
	words := strings.Fields(d.command)
	return sys.RunLive(ctx, l.opt.live(),
		sys.Command{Path: words[0], Args: words[1:], Env: env, Timeout: limit, Max: most})
}
