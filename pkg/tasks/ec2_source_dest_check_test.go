package tasks

import (
	"context"
	"errors"
	"testing"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/facts"
)

// interfaces stands for EC2. It says for each interface whether the check is on.
type interfaces map[string]bool

var errDenied = errors.New("allow ec2:DescribeNetworkInterfaces to the instance's role")

func (i interfaces) SourceDestCheck(_ context.Context, region, eni string) (bool, error) {
	if on, ok := i[region+" "+eni]; ok {
		return on, nil
	}
	return false, errDenied
}

func (i interfaces) StopSourceDestCheck(_ context.Context, region, eni string) error {
	i[region+" "+eni] = false
	return nil
}

func TestSourceDestCheck(t *testing.T) {
	h, err := host.Open(t.Context(), host.Options{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	ec2 := interfaces{"eu-central-1 eni-1": true, "eu-central-1 eni-2": true}
	task := SourceDestCheck{EC2: ec2}
	if c := plan(t, task, h.Live.View()); c.NotApplicable != "no instance of AWS" {
		t.Errorf("on a machine that is nobody's: %+v", c)
	}
	h.Live.Facts.Cloud = "aws"
	if c := plan(t, SourceDestCheck{}, h.Live.View()); c.NotApplicable != "EC2 is not asked here" {
		t.Errorf("where nobody may ask EC2: %+v", c)
	}
	if _, err := task.Plan(t.Context(), h.Live.View()); !graph.IsWait(err) {
		t.Errorf("without metadata: %v", err)
	}
	h.Live.Facts.Instance = &host.Instance{Region: "eu-central-1", Interfaces: []facts.ENI{{ID: "eni-1"}, {ID: "eni-2", Device: 1}}}
	plan(t, task, h.Live.View())
	if !ec2["eu-central-1 eni-1"] {
		t.Error("a plan has turned the check off")
	}
	wantLines(t, converge(t, h, task), "~ source-dest-check:primary, check of eni-1 on→off")
	if ec2["eu-central-1 eni-1"] || !ec2["eu-central-1 eni-2"] {
		t.Errorf("the checks are %v, want that of eni-1 alone to be off", ec2)
	}
	delete(ec2, "eu-central-1 eni-1")
	if _, err := task.Plan(t.Context(), h.Live.View()); !errors.Is(err, errDenied) {
		t.Errorf("without permission: %v", err)
	}
}
