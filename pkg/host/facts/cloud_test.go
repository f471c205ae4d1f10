package facts

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The table has the texts of clouds' firmware, as their instances show them below
// /sys/class/dmi/id.
func TestCloudOf(t *testing.T) {
	for name, c := range map[string]struct {
		dmi  map[string]string
		want string
	}{
		"Nitro":            {map[string]string{"sys_vendor": "Amazon EC2\n", "product_name": "m6i.large\n"}, "aws"},
		"Xen on AWS":       {map[string]string{"sys_vendor": "Xen\n", "bios_version": "4.11.amazon\n"}, "aws"},
		"Xen elsewhere":    {map[string]string{"sys_vendor": "Xen\n", "bios_version": "4.11\n"}, ""},
		"Google":           {map[string]string{"sys_vendor": "Google\n", "product_name": "Google Compute Engine\n"}, "gce"},
		"Azure":            {map[string]string{"sys_vendor": "Microsoft Corporation\n", "chassis_asset_tag": "7783-7084-3265-9085-8269-3286-77\n"}, "azure"},
		"Hyper-V at home":  {map[string]string{"sys_vendor": "Microsoft Corporation\n", "chassis_asset_tag": "1234\n"}, ""},
		"Nova":             {map[string]string{"sys_vendor": "QEMU\n", "product_name": "OpenStack Nova\n"}, "openstack"},
		"Hetzner":          {map[string]string{"sys_vendor": "Hetzner\n", "product_name": "vServer\n"}, "hetzner"},
		"a machine of one": {map[string]string{"sys_vendor": "Dell Inc.\n"}, ""},
		"a board":          {nil, ""},
	} {
		files := map[string]string{}
		for field, text := range c.dmi {
			files["/sys/class/dmi/id/"+field] = text
		}
		if got := cloudOf(fakeKernel(t, files)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestHugepages(t *testing.T) {
	k := fakeKernel(t, map[string]string{
		"/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages":    "512\n",
		"/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages": "0\n",
		"/sys/kernel/mm/hugepages/hugepages-64kB/nr_hugepages":      "3\n",
	})
	if d := cmp.Diff(map[string]int{"2M": 512, "1G": 0, "64K": 3}, hugepages(k)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if err := os.RemoveAll(k.Sys + "/kernel/mm/hugepages"); err != nil {
		t.Fatal(err)
	}
	if got := hugepages(k); got == nil || len(got) > 0 {
		t.Errorf("a kernel without huge pages: %v, want an empty map", got)
	}
	if got := hugepages(fakeKernel(t, nil)); got != nil {
		t.Errorf("without sysfs: %v, want nil", got)
	}
}
