package tasks

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/test/node"
)

// inNode is set for this test program when it runs inside of a node.
const inNode = "NETWRIGHT_TEST_IN_NODE"

// TestSystemdInANode boots a node, whose systemd is a real one, and runs itself there.
func TestSystemdInANode(t *testing.T) {
	if os.Getenv(inNode) == "" {
		self, err := os.Executable()
		ok(t, err)
		n := node.NewFabric(t).Node(t, node.Options{Name: "n", Address: "10.77.0.11", Copies: map[string]string{"/tasks.test": self}})
		out := n.Run(t.Context(), "env", inNode+"=1", "/tasks.test", "-test.run=^TestSystemdInANode$", "-test.v", "-test.timeout=10m")
		t.Log(out.Stdout)
		if out.Code != 0 {
			t.Errorf("exit %d: %s", out.Code, out.Stderr)
		}
		return
	}
	for _, test := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"unit", testUnit}, {"unit state", testUnitState}, {"no block", testNoBlock}, {"masked", testMasked}, {"oneshot", testOneshot},
		{"unit errors", testUnitErrors}, {"drop-in and restart", testDropIn}, {"mount", testMount}, {"foreign mount", testForeignMount},
		{"marks", testMarks}, {"indirect and alias", testIndirectAndAlias},
		{"links come back", testLinksComeBack},
	} {
		t.Run(test.name, test.run)
	}
}

const sleeper = "[Service]\nExecStart=sleep 1000\n[Install]\nWantedBy=multi-user.target\n"

func onNode(t *testing.T) *host.Host {
	t.Helper()
	h, err := host.Open(t.Context(), host.Options{})
	ok(t, err)
	t.Cleanup(func() { h.Close() })
	return h
}

// systemctl runs the node's own systemctl.
func systemctl(t *testing.T, args ...string) string {
	t.Helper()
	out, _ := exec.Command("systemctl", args...).CombinedOutput() // its exit code is an answer
	return strings.TrimSpace(string(out))
}

// asked returns the host as a plan sees it when a task has asked for an effect.
func asked(h *host.Host, effect graph.Key, by ...string) host.View {
	return host.NewPending(map[string][]string{string(effect): by}).Over(h.Live.View())
}

func testUnit(t *testing.T) {
	h := onNode(t)
	file := Unit{Name: "u.service", Content: []byte(sleeper), Meta: Meta{Effects: []graph.Key{Restart("u.service")}}}
	state := UnitState{Name: "u.service", Enabled: new(true), Active: new(true)}

	// The plan knows the unit before its file is there.
	c := plan(t, file, h.Live.View())
	pending := host.NewPending(nil)
	pending.Add(c.Pending...)
	pending.Ask(string(DaemonReload), "file:"+unitDir+"/u.service")
	wantLines(t, plan(t, state, pending.Over(h.Live.View())), "~ unit:u.service, enabled →enabled, active inactive→active")
	wantError(t, state, h.Live.View(), "u.service", "no such unit")

	if c := converge(t, h, file); len(c.Effects) != 1 || c.Effects[0] != DaemonReload {
		t.Errorf("a new unit asks for %v, and nothing runs from an old one", c.Effects)
	}
	edited := file
	edited.Content = []byte("# edited\n" + sleeper)
	if c := plan(t, edited, h.Live.View()); len(c.Effects) != 2 || c.Effects[1] != Restart("u.service") {
		t.Errorf("an edited unit asks for %v", c.Effects)
	}
	reload := Effect{Action: ActionDaemonReload}
	if c := plan(t, reload, h.Live.View()); c != nil {
		t.Errorf("no task asked for a reload, and the plan has %+v", c)
	}
	c = plan(t, reload, asked(h, DaemonReload, "a", "b"))
	if c.Reason != "asked for by a, b" {
		t.Errorf("reason %q", c.Reason)
	}
	ok(t, reload.Apply(t.Context(), h, c))
	converge(t, h, state)
	if got := systemctl(t, "is-enabled", "u") + " " + systemctl(t, "is-active", "u"); got != "enabled active" {
		t.Errorf("it is %s", got)
	}
	if got := systemctl(t, "cat", "u"); !strings.HasSuffix(got, strings.TrimSpace(sleeper)) {
		t.Errorf("systemd has\n%s", got)
	}
}

