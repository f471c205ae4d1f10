package node

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/cache"
	"github.com/netwright/netwright/test/rootfs"
)

//go:embed layer.go
var layerRecipe string // whatever is written here decides what a layer holds

// Layer returns a directory with the files that the distribution's packages add to the base, for
// [Options.Layers]. It is built once (in half a minute) and cached, and nobody may write to it. The
// services of the packages are enabled as on a new host.
func Layer(t testing.TB, packages ...string) string {
	t.Helper()
	base := Base(t)
	dir := cache.Built(t, "layer", cache.Key(layerRecipe, base, strings.Join(packages, " ")), func(dir string) error {
		for _, sub := range []string{"layer", "work", "root"} {
			if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
				return fmt.Errorf("making a directory of a layer: %w", err)
			}
		}
		return install(context.Background(), base, dir, packages)
	})
	return filepath.Join(dir, "layer")
}

// install lets apt write into an overlay over the base.
func install(ctx context.Context, base, dir string, packages []string) (err error) {
	root := filepath.Join(dir, "root")
	overlay := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", base, filepath.Join(dir, "layer"), filepath.Join(dir, "work"))
	if err := unix.Mount("overlay", root, "overlay", 0, overlay); err != nil {
		return fmt.Errorf("mounting a layer: %w", err)
	}
	defer func() { err = errors.Join(err, unix.Unmount(root, 0)) }()
	return rootfs.Install(ctx, root, packages...)
}
