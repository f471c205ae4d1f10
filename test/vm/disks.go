package vm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/netwright/netwright/test/rootfs"
)

// disks makes the machine's own root disk, a layer over the image, the payload, and what cloud-init
// reads.
func (m *machine) disks(ctx context.Context) error {
	if m.Layer == "" {
		out, err := exec.CommandContext(ctx, "qemu-img", "create", "-q", "-f", "qcow2", "-b", m.disk.Root, "-F", "raw", m.layer()).CombinedOutput()
		if err != nil {
			return fmt.Errorf("making the root disk: %w: %s", err, out)
		}
	}
	payload := filepath.Join(m.dir, "payload")
	scripts := map[string]string{}
	for i, script := range m.Boots {
		scripts["boot-"+strconv.Itoa(i+1)] = script
	}
	if m.Every != "" {
		scripts["every"] = m.Every
	}
	if m.Cloud != nil {
		scripts[".run"], scripts["early"] = runner, m.Cloud.Early
		for path, text := range m.Cloud.Files {
			scripts[filepath.Join(".files", path)] = text
		}
		if err := m.Cloud.seed(ctx, m.dir, m.Address); err != nil {
			return err
		}
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(payload, ".files"), 0o755), rootfs.WriteFiles(payload, scripts)); err != nil {
		return fmt.Errorf("writing the payload: %w", err)
	}
	for name, from := range m.Payload {
		if out, err := exec.CommandContext(ctx, "cp", "-RL", from, filepath.Join(payload, name)).CombinedOutput(); err != nil {
			return fmt.Errorf("copying the payload: %w: %s", err, out)
		}
	}
	size := int64(32 << 20)
	err := filepath.WalkDir(payload, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			size += info.Size() + 8192
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("measuring the payload: %w", err)
	}
	return makeDisk(ctx, filepath.Join(m.dir, "payload.img"), payload, fmt.Sprintf("%dk", size/1024*5/4))
}
