package discover

import (
	"context"
	"slices"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/tasks"
)

// EC2 is what a pass asks of EC2's API if the documents want it (spec.aws). Package ec2 has the
// client.
type EC2 interface {
	tasks.EC2
	Routes(ctx context.Context, region, subnet, vpc string) (table string, count int, err error)
	RouteQuota(ctx context.Context, region string) (int, error)
}

// AskCloud reads the instance metadata of AWS if the network or EC2's API needs it. Otherwise it
// costs nothing. It does not ask again for what the daemon learned before the pass.
func (s Sources) AskCloud(ctx context.Context, d *desired.State, v host.View) {
	if d.Pinned != nil {
		return
	}
	if s.Answers == nil {
		learnInstance(ctx, d.Node, v)
		return
	}
	f := v.Facts
	if f.Instance == nil {
		f.Instance = s.Answers.instance
	}
	for _, problem := range s.Answers.problems {
		if !slices.Contains(f.Problems, problem) {
			f.Problems = append(f.Problems, problem)
		}
	}
}

func learnInstance(ctx context.Context, n *config.Node, v host.View) {
	if all := wantsEC2(n) || network.WantsInterfaces(n); all || network.ENIPods(n) {
		v.Metadata.LearnInstance(ctx, all)
	}
}

// wantsEC2 reports whether the documents want EC2's API to be asked.
func wantsEC2(n *config.Node) bool {
	return n.AWS.SourceDestCheck == config.DisableCheck || countsRoutes(n)
}

// countsRoutes reports whether the network has routes in a route table of the VPC and the
// documents want them counted.
func countsRoutes(n *config.Node) bool { return n.AWS.CountRoutes && n.Networking.Kubenet != nil }

// AskEC2 prepares d for the tasks that ask EC2, and counts the routes in the node's route table.
// It asks nothing for an image, a sandbox or a held revision.
func (s Sources) AskEC2(ctx context.Context, d *desired.State, f *host.Facts, found *model.Discovered) {
	if s.EC2 == nil || !s.Live || d.Pinned != nil || !wantsEC2(d.Node) {
		return
	}
	if d.EC2 = s.EC2; s.CacheOnly {
		d.EC2 = nil // EC2's answer is not about this host, and is in no ledger
		return
	}
	if s.Answers != nil {
		d.EC2 = s.Answers.ec2
		if s.Answers.routes != nil && countsRoutes(d.Node) {
			found.Routes = *s.Answers.routes
		}
		return
	}
	if countsRoutes(d.Node) && f.Cloud == "aws" {
		found.Routes = routes(ctx, s.EC2, f.Instance)
	}
}

// routes returns the routes in the table of the primary interface's subnet, or why they are
// unknown.
func routes(ctx context.Context, ec2 EC2, i *host.Instance) (out network.RouteTable) {
	if i == nil || len(i.Interfaces) == 0 || i.Interfaces[0].Subnet == "" {
		out.Unknown = "the instance's metadata does not say the subnet (`agent facts`)"
		return out
	}
	var err error
	if out.ID, out.Routes, err = ec2.Routes(ctx, i.Region, i.Interfaces[0].Subnet, i.Interfaces[0].VPC); err != nil {
		out.Unknown = err.Error()
		return out
	}
	if network.NearRouteQuota(out.Routes) { // only then the quota matters
		if out.Quota, err = ec2.RouteQuota(ctx, i.Region); err != nil {
			out.QuotaUnknown = err.Error()
		}
	}
	return out
}
