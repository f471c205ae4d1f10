package ec2

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/test/ec2"
)

const region = "eu-central-1"

// serve returns the agent's client for an EC2, with credentials.
func serve(t *testing.T, s *ec2.Server) *Client {
	t.Helper()
	s.Region = region
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	t.Setenv("AWS_ENDPOINT_URL_EC2", server.URL)
	t.Setenv("AWS_ENDPOINT_URL_SERVICE_QUOTAS", server.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIATEST")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
	return new(Client)
}

// calls returns the actions with their parameters, in the words of the API.
func calls(s *ec2.Server) string {
	var out []string
	for _, form := range s.Asked() {
		form.Del("Version")
		out = append(out, form.Encode())
	}
	return strings.Join(out, "\n")
}

func TestSourceDestCheck(t *testing.T) {
	s := &ec2.Server{Checks: map[string]bool{"eni-1": true, "eni-2": true}, Late: 1}
	c := serve(t, s)
	look := func(want bool) {
		t.Helper()
		on, err := c.SourceDestCheck(t.Context(), region, "eni-1")
		if err != nil || on != want {
			t.Fatalf("the check is on: %v, %v; want %v", on, err, want)
		}
	}
	look(true)
	look(true) // from memory
	if err := c.StopSourceDestCheck(t.Context(), region, "eni-1"); err != nil {
		t.Fatal(err)
	}
	look(false)
	want := `Action=DescribeNetworkInterfaces&NetworkInterfaceId.1=eni-1
Action=ModifyNetworkInterfaceAttribute&NetworkInterfaceId=eni-1&SourceDestCheck.Value=false
Action=DescribeNetworkInterfaces&NetworkInterfaceId.1=eni-1
Action=DescribeNetworkInterfaces&NetworkInterfaceId.1=eni-1`
	if got := calls(s); got != want {
		t.Errorf("asked\n%s\nwant\n%s", got, want)
	}
	if s.Checks["eni-1"] || !s.Checks["eni-2"] {
		t.Errorf("the checks are %v", s.Checks)
	}
}

func TestRoutes(t *testing.T) {
	s := &ec2.Server{Tables: []ec2.Table{
		{ID: "rtb-other", VPC: "vpc-2", Main: true, Routes: 9},
		{ID: "rtb-main", VPC: "vpc-1", Main: true, Routes: 2},
		{ID: "rtb-nodes", VPC: "vpc-1", Subnets: []string{"subnet-1"}, Routes: 460, Propagated: 7},
	}}
	c := serve(t, s)
	for _, want := range []struct {
		subnet, vpc, table string
		count              int
	}{{"subnet-1", "vpc-1", "rtb-nodes", 460}, {"subnet-2", "vpc-1", "rtb-main", 2}} {
		table, count, err := c.Routes(t.Context(), region, want.subnet, want.vpc)
		if err != nil || table != want.table || count != want.count {
			t.Errorf("%s: %s has %d, %v; want %s with %d", want.subnet, table, count, err, want.table, want.count)
		}
	}
	if _, _, err := c.Routes(t.Context(), region, "subnet-3", "vpc-3"); err == nil || !strings.Contains(err.Error(), "no table is that of subnet subnet-3 or the main one of vpc-3") {
		t.Errorf("a subnet without a table: %v", err)
	}
}

// TestRouteQuota: the quota is requested once, also if it is refused. The error names the
// permission.
func TestRouteQuota(t *testing.T) {
	for _, c := range []struct {
		server    *ec2.Server
		want      int
		err       string
		transient bool
	}{
		{server: &ec2.Server{Quota: 100}, want: 100},
		{server: &ec2.Server{Quota: 100, Denied: []string{"GetServiceQuota"}}, err: "allow servicequotas:GetServiceQuota to the instance's role"},
		{server: &ec2.Server{}, err: "NoSuchResourceException: the answer says no quota"},
		{server: &ec2.Server{Status: 503}, err: "status 503", transient: true},
	} {
		client := serve(t, c.server)
		for range 2 {
			got, err := client.RouteQuota(t.Context(), region)
			if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) || graph.IsTransient(err) != c.transient {
				t.Errorf("%d, %v; want %d, %q", got, err, c.want, c.err)
			}
		}
		if asked := calls(c.server); asked != "Action=GetServiceQuota" {
			t.Errorf("asked %q", asked)
		}
	}
}

// TestRefused: the error names the missing permission as IAM calls it. Such a request is not tried
// again, and a temporary failure is.
func TestRefused(t *testing.T) {
	s := &ec2.Server{Checks: map[string]bool{"eni-1": true}, Denied: []string{"DescribeNetworkInterfaces", "ModifyNetworkInterfaceAttribute", "DescribeRouteTables"}}
	c := serve(t, s)
	_, seen := c.SourceDestCheck(t.Context(), region, "eni-1")
	_, _, counted := c.Routes(t.Context(), region, "subnet-1", "vpc-1")
	for action, err := range map[string]error{"DescribeNetworkInterfaces": seen, "DescribeRouteTables": counted,
		"ModifyNetworkInterfaceAttribute": c.StopSourceDestCheck(t.Context(), region, "eni-1")} {
		if err == nil || !strings.Contains(err.Error(), "allow ec2:"+action+" to the instance's role") || strings.Contains(err.Error(), "QUJD") || graph.IsTransient(err) {
			t.Errorf("%s is refused with: %v", action, err)
		}
	}
	s.Denied = nil
	if _, err := c.SourceDestCheck(t.Context(), region, "eni-9"); err == nil || !strings.Contains(err.Error(), "InvalidNetworkInterfaceID.NotFound: The networkInterface ID 'eni-9' does not exist") {
		t.Errorf("an interface that is not there: %v", err)
	}
	s.Status = 503
	if _, err := c.SourceDestCheck(t.Context(), region, "eni-1"); !graph.IsTransient(err) {
		t.Errorf("status 503: %v", err)
	}
	s.Status, s.Region = 0, "elsewhere"
	if _, err := c.SourceDestCheck(t.Context(), region, "eni-1"); err == nil || !strings.Contains(err.Error(), "look at the credentials") {
		t.Errorf("credentials that do not count: %v", err)
	}
}

func TestEndpoint(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL_EC2", "")
	for region, want := range map[string]string{"eu-central-1": "https://ec2.eu-central-1.amazonaws.com", "us-gov-west-1": "https://ec2.us-gov-west-1.amazonaws.com",
		"cn-north-1": "https://ec2.cn-north-1.amazonaws.com.cn"} {
		if got := endpoint(region); got != want {
			t.Errorf("%s is asked at %s, want %s", region, got, want)
		}
	}
}
