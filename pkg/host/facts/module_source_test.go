package facts

import (
	"strings"
	"testing"
)

func TestModuleSource(t *testing.T) {
	for id, want := range map[string]string{
		"ubuntu":       "linux-modules-extra-6.1.0",
		"fedora":       "kernel-modules-extra-6.1.0",
		"debian":       "linux-image-6.1.0",
		"amzn":         "kernel-modules-extra",
		"flatcar":      "boot a release of flatcar",
		"bottlerocket": "boot a release of bottlerocket",
		"gentoo":       "kernel 6.1.0",
	} {
		if got := ModuleSource(OSRelease{ID: id}, "6.1.0"); !strings.Contains(got, want) {
			t.Errorf("%s: ModuleSource returns %q", id, got)
		}
	}
}
