package host

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/kernel"
	"github.com/netwright/netwright/pkg/host/systemd"
)

// show asks systemctl for a property, since that is not our code.
func show(t *testing.T, unit, property string) string {
	t.Helper()
	out, err := exec.Command("systemctl", "show", "--value", "--property="+property, "--", unit).Output()
	if err != nil {
		t.Fatalf("systemctl show %s: %v", unit, err)
	}
	return strings.TrimSpace(string(out))
}

func unit(t *testing.T, h *Host, name string) systemd.UnitState {
	t.Helper()
	s, err := h.Live.Units.Unit(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func testUnitStates(t *testing.T) {
	h := openNode(t)
	if h.Live.Facts.Init != "systemd" || h.Live.Facts.Contain != "systemd-nspawn" || h.Live.Facts.Kernel.HostSysctls {
		t.Errorf("facts: %+v", h.Live.Facts)
	}
	if !h.Live.Units.Private {
		t.Error("root does not use the private socket")
	}
	for _, name := range []string{"dbus.service", "sleeper.service", "multi-user.target", "-.mount", "with-dash.and\\x20x.service"} {
		s := unit(t, h, name)
		want := systemd.UnitState{
			Name: name, Load: show(t, name, "LoadState"), Active: show(t, name, "ActiveState"), Sub: show(t, name, "SubState"),
			File: show(t, name, "UnitFileState"), FragmentPath: show(t, name, "FragmentPath"),
			DropIns: strings.Fields(show(t, name, "DropInPaths")),
		}
		if !equalState(s, want) {
			t.Errorf("%s: %+v, want %+v", name, s, want)
		}
		if at, err := h.Live.Units.UnitChangedUS(t.Context(), name); err != nil || at != s.ChangedUS {
			t.Errorf("%s changed at %d, %v, want %d", name, at, err, s.ChangedUS)
		}
	}
	if s := unit(t, h, "no-such.service"); s.Load != "not-found" || s.Active != "inactive" || s.File != "" {
		t.Errorf("an absent unit: %+v", s)
	}
	if unit(t, h, "dbus.service").ActiveSinceUS == 0 {
		t.Error("dbus.service never became active")
	}
}

func equalState(a, b systemd.UnitState) bool {
	return slices.Equal(a.DropIns, b.DropIns) &&
		a.Name == b.Name && a.Load == b.Load && a.Active == b.Active && a.Sub == b.Sub && a.File == b.File &&
		a.FragmentPath == b.FragmentPath && a.Result == b.Result
}

func testUnitJobs(t *testing.T) {
	h := openNode(t)
	ctx := t.Context()
	for _, step := range []struct {
		do   func() error
		want string
	}{
		{func() error { return h.Units.RestartUnit(ctx, "sleeper.service", true) }, "inactive"}, // only what runs
		{func() error { return h.Units.ReloadUnit(ctx, "sleeper.service", true) }, "inactive"},
		{func() error { return h.Units.StartUnit(ctx, "sleeper.service", true) }, "active"},
		{func() error { return h.Units.StartUnit(ctx, "sleeper.service", true) }, "active"}, // once more
		{func() error { return h.Units.ReloadUnit(ctx, "sleeper.service", true) }, "active"},
		{func() error { return h.Units.StopUnit(ctx, "sleeper.service", true) }, "inactive"},
		{func() error { return h.Units.StopUnit(ctx, "sleeper.service", true) }, "inactive"},
		{func() error { return h.Units.StopUnit(ctx, "no-such.service", true) }, "inactive"},
	} {
		if err := step.do(); err != nil {
			t.Error(err)
		}
		if got := show(t, "sleeper.service", "ActiveState"); got != step.want {
			t.Errorf("sleeper is %s, want %s", got, step.want)
		}
	}
	for range 3 { // systemd also starts it once a minute
		for _, do := range []func(context.Context, string, bool) error{h.Units.StartUnit, h.Units.RestartUnit, h.Units.ReloadUnit, h.Units.StopUnit} {
			if err := do(ctx, "seldom.service", true); err != nil {
				t.Error(err)
			}
		}
	}
	if err := h.Units.StartUnit(ctx, "fails.service", true); err == nil {
		t.Error("a unit that fails was started")
	}
	noError(t, h.Units.RestartUnit(ctx, "fails.service", true))
	if got := show(t, "fails.service", "ActiveState"); got != "failed" {
		t.Errorf("after a restart of what does not run, it is %s: that it failed is forgotten", got)
	}
	// A restart does not interrupt a reload.
	noError(t, h.Units.StartUnit(ctx, "reloads.service", true))
	noError(t, h.Units.ReloadUnit(ctx, "reloads.service", false))
	noError(t, h.Units.RestartUnit(ctx, "reloads.service", true))
	if _, err := os.Stat("/run/reloaded"); err != nil {
		t.Errorf("the reload was broken off: %v", err)
	}
	// Many operations run at once, and some are waited for. No result is lost or mixed up.
	var wg sync.WaitGroup
	for range 20 {
		for _, name := range []string{"once.service", "sleeper.service"} {
			wg.Go(func() {
				if err := h.Units.StartUnit(ctx, name, true); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	before := show(t, "sleeper.service", "MainPID")
	if err := h.Units.RestartUnit(ctx, "sleeper.service", true); err != nil {
		t.Error(err)
	}
	if after := show(t, "sleeper.service", "MainPID"); after == before {
		t.Error("it was not restarted")
	}
	if err := h.Units.StopUnit(ctx, "sleeper.service", false); err != nil {
		t.Error(err)
	}
	for show(t, "sleeper.service", "ActiveState") != "inactive" { // the test's deadline ends this
	}
}

func testFailedJobs(t *testing.T) {
	h := openNode(t)
	for name, says := range map[string]string{
		"fails.service":       "failed (exit-code): see `journalctl -u fails.service`",
		"needs-fails.service": "requires failed",
		"no-such.service":     "not found",
	} {
		err := h.Units.StartUnit(t.Context(), name, true)
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), name) {
			t.Errorf("start %s: %v; want %q", name, err, says)
		}
		if name == "no-such.service" && !errors.Is(err, ErrNotExist) {
			t.Errorf("%v is not ErrNotExist", err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the agent stops")
	cancel(cause)
	if err := h.Units.StartUnit(ctx, "sleeper.service", true); err == nil {
		t.Error("a cancelled start succeeded")
	}
	if s := unit(t, h, "fails.service"); s.Active != "failed" || s.Result != "exit-code" {
		t.Errorf("fails: %+v", s)
	}
}

// The result and the exit code of a unit that systemd starts again and again belong to the same
// run.
func testUnitEnds(t *testing.T) {
	h := openNode(t)
	if err := h.Units.StartUnit(t.Context(), "flaps.service", true); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for range 20 {
		end := h.Live.Units.UnitEnd(t.Context(), "flaps.service")
		seen[end.String()]++
	}
	if err := h.Units.StopUnit(t.Context(), "flaps.service", true); err != nil {
		t.Error(err)
	}
	delete(seen, "success") // the unit runs
	if seen["exit-code, exit code 5"] == 0 || len(seen) != 1 {
		t.Errorf("it ended by %v", seen)
	}
}

func testUnitFiles(t *testing.T) {
	h := openNode(t)
	ctx := t.Context()
	const link = "/etc/systemd/system/multi-user.target.wants/once.service"
	if err := h.Units.EnableUnit(ctx, "once.service"); err != nil {
		t.Error(err)
	}
	if target, err := os.Readlink(link); err != nil || target != "/etc/systemd/system/once.service" {
		t.Errorf("enabled: %q, %v", target, err)
	}
	if s := unit(t, h, "once.service"); s.File != "enabled" {
		t.Errorf("enabled: %+v", s)
	}
	if err := h.Units.DisableUnit(ctx, "once.service"); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(link); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("disabled: %v", err)
	}
	if s := unit(t, h, "static.service"); s.File != "static" {
		t.Errorf("static: %+v", s)
	}
	write(t, "/usr/lib/systemd/system/m.service", "[Service]\nExecStart=sleep 1000\n")
	if err := h.Units.MaskUnit(ctx, "m.service", true); err != nil {
		t.Error(err)
	}
	if s := unit(t, h, "m.service"); s.File != "masked" || s.Load != "masked" {
		t.Errorf("masked: %+v", s)
	}
	if err := h.Units.StartUnit(ctx, "m.service", true); err == nil || !strings.Contains(err.Error(), "unmask") {
		t.Errorf("start of a masked unit: %v", err)
	}
	if err := h.Units.MaskUnit(ctx, "m.service", false); err != nil {
		t.Error(err)
	}
	if s := unit(t, h, "m.service"); s.File == "masked" || s.Load == "masked" {
		t.Errorf("unmasked: %+v", s)
	}
	// Only a loaded unit can be older than its files.
	if err := h.Units.StartUnit(ctx, "sleeper.service", true); err != nil {
		t.Error(err)
	}
	write(t, "/etc/systemd/system/sleeper.service.d/20-b.conf", "[Service]\nEnvironment=B=1\n")
	if s := unit(t, h, "sleeper.service"); !s.NeedReload {
		t.Errorf("with a new drop-in: %+v", s)
	}
	if err := h.Units.DaemonReload(ctx); err != nil {
		t.Error(err)
	}
	if s := unit(t, h, "sleeper.service"); s.NeedReload || len(s.DropIns) != 2 {
		t.Errorf("after the reload: %+v", s)
	}
	testUnitWhoseFileWent(t, h)
}

// What systemd has in memory of a loaded unit does not count once the unit's file is gone: a killed
// run removed it.
func testUnitWhoseFileWent(t *testing.T, h *Host) {
	t.Helper()
	const file = "/etc/systemd/system/went.service"
	write(t, file, "[Service]\nExecStart=sleep 1000\n[Install]\nWantedBy=multi-user.target\n")
	noError(t, h.Units.EnableUnit(t.Context(), "went.service"), h.Units.DaemonReload(t.Context()), h.Units.StartUnit(t.Context(), "went.service", true))
	if s := unit(t, h, "went.service"); s.File != "enabled" {
		t.Errorf("enabled: %+v", s)
	}
	noError(t, os.Remove(file), os.Remove("/etc/systemd/system/multi-user.target.wants/went.service"))
	if s := unit(t, h, "went.service"); s.File != "" || s.Load != "loaded" {
		t.Errorf("without its file: %+v", s)
	}
	noError(t, h.Units.StopUnit(t.Context(), "went.service", true))
}

func testSystemBus(t *testing.T) {
	h := openNode(t)
	h.Live.Units.Socket, h.Live.Units.Private = systemd.SystemSocket, false
	if err := h.Units.StartUnit(t.Context(), "sleeper.service", true); err != nil {
		t.Error(err)
	}
	if s := unit(t, h, "sleeper.service"); s.Active != "active" {
		t.Errorf("unit returns %+v", s)
	}
	if err := h.Units.StopUnit(t.Context(), "sleeper.service", true); err != nil {
		t.Error(err)
	}
}

// testShortFirstMessage: see [systemd.busSocket]. systemd is busy after a reload, so
// that it is slow to read.
func testShortFirstMessage(t *testing.T) {
	for range 6 {
		h := openNode(t)
		ctx, cancel := context.WithTimeoutCause(t.Context(), 30*time.Second, errors.New("systemd kept the message to itself"))
		if err := h.Units.DaemonReload(ctx); err != nil {
			t.Error(err)
		}
		cancel()
	}
}

func testReexec(t *testing.T) {
	h := openNode(t)
	before := unit(t, h, "dbus.service")
	if out, err := exec.Command("systemctl", "daemon-reexec").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if after := unit(t, h, "dbus.service"); !equalState(before, after) {
		t.Errorf("%+v, before %+v", after, before)
	}
}

func testModuleByUnit(t *testing.T) {
	h := openNode(t)
	// The node may not load modules. A built-in module counts as loaded, and others are refused.
	if err := h.Kernel.LoadModule(t.Context(), "br_netfilter"); err != nil {
		t.Error(err)
	}
	if err := h.Kernel.LoadModule(t.Context(), "wireguard"); err == nil || !strings.Contains(err.Error(), "belong to the host") {
		t.Errorf("load in a container: %v", err)
	}
	// modprobe@.service itself starts, but its success alone does not count.
	h.Kernel = kernel.NewWriter(fakeKernel(t, map[string]string{"/proc/modules": "", "/lib/6.1.0/modules.dep": "kernel/wireguard.ko:\n"}),
		kernel.Options{Modules: true, StartUnit: func(ctx context.Context, name string) error { return h.Units.StartUnit(ctx, name, true) }})
	err := h.Kernel.LoadModule(t.Context(), "wireguard")
	if err == nil || !strings.Contains(err.Error(), "modprobe@wireguard.service ran and it is still not loaded") {
		t.Errorf("load of a module that is not there: %v", err)
	}
}

func TestUnitsWithoutSystemd(t *testing.T) {
	h := testHost(t)
	if _, err := h.Live.Units.Unit(t.Context(), "dbus.service"); !errors.Is(err, sys.ErrNoLiveState) {
		t.Errorf("read: %v", err)
	}
	if err := h.Units.StartUnit(t.Context(), "dbus.service", true); !errors.Is(err, sys.ErrNoLiveState) {
		t.Errorf("start: %v", err)
	}
	if err := h.Units.DaemonReload(t.Context()); !errors.Is(err, sys.ErrNoLiveState) {
		t.Errorf("reload: %v", err)
	}
}