func testUnitState(t *testing.T) {
	h := onNode(t)
	ok(t, os.WriteFile(unitDir+"/s.service", []byte(sleeper), 0o644))
	ok(t, h.Units.DaemonReload(t.Context()))
	converge(t, h, UnitState{Name: "s.service", Enabled: new(true), Active: new(true)})
	// The task notices and repairs what another program changed.
	systemctl(t, "disable", "--now", "s")
	c := converge(t, h, UnitState{Name: "s.service", Enabled: new(true), Active: new(true)})
	wantLines(t, c, "~ unit:s.service, enabled disabled→enabled, active inactive→active")
	// A file changed after systemd read it, and nothing asked for a reload.
	ok(t, os.WriteFile(unitDir+"/s.service", []byte("# changed\n"+sleeper), 0o644))
	c = converge(t, h, UnitState{Name: "s.service", Active: new(true)})
	wantLines(t, c, "~ unit:s.service, loaded as the file was→as the file is")
	c = converge(t, h, UnitState{Name: "s.service", Enabled: new(false), Active: new(false)})
	if c.Disruption != RestartsUnit {
		t.Errorf("to stop a unit disrupts %v", c.Disruption)
	}
	if got := systemctl(t, "is-enabled", "s") + " " + systemctl(t, "is-active", "s"); got != "disabled inactive" {
		t.Errorf("it is %s", got)
	}
	if c := plan(t, UnitState{Name: "absent.service", Enabled: new(false), Active: new(false)}, h.Live.View()); c != nil {
		t.Errorf("an absent unit is not as wanted: %+v", c)
	}
}

// testNoBlock starts a unit that is ordered after us. To wait for that unit would never end.
func testNoBlock(t *testing.T) {
	h := onNode(t)
	ok(t, os.WriteFile(unitDir+"/gate.service", []byte("[Service]\nType=oneshot\nExecStart=sh -c 'until [ -e /run/open ]; do sleep 0.05; done'\n"), 0o644))
	ok(t, os.WriteFile(unitDir+"/late.service", []byte("[Unit]\nAfter=gate.service\n[Service]\nExecStart=sleep 1000\n"), 0o644))
	ok(t, h.Units.DaemonReload(t.Context()), h.Units.StartUnit(t.Context(), "gate.service", false))
	converge(t, h, UnitState{Name: "late.service", Active: new(true), NoBlock: true})
	if got := systemctl(t, "is-active", "late"); got != "inactive" {
		t.Errorf("late.service is %s before its gate opens", got)
	}
	ok(t, os.WriteFile("/run/open", nil, 0o644))
	waits := UnitState{Name: "late.service", Active: new(true)} // this one waits for us
	if c := plan(t, waits, h.Live.View()); c != nil {
		ok(t, waits.Apply(t.Context(), h, c))
	}
	if got := systemctl(t, "is-active", "late"); got != "active" {
		t.Errorf("it is %s", got)
	}
}

// testIndirectAndAlias enables and disables units whose state is the state of other units. The plan
// after each change finds nothing to do. The lines that keep it: unit_state.go, look, isEnabled;
// pkg/host/systemd/unit_state.go, ID
func testIndirectAndAlias(t *testing.T) {
	h := onNode(t)
	const vendor = "/usr/lib/systemd/system"
	ok(t, os.WriteFile(vendor+"/real.service", []byte(sleeper), 0o644), os.Symlink("real.service", vendor+"/named.service"),
		os.WriteFile(vendor+"/other.service", []byte(sleeper), 0o644),
		os.WriteFile(vendor+"/ind.service", []byte("[Service]\nExecStart=sleep 1000\n[Install]\nAlso=other.service\n"), 0o644))
	ok(t, h.Units.DaemonReload(t.Context()))
	for _, c := range []struct{ unit, of string }{{"ind.service", "other.service"}, {"named.service", "real.service"}} {
		converge(t, h, UnitState{Name: c.unit, Enabled: new(true)})
		if got := systemctl(t, "is-enabled", c.of); got != "enabled" {
			t.Errorf("%s is enabled, and %s is %s", c.unit, c.of, got)
		}
	}
	// Somebody enabled the units that this unit names, and no link leads to the unit itself.
	if c := plan(t, UnitState{Name: "ind.service", Enabled: new(false)}, h.Live.View()); c != nil {
		t.Errorf("an indirect unit is not disabled: %+v", c)
	}
	ok(t, os.Symlink(vendor+"/ind.service", unitDir+"/also-called.service"), h.Units.DaemonReload(t.Context()))
	converge(t, h, UnitState{Name: "ind.service", Enabled: new(false)})
	converge(t, h, UnitState{Name: "named.service", Enabled: new(false)})
	if got := systemctl(t, "is-enabled", "real.service"); got != "disabled" {
		t.Errorf("its alias is disabled, and real.service is %s", got)
	}
}

