package network

import (
	"fmt"

	"github.com/netwright/netwright/pkg/plural"
)

// How many routes one route table of AWS holds, propagated ones apart. With kubenet the cloud has
// one for each node, in one table. Quotas:
// https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html; the default was 50 when
// kOps' documents were written (https://kops.sigs.k8s.io/networking/#kubenet-default: 100 when
// raised, and slower above 50), and is 500 since June 2025.
const (
	awsRoutes       = 500
	awsRoutesRaised = 1000
	awsRoutesOnce   = 50
)

// checkRouteTable holds the number of nodes against what a route table of AWS holds. It refuses
// what no quota allows.
func (b *Built) checkRouteTable(in Input) error {
	if in.Node.CloudProvider != "aws" {
		return nil
	}
	const table = "kubenet needs a route for each node in one route table, where AWS allows %d, or %d once it raised " +
		"the quota"
	size, origin := in.Node.Size, in.NetworkOrigin()
	switch limit := fmt.Sprintf(table, awsRoutes, awsRoutesRaised); {
	case size.Least > awsRoutesRaised:
		return fmt.Errorf("use kubenet (%s) for %s: %s: choose amazonVPC, cilium or calico, which need no such "+
			"routes", origin, plural.Of(size.Least, "node"), limit)
	case size.Least > awsRoutes:
		b.note(Warning, origin, "%s; the cluster has %s: have the quota raised (Service Quotas, VPC, routes per "+
			"route table), or choose another network", limit, plural.Of(size.Least, "node"))
	case size.Most > awsRoutes:
		b.note(Warning, origin, "%s; the node groups may grow to %s (maxSize): have the quota raised before "+
			"they do, or choose another network", limit, plural.Of(size.Most, "node"))
	case max(size.Least, size.Most) > awsRoutesOnce:
		b.note(Info, origin, "%s; the cluster may have %s: a quota of before June 2025 may still be %d (Service "+
			"Quotas, VPC, routes per route table)", limit,
			plural.Of(max(size.Least, size.Most), "node"), awsRoutesOnce)
	case size.Least == 0 && size.Most == 0:
		b.note(Info, origin, "%s; the number of nodes is not known (nodes/*.yaml, or minSize and maxSize of the "+
			"node groups, set it)", limit)
	}
	return nil
}

// RouteTable is the table of the subnet that the node is in, as EC2 knows it. The zero value: it
// was not asked.
type RouteTable struct {
	ID           string
	Routes       int    // of IPv4 and not propagated: what the quota counts
	Unknown      string // why it was asked and is not known
	Quota        int    // what AWS allows the account in one table; 0: not known
	QuotaUnknown string // why it was asked and is not known
}

// nearly tells that a table is nearly full: what is left is a tenth.
func nearly(routes, limit int) bool { return routes >= limit-limit/10 }

// NearRouteQuota tells that a table with so many routes may be nearly full by the least quota that
// an account has: only then it matters which it has.
func NearRouteQuota(routes int) bool { return nearly(routes, awsRoutesOnce) }

// checkRoutes says when the table is nearly full: a node that finds no room gets no route, and
// nobody reaches its pods.
func (b *Built) checkRoutes(in Input) {
	t, origin := in.Routes, in.Origin("spec.aws.countRoutes")
	unread := ""
	if t.QuotaUnknown != "" {
		unread = "; the account's quota was not read: " + t.QuotaUnknown
	}
	switch {
	case t.Unknown != "":
		b.note(Warning, origin, "the routes in the node's route table are not counted: %s", t.Unknown)
	case t.Quota > 0 && nearly(t.Routes, t.Quota):
		b.note(Warning, origin, "route table %s has %s, and the account's quota is %d: the pods of a node "+
			"without a route are not reached; have it raised (Service Quotas, VPC, routes per route table; %d at "+
			"most), or choose another network",
			t.ID, plural.Of(t.Routes, "route"), t.Quota, awsRoutesRaised)
	case t.Quota > 0:
	case nearly(t.Routes, awsRoutes):
		b.note(Warning, origin, "route table %s has %s, where AWS allows %d, or %d once it raised the quota: "+
			"the pods of a node without a route are not reached; have it raised (Service Quotas, VPC, routes per "+
			"route table), or choose another network%s",
			t.ID, plural.Of(t.Routes, "route"), awsRoutes, awsRoutesRaised, unread)
	case nearly(t.Routes, awsRoutesOnce) && t.Routes <= awsRoutesOnce:
		b.note(Warning, origin, "route table %s has %s, and a quota of before June 2025 may still be %d: look "+
			"at it (Service Quotas, VPC, routes per route table), and have it raised%s",
			t.ID, plural.Of(t.Routes, "route"), awsRoutesOnce, unread)
	}
}
