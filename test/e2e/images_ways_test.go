package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/vm"
)

// way is how a new machine becomes a node.
type way struct {
	name    string
	image   func(*testing.T) vm.Disk // the image below the layer of each machine
	root    string                   // the position of its root file system, in bytes
	outside func(*testing.T, vm.Disk, store) outside
	knows   string // a script that checks facts which only a machine of this way knows
}

// outside has the options of a machine that never booted. Its servers are on a fabric of its own.
type outside struct {
	vm.Options
	asked func(*testing.T) // checks the requests to the servers, without disturbance
}

// stock returns the distribution's image, with its cloud-init.
func stock(t *testing.T) vm.Disk { return vm.Stock(t) }

var ways = []way{
	// The disk has the agent and all that needs no live kernel, and its own boot loader boots it.
	// The machine fetches only the documents.
	{name: "baked", image: bakedDisk, root: rootOffset, outside: func(t *testing.T, disk vm.Disk, s store) outside {
		f := serveFresh(t, s)
		return outside{Options: f.machine(disk), asked: func(t *testing.T) {
			if asked := f.mirror.take(); asked != "" {
				t.Errorf("the mirror was asked for %q, and the agent was there", asked)
			}
			asked := f.asked.take()
			if len(asked) == 0 || slices.ContainsFunc(asked, func(path string) bool { return strings.Contains(path, "/assets/") }) {
				t.Errorf("the store was asked for %q, want documents and no asset", asked)
			}
		}}
	}},
	// A stock image: the agent comes from a mirror, and the documents come over TLS.
	{name: "http", image: stock, root: "0", outside: func(t *testing.T, disk vm.Disk, s store) outside {
		f := serveFresh(t, s)
		return outside{Options: f.machine(disk), asked: func(t *testing.T) {
			if asked := f.mirror.take(); asked != "/netwright" {
				t.Errorf("the mirror was asked for %q", asked)
			}
		}}
	}},
	// The machine starts as on EC2. The firmware says so, the documents are in a bucket, and the
	// credentials for the bucket come from the instance's metadata. The user-data itself comes on
	// cloud-init's own disk, since cloud-init's data source for EC2 needs the DHCP of EC2.
	{name: "s3", image: stock, root: "0", outside: func(t *testing.T, disk vm.Disk, s store) outside {
		fabric := node.NewFabric(t)
		f := serveFromS3(t, fabric, s)
		o := fresh{fabric: fabric, userData: f.userData}.machine(disk)
		o.Vendor, o.Product = "Amazon EC2", "m5.large"
		return outside{Options: o, asked: f.check}
	}, knows: `
netwright facts -o json | jq -e '.cloud == "aws" and .instance.id == "i-0123456789abcdef0"'
`},
}

// machine returns a machine with the user-data and the files of f.
func (f fresh) machine(disk vm.Disk) vm.Options {
	return vm.Options{Fabric: f.fabric, Address: freshAddress, Cloud: &vm.Cloud{Disk: disk, Hostname: "node-1", UserData: f.userData, Files: f.files}}
}
