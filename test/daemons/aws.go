package daemons

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/ec2"
	"github.com/netwright/netwright/test/imds"
	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/pki"
)

// AWS is a region for the machines of a fabric: EC2's API under its own name, the metadata service
// of each instance, and a VPC with one subnet, which is the subnet of the fabric.
type AWS struct {
	t      testing.TB
	fabric *node.Fabric
	ca     string // PEM, of who signed EC2's certificate
	vpc    *ec2.VPC

	mu       sync.Mutex
	nodes    map[string]*node.Node   // by instance
	metadata map[string]*imds.Server // by the instance's address
}

const (
	region      = "eu-central-1"
	endpoint    = "ec2." + region + ".amazonaws.com"
	imdsAddress = "169.254.169.254"
	awsNode     = "/opt/lab/aws-node"
	authorities = "/etc/ssl/certs/ca-certificates.crt"
)

// NewAWS makes a region without instances. The addresses of the subnet from 10.77.0.100 on are for
// pods and interfaces.
func NewAWS(t testing.TB, fabric *node.Fabric) *AWS {
	t.Helper()
	a := &AWS{t: t, fabric: fabric, nodes: map[string]*node.Node{}, metadata: map[string]*imds.Server{}}
	a.vpc = &ec2.VPC{ID: "vpc-1", Zone: region + "b", Subnet: "subnet-1", SubnetCIDR: netip.MustParsePrefix("10.77.0.0/24"),
		Ranges: []netip.Prefix{netip.MustParsePrefix("10.77.0.0/16"), netip.MustParsePrefix("100.64.0.0/16")},
		Next:   netip.MustParseAddr("10.77.0.100"), Attach: a.attach,
		Own: func(address netip.Addr, e ec2.Interface) error { return fabric.Answer(address.String(), e.MAC) }}
	authority := pki.New(t, "amazon")
	a.ca = authority.PEM
	pair := authority.Server("ec2", endpoint)
	certificate, err := tls.X509KeyPair([]byte(pair.Cert), []byte(pair.Key))
	if err != nil {
		t.Fatal(err)
	}
	serve(t, fabric, node.Gateway4+":443", &http.Server{Handler: &ec2.Server{Region: region, VPC: a.vpc}, TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}}})
	serve(t, fabric, imdsAddress+":80", &http.Server{Handler: http.HandlerFunc(a.ask)})
	return a
}

// ask hands a question to the metadata service of who asks.
func (a *AWS) ask(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	server, known := a.metadata[asker(r)]
	a.mu.Unlock()
	if !known {
		strange(w, r)
		return
	}
	server.ServeHTTP(w, r)
}

// Launch makes an instance of a node. The instance may have two interfaces with two addresses each,
// so that the first pod gets an address of the first interface, and the next pod one of the second.
func (a *AWS) Launch(ctx context.Context, n *node.Node) {
	a.t.Helper()
	n.Shell(ctx, a.Trust())
	i := ec2.Instance{ID: instanceAt(n.Address()), Type: "t3.nano", Interfaces: 2, Addresses: 2, MAC: macOf(n), Address: netip.MustParseAddr(n.Address()), Groups: []string{"sg-0a1b2c3d"}}
	a.mu.Lock()
	a.nodes[i.ID] = n
	a.mu.Unlock()
	a.LaunchMachine(i, nil)
}

// LaunchMachine adds an instance that makes the links of its interfaces itself. more are further
// values of its metadata service, by path below /latest/.
func (a *AWS) LaunchMachine(i ec2.Instance, more map[string]string) {
	a.t.Helper()
	a.vpc.Launch(i)
	values := map[string]string{
		"dynamic/instance-identity/document": fmt.Sprintf(`{"accountId": "123456789012", "availabilityZone": %q, "instanceId": %q, "instanceType": %q, "privateIp": %q, "region": %q, "version": "2017-09-30"}`,
			a.vpc.Zone, i.ID, i.Type, i.Address, region),
		"meta-data/instance-id": i.ID, "meta-data/instance-type": i.Type, "meta-data/ami-id": "ami-1",
		"meta-data/placement/availability-zone": a.vpc.Zone, "meta-data/placement/region": region,
		"meta-data/iam/security-credentials/nodes": `{"Code": "Success", "Type": "AWS-HMAC", "LastUpdated": "2026-01-01T00:00:00Z", "AccessKeyId": "AKIDEXAMPLE", "SecretAccessKey": "secret", "Token": "token", "Expiration": "` +
			time.Now().Add(12*time.Hour).UTC().Format(time.RFC3339) + `"}`,
	}
	maps.Copy(values, more)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.metadata[i.Address.String()] = &imds.Server{Values: values, Live: func() map[string]string { return a.vpc.Metadata(i.ID) }}
}

// Further gives an instance its second interface.
func (a *AWS) Further(instance string, groups ...string) { a.vpc.Further(instance, groups...) }

