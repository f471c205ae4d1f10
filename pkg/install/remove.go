package install

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	hostsystemd "github.com/netwright/netwright/pkg/host/systemd"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/plural"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/service"
	"github.com/netwright/netwright/pkg/tasks"
)

// Remove removes what Install installed, in this version or another: it stops the daemon, disables
// the units, and removes program, link, units, manual and completions. It is an error if the ledger
// has entries, or if a change is not confirmed, because only the agent can restore the host then.
// It is also an error if a package installed the agent. /etc/netwright stays. Remove may be called
// again after an error.
func (i Installation) Remove(ctx context.Context) (*report.Plan, error) {
	return i.apply(ctx, stopped, i.gone)
}

// DryRunRemove returns what Remove would change. It opens the host only for reading.
func (i Installation) DryRunRemove(ctx context.Context) (*report.Plan, error) {
	return i.plan(ctx, stopped, i.gone)
}

// stopped returns a task that stops the daemon.
func stopped(_ context.Context, v host.View) ([]tasks.Task, []report.Note, error) {
	if err := mayGo(v.Files); err != nil {
		return nil, nil, err
	}
	if _, err := v.Files.Lstat(unitsDir + service.Unit); err != nil {
		return nil, nil, nil
	}
	no := false
	return []tasks.Task{tasks.UnitState{Meta: tasks.Meta{From: "install", Why: "the daemon"}, Name: service.Unit,
		Active: &no}}, nil, nil
}

// mayGo returns an error if the agent must stay.
func mayGo(files hostfs.Files) error {
	led := ledger.Load(files)
	switch n := len(led.Entries()); {
	case led.Newer != nil:
		return fmt.Errorf("install --remove: %w", led.Newer)
	case led.Lost || led.Unreadable:
		return errors.New("install --remove: the ledger cannot be read, so it is not known what on this host " +
			"belongs to the agent: run `agent reset`, which says what to do")
	case n > 0:
		return fmt.Errorf("install --remove: the agent owns %s on this host, and only the agent can restore "+
			"what was there before: run `agent reset` first", plural.Of(n, "key"))
	}
	if j, err := checkpoint.Pending(files); j != nil || err != nil {
		return errors.New("install --remove: a change is not confirmed yet, and only the agent can undo it: " +
			"wait, or run `agent undo`")
	}
	for _, dir := range hostsystemd.VendorUnitDirs {
		file := path.Join(dir, service.Unit)
		if _, err := files.Lstat(file); !errors.Is(err, host.ErrNotExist) {
			return fmt.Errorf("install --remove: a package brought %s: remove the package", file)
		}
	}
	return nil
}

// gone returns tasks that remove all existing files of an installation.
func (i Installation) gone(ctx context.Context, v host.View) (list []tasks.Task, notes []report.Note, err error) {
	var files []string
	if program := installedProgram(v.Files); program != "" {
		bin := path.Dir(program)
		files = append(files, program)
		if target, err := v.Files.Readlink(path.Join(bin, linkName)); err == nil && target == programName {
			files = append(files, path.Join(bin, linkName))
		}
		for _, name := range slices.Sorted(maps.Keys(i.Shared)) {
			files = append(files, path.Join(bin, "../share", name))
		}
	}
	wanting, err := v.Files.ReadDir(unitsDir)
	if tasks.IgnoreMissing(err) != nil {
		return nil, nil, fmt.Errorf("look what starts the units: %w", err)
	}
	names := []string{bootstrapUnit}
	for _, unit := range units {
		names = append(names, unit.name)
	}
	for _, name := range names {
		for _, dir := range wanting {
			if strings.HasSuffix(dir, ".wants") {
				files = append(files, path.Join(unitsDir, dir, name))
			}
		}
		files = append(files, unitsDir+name)
	}
	for _, file := range append(files, presetFile, proxyFile) {
		key := tasks.FileKey(file)
		remover, _ := tasks.StateReaderOf(nil, key).(tasks.Remover)
		live, err := remover.Live(ctx, v)
		if err != nil {
			return nil, nil, fmt.Errorf("look at %s: %w", file, err)
		}
		if live == "" {
			continue
		}
		list = append(list, tasks.Removal{Meta: tasks.Meta{From: "install"}, Key: key,
			Remover: remover, Last: live, Reason: "the agent goes"})
	}
	if len(list) > 0 {
		list = append(list, tasks.Effect{Meta: tasks.Meta{From: "install", Why: "systemd forgets the units"},
			Action: tasks.ActionDaemonReload})
	}
	for _, dir := range []string{"/etc/netwright", ledger.Dir} {
		if _, err := v.Files.Lstat(dir); err == nil {
			notes = append(notes, report.Info(dir+" stays: remove it by hand if nobody needs it"))
		}
	}
	return list, notes, nil
}
