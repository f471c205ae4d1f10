package facts

import (
	"strings"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/kernel"
)

// cloudOf names the cloud that a machine runs in, in the words of kOps' spec.cloudProvider, by what
// its firmware says of itself (DMI); "" where nothing tells. The marks are those of cloud-init.
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
	case said("chassis_asset_tag") == "7783-7084-3265-9085-8269-3286-77": // Hyper-V elsewhere has another one
		return "azure"
	case strings.HasPrefix(said("product_name"), "OpenStack "):
		return "openstack"
	}
	return ""
}

// firmware is what it says of the machine in a field, "" where there is no DMI, as on many boards.
func firmware(k *kernel.Reader, field string) string {
	raw, err := sys.ReadKernelValue(k.Sys + "/class/dmi/id/" + field)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}

// nitroType is the type of an instance of AWS, which the firmware of Nitro tells ("m6i.large") and
// that of Xen does not.
func nitroType(k *kernel.Reader) string {
	if name := firmware(k, "product_name"); firmware(k, "sys_vendor") == "Amazon EC2" && strings.Count(name, ".") == 1 {
		return name
	}
	return ""
}
