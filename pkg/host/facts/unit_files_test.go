package facts

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/needs"
)

// An empty file masks the files of its name, and so does a link to /dev/null in each form, on a
// host and in an image without /dev. This holds for a unit's own file, and for one of several
// drop-ins. The other files of the unit count, also if a drop-in cannot be read, which is a
// problem. The lines that keep it: unit_files.go, readConfig; kubelet.go, unitFile;
// pkg/host/hostpath/walk.go, open.
func TestMasksOfUnitsAndDropIns(t *testing.T) {
	const lib, etc = "/usr/lib/systemd/system/", "/etc/systemd/system/"
	for name, mask := range map[string]string{"a link": "/dev/null", "a relative link": "DEPTH/dev/null",
		"a link to a link": "/etc/nothing", "an empty file": ""} {
		for _, dev := range []bool{false, true} {
			root := t.TempDir()
			if dev {
				needs.Root(t)
				noError(t, os.Mkdir(root+"/dev", 0o755), unix.Mknod(root+"/dev/null", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
			}
			write(t, root+lib+"kubelet.service", "[Service]\nExecStart=/usr/bin/kubelet $A\n")
			write(t, root+lib+"kubelet.service.d/10-kubeadm.conf", "[Service]\nEnvironment=A=masked\n")
			write(t, root+lib+"kubelet.service.d/20-cloud.conf", "[Service]\nEnvironment=A=b\n")
			write(t, root+lib+"containerd.service", "[Service]\nExecStart=/usr/bin/containerd\n")
			write(t, root+lib+"crio.service", "[Service]\nExecStart=/usr/bin/crio\n")
			// The drop-ins are behind a link, so ".." is relative to the link's target.
			noError(t, os.MkdirAll(root+"/opt/kubelet.d", 0o755), os.MkdirAll(root+etc, 0o755),
				os.Symlink("/dev/null", root+"/etc/nothing"), os.Symlink("/opt/kubelet.d", root+etc+"kubelet.service.d"),
				os.Symlink("/nowhere", root+"/opt/kubelet.d/99-gone.conf"), os.Mkdir(root+"/opt/kubelet.d/99-odd.conf", 0o755))
			for at, up := range map[string]string{"/opt/kubelet.d/10-kubeadm.conf": "../..", etc + "crio.service": "../../.."} {
				if mask == "" {
					write(t, root+at, "")
					continue
				}
				noError(t, os.Symlink(strings.Replace(mask, "DEPTH", up, 1), root+at))
			}
			f := gathered(t, Options{Root: root})
			if k := f.Kubelet; k.Program != "/usr/bin/kubelet" || !slices.Equal(k.Set, []VariableFact{{"A", "b", lib + "kubelet.service.d/20-cloud.conf"}}) {
				t.Errorf("%s (/dev: %v): kubelet is %+v", name, dev, k)
			}
			if f.Runtime.Name != "containerd" {
				t.Errorf("%s (/dev: %v): the runtime is %+v", name, dev, f.Runtime)
			}
			if len(f.Problems) != 1 || !strings.Contains(f.Problems[0], "99-odd.conf") {
				t.Errorf("%s (/dev: %v): problems %q", name, dev, f.Problems)
			}
			u, err := ReadUnitFile(sourcesOf(t, Options{Root: root}).files, "crio.service")
			if err != nil || !u.Masked || filepath.Dir(u.Fragment)+"/" != etc {
				t.Errorf("%s (/dev: %v): %+v, %v", name, dev, u, err)
			}
		}
	}
}
