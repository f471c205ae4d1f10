package facts

import (
	"strings"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/kernel"
)

// cloudOf returns the cloud of the machine, as kOps' spec.cloudProvider names it. It reads what the
// firmware says (DMI), and returns "" if that names no cloud. It uses the same values as
// cloud-init:
// https://github.com/canonical/cloud-init/blob/main/tools/ds-identify
func cloudOf(k *kernel.Reader) string {
	said := func(field string) string { return firmware(k, field) }
	switch vendor := said("sys_vendor"); vendor {
	case "Amazon EC2":
		return "aws"
	case "Google":
		return "gce"
	case "DigitalOcean", "Hetzner", "Scaleway":
		return strings.ToLower(vendor)
	case "OpenStack Foundation":
		return "openstack"
	}
	switch {
	case strings.HasSuffix(said("bios_version"), ".amazon"): // instances on Xen
		return "aws"
	case said("chassis_asset_tag") == "7783-7084-3265-9085-8269-3286-77": // not other Hyper-V
		return "azure"
	case strings.HasPrefix(said("product_name"), "OpenStack "):
		return "openstack"
	}
	return ""
}

// firmware returns a DMI field, or "" without DMI, as on many boards.
func firmware(k *kernel.Reader, field string) string {
	raw, err := sys.ReadKernelValue(k.Sys + "/class/dmi/id/" + field)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}

// nitroType returns the instance type on AWS ("m6i.large"). Only the firmware of Nitro has it, that
// of Xen does not.
func nitroType(k *kernel.Reader) string {
	if name := firmware(k, "product_name"); firmware(k, "sys_vendor") == "Amazon EC2" && strings.Count(name, ".") == 1 {
		return name
	}
	return ""
}
