package vm

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/rootfs"
)

// Cloud is what a cloud tells a machine, on a disk for cloud-init's NoCloud. The scripts of the
// boots are in the vendor-data, so the user-data is only the test's.
type Cloud struct {
	Disk     Disk // Stock, or another with cloud-init
	Hostname string
	UserData string
	Early    string            // a script that each boot starts before anything of the network is up, beside all else
	Files    map[string]string // what the cloud itself puts onto the machine at each boot, by path: a company's CA
}

// seed writes the disk that cloud-init reads.
func (c *Cloud) seed(ctx context.Context, dir, address string) error {
	seed := filepath.Join(dir, "seed")
	network := "version: 2\nethernets:\n  eth0:\n    match: {macaddress: '" + uplinkMAC + "'}\n    set-name: eth0\n    addresses: [" + address + "/24, '" + node.Address6(address) + "/64']\n" +
		"    gateway4: " + node.Gateway4 + "\n    gateway6: '" + node.Gateway6 + "'\n"
	// The image has no other locale, and to make one takes a minute.
	vendor := "#cloud-config\nlocale: C.UTF-8\nbootcmd:\n- mkdir -p /payload\n- mount -o ro /dev/vdb /payload\n- cp -r /payload/.files/. /\n" +
		"- systemd-run -q --no-block --unit=lab-run sh /payload/.run\n- systemd-run -q --no-block --unit=lab-early sh -eu /payload/early\n"
	err := rootfs.WriteFiles(seed, map[string]string{
		"user-data":      c.UserData,
		"meta-data":      "instance-id: i-" + c.Hostname + "\nlocal-hostname: " + c.Hostname + "\n",
		"network-config": network,
		"vendor-data":    vendor,
	})
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "genisoimage", "-quiet", "-volid", "cidata", "-joliet", "-rock", "-output", filepath.Join(dir, "seed.iso"), seed).CombinedOutput()
	if err != nil {
		return fmt.Errorf("genisoimage: %w: %s", err, out)
	}
	return nil
}
