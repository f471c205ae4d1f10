package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host"
)

// How the kinds of the kernel and of systemd look after their keys.

var (
	_ Restorer = Sysctl{}
	_ Keeper   = Module{}
	_ Keeper   = Mount{}
	_ Remover  = UnitState{}
	_ Restorer = UnitState{}
	_ Remover  = TOMLKey{}
	_ Restorer = TOMLKey{}
)

// Live implements [Keeper]. A key that is empty is not absent: "=" stands before its value.
func (t Sysctl) Live(_ context.Context, v host.View) (string, error) {
	have, err := v.Sysctl(SysctlKey(t.Key).Name())
	if errors.Is(err, host.ErrNotExist) {
		return "", nil
	}
	return "=" + have, err
}

// Baseline implements [Restorer].
func (t Sysctl) Baseline(ctx context.Context, v host.View) (Baseline, error) {
	live, err := t.Live(ctx, v)
	return Baseline{Live: live}, err
}

// Restore implements [Restorer].
func (t Sysctl) Restore(ctx context.Context, h *host.Host, b Baseline) error {
	return h.SetSysctl(ctx, t.Key, strings.TrimPrefix(b.Live, "="))
}

// Live implements [Keeper].
func (t Module) Live(_ context.Context, v host.View) (string, error) {
	state, err := v.Module(t.Name)
	if state == host.ModuleLoaded || state == host.ModuleBuiltin {
		return string(state), err
	}
	return "", err
}

// Live implements [Keeper]: of a mount, what is mounted there.
func (t Mount) Live(_ context.Context, v host.View) (string, error) {
	have, err := v.Mounted(t.Where)
	if errors.Is(err, host.ErrNotExist) {
		return "", nil
	}
	return have, err
}

// Live implements [Keeper]: of a unit, what the task sets.
func (t UnitState) Live(ctx context.Context, v host.View) (string, error) {
	have, err := v.Unit(ctx, t.Name)
	if err != nil || have.Load == "not-found" {
		return "", err
	}
	if t.gone(have) {
		return "", nil
	}
	live := "unit"
	if t.Masked != nil {
		live += " " + word(have.File == "masked", "masked", "unmasked")
	}
	if t.Enabled != nil {
		live += " " + word(isEnabled(have.File), "enabled", "disabled")
	}
	if t.Active != nil {
		live += " " + word(t.isActive(have), "active", "inactive")
	}
	return live, nil
}

// gone says that the unit is as Remove leaves it. A oneshot that ran is inactive: that it counts as active for the plan does not matter here.
func (t UnitState) gone(have host.UnitState) bool {
	return t.Masked == nil && (t.Enabled == nil || !isEnabled(have.File)) && (have.Active == "inactive" || have.Active == "failed")
}

// Remove implements [Remover]: a unit that came with us stops and is disabled.
// Its file is another key, and goes after it. It is waited for, also where starting it would not be: systemd stops before it starts, whatever
// the units' order (systemd.unit(5), Before=), and one that is still stopping looks like one that somebody changed.
func (t UnitState) Remove(ctx context.Context, h *host.Host) error {
	if err := h.StopUnit(ctx, t.Name, true); err != nil {
		return err
	}
	return h.DisableUnit(ctx, t.Name)
}

// Baseline implements [Restorer].
func (t UnitState) Baseline(ctx context.Context, v host.View) (Baseline, error) {
	have, err := v.Unit(ctx, t.Name)
	if err != nil {
		return Baseline{}, err
	}
	return baseline(ctx, v, t, have)
}

// Restore implements [Restorer]: enabled, masked and running as before, as far as the task changed it.
func (t UnitState) Restore(ctx context.Context, h *host.Host, b Baseline) error {
	var was host.UnitState
	if err := json.Unmarshal(b.Data, &was); err != nil {
		return fmt.Errorf("restore unit %s: %w", t.Name, err)
	}
	back := UnitState{Meta: t.Meta, Name: t.Name, NoBlock: t.NoBlock}
	set := func(asked *bool, is bool) *bool {
		if asked == nil {
			return nil
		}
		return &is
	}
	back.Masked = set(t.Masked, was.File == "masked")
	back.Enabled = set(t.Enabled, isEnabled(was.File))
	back.Active = set(t.Active, t.isActive(was))
	return back.Apply(ctx, h, nil)
}

