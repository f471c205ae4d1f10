package sys

import (
	"slices"
	"strings"
	"testing"
)

// Mount points have their real names, and not the kernel's escaped form. A line may have any
// length. The lines that keep it: mounts.go, Mounts; kernel_file.go, UnescapeMount.
func TestMounts(t *testing.T) {
	layers := "lowerdir=" + strings.Repeat("/var/lib/layer:", 10_000)
	list := "21 1 0:20 / /proc rw - proc proc rw\n" +
		"22 1 0:21 / /long rw,relatime shared:1 master:2 - overlay overlay rw," + layers + "\n" +
		`23 1 8:1 / /mnt/my\040disk\134\011\043\u00a0: rw - ext4 /dev/sda\0401 rw` + "\n" +
		"no mount\n24 1 0:22 / /last rw - tmpfs  rw\n"
	list = strings.ReplaceAll(list, `\u00a0`, "\u00a0")
	var got []string
	for point, fstype := range Mounts([]byte(list)) {
		got = append(got, fstype+" "+point)
	}
	want := []string{"proc /proc", "overlay /long", "ext4 /mnt/my disk\\\t#\u00a0:", "tmpfs /last"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
