package hostfs

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/disk"
	"github.com/netwright/netwright/test/needs"
)

// A file of an image is read again each time, because a later image in its place can have the same
// metadata and another content. The line that keeps it: read.go, Sum (OfImage).
func TestFilesOfImagesAreReadAgain(t *testing.T) {
	needs.Root(t)
	base, book := t.TempDir(), stampBook{}
	for _, dir := range []string{"image", "upper", "work", "overlay"} {
		must(t, os.Mkdir(base+"/"+dir, 0o755))
	}
	for _, root := range []string{"image", "overlay"} {
		var first FileInfo
		for _, content := range []string{"mtu: 1500", "mtu: 1450"} {
			unmount := disk.MountImage(t, base+"/image", map[string]string{"/f": content})
			if root == "overlay" {
				must(t, unix.Mount("overlay", base+"/overlay", "overlay", 0,
					"lowerdir="+base+"/image,upperdir="+base+"/upper,workdir="+base+"/work"))
			}
			h := openImage(t, Options{Root: base + "/" + root, Stamps: book})
			info, err := h.Lstat("/f")
			must(t, err)
			if first == (FileInfo{}) {
				first = info
			}
			info.Dev = first.Dev // a mount of another program meanwhile may take the number
			if info != first {
				t.Errorf("%s: the images differ in more than the content: %+v, %+v", root, first, info)
			}
			mustSum(t, h, content)
			h.RecheckRacy()
			must(t, h.Close())
			if root == "overlay" {
				must(t, unix.Unmount(base+"/overlay", 0))
			}
			unmount()
		}
	}
}
