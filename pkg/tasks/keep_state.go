package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/kernel"
)

// How the kinds of the kernel, and the keys in TOML files, look after their keys.

var (
	_ Remover  = unmounter{}
	_ Restorer = Sysctl{}
	_ Keeper   = Module{}
	_ Keeper   = Mount{}
	_ Holder   = Mount{}
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

// Baseline implements [Restorer]: the value, and those that the kernel may write along with it.
func (t Sysctl) Baseline(ctx context.Context, v host.View) (Baseline, error) {
	live, err := t.Live(ctx, v)
	if err != nil || live == "" {
		return Baseline{Live: live}, err
	}
	b := Baseline{Live: live}
	if along := alongWith(v, SysctlKey(t.Key).Name()); len(along) > 0 {
		b.Data, err = json.Marshal(along)
	}
	return b, err
}

// Restored implements [Restorer]. Of a link that is gone there is nothing to bring back.
func (t Sysctl) Restored(ctx context.Context, v host.View, b Baseline) (bool, error) {
	live, err := t.Live(ctx, v)
	return live == b.Live || live == "", err
}

// Restore implements [Restorer]. What the kernel writes along becomes what it was, where this write has changed it.
func (t Sysctl) Restore(ctx context.Context, h *host.Host, b Baseline) error {
	key := SysctlKey(t.Key).Name()
	before := alongWith(h, key)
	if err := h.SetSysctl(ctx, key, strings.TrimPrefix(b.Live, "=")); err != nil || len(b.Data) == 0 {
		return err
	}
	var was map[string]string
	if err := json.Unmarshal(b.Data, &was); err != nil {
		return fmt.Errorf("restore sysctl %s: %w", key, err)
	}
	after := alongWith(h, key)
	var errs []error
	for _, other := range slices.Sorted(maps.Keys(was)) {
		if now, there := after[other]; there && now != before[other] && now != was[other] {
			errs = append(errs, h.SetSysctl(ctx, other, was[other]))
		}
	}
	return errors.Join(errs...)
}

// alongWith reads the keys that the kernel may write along with one: "all" and "default" reach the links, ip_forward every link and
// the redirects (net/ipv4/devinet.c, inet_forward_change and devinet_copy_dflt_conf; net/ipv6/addrconf.c, addrconf_forward_change).
func alongWith(v host.View, key string) map[string]string {
	if key == ipForward {
		key = "net.ipv4.conf.all.forwarding"
	}
	parts := strings.SplitN(key, ".", 5)
	if len(parts) < 5 || parts[0] != "net" || parts[2] != "conf" || parts[3] != "all" && parts[3] != "default" {
		return nil
	}
	links, err := v.ReadDir("/proc/sys/net/" + parts[1] + "/conf")
	if err != nil {
		return nil // a kernel without this family
	}
	out := map[string]string{}
	read := func(key string) {
		if value, err := v.Sysctl(key); err == nil {
			out[key] = value
		}
	}
	at := func(link, leaf string) string {
		return strings.Join([]string{"net", parts[1], "conf", strings.ReplaceAll(link, ".", "/"), leaf}, ".")
	}
	for _, link := range links {
		if other := at(link, parts[4]); other != key {
			read(other)
		}
	}
	if key == "net.ipv4.conf.all.forwarding" {
		read(at("all", "accept_redirects"))
	}
	return out
}

// Live implements [Keeper].
func (t Module) Live(_ context.Context, v host.View) (string, error) {
	state, err := v.Module(t.Name)
	if state == kernel.ModuleLoaded || state == kernel.ModuleBuiltin {
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

// Live implements [Keeper]: the key's value as it is written.
func (t TOMLKey) Live(_ context.Context, v host.View) (string, error) {
	text, err := v.ReadFile(t.Path)
	if errors.Is(err, host.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	value, _, err := t.setting().Get(text)
	return value, err
}

// unmounter takes a mount of ours off. See [Mount.Unmounter].
type unmounter struct{ Mount }

// Unmounter takes the mount off, for a reset: a prune leaves it until the next boot, as who used it may still do so. One that is in use
// is an error. What it holds is lost: the caller looks.
func (t Mount) Unmounter() Remover { return unmounter{t} }

// Remove implements [Remover].
func (t unmounter) Remove(ctx context.Context, h *host.Host) error {
	return h.StopUnit(ctx, t.unitName(), true)
}

// Remove implements [Remover]: the key's line goes, every other byte stays.
func (t TOMLKey) Remove(ctx context.Context, h *host.Host) error {
	if _, err := h.Lstat(t.Path); errors.Is(err, host.ErrNotExist) {
		return nil
	}
	return h.EditFile(ctx, t.Path, t.setting().Unset)
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
	whole := false
	var was pathBaseline
	err := h.EditFileAt(ctx, t.Path, func(now []byte) ([]byte, int64, error) {
		text, err := t.back(now, b)
		if whole = err == nil && bytes.Equal(text, b.Content); whole {
			err = json.Unmarshal(b.Data, &was)
		}
		return text, was.Mtime, err
	})
	if err != nil || !whole {
		return err
	}
	if err := h.SetAttributes(t.Path, was.Attrs); err != nil {
		return err
	}
	return h.SetMtime(t.Path, was.Mtime)
}

// Restored implements [Restorer]. The file's time and attributes come back with the last of its keys.
func (t TOMLKey) Restored(ctx context.Context, v host.View, b Baseline) (bool, error) {
	if same, err := alive(ctx, v, t, b); err != nil || !same {
		return same, err
	}
	if b.Blob == nil {
		return true, nil
	}
	if sum, err := v.Sum(t.Path); err != nil || sum != *b.Blob {
		return err == nil, err
	}
	return heldPath(t.Path).untouched(v, b)
}

// back is the file with the key as it was.
func (t TOMLKey) back(now []byte, b Baseline) ([]byte, error) {
	if e, err := t.setting().Set(b.Content); err == nil && bytes.Equal(e.Text, now) {
		return b.Content, nil
	}
	if b.Live == "" {
		return t.setting().Unset(now)
	}
	return t.setting().Put(now, b.Live)
}
