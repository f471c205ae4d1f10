package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// BringUpUnit starts a unit, or starts it again, whatever state it is in, and does not wait. That it failed, and how often, is forgotten: else
// systemd may refuse. It may be retried.
func (h *Host) BringUpUnit(ctx context.Context, name string) error {
	b, err := h.units.connect(ctx)
	if err != nil {
		return fmt.Errorf("start unit %s again: %w", name, err)
	}
	err = b.forgetFailure(ctx, name)
	if err == nil {
		if err = b.manager(ctx, "RestartUnit", name, "replace").Err; err != nil {
			err = explainUnit(err)
		}
	}
	if err != nil {
		return fmt.Errorf("start unit %s again: %w", name, err)
	}
	if log := h.opt.Log; log != nil {
		log.Info("unit start again", zap.String("unit", name))
	}
	return nil
}

// UnitType is a service's Type, "" of other units.
func (u *units) UnitType(ctx context.Context, name string) string {
	if path.Ext(name) != ".service" {
		return ""
	}
	b, err := u.connect(ctx)
	if err != nil {
		return ""
	}
	return ownProperty(ctx, b.conn.Object(managerName, unitPath(name)), name, "Type")
}

// ClockUS is now, as systemd's monotonic times are: CLOCK_MONOTONIC, microseconds.
func ClockUS() uint64 {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return 0
	}
	return uint64(now.Nano()) / 1000
}

// UnitPrint names a unit's files, further files that it reads, and the program that it starts: another name says that one of them is another. It
// reads files only, and of the program no more than its metadata.
func UnitPrint(f Files, name string, reads ...string) string {
	sum := sha256.New()
	u, err := ReadUnitFile(f, name)
	if err != nil {
		fmt.Fprintln(sum, err)
	}
	for _, file := range slices.Concat([]string{u.Fragment}, u.DropIns, reads) {
		if content, err := f.ReadFile(file); err == nil {
			fmt.Fprintln(sum, file, len(content))
			sum.Write(content)
		}
	}
	for _, line := range u.Values("Service", "ExecStart") {
		program, _, _ := strings.Cut(strings.TrimLeft(line, "@-:+!|"), " ")
		if info, err := f.Lstat(program); err == nil {
			fmt.Fprintln(sum, program, info.Size, info.Mtime, info.Inode)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}
