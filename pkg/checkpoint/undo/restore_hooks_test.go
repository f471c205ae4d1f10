package undo

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/systemd"
)

// Units that were enabled or that ran are restored. New units are left as they are. The line that
// keeps it: restore_hooks.go, unitsBack.
func TestUnitsBack(t *testing.T) {
	was := map[string]systemd.UnitBrief{
		"stays.service": {Active: true, File: "enabled"}, "stopped.service": {Active: true, File: "static"}, "disabled.timer": {File: "enabled"},
		"masked.service": {Active: true, File: "enabled"}, "away.service": {Active: true, File: "enabled"}, "a@b.service": {Active: true},
	}
	now := map[string]systemd.UnitBrief{
		"stays.service": {Active: true, File: "enabled"}, "stopped.service": {File: "static"}, "disabled.timer": {File: "disabled"},
		"masked.service": {File: "masked-runtime"}, "came.service": {Active: true, File: "enabled"},
	}
	want := []unitBack{
		{name: "a@b.service", start: true}, {name: "away.service", start: true}, {name: "disabled.timer", enable: true},
		{name: "masked.service", unmask: true, enable: true, start: true}, {name: "stopped.service", start: true},
	}
	if diff := cmp.Diff(want, unitsBack(was, now, false), cmp.AllowUnexported(unitBack{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want = []unitBack{{name: "disabled.timer", enable: true}, {name: "masked.service", unmask: true, enable: true, start: true}}
	if diff := cmp.Diff(want, unitsBack(was, now, true), cmp.AllowUnexported(unitBack{})); diff != "" {
		t.Errorf("at a boot (-want +got):\n%s", diff)
	}
}

func BenchmarkCaptureAround(b *testing.B) {
	h, err := host.Open(b.Context(), host.Options{Root: "/", Sandbox: true, Facts: &host.Facts{Init: "systemd"}})
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	var around Packed
	for b.Loop() {
		if around, err = captureSurroundings(b.Context(), h, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(around)), "bytes")
	b.ReportMetric(float64(len(around.unpack().Sysctls)), "sysctls")
}
