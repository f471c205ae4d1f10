package changes

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/graph"
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
	return &tasks.Change{NotApplicable: "planned"}, nil
}

// The line that keeps it: plan_task.go, PlanWithRetry.
func TestAPathThatGoesInTheMiddleOfItsPlanIsPlannedAgain(t *testing.T) {
	for times, fails := range map[int]bool{0: false, 1: false, 2: false, 3: true} {
		c, err := PlanTask(t.Context(), vanishing{tasks.File{Path: "/etc/motd"}, &times}, host.View{})
		if (err != nil) != fails || !fails && c.NotApplicable != "planned" {
			t.Errorf("gone %d times: %v, %v", times, c, err)
		}
	}
}

// If a wait ends by itself at some time, the next pass comes at that time.
func TestTheNextPassIsWhenAWaitIsJudgedAnew(t *testing.T) {
	at := time.Unix(1000, 0)
	rep := tasks.Report{Results: []tasks.Result{
		{}, {Err: errors.New("failed")}, {Err: graph.Wait("a pod CIDR")}, {Err: fmt.Errorf("conf: %w", graph.WaitUntil("half a conf", at.Add(time.Minute)))},
		{Err: graph.WaitUntil("another", at.Add(time.Hour))},
	}}
	for begin, want := range map[time.Time]time.Time{{}: at.Add(time.Minute), at: at, at.Add(time.Hour): at.Add(time.Minute)} {
		if got := Soonest(begin, rep); !got.Equal(want) {
			t.Errorf("from %s: %s, want %s", begin, got, want)
		}
	}
}
