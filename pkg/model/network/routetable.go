package network

import "fmt"

// How many routes one route table of AWS holds, propagated ones apart. With kubenet the cloud has one for each node, in one table.
// Quotas: https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html; the default was 50 when kOps' documents were written
// (https://kops.sigs.k8s.io/networking/#kubenet-default: 100 when raised, and slower above 50), and is 500 since June 2025.
const (
	awsRoutes       = 500
	awsRoutesRaised = 1000
	awsRoutesOnce   = 50
)

// checkRouteTable holds the number of nodes against what a route table of AWS holds. It refuses what no quota allows.
func (b *Built) checkRouteTable(in Input) error {
	if in.Node.CloudProvider != "aws" {
		return nil
	}
	const table = "kubenet needs a route for each node in one route table, where AWS allows %d, or %d once it raised the quota"
	size, origin := in.Node.Size, in.NetworkOrigin()
	switch limit := fmt.Sprintf(table, awsRoutes, awsRoutesRaised); {
	case size.Least > awsRoutesRaised:
		return fmt.Errorf("use kubenet (%s) for %d nodes: %s: choose amazonVPC, cilium or calico, which need no such routes", origin, size.Least, limit)
	case size.Least > awsRoutes:
		b.note(Warning, origin, "%s; the cluster has %d nodes: have the quota raised (Service Quotas, VPC, routes per route table), or choose another network", limit, size.Least)
	case size.Most > awsRoutes:
		b.note(Warning, origin, "%s; the node groups may grow to %d nodes (maxSize): have the quota raised before they do, or choose another network", limit, size.Most)
	case max(size.Least, size.Most) > awsRoutesOnce:
		b.note(Info, origin, "%s; the cluster may have %d nodes: a quota of before June 2025 may still be %d (Service Quotas, VPC, routes per route table)", limit,
			max(size.Least, size.Most), awsRoutesOnce)
	case size.Least == 0 && size.Most == 0:
		b.note(Info, origin, "%s; how many nodes there are is not known (nodes/*.yaml, or minSize and maxSize of the node groups, would say it)", limit)
	}
	return nil
}
