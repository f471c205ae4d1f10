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

// EC2 is what a pass asks EC2's API, where the documents want it (spec.aws). Package ec2 has the
// client.
type EC2 interface {
	tasks.EC2
	Routes(ctx context.Context, region, subnet, vpc string) (table string, count int, err error)
	RouteQuota(ctx context.Context, region string) (int, error)
}

// AskCloud lets the host learn what AWS says of the instance, where the network or EC2's API wants
// to know: a pass that does not ask costs nothing. What a look of the daemon was told is not asked
// for again.
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

// wantsEC2 tells that the documents want EC2's API to be asked.
func wantsEC2(n *config.Node) bool {
	return n.AWS.SourceDestCheck == config.DisableCheck || countsRoutes(n)
}

// countsRoutes tells that the network has routes in a table of the VPC, and that they are to be
// counted.
func countsRoutes(n *config.Node) bool { return n.AWS.CountRoutes && n.Networking.Kubenet != nil }

// AskEC2 readies d for the tasks that ask EC2, and counts the routes of the node's table. An image,
// a sandbox and a held revision ask nobody.
func (s Sources) AskEC2(ctx context.Context, d *desired.State, f *host.Facts, found *model.Discovered) {
	if s.EC2 == nil || !s.Live || d.Pinned != nil || !wantsEC2(d.Node) {
		return
	}
	if d.EC2 = s.EC2; s.CacheOnly {
		d.EC2 = nil // what it says is no part of this host, and in no ledger
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

// routes are those in the table of the subnet that the primary interface is in, or why they are not
// known.
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
	if network.NearRouteQuota(out.Routes) { // else it decides nothing
		if out.Quota, err = ec2.RouteQuota(ctx, i.Region); err != nil {
			out.QuotaUnknown = err.Error()
		}
	}
	return out
}
