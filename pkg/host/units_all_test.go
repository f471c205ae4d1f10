package host

import (
	"os/exec"
	"testing"

	"github.com/netwright/netwright/pkg/host/systemd"
)

// The lists have the units that run and those that are enabled, as systemd reports them. A mask of
// only this boot is removed, too. The lines that keep it: pkg/host/systemd/unit_list.go;
// pkg/host/systemd/jobs.go, Unmask.
func testAllUnits(t *testing.T) {
	h, ctx := openNode(t), t.Context()
	write(t, "/usr/lib/systemd/system/lab.service", "[Service]\nExecStart=sleep 1000\n[Install]\nWantedBy=multi-user.target\n")
	write(t, "/usr/lib/systemd/system/lab@.service", "[Service]\nExecStart=sleep 1000\n[Install]\nWantedBy=multi-user.target\n")
	for _, step := range []struct {
		does           string
		unit, instance systemd.UnitBrief
	}{
		{"systemctl daemon-reload; systemctl enable --now lab; systemctl start lab@a", systemd.UnitBrief{Active: true, File: "enabled"}, systemd.UnitBrief{Active: true}},
		{"systemctl disable --now lab; systemctl stop lab@a", systemd.UnitBrief{File: "disabled"}, systemd.UnitBrief{}},
		{"systemctl mask --runtime lab", systemd.UnitBrief{File: "masked-runtime"}, systemd.UnitBrief{}},
		{"", systemd.UnitBrief{File: "disabled"}, systemd.UnitBrief{}},
	} {
		if out, err := exec.Command("sh", "-ec", step.does).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", step.does, err, out)
		}
		if step.does == "" {
			noError(t, h.Units.Unmask(ctx, "lab.service"))
		}
		all, err := h.Units.AllUnits(ctx)
		noError(t, err)
		if all["lab.service"] != step.unit || all["lab@a.service"] != step.instance {
			t.Errorf("%s: AllUnits returns %+v, %+v", step.does, all["lab.service"], all["lab@a.service"])
		}
		if _, session := all["init.scope"]; session || !all["systemd-journald.service"].Active {
			t.Errorf("of %d units journald does not run, or a scope is among them", len(all))
		}
	}
}
