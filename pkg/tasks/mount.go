package tasks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/coreos/go-systemd/v22/unit"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
)

// KindMount is the kind of a mounted file system: mount:/sys/fs/bpf.
const KindMount = "mount"

// Mount is a file system that a .mount unit of the agent mounts, now and at boot: systemd mounts
// it, so the agent does not need CAP_SYS_ADMIN. A file system of the same type that another program
// mounted is right.
type Mount struct {
	Meta
	What, Where, Type, Options string
	Description                string
}

var (
	_ Task        = Mount{}
	_ StateReader = Mount{}
	_ UseReader   = Mount{}
	_ Remover     = unmounter{}
)

// unitName returns the only name that systemd accepts for a mount at Where.
func (t Mount) unitName() string { return MountUnit(t.Where) }

// MountUnit returns the name of the unit that mounts a file system at a path.
func MountUnit(where string) string { return unit.UnitNamePathEscape(where) + ".mount" }

// Owns implements [Task].
func (t Mount) Owns() []graph.Key {
	return []graph.Key{graph.MakeKey(KindMount, t.Where), UnitFileKey(t.unitName())}
}

// Plan implements [Task].
func (t Mount) Plan(ctx context.Context, v host.View) (*Change, error) {
	have, err := v.Kernel.Mounted(t.Where)
	notHere := errors.Is(err, host.ErrNoLiveState)
	switch {
	case err != nil && !notHere && !errors.Is(err, host.ErrNotExist):
		return nil, err
	case have != "" && have != t.Type:
		return nil, fmt.Errorf("plan mount %s: expected %[3]s, found a %[2]s mounted there: unmount it, or "+
			"remove its line from /etc/fstab",
			t.Where, have, t.Type)
	}
	file, err := t.file()
	if err != nil {
		return nil, err
	}
	if have == t.Type {
		if _, err := v.Files.Lstat(file.Path); errors.Is(err, host.ErrNotExist) {
			return nil, nil // another program mounted it
		}
	}
	change, err := file.Plan(ctx, v)
	if err != nil {
		return nil, err
	}
	change = cmp.Or(change, &Change{})
	if have != t.Type && !notHere {
		dirs, err := missingParents(v, t.Where+"/.") // systemd makes these directories
		if err != nil {
			return nil, err
		}
		change.Items = append(change.Items, dirs...)
		change.Items = append(change.Items, Item{Key: t.Owns()[0], Op: Create,
			Fields: []Field{{Name: "type", After: t.Type}}})
		change.Pending = append(change.Pending, host.Fact{Key: string(t.Owns()[0])})
		change.Reason = "not mounted"
	}
	state, err := t.state().Plan(ctx, t.upcoming(v, file))
	if err != nil {
		return nil, err
	}
	if state != nil {
		change.NotApplicable = state.NotApplicable
		change.Pending = append(change.Pending, state.Pending...)
		if len(change.Items) == 0 {
			change.Items, change.Reason = state.Items, state.Reason
		}
	}
	if len(change.Items) == 0 {
		return nil, nil
	}
	// Apply itself reloads systemd: no effect is needed.
	change.Effects = append([]graph.Key(nil), t.Effects...)
	return change, nil
}

// upcoming returns the view as it is after the unit's file is written.
func (t Mount) upcoming(v host.View, file File) host.View {
	p := host.NewPending(map[string][]string{string(DaemonReload): {t.Where}})
	p.Add(host.Fact{Key: string(FileKey(file.Path)), File: &hostfs.FileInfo{Type: hostfs.Regular, Mode: file.Mode}})
	return p.Over(v)
}

// state returns the wanted state of the mount unit: enabled and started.
func (t Mount) state() UnitState {
	yes := true
	return UnitState{Meta: t.Meta, Name: t.unitName(), Enabled: &yes, Active: &yes}
}

// Apply implements [Task].
func (t Mount) Apply(ctx context.Context, h *host.Host, _ *Change) error {
	file, err := t.file()
	if err != nil {
		return err
	}
	c, err := file.Plan(ctx, h.Live.View())
	if err != nil {
		return err
	}
	before, err := t.before(h, file.Path)
	if err != nil {
		return err
	}
	if c != nil {
		if err := file.Apply(ctx, h, c); err != nil {
			return err
		}
	}
	if err := t.accepted(ctx, h); err != nil {
		if c != nil {
			err = errors.Join(err, t.takeBack(ctx, h, file.Path, before))
		}
		return fmt.Errorf("mount %s: %w", t.Where, err)
	}
	if err := t.state().Apply(ctx, h, nil); err != nil {
		return fmt.Errorf("mount %s: %w", t.Where, err)
	}
	return nil
}

