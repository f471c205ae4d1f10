package tasks

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/host/systemd"
)

// planLinks plans the state of a unit in an image: the links that systemd reads when the image
// boots. Nothing runs in an image, so nothing is started.
func (t UnitState) planLinks(ctx context.Context, v host.View) (*Change, error) {
	file, err := facts.ReadUnitFile(v.Files, t.Name)
	stale := err == nil && !file.Installs()
	if (errors.Is(err, host.ErrNotExist) || stale) && willExist(v, UnitFileKey(t.Name)) {
		// The content is known only after the file is written.
		fields := t.differs(systemd.UnitState{Active: word(t.Active != nil && *t.Active, "active", "inactive")})
		if len(fields) == 0 {
			return nil, nil
		}
		return &Change{Items: []Item{{Key: t.Owns()[0], Op: Update, Fields: fields}}, Reason: "links absent"}, nil
	}
	if errors.Is(err, host.ErrNotExist) && !t.wantsIt() {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("plan unit %s: %w", t.Name, err)
	}
	links, err := linksOf(t, file)
	if err != nil {
		return nil, err
	}
	change := &Change{Reason: "links absent"}
	for _, link := range links {
		c, err := link.Plan(ctx, v)
		if err != nil {
			return nil, err
		}
		if c != nil {
			change.Items = append(change.Items, c.Items...)
			change.Pending = append(change.Pending, c.Pending...)
		}
	}
	if len(change.Items) == 0 {
		return nil, nil
	}
	return change, nil
}

// linksOf returns the links with which a unit of an image is enabled or masked. It does not disable
// units, because the links of such a unit are unknown.
func linksOf(t UnitState, file systemd.UnitFile) ([]SymbolicLink, error) {
	link := func(path, target string) SymbolicLink {
		return SymbolicLink{Meta: t.Meta, Path: unitDir + "/" + path, Target: target}
	}
	if t.Masked != nil && *t.Masked {
		own := file.Fragment == unitDir+"/"+t.Name
		if own && file.Masked {
			return nil, nil
		}
		if own {
			return nil, fmt.Errorf("plan unit %s: it cannot be masked below --root, its file is in %s: remove the file",
				t.Name, unitDir)
		}
		return []SymbolicLink{link(t.Name, "/dev/null")}, nil
	}
	if t.Enabled == nil || !*t.Enabled {
		return nil, nil
	}
	if file.Masked {
		return nil, fmt.Errorf("plan unit %s: it is masked by %s: remove that file", t.Name, file.Fragment)
	}
	var out []SymbolicLink
	for _, by := range []struct{ key, dir string }{{"WantedBy", ".wants/"}, {"RequiredBy", ".requires/"},
		{"UpheldBy", ".upholds/"}} {
		for _, targets := range file.Values("Install", by.key) {
			for target := range strings.FieldsSeq(targets) {
				out = append(out, link(target+by.dir+t.Name, file.Fragment))
			}
		}
	}
	for _, aliases := range file.Values("Install", "Alias") {
		for alias := range strings.FieldsSeq(aliases) {
			out = append(out, link(alias, file.Fragment))
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("plan unit %s: it cannot be enabled, %s has no [Install] section", t.Name, file.Fragment)
	}
	return out, nil
}

// applyLinks makes the links of a unit in an image.
func (t UnitState) applyLinks(ctx context.Context, h *host.Host) error {
	file, err := facts.ReadUnitFile(h.Live.Files, t.Name)
	if err != nil {
		return fmt.Errorf("enable unit %s: %w", t.Name, err)
	}
	links, err := linksOf(t, file)
	if err != nil {
		return err
	}
	for _, link := range links {
		c, err := link.Plan(ctx, h.Live.View())
		if err != nil {
			return err
		}
		if c == nil {
			continue
		}
		if err := link.Apply(ctx, h, c); err != nil {
			return err
		}
	}
	return nil
}

// UnitDirs returns /etc/systemd/system and the directories in it that contain links to units. They
// change when a unit is enabled or disabled.
func UnitDirs(v host.View) []string {
	dirs := []string{unitDir}
	names, err := v.Files.ReadDir(unitDir)
	if err != nil {
		return nil // this host never had systemd
	}
	for _, name := range names {
		switch path.Ext(name) {
		case ".wants", ".requires", ".upholds":
			dirs = append(dirs, path.Join(unitDir, name))
		}
	}
	return dirs
}

// IgnoreMissing returns nil for the error of a missing file, and other errors as they are.
func IgnoreMissing(err error) error {
	if errors.Is(err, host.ErrNotExist) {
		return nil
	}
	return err
}
