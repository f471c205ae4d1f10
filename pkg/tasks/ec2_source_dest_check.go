package tasks

import (
	"context"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
)

// KindSourceDest is the kind of EC2's source/destination check: source-dest-check:primary.
const KindSourceDest = "source-dest-check"

// EC2 is the part of EC2's API that [SourceDestCheck] needs. Package ec2 has the client.
type EC2 interface {
	SourceDestCheck(ctx context.Context, region, eni string) (on bool, err error)
	StopSourceDestCheck(ctx context.Context, region, eni string) error
}

// SourceDestCheck turns off EC2's source/destination check of the instance's primary interface,
// which has the node's address. With the check on, EC2 drops packets with pods' own addresses.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/using-eni.html
//
// The check is no state of this host: the ledger does not record it, neither an undo nor a reset
// turns it on again, and it ends with the interface.
type SourceDestCheck struct {
	Meta
	EC2 EC2 // nil: EC2 is not asked
}

var _ Task = SourceDestCheck{}

// Owns implements [Task].
func (t SourceDestCheck) Owns() []graph.Key {
	return []graph.Key{graph.MakeKey(KindSourceDest, "primary")}
}

// Plan implements [Task]. It asks EC2's API and changes nothing there.
func (t SourceDestCheck) Plan(ctx context.Context, v host.View) (*Change, error) {
	change := &Change{Items: []Item{{Key: t.Owns()[0], Op: Update,
		Fields: []Field{{Name: "check", Before: "on", After: "off"}}}}, Reason: "EC2 drops packets of pods' addresses"}
	switch {
	case v.Facts.Cloud != "aws":
		change.NotApplicable = "no instance of AWS"
		return change, nil
	case t.EC2 == nil:
		change.NotApplicable = "EC2 is not asked here"
		return change, nil
	}
	region, eni := primary(v.Facts)
	if eni == "" {
		return nil, graph.Wait("the primary interface's id, which the instance's metadata says (`agent facts`)")
	}
	on, err := t.EC2.SourceDestCheck(ctx, region, eni)
	if err != nil || !on {
		return nil, err
	}
	change.Items[0].Fields[0].Name = "check of " + eni
	return change, nil
}

// Apply implements [Task].
func (t SourceDestCheck) Apply(ctx context.Context, h *host.Host, _ *Change) error {
	region, eni := primary(h.Live.Facts)
	return t.EC2.StopSourceDestCheck(ctx, region, eni)
}

// primary returns the instance's first interface; "" where it is unknown.
func primary(f *host.Facts) (region, eni string) {
	if i := f.Instance; i != nil && i.Region != "" && len(i.Interfaces) > 0 && i.Interfaces[0].Device == 0 {
		return i.Region, i.Interfaces[0].ID
	}
	return "", ""
}