// before returns the present file of the unit; nil: there is none.
func (t Mount) before(h *host.Host, path string) (*File, error) {
	info, err := h.Live.Files.Lstat(path)
	if errors.Is(err, host.ErrNotExist) || err == nil && info.Type != hostfs.Regular {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	content, err := h.Live.Files.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return &File{Path: path, Content: content, Mode: info.Mode, Owner: fmt.Sprintf("%d:%d", info.UID, info.GID)}, nil
}

// takeBack removes the unit's file that systemd does not accept, and restores the earlier one.
func (t Mount) takeBack(ctx context.Context, h *host.Host, path string, before *File) error {
	if before == nil {
		return h.Files.Remove(path)
	}
	return before.Apply(ctx, h, nil)
}

// accepted checks that systemd accepts the unit, and reloads systemd if needed. systemd accepts no
// unit for file systems of kernel interfaces (/sys/fs/bpf since systemd 238), because it mounts
// these itself at boot.
func (t Mount) accepted(ctx context.Context, h *host.Host) error {
	have, err := h.Live.Units.Unit(ctx, t.unitName())
	if err == nil && have.NeedReload {
		if err = h.Units.DaemonReload(ctx); err == nil {
			have, err = h.Live.Units.Unit(ctx, t.unitName())
		}
	}
	switch {
	case errors.Is(err, host.ErrNoLiveState): // an image
		return nil
	case err != nil:
		return err
	case have.Load != "bad-setting" && have.Load != "error":
		return nil
	}
	return fmt.Errorf("systemd accepts no unit for it (%s), since systemd mounts such file systems itself at "+
		"boot: reboot, or run `mount -t %s %s %s`",
		have.Load, t.Type, t.What, t.Where)
}

// file returns the unit's file.
func (t Mount) file() (File, error) {
	for _, v := range []string{t.What, t.Where, t.Type, t.Options, t.Description} {
		if strings.ContainsAny(v, "\n\r") {
			return File{}, fmt.Errorf("plan mount %s: %q holds a line end: remove it", t.Where, v)
		}
	}
	if !strings.HasPrefix(t.Where, "/") || t.What == "" || t.Type == "" {
		return File{}, fmt.Errorf("plan mount %q: a mount needs a source, an absolute path and a type", t.Where)
	}
	// systemd expands % in every value.
	literal := strings.NewReplacer("%", "%%").Replace
	var b strings.Builder
	b.WriteString("# Written by netwright; changes are overwritten.\n[Unit]\n")
	if t.Description != "" {
		b.WriteString("Description=" + literal(t.Description) + "\n")
	}
	b.WriteString("\n[Mount]\nWhat=" + literal(t.What) + "\nWhere=" + literal(t.Where) + "\nType=" + literal(t.Type) +
		"\n")
	if t.Options != "" {
		b.WriteString("Options=" + literal(t.Options) + "\n")
	}
	b.WriteString("\n[Install]\nWantedBy=local-fs.target\n")
	return File{Meta: t.Meta, Path: unitDir + "/" + t.unitName(), Content: []byte(b.String()), Mode: 0o644}, nil
}

// UsedBy implements [UseReader]. It returns what would be lost with the file system. A cgroup file
// system contains only objects of the kernel.
func (t Mount) UsedBy(_ context.Context, v host.View, _ func(graph.Key) bool) (string, error) {
	kind, err := v.Kernel.Mounted(t.Where)
	if errors.Is(err, host.ErrNotExist) || errors.Is(err, host.ErrNoLiveState) || kind == "cgroup2" {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	names, err := v.Files.ReadDir(t.Where)
	if err != nil || len(names) == 0 {
		return "", err
	}
	return fmt.Sprintf("it holds %s, which an unmount would lose: save that, then unmount it by hand", names[0]), nil
}

// Live implements [StateReader]. It returns the type of the mounted file system.
func (t Mount) Live(_ context.Context, v host.View) (string, error) {
	have, err := v.Kernel.Mounted(t.Where)
	return have, IgnoreMissing(err)
}

// Unmounter returns a Remover that unmounts, for a reset. A prune leaves the mount until the next
// boot, because programs may still use it. A mount in use is an error. The contents are lost: the
// caller must check them before.
func (t Mount) Unmounter() Remover { return unmounter{t} }

// unmounter unmounts a mount of the agent: see [Mount.Unmounter].
type unmounter struct{ Mount }

// Remove implements [Remover].
func (t unmounter) Remove(ctx context.Context, h *host.Host) error {
	return h.Units.StopUnit(ctx, t.unitName(), true)
}