// Live implements [Keeper]: the key's value as it is written.
func (t TOMLKey) Live(_ context.Context, v host.View) (string, error) {
	text, err := v.ReadFile(t.Path)
	if errors.Is(err, host.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	st, there, err := t.statement(text)
	if err != nil || !there {
		return "", err
	}
	return string(text[st.value[0]:st.value[1]]), nil
}

// statement finds the line that sets the key.
func (t TOMLKey) statement(text []byte) (tomlStatement, bool, error) {
	statements, err := scanTOML(text)
	if err != nil {
		return tomlStatement{}, false, err
	}
	var table []string
	for _, st := range statements {
		switch {
		case st.comment:
		case st.header:
			table = st.path
		case slices.Equal(table, t.Table) && len(st.path) == 1 && st.path[0] == t.Key:
			return st, true, nil
		}
	}
	return tomlStatement{}, false, nil
}

// Remove implements [Remover]: the key's line goes, every other byte stays.
func (t TOMLKey) Remove(ctx context.Context, h *host.Host) error {
	if _, err := h.Lstat(t.Path); errors.Is(err, host.ErrNotExist) {
		return nil
	}
	return h.EditFile(ctx, t.Path, t.without)
}

func (t TOMLKey) without(text []byte) ([]byte, error) {
	st, there, err := t.statement(text)
	if err != nil || !there {
		return text, err
	}
	out := slices.Concat(text[:st.start], text[st.end:])
	if bare := t.withoutHeader(text, st); bare != nil {
		out = bare
	}
	return out, nil
}

// withoutHeader takes the key away with the header above it, where that is what setting the key brings about: a table of
// nothing but the key, at the end of the file. Nil where it is not.
func (t TOMLKey) withoutHeader(text []byte, key tomlStatement) []byte {
	statements, err := scanTOML(text)
	if err != nil || key.end != len(text) {
		return nil
	}
	for i, st := range statements {
		if i == 0 || st.start != key.start || !statements[i-1].header {
			continue
		}
		above := text[:statements[i-1].start]
		for _, gap := range []string{"\r\n", "\n", ""} {
			bare := bytes.TrimSuffix(above, []byte(gap))
			if e, err := t.edit(bare); err == nil && bytes.Equal(e.text, text) {
				return bytes.Clone(bare)
			}
		}
	}
	return nil
}

// Baseline implements [Restorer]: the whole file, so that it can come back byte for byte where nobody else wrote to it.
func (t TOMLKey) Baseline(ctx context.Context, v host.View) (Baseline, error) {
	b, err := heldPath(t.Path).Baseline(ctx, v)
	if err != nil {
		return b, err
	}
	b.Live, err = t.Live(ctx, v)
	return b, err
}

// Restore implements [Restorer]. Where the file is the old one with our key in
// it, the old one comes back; where somebody else wrote to it too, only the key does.
func (t TOMLKey) Restore(ctx context.Context, h *host.Host, b Baseline) error {
	return h.EditFileAt(ctx, t.Path, func(now []byte) ([]byte, int64, error) {
		text, err := t.back(now, b)
		var was pathBaseline
		if err == nil && bytes.Equal(text, b.Content) {
			err = json.Unmarshal(b.Data, &was)
		}
		return text, was.Mtime, err
	})
}

// back is the file with the key as it was.
func (t TOMLKey) back(now []byte, b Baseline) ([]byte, error) {
	if e, err := t.edit(b.Content); err == nil && bytes.Equal(e.text, now) {
		return b.Content, nil
	}
	if b.Live == "" {
		return t.without(now)
	}
	st, there, err := t.statement(now)
	if err != nil || !there {
		return now, err
	}
	return slices.Concat(now[:st.value[0]], []byte(b.Live), now[st.value[1]:]), nil
}