// testLinksComeBack resets a unit to links that no command of systemd makes: a person's own, and
// none for the units of its Also=. The lines that keep it: unit_links.go, LinksOfUnit, relink,
// Restore
func testLinksComeBack(t *testing.T) {
	h := onNode(t)
	const vendor = "/usr/lib/systemd/system"
	ok(t, os.WriteFile(vendor+"/beside.service", []byte(sleeper), 0o644),
		os.WriteFile(vendor+"/back.service", []byte(sleeper+"Also=beside.service\n"), 0o644),
		os.MkdirAll(unitDir+"/basic.target.wants", 0o755),
		os.Symlink(vendor+"/back.service", unitDir+"/basic.target.wants/back.service"), h.Units.DaemonReload(t.Context()))
	for _, enabled := range []bool{true, false} {
		task := UnitState{Name: "back.service", Enabled: new(enabled), Masked: new(!enabled)}
		was, err := task.Baseline(t.Context(), h.Live.View())
		ok(t, err)
		ok(t, h.Units.EnableUnit(t.Context(), "back.service")) // with beside.service
		ok(t, task.Apply(t.Context(), h, nil))
		ok(t, task.Restore(t.Context(), h, was))
		if right, err := task.Restored(t.Context(), h.Live.View(), was); err != nil || !right {
			t.Errorf("enabled %t: not restored (%v)", enabled, err)
		}
		if _, err := os.Readlink(unitDir + "/basic.target.wants/back.service"); err != nil {
			t.Error(err)
		}
		if got := systemctl(t, "is-enabled", "beside.service"); got != "disabled" {
			t.Errorf("enabled %t: beside.service is %s", enabled, got)
		}
		if _, err := os.Lstat(unitDir + "/multi-user.target.wants/back.service"); err == nil {
			t.Errorf("enabled %t: a link is left", enabled)
		}
	}
}

// testOneshot wants units that run to their end, or that may not run. Each is started once, and not
// at every pass.
func testOneshot(t *testing.T) {
	h := onNode(t)
	ok(t, os.WriteFile(unitDir+"/o.service", []byte("[Service]\nType=oneshot\nExecStart=sh -c 'echo ran >>/run/ran'\n[Install]\nWantedBy=multi-user.target\n"), 0o644))
	ok(t, os.WriteFile(unitDir+"/never.service", []byte("[Unit]\nConditionPathExists=/nowhere\n"+sleeper), 0o644))
	ok(t, h.Units.DaemonReload(t.Context()))
	for _, name := range []string{"o.service", "never.service"} {
		task := UnitState{Name: name, Enabled: new(true), Active: new(true)}
		converge(t, h, task)
		if c := plan(t, task, h.Live.View()); c != nil {
			t.Errorf("%s would be started again: %+v", name, c)
		}
		off := UnitState{Name: name, Active: new(false)}
		if c := plan(t, off, h.Live.View()); c != nil {
			t.Errorf("%s, which does not run, would be stopped: %+v", name, c)
		}
	}
	if ran, err := os.ReadFile("/run/ran"); string(ran) != "ran\n" {
		t.Errorf("the oneshot ran: %q %v", ran, err)
	}
}

func testMasked(t *testing.T) {
	h := onNode(t)
	ok(t, os.WriteFile("/usr/lib/systemd/system/m.service", []byte(sleeper), 0o644), h.Units.StartUnit(t.Context(), "m.service", true))
	converge(t, h, UnitState{Name: "m.service", Masked: new(true), Active: new(false)})
	if got := systemctl(t, "is-enabled", "m.service") + " " + systemctl(t, "is-active", "m.service"); got != "masked inactive" {
		t.Errorf("it is %s", got)
	}
	converge(t, h, UnitState{Name: "m.service", Masked: new(false)})
	if got := systemctl(t, "is-enabled", "m.service"); got == "masked" {
		t.Errorf("it is %s", got)
	}
}

