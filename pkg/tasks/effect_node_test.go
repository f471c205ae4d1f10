package tasks

import (
	"os"
	"testing"
	"time"
)

// testMarks: systemd's mark of an effect changes when the effect is done, and only then. A queued
// job counts as done, and so does a restart by somebody else.
func testMarks(t *testing.T) {
	h, ctx := onNode(t), t.Context()
	ok(t, os.WriteFile("/etc/systemd/system/marked.service", []byte("[Service]\nExecStart=sleep 1000\nExecReload=/bin/true\n"), 0o644))
	systemctl(t, "daemon-reload")
	systemctl(t, "start", "marked.service")
	// A restart of held.service waits for slow.service: it is queued as long as slow.service
	// starts.
	ok(t, os.WriteFile("/etc/systemd/system/held.service", []byte("[Unit]\nAfter=slow.service\n[Service]\nExecStart=sleep 1000\n"), 0o644))
	ok(t, os.WriteFile("/etc/systemd/system/slow.service", []byte("[Service]\nType=oneshot\nExecStart=sleep 1000\n"), 0o644))
	systemctl(t, "daemon-reload")
	systemctl(t, "start", "held.service")

	restart, reload := Effect{Action: ActionRestart, Unit: "marked.service"}, Effect{Action: ActionReload, Unit: "marked.service"}
	units, held := Effect{Action: ActionDaemonReload}, Effect{Action: ActionRestart, Unit: "held.service"}
	for _, test := range []struct {
		name  string
		do    []string // a command of systemctl; none: nothing
		since Effect
		done  bool
	}{
		{"nothing", nil, restart, false}, {"nothing", nil, reload, false}, {"nothing", nil, units, false}, {"nothing", nil, held, false},
		{"restart", []string{"restart", "marked.service"}, restart, true}, {"restart", []string{"restart", "marked.service"}, reload, true},
		{"reload", []string{"reload", "marked.service"}, reload, true}, {"reload", []string{"reload", "marked.service"}, restart, false},
		{"daemon-reload", []string{"daemon-reload"}, units, true}, {"daemon-reload", []string{"daemon-reload"}, restart, false},
		{"daemon-reload", []string{"daemon-reload"}, reload, false}, {"another unit's restart", []string{"restart", "marked.service"}, units, false},
	} {
		mark, err := test.since.Mark(ctx, h.Live.View())
		ok(t, err)
		if len(test.do) > 0 {
			if out := systemctl(t, test.do...); out != "" {
				t.Errorf("systemctl %v: %s", test.do, out)
			}
		}
		if got, err := test.since.DoneSince(ctx, h.Live.View(), mark); err != nil || got != test.done {
			t.Errorf("%s: %s %s done: %v (%v), want %v", test.name, test.since.Action, test.since.Unit, got, err, test.done)
		}
	}

	// A reload that the unit refused is still due.
	ok(t, os.WriteFile("/etc/systemd/system/marked.service", []byte("[Service]\nExecStart=sleep 1000\nExecReload=/bin/false\n"), 0o644))
	systemctl(t, "daemon-reload")
	refused, err := reload.Mark(ctx, h.Live.View())
	ok(t, err)
	systemctl(t, "reload", "marked.service")
	if now, err := reload.Mark(ctx, h.Live.View()); err != nil || now == refused {
		t.Errorf("a reload that failed left no mark: %s (%v)", now, err)
	}
	if done, err := reload.DoneSince(ctx, h.Live.View(), refused); done || err != nil {
		t.Errorf("a reload that failed counts as done (%v)", err)
	}

	mark, err := held.Mark(ctx, h.Live.View())
	ok(t, err)
	systemctl(t, "--no-block", "start", "slow.service")
	for until := time.Now().Add(time.Minute); systemctl(t, "is-active", "slow.service") != "activating" && time.Now().Before(until); {
		time.Sleep(10 * time.Millisecond)
	}
	ok(t, held.Apply(ctx, h, nil))
	now, err := h.Live.Units.Unit(ctx, "held.service")
	if err != nil || !now.Job { // a restart that stopped the unit is now a start
		t.Errorf("a restart that waits: %+v, %v", now, err)
	}
	if done, err := held.DoneSince(ctx, h.Live.View(), mark); !done || err != nil {
		t.Errorf("a restart that is queued is asked for again: %v", err)
	}
	systemctl(t, "stop", "slow.service", "held.service", "marked.service")
}
