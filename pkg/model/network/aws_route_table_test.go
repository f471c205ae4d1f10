package network

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/networks"
)

// TestRouteTable has AWS' quotas below and above each limit, and unknown ones.
func TestRouteTable(t *testing.T) {
	for _, c := range []struct {
		cloud string
		size  config.Size
		want  string // the level, and some words of the text
	}{
		{"aws", config.Size{}, "info: the number of nodes is not known"},
		{"aws", config.Size{Least: 3}, ""},
		{"aws", config.Size{Least: 50}, ""},
		{"aws", config.Size{Least: 51}, "info: may have 51 nodes"},
		{"aws", config.Size{Least: 2, Most: 400}, "info: may have 400 nodes"},
		{"aws", config.Size{Least: 500, Most: 500}, "info: may have 500 nodes"},
		{"aws", config.Size{Least: 10, Most: 501}, "warning: may grow to 501 nodes"},
		{"aws", config.Size{Least: 501}, "warning: has 501 nodes"},
		{"aws", config.Size{Least: 1000}, "warning: has 1000 nodes"},
		{"aws", config.Size{Least: 1001}, "error: for 1001 nodes"},
		{"gce", config.Size{Least: 5000}, ""},
	} {
		var b Built
		in := Input{Node: &config.Node{CloudProvider: c.cloud, Size: c.size, Networking: networks.Networking{Kubenet: &networks.Kubenet{}}}}
		got := judged(b.Notes, b.checkRouteTable(in))
		if got == "" {
			got = judged(b.Notes, nil)
		}
		level, words, _ := strings.Cut(c.want, ": ")
		if !strings.HasPrefix(got, level) || !strings.Contains(got, words) || c.want == "" && got != "" {
			t.Errorf("%s with %+v: got %q, want %q", c.cloud, c.size, got, c.want)
		}
	}
}

// TestRoutes has the routes that EC2 counted, below and above each limit.
func TestRoutes(t *testing.T) {
	for _, c := range []struct {
		table RouteTable
		want  string
	}{
		{RouteTable{}, ""},
		{RouteTable{ID: "rtb-1", Routes: 44}, ""},
		{RouteTable{ID: "rtb-1", Routes: 45}, "warning: rtb-1 has 45 routes, and a quota of before June 2025 may still be 50"},
		{RouteTable{ID: "rtb-1", Routes: 50}, "warning: rtb-1 has 50 routes, and"},
		{RouteTable{ID: "rtb-1", Routes: 51}, ""},
		{RouteTable{ID: "rtb-1", Routes: 449}, ""},
		{RouteTable{ID: "rtb-1", Routes: 450}, "warning: rtb-1 has 450 routes, where AWS allows 500"},
		{RouteTable{ID: "rtb-1", Routes: 1000}, "warning: rtb-1 has 1000 routes, where"},
		{RouteTable{ID: "rtb-1", Routes: 46, Quota: 500}, ""},
		{RouteTable{ID: "rtb-1", Routes: 46, Quota: 50}, "warning: rtb-1 has 46 routes, and the account's quota is 50"},
		{RouteTable{ID: "rtb-1", Routes: 90, Quota: 100}, "warning: rtb-1 has 90 routes, and the account's quota is 100"},
		{RouteTable{ID: "rtb-1", Routes: 600, Quota: 1000}, ""},
		{RouteTable{ID: "rtb-1", Routes: 46, QuotaUnknown: "allow servicequotas:GetServiceQuota"}, "warning: may still be 50: look at it (Service Quotas, VPC, routes per route table), and have it raised; the account's quota was not read: allow servicequotas"},
		{RouteTable{ID: "rtb-1", Routes: 90, QuotaUnknown: "allow servicequotas:GetServiceQuota"}, ""},
		{RouteTable{Unknown: "allow ec2:DescribeRouteTables"}, "warning: not counted: allow ec2:DescribeRouteTables"},
	} {
		var b Built
		b.checkRoutes(Input{Node: &config.Node{}, Routes: c.table})
		got := judged(b.Notes, nil)
		level, words, _ := strings.Cut(c.want, ": ")
		if !strings.HasPrefix(got, level) || !strings.Contains(got, words) || c.want == "" && got != "" {
			t.Errorf("%+v: got %q, want %q", c.table, got, c.want)
		}
	}
}
