package discover

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/networks"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/reconcile/desired"
)

// cloud is an EC2 that counts the requests.
type cloud struct {
	asked  int
	denied error
}

func (c *cloud) SourceDestCheck(context.Context, string, string) (bool, error) { return true, nil }
func (c *cloud) StopSourceDestCheck(context.Context, string, string) error     { return nil }
func (c *cloud) Routes(_ context.Context, region, subnet, vpc string) (string, int, error) {
	c.asked++
	return "rtb-of-" + region + "-" + subnet + "-" + vpc, 46, c.denied
}

func (c *cloud) RouteQuota(context.Context, string) (int, error) {
	return 50, nil
}

// TestAskEC2: the agent asks EC2 only if documents want that, and only on a live node of AWS. A
// refusal is a note and no error.
func TestAskEC2(t *testing.T) {
	on := config.AWS{SourceDestCheck: config.DisableCheck, CountRoutes: true}
	kubenet := networks.Networking{Kubenet: &networks.Kubenet{}}
	facts := host.Facts{Cloud: "aws", Instance: &host.Instance{Region: "eu-central-1", Interfaces: []facts.ENI{{ID: "eni-1", Subnet: "subnet-1", VPC: "vpc-1"}}}}
	for _, c := range []struct {
		name   string
		node   config.Node
		host   host.Options
		facts  host.Facts
		denied error
		handed bool   // tasks may ask EC2
		table  string // or why it is not known
	}{
		{name: "wanted", node: config.Node{AWS: on, Networking: kubenet}, facts: facts, handed: true, table: "rtb-of-eu-central-1-subnet-1-vpc-1"},
		{name: "denied", node: config.Node{AWS: on, Networking: kubenet}, facts: facts, denied: errors.New("allow ec2:DescribeRouteTables"), handed: true, table: "allow ec2:DescribeRouteTables"},
		{name: "no metadata", node: config.Node{AWS: on, Networking: kubenet}, facts: host.Facts{Cloud: "aws"}, handed: true, table: "does not say the subnet"},
		{name: "a network that does not route by the cloud", node: config.Node{AWS: on, Networking: networks.Networking{Calico: &networks.Calico{}}}, facts: facts, handed: true},
		{name: "no field aws", node: config.Node{Networking: kubenet}, facts: facts},
		{name: "sourceDestCheck is DoNothing", node: config.Node{AWS: config.AWS{SourceDestCheck: config.DoNothing}, Networking: kubenet}, facts: facts},
		{name: "elsewhere", node: config.Node{AWS: on, Networking: kubenet}, handed: true},
		{name: "an image", node: config.Node{AWS: on, Networking: kubenet}, host: host.Options{Root: "/mnt"}, facts: facts},
		{name: "a sandbox", node: config.Node{AWS: on, Networking: kubenet}, host: host.Options{Sandbox: true}, facts: facts},
	} {
		t.Run(c.name, func(t *testing.T) {
			ec2 := &cloud{denied: c.denied}
			d, found := &desired.State{Node: &c.node}, model.Discovered{}
			Sources{Host: c.host, EC2: ec2, Live: !c.host.Sandbox && (c.host.Root == "" || c.host.Root == "/")}.AskEC2(t.Context(), d, &c.facts, &found)
			got := found.Routes.Unknown
			if got == "" {
				got = found.Routes.ID
			}
			if quota := found.Routes.Quota; (quota == 50) != strings.HasPrefix(got, "rtb-") {
				t.Errorf("the quota is %d, of a table with 46 routes: %+v", quota, found.Routes)
			}
			if (d.EC2 != nil) != c.handed || !strings.Contains(got, c.table) || c.table == "" && ec2.asked > 0 {
				t.Errorf("handed on %v, table %+v, asked %d times; want %v and %q", d.EC2 != nil, found.Routes, ec2.asked, c.handed, c.table)
			}
		})
	}
}

// learner is a host that notes how it must learn about its instance.
type learner struct{ told string }

func (l *learner) LearnInstance(_ context.Context, all bool) {
	if l.told = "the type"; all {
		l.told = "all"
	}
}

// TestAskCloud: the agent requests only the metadata that is needed.
func TestAskCloud(t *testing.T) {
	kubenet := networks.Networking{Kubenet: &networks.Kubenet{}}
	for _, c := range []struct {
		node config.Node
		want string
	}{
		{config.Node{Networking: kubenet}, ""},
		{config.Node{Networking: networks.Networking{AmazonVPC: &networks.AmazonVPC{}}}, "the type"},
		{config.Node{Networking: kubenet, AWS: config.AWS{CountRoutes: true}}, "all"},
		{config.Node{Networking: networks.Networking{LyftVPC: &networks.LyftVPC{}}}, "all"},
		{config.Node{Networking: networks.Networking{LyftVPC: &networks.LyftVPC{SecGroupIDs: []string{"sg-1"}}}}, ""},
		{config.Node{Networking: networks.Networking{AmazonVPC: &networks.AmazonVPC{}}, AWS: config.AWS{CountRoutes: true}}, "the type"},
		{config.Node{Networking: networks.Networking{Flannel: &networks.Flannel{}}, AWS: config.AWS{SourceDestCheck: config.DisableCheck}}, "all"},
	} {
		var l learner
		(Sources{}).AskCloud(t.Context(), &desired.State{Node: &c.node}, host.View{Metadata: &l})
		if l.told != c.want {
			t.Errorf("%s with %+v: the host is to learn %q, want %q", c.node.Networking.Name(), c.node.AWS, l.told, c.want)
		}
	}
}