func testUnitErrors(t *testing.T) {
	h := onNode(t)
	ok(t, os.WriteFile(unitDir+"/bad.service", []byte("[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=sh -c 'echo no luck; exit 4'\n"), 0o644))
	ok(t, h.Units.DaemonReload(t.Context()))
	task := UnitState{Name: "bad.service", Active: new(true)}
	err := task.Apply(t.Context(), h, plan(t, task, h.Live.View()))
	if err == nil || !strings.Contains(err.Error(), "bad.service") || !strings.Contains(err.Error(), "exit-code") || !strings.Contains(err.Error(), "journalctl -u bad.service") {
		t.Errorf("a unit that fails: %v", err)
	}
	wantError(t, UnitState{Name: "bad.service", Enabled: new(true)}, h.Live.View(), "no [Install] section")
}

func testDropIn(t *testing.T) {
	h := onNode(t)
	ok(t, os.WriteFile(unitDir+"/d.service", []byte(sleeper), 0o644))
	ok(t, h.Units.DaemonReload(t.Context()))
	restart := Effect{Action: ActionRestart, Unit: "d.service", Wait: true}
	// Only a running unit is restarted.
	ok(t, restart.Apply(t.Context(), h, nil))
	if got := systemctl(t, "is-active", "d"); got != "inactive" {
		t.Errorf("it is %s", got)
	}
	ok(t, h.Units.StartUnit(t.Context(), "d.service", true))
	pid := systemctl(t, "show", "--value", "-p", "MainPID", "d")
	drop := DropIn{Unit: "d.service", Name: "50-netwright.conf", Content: []byte("[Service]\nEnvironment=X=1\n"), Meta: Meta{Effects: []graph.Key{Restart("d.service")}}}
	c := converge(t, h, drop)
	if len(c.Effects) != 2 || c.Effects[0] != DaemonReload || c.Effects[1] != restart.Owns()[0] {
		t.Errorf("asks for %v", c.Effects)
	}
	if restart.needs()[0] != DaemonReload {
		t.Error("the restart does not wait for the reload")
	}
	planned := plan(t, restart, asked(h, Restart("d.service"), "file:x"))
	if planned.Disruption != RestartsUnit {
		t.Errorf("planned %+v", planned)
	}
	ok(t, Effect{Action: ActionDaemonReload}.Apply(t.Context(), h, nil), restart.Apply(t.Context(), h, planned))
	if now := systemctl(t, "show", "--value", "-p", "MainPID", "d"); now == pid {
		t.Error("it was not restarted")
	}
	if got := systemctl(t, "show", "--value", "-p", "Environment", "d"); got != "X=1" {
		t.Errorf("its environment is %q", got)
	}
}

func testMount(t *testing.T) {
	h := onNode(t)
	task := Mount{What: "tmpfs", Where: "/mnt/a b-c", Type: "tmpfs", Options: "size=1m,mode=0700", Description: "100 % of it"}
	c := converge(t, h, task)
	if len(c.Effects) != 0 {
		t.Errorf("asks for %v", c.Effects)
	}
	out, err := exec.Command("findmnt", "-no", "FSTYPE,OPTIONS", "/mnt/a b-c").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "tmpfs") || !strings.Contains(string(out), "size=1024k") {
		t.Errorf("findmnt: %s (%v)", out, err)
	}
	const unit = `mnt-a\x20b\x2dc.mount`
	if got := systemctl(t, "is-enabled", unit) + " " + systemctl(t, "is-active", unit); got != "enabled active" {
		t.Errorf("%s is %s", unit, got)
	}
	if got := systemctl(t, "show", "--value", "-p", "Description", unit); got != "100 % of it" {
		t.Errorf("it is described as %q", got)
	}
	// Somebody unmounted it, and its file changed.
	if out, err := exec.Command("umount", "/mnt/a b-c").CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	converge(t, h, task)
	task.Description = "another"
	converge(t, h, task)
	if got := systemctl(t, "show", "--value", "-p", "Description", unit); got != "another" {
		t.Errorf("it is described as %q", got)
	}
	task.Type = "ramfs"
	wantError(t, task, h.Live.View(), "found a tmpfs mounted there", "expected ramfs")
}

func testForeignMount(t *testing.T) {
	h := onNode(t)
	ok(t, os.MkdirAll("/mnt/f", 0o755))
	if out, err := exec.Command("mount", "-t", "tmpfs", "none", "/mnt/f").CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	if c := plan(t, Mount{What: "tmpfs", Where: "/mnt/f", Type: "tmpfs"}, h.Live.View()); c != nil {
		t.Errorf("somebody else's mount is not right: %+v", c)
	}
}
