package tasks

import (
	"context"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/systemd"
)

// oneUnit has the units of a host with a single unit.
type oneUnit struct {
	host.Units
	state systemd.UnitState
}

func (v oneUnit) Unit(context.Context, string) (systemd.UnitState, error) { return v.state, nil }

// A unit that somebody masked cannot start, and the plan says so, unless the same plan makes its
// file or unmasks it.
func TestAMaskedUnitFailsInThePlan(t *testing.T) {
	yes, no := true, false
	state := systemd.UnitState{Name: "x.service", Load: "masked", File: "masked", Active: "inactive"}
	masked := host.View{Units: oneUnit{state: state}, Upcoming: host.NewPending(nil)}
	over := host.NewPending(nil)
	over.Add(host.Fact{Key: "file:/etc/systemd/system/x.service", File: &hostfs.FileInfo{Type: hostfs.Regular}, Installs: &yes})
	for _, c := range []struct {
		name string
		task UnitState
		view host.View
		err  string
	}{
		{"start", UnitState{Active: &yes}, masked, "somebody masked it, and systemd starts and enables no masked unit: `systemctl unmask x.service`"},
		{"enable", UnitState{Enabled: &yes}, masked, "somebody masked it"},
		{"unmask and start", UnitState{Active: &yes, Masked: &no}, masked, ""},
		{"stop", UnitState{Active: &no, Enabled: &no}, masked, ""},
		{"its file comes", UnitState{Active: &yes, Enabled: &yes}, over.Over(masked), ""},
	} {
		c.task.Name = "x.service"
		_, err := c.task.Plan(t.Context(), c.view)
		if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v, want %q", c.name, err, c.err)
		}
	}
}
