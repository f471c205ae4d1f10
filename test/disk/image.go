package disk

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/needs"
)

// MountImage mounts a new read-only image of files, by their paths, on a directory. All times are
// the same in every image, as in the images of builders that produce the same bytes each time. The
// caller must run unmount before it mounts the next image.
func MountImage(t testing.TB, at string, files map[string]string) (unmount func()) {
	t.Helper()
	needs.Root(t)
	needs.Tool(t, "mke2fs", "debugfs", "mount")
	dir := t.TempDir()
	image, tree, script := dir+"/image", dir+"/tree", "sif / ctime 20010101\nsif / mtime 20010101\n"
	do := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	do(os.Mkdir(tree, 0o755))
	for name, content := range files {
		do(os.MkdirAll(filepath.Dir(tree+name), 0o755))
		do(os.WriteFile(tree+name, []byte(content), 0o644))
		for ; name != "/"; name = filepath.Dir(name) {
			for _, field := range []string{"ctime 20010101", "mtime 20010101", "ctime_extra 0", "mtime_extra 0"} {
				script += fmt.Sprintf("sif %s %s\n", name, field)
			}
		}
	}
	do(os.WriteFile(dir+"/script", []byte(script), 0o600))
	for _, argv := range [][]string{
		{"mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-d", tree, image, "1m"},
		{"debugfs", "-w", "-f", dir + "/script", image},
		{"mount", "-o", "loop,ro", image, at},
	} {
		if out, err := exec.CommandContext(t.Context(), needs.Path(argv[0]), argv[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
		}
	}
	mounted := true
	unmount = func() {
		if mounted {
			mounted = false
			if err := unix.Unmount(at, 0); err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(unmount)
	return unmount
}
