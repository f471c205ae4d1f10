package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/imds"
	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/s3server"
)

// A bare machine starts as on AWS. It takes the agent from a mirror, its documents from a bucket,
// and the credentials for the bucket from the instance's metadata.
func TestBootstrapFromS3(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	f := node.NewFabric(t)
	from := serveFromS3(t, f, bridgeStore(t))
	n := f.Node(t, node.Options{Name: "node-1", Address: "10.77.0.11"})
	n.Shell(ctx, `at=http://`+metadataAddress+`/latest
token=$(curl -sSf -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' $at/api/token)
curl -sSf -H "X-aws-ec2-metadata-token: $token" $at/user-data | sh`)
	n.Must(ctx, "systemctl", "start", "netwright-agent.service") // waits for READY
	checkBridgeNode(t, n)
	from.check(t)
	if said := n.Must(ctx, "sh", "-c", "journalctl --no-pager; cat /etc/netwright/agent.yaml"); strings.Contains(said, s3server.Secret) {
		t.Error("the journal or the agent's file has the secret key")
	}
}

// fromS3 has the servers of a fabric that a new machine on AWS needs.
type fromS3 struct {
	userData string // the instance's metadata has it, too
	metadata *imds.Server
	mirror   *mirrors
}

// check checks which requests each server got.
func (s fromS3) check(t *testing.T) {
	t.Helper()
	if asked := s.metadata.Asked(); !slices.Contains(asked, "GET meta-data/iam/security-credentials/worker") {
		t.Errorf("the credentials are not the instance's: %q", asked)
	}
	if asked := s.mirror.take(); asked != "/netwright" {
		t.Errorf("the mirror was asked for %q", asked)
	}
}

// serveFromS3 publishes a cluster, signed, to a bucket, and puts the agent onto a mirror. It also
// serves the metadata of an instance that may read the bucket.
func serveFromS3(t *testing.T, f *node.Fabric, s store) fromS3 {
	t.Helper()
	server := s3server.Start(t)
	server.Bucket("config")
	const port = "9000"
	relay(t, f, node.Gateway4+":"+port, strings.TrimPrefix(server.URL, "http://"))

	p := newPublisher(t, "AWS_ACCESS_KEY_ID="+s3server.Access, "AWS_SECRET_ACCESS_KEY="+s3server.Secret, "AWS_EC2_METADATA_DISABLED=true")
	p.run("store", "publish", s.dir, "s3://config/fleet?endpoint="+server.URL+"&region=us-east-1", "--key", p.key)
	archives, err := os.ReadDir(s.path("assets"))
	if err != nil {
		t.Fatal(err)
	}
	for _, archive := range archives {
		server.Put("config", "fleet/"+cluster+"/assets/"+archive.Name(), []byte(p.read(s.path("assets/"+archive.Name()))))
	}
	served := serveMirrors(t, f, map[string][]byte{"/netwright": p.program})
	text := p.userData("--trusted-key", p.trusted,
		"--store", "s3://config/fleet?endpoint=http://"+node.Gateway4+":"+port+"&region=us-east-1", "--cluster", cluster, "--node", "node-1")
	metadata := serveMetadata(t, f, text)
	metadata.Values["meta-data/iam/security-credentials/"] = "worker"
	metadata.Values["meta-data/iam/security-credentials/worker"] = fmt.Sprintf(`{"Code": "Success", "Type": "AWS-HMAC", "AccessKeyId": %q, "SecretAccessKey": %q, "Token": "",
  "LastUpdated": "2020-01-01T00:00:00Z", "Expiration": "2999-01-01T00:00:00Z"}`, s3server.Access, s3server.Secret)
	return fromS3{userData: text, metadata: metadata, mirror: served}
}

// relay carries bytes from an address of the fabric to a server of this machine, until the test
// ends.
func relay(t testing.TB, f *node.Fabric, from, to string) {
	t.Helper()
	var listener net.Listener
	err := f.Do(func() (err error) {
		listener, err = net.Listen("tcp", from)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return // the test has ended
			}
			far, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", to)
			if err != nil {
				near.Close()
				continue
			}
			for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
				go func() {
					_, _ = io.Copy(way[0], way[1]) // the end of one direction ends both
					near.Close()
					far.Close()
				}()
			}
		}
	}()
}
