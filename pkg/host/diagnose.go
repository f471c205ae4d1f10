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

// Diagnosis is a program that shows part of the state of this host and changes nothing.
type Diagnosis struct {
	Name         string // what the program shows: "ip-route"
	command      string
	loadsNothing func() bool // reports whether it would load no module now; nil: it never loads one
}

// Diagnoses lists all diagnoses. Some programs (nft, iptables-save) make the kernel load a module
// even when they only show something. These run only where the kernel has the module already. No
// diagnosis starts a service, or asks another program to start one.
func Diagnoses() []Diagnosis {
	nft := func() bool { return firewall.Loaded("/") }
	units := []string{"netwright-agent.service", "netwright-recover.service", "netwright-undo.service"}
	around := append([]string{"kubelet.service", "containerd.service", "crio.service", "systemd-networkd.service",
		"NetworkManager.service", "firewalld.service"}, units...)
	// Environment= and similar properties are left out, because they may contain secrets.
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

// legacySave returns the save program of legacy iptables, which has its own tables. nft shows the
// tables of iptables-nft.
func legacySave(name string) string {
	if _, err := sys.FindProgram(name + "-legacy-save"); err == nil {
		return name + "-legacy-save"
	}
	return name + "-save"
}

// hasTables reports whether legacy iptables has tables. If it has, the save programs read these
// tables and load no module.
func hasTables(names string) bool {
	raw, err := sys.ReadKernelFile(names)
	return err == nil && len(bytes.TrimSpace(raw)) > 0
}

// Diagnose runs one diagnosis and returns its output. It returns [ErrNoLiveState] for an image.
func (l *Live) Diagnose(ctx context.Context, d Diagnosis, limit time.Duration, most int) ([]byte, error) {
	if l.opt.live() && d.loadsNothing != nil && !d.loadsNothing() {
		return nil, fmt.Errorf("%s was not run: the kernel has nothing of it loaded, and to ask would load it", d.Name)
	}
	env := append(os.Environ(), "LC_ALL=C", "SYSTEMD_PAGER=", "SYSTEMD_COLORS=0", "DBUS_SESSION_BUS_ADDRESS=")
	words := strings.Fields(d.command)
	return sys.RunLive(ctx, l.opt.live(),
		sys.Command{Path: words[0], Args: words[1:], Env: env, Timeout: limit, Max: most})
}
