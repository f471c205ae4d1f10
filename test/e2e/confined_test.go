package e2e

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/netwright/netwright/systemd"
	"github.com/netwright/netwright/test/node"
)

// maxExposure is the largest exposure of our units that systemd-analyze may report. Its scale goes
// from 0, closed, to 10.
const maxExposure = 3.9

var exposure = regexp.MustCompile(`Overall exposure level for \S+: ([0-9.]+)`)

// systemd has loaded all our services while a change is on probation, the timer's service too. Each
// is closed as far as its job allows, and its unit gives the reason for each right that it keeps.
func TestUnitsAreConfined(t *testing.T) {
	t.Parallel() // the test waits for probes
	ctx := t.Context()
	s, good := goodStore(t)
	units := map[string]string{
		"netwright-agent.service": systemd.Agent, "netwright-recover.service": systemd.Recover, "netwright-undo.service": systemd.Undo, "netwright-undo-now.service": systemd.Undo,
	}
	n := serve(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Files: map[string]string{
		"/etc/netwright/agent.yaml":                     agentFile("10m") + "interval: 5s\n",
		"/etc/systemd/system/netwright-recover.service": systemd.Recover,
		"/etc/systemd/system/netwright-undo.service":    systemd.Undo,
	}}))
	n.Must(ctx, "systemctl", "start", "netwright-agent", "netwright-recover", "netwright-undo")
	sees(t, n)

	bad, made := badRoute(good)
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", bad, 0o644)
	until(t, n, "the change is made", made)
	loaded := strings.Fields(n.Shell(ctx, "systemctl list-units --all --plain --no-legend --full 'netwright*.service' | awk '{print $1}'; systemctl list-unit-files --no-legend 'netwright*.service' | awk '{print $1}'"))
	for _, unit := range loaded {
		if units[unit] == "" {
			t.Errorf("%s is not looked at", unit)
		}
	}
	for unit, text := range units {
		said := n.Must(ctx, "systemd-analyze", "security", "--no-pager", unit)
		match := exposure.FindStringSubmatch(said)
		if match == nil {
			t.Fatalf("%s: systemd-analyze says nothing of its exposure:\n%s", unit, said)
		}
		level, err := strconv.ParseFloat(match[1], 64)
		if err != nil || level > maxExposure {
			t.Errorf("%s: exposure %s (%v), want %v or less\n%s", unit, match[1], err, maxExposure, said)
		}
		t.Logf("%s: exposure %s", unit, match[1])
		reasoned(t, n, unit, text+systemd.Agent) // the other units refer to it
	}

	// The agent's limits are far above what a pass needs: systemd/netwright-agent.service.
	for _, bound := range []string{"MemoryHigh=201326592", "MemoryMax=268435456", "TasksMax=128"} {
		name, _, _ := strings.Cut(bound, "=")
		if have := strings.TrimSpace(n.Must(ctx, "systemctl", "show", "-p", name, "netwright-agent")); have != bound {
			t.Errorf("the unit has %s, want %s", have, bound)
		}
	}
	n.Shell(ctx, "test $(ls /proc/$(systemctl show -P MainPID netwright-agent)/task | wc -l) -le 64")

	// The probes of a change include an echo, for which pkg/verify/probe/ping.go opens a raw
	// socket.
	if log := n.Read("/var/lib/netwright/checkpoint/journal.json"); !strings.Contains(log, "ping:"+node.Gateway6) {
		t.Errorf("no echo among the probes: %.2000s", log)
	}
}

// reasoned checks that a unit's text names each right that systemd-analyze finds left open.
func reasoned(t *testing.T, n *node.Node, unit, text string) {
	t.Helper()
	var found []struct {
		Set  *bool // null: it does not apply to this unit
		Name string
	}
	if err := json.Unmarshal([]byte(n.Must(t.Context(), "systemd-analyze", "security", "--json=short", unit)), &found); err != nil {
		t.Fatalf("%s: Unmarshal returns %v", unit, err)
	}
	for _, f := range found {
		if name, _, _ := strings.Cut(f.Name, "="); f.Set != nil && !*f.Set && !strings.Contains(text, name+"=") {
			t.Errorf("%s: nothing in the unit says why %s is left open", unit, f.Name)
		}
	}
}

// sees checks that the daemon sees the host's mounts, though it has a mount namespace of its own.
// It also sees mounts that appear and disappear later.
func sees(t *testing.T, n *node.Node) {
	t.Helper()
	mounts := func() string {
		return n.Shell(t.Context(), `pid=$(systemctl show -p MainPID --value netwright-agent)
# What of its file system is mounted where, but for where systemd keeps its own of services, and what ProtectKernelLogs= closes.
fields() { sed 's/ - .*//' $1 | cut -d' ' -f4,5 | sort | grep -v ' /run/credentials\| /run/systemd/incoming\| /\(dev\|proc\)/kmsg'; }
fields /proc/1/mountinfo >/run/mounts-1; fields /proc/$pid/mountinfo >/run/mounts-agent
diff /run/mounts-1 /run/mounts-agent && grep -c . /run/mounts-agent`)
	}
	before := mounts()
	n.Shell(t.Context(), "mkdir -p /mnt/late; mount -t tmpfs late /mnt/late; findmnt /mnt/late --tab-file /proc/$(systemctl show -p MainPID --value netwright-agent)/mountinfo")
	if mounts() == before {
		t.Error("a mount that came is not there")
	}
	n.Shell(t.Context(), "umount /mnt/late")
	if now := mounts(); now != before {
		t.Errorf("a mount that went is still there: %s mounts, before %s", now, before)
	}
}
