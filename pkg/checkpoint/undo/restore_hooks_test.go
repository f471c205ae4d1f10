package undo

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/systemd"
	"github.com/netwright/netwright/test/hostroot"
)

// Units that were enabled or that ran are restored. New units are left as they are. The line that
// keeps it: restore_hooks.go, unitsBack.
func TestUnitsBack(t *testing.T) {
	was := map[string]systemd.UnitBrief{
		"stays.service": {Active: true, File: "enabled"}, "stopped.service": {Active: true, File: "static"}, "disabled.timer": {File: "enabled"},
		"masked.service": {Active: true, File: "enabled"}, "away.service": {Active: true, File: "enabled"}, "a@b.service": {Active: true},
		"static.service": {Active: true, File: "static"}, "unlinked.service": {Active: true, File: "disabled"},
	}
	now := map[string]systemd.UnitBrief{
		"stays.service": {Active: true, File: "enabled"}, "stopped.service": {File: "static"}, "disabled.timer": {File: "disabled"},
		"masked.service": {File: "masked-runtime"}, "came.service": {Active: true, File: "enabled"},
		"static.service": {File: "masked"}, "unlinked.service": {Active: true, File: "disabled"},
	}
	want := []unitBack{
		{name: "a@b.service", start: true}, {name: "away.service", start: true}, {name: "disabled.timer", enable: true},
		{name: "masked.service", unmask: true, enable: true, start: true}, {name: "static.service", unmask: true, start: true},
		{name: "stopped.service", start: true},
	}
	if diff := cmp.Diff(want, unitsBack(was, now, false), cmp.AllowUnexported(unitBack{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want = []unitBack{
		{name: "disabled.timer", enable: true}, {name: "masked.service", unmask: true, enable: true, start: true},
		{name: "static.service", unmask: true, start: true},
	}
	if diff := cmp.Diff(want, unitsBack(was, now, true), cmp.AllowUnexported(unitBack{})); diff != "" {
		t.Errorf("at a boot (-want +got):\n%s", diff)
	}
}

// Several keys may name one path. Its state is captured once, whether it exists or not. The line
// that keeps it: capture.go, file (captured).
func TestAPathIsCapturedOnce(t *testing.T) {
	root := t.TempDir()
	hostroot.Put(t, root, "/etc/here", "old")
	h, err := host.Open(t.Context(), host.Options{Root: root, Facts: &host.Facts{}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	c := Capture{Host: h, Log: &Log{}, Twin: func(string) string { return "" }}
	for _, name := range []string{"/etc/here", "/etc/new", "/etc/here", "/etc/new"} {
		if err := c.file(name); err != nil {
			t.Fatal(err)
		}
	}
	if files := c.Log.Files; len(files) != 2 || files[0].Path != "/etc/here" || files[1].Path != "/etc/new" {
		t.Errorf("captured %+v, want each path once", files)
	}
}

// The kernel copies "all" and "default" to the links, so these are written first. Other sysctls are
// not of a link. The line that keeps it: capture.go, confKeys.
func TestSysctlsOfLinksComeLast(t *testing.T) {
	net := map[string]string{}
	want := []string{
		"net.ipv4.ip_forward", "net.ipv4.conf.all.rp_filter", "net.ipv6.conf.all.forwarding",
		"net.ipv4.conf.default.rp_filter", "net.ipv6.conf.default.forwarding",
		"net.ipv4.conf.aaa.rp_filter", "net.ipv6.conf.aaa.forwarding",
	}
	for _, key := range append(want, "net.ipv4.ip_default_ttl", "net.core.somaxconn") {
		net[key] = "1"
	}
	if got := confKeys(net); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// BenchmarkCapture10000 measures the capture of ten thousand files that do not exist yet.
func BenchmarkCapture10000(b *testing.B) {
	h, err := host.Open(b.Context(), host.Options{Root: b.TempDir(), Facts: &host.Facts{}})
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	for b.Loop() {
		c := Capture{Host: h, Log: &Log{}, Twin: func(string) string { return "" }}
		for i := range 10_000 {
			if err := c.file(fmt.Sprintf("/srv/many/%d", i)); err != nil {
				b.Fatal(err)
			}
		}
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