// Trust returns a script with which a machine resolves EC2's name and trusts its certificate.
func (a *AWS) Trust() string {
	return "echo '" + node.Gateway4 + " " + endpoint + "' >>/etc/hosts; mkdir -p " + filepath.Dir(authorities) + "; cat >>" + authorities + " <<'END'\n" + a.ca + "END\n"
}

// Interfaces returns the interfaces of an instance.
func (a *AWS) Interfaces(instance string) []ec2.Interface { return a.vpc.Of(instance) }

// InterfacesOf returns the interfaces of the instance of a node.
func (a *AWS) InterfacesOf(n *node.Node) []ec2.Interface {
	return a.Interfaces(instanceAt(n.Address()))
}

// instanceAt is the name of the instance that a node with this address is.
func instanceAt(address string) string {
	return fmt.Sprintf("i-%017x", netip.MustParseAddr(address).As4()[3])
}

func (a *AWS) attach(e ec2.Interface) error {
	a.mu.Lock()
	n := a.nodes[e.Instance]
	a.mu.Unlock()
	if n == nil {
		return nil
	}
	return n.Plug(fmt.Sprintf("eth%d", e.Device), e.MAC)
}

// StartAWSNode does what the DaemonSet aws-node does on an instance. Its init container prepares
// the instance. The entry point installs the plugins, starts ipamd, and writes the conf when ipamd
// answers. StartAWSNode waits for the conf. There is no API server: ipamd goes on without it, as at
// a boot without an API server, and assumes that the node accepts pods.
// https://github.com/aws/amazon-vpc-cni-k8s/blob/master/config/master/aws-k8s-cni.yaml
func (a *AWS) StartAWSNode(ctx context.Context, n *node.Node) {
	a.t.Helper()
	from := assets.AmazonVPC(a.t)
	for name, as := range map[string]string{"aws-vpc-cni": "aws-vpc-cni", "aws-k8s-agent": "aws-k8s-agent", "grpc-health-probe": "grpc-health-probe",
		"routed-eni-cni-plugin": "aws-cni", "egress-cni-plugin": "egress-cni", "aws-vpc-cni-init": "init/aws-vpc-cni-init"} {
		n.Copy(from+"/"+name, awsNode+"/"+as, 0o755)
	}
	for _, name := range []string{"host-local", "loopback", "portmap"} { // its image has all of them
		n.Copy(assets.CNIPlugins(a.t)+"/"+name, awsNode+"/init/"+name, 0o755)
	}
	n.Copy(from+"/10-aws.conflist", "/app/10-aws.conflist", 0o644) // where the image has it
	n.Shell(ctx, "mkdir -p /run/aws-node /var/log/aws-routed-eni; cd "+awsNode+"/init; HOST_CNI_BIN_PATH=/opt/cni/bin ./aws-vpc-cni-init")
	args := []string{"--quiet", "--collect", "--unit=aws-node", "--working-directory=" + awsNode, "--property=PrivateTmp=yes",
		"--property=TimeoutStopSec=1s"} // its DaemonSet gives it ten: told to end, ipamd waits to be killed
	for _, line := range []string{"HOST_CNI_BIN_PATH=/opt/cni/bin", "HOST_CNI_CONFDIR_PATH=/etc/cni/net.d", "AWS_VPC_K8S_CNI_LOG_FILE=/var/log/aws-routed-eni/ipamd.log",
		"MY_NODE_NAME=" + n.Name(), "ENABLE_IPv4=true", "AWS_MANAGE_ENIS_NON_SCHEDULABLE=true",
		"AWS_VPC_ENI_MTU=1500"} { // the fabric's
		args = append(args, "--setenv="+line)
	}
	n.Must(ctx, "systemd-run", append(args, "--", awsNode+"/aws-vpc-cni")...)
	if !n.Await(ctx, "test -e /etc/cni/net.d/10-aws.conflist") {
		a.t.Fatalf("node %s: aws-node writes no conf:\n%s\n%s", n.Name(), n.Run(ctx, "journalctl", "-u", "aws-node", "-n", "40", "--no-pager").Stdout,
			n.Run(ctx, "/bin/sh", "-c", "tail -n 60 /var/log/aws-routed-eni/ipamd.log").Stdout)
	}
}

// AwaitSecond waits until ipamd has an address of the second interface, too. ipamd takes that
// interface when a pod has the address of the first one.
func (a *AWS) AwaitSecond(ctx context.Context, n *node.Node) {
	a.t.Helper()
	if !n.Await(ctx, `curl -fsS http://localhost:61679/v1/enis | grep -q '"TotalIPs":2,'`) {
		a.t.Fatalf("node %s: ipamd has no second interface:\n%s", n.Name(), n.Run(ctx, "/bin/sh", "-c", "tail -n 60 /var/log/aws-routed-eni/ipamd.log").Stdout)
	}
}
