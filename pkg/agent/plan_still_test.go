package agent

import (
	"context"
	"fmt"
	"testing"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/tasks"
)

// vanishing is a file that somebody removes between the looks of its first plans.
type vanishing struct {
	tasks.File
	times *int
}

func (v vanishing) Plan(context.Context, host.View) (*tasks.Change, error) {
	if *v.times--; *v.times >= 0 {
		return nil, fmt.Errorf("hash /etc/motd: %w", host.ErrNotExist)
	}
	return &tasks.Change{NotHere: "planned"}, nil
}

// The line that keeps it: plan.go, planStill.
func TestAPathThatGoesInTheMiddleOfItsPlanIsPlannedAgain(t *testing.T) {
	for times, fails := range map[int]bool{0: false, 1: false, 2: false, 3: true} {
		c, err := look(t.Context(), vanishing{tasks.File{Path: "/etc/motd"}, &times}, nil)
		if (err != nil) != fails || !fails && c.NotHere != "planned" {
			t.Errorf("gone %d times: %v, %v", times, c, err)
		}
	}
}
