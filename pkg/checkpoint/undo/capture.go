package undo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/netstate"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/plural"
	"github.com/netwright/netwright/pkg/tasks"
)

// Capture captures the state of everything that a change may alter, in a log. It saves a content
// that is too large for the log as a file.
type Capture struct {
	Host   *host.Host
	Log    *Log
	Dir    string                   // directory for saved files
	Copies []string                 // saved files in Dir, those of an earlier capture first
	Twin   func(path string) string // second name of a large file, if it is also saved for a boot
	Own    []string                 // see [netstate.State.Own]

	contents int64           // bytes of Log.Files
	captured map[string]bool // paths of Log.Files
	seen     map[string]bool // directories whose mount point is recorded
}

// Take captures the state of the keys, whose tasks are in of. It captures the whole network too,
// because a sysctl or a file of a daemon changes addresses and routes that no key names. programs
// reports whether the change starts or stops programs. Then Take also captures what programs may
// change; with around it does so in any case.
func (c *Capture) Take(
	ctx context.Context, keys []graph.Key, of map[graph.Key]tasks.Task, around bool,
) (programs bool, err error) {
	if len(keys) > MaxKeys {
		return false, fmt.Errorf("it changes %s at once, and at most %d can be undone: change less at "+
			"once, or remove by hand what is not needed", plural.Of(len(keys), "key"), MaxKeys)
	}
	h, l := c.Host, c.Log
	l.Links = h.Live.Files.Followed()
	var own []string
	for _, key := range keys {
		programs = programs || tasks.RunsPrograms(of[key], key)
		before := tasks.BeforeOf(of[key], key)
		for _, name := range before.Sysctls {
			own = append([]string{name}, own...)
		}
		if err := c.key(ctx, before); err != nil {
			return false, fmt.Errorf("record the state of %s: %w", key, err)
		}
	}
	net, kept := h.Kernel.NetSysctls(ctx), map[string]bool{}
	keep := func(key, value string) {
		if !kept[key] {
			l.Sysctls, kept[key] = append(l.Sysctls, Sysctl{key, value}), true
		}
	}
	for _, key := range own {
		if value, err := h.Live.Kernel.Sysctl(key); err == nil {
			keep(key, value)
		}
	}
	for _, key := range confKeys(net) {
		keep(key, net[key])
	}
	state, err := netstate.Read(ctx, h.Live.Net, c.Own...)
	if err != nil {
		return false, fmt.Errorf("record the state of the network: %w", err)
	}
	l.Net = &state
	if programs || around {
		maps.DeleteFunc(net, func(key, _ string) bool { return kept[key] })
		l.Around, err = captureSurroundings(ctx, h, net)
	}
	return programs, err
}

// key captures what the undo of one key needs, without its sysctls.
func (c *Capture) key(ctx context.Context, before tasks.Before) error {
	l := c.Log
	l.Made.Links = append(l.Made.Links, before.Links...)
	l.Forward = append(l.Forward, before.Forward...)
	l.Effects = append(l.Effects, before.Effects...)
	var errs []error
	for _, name := range before.Addresses {
		link, prefix, _ := strings.Cut(name, "/")
		p, err := netip.ParsePrefix(prefix)
		if err != nil {
			return err
		}
		l.Made.Addresses = append(l.Made.Addresses, rtnl.LinkAddress{Link: link, Prefix: p})
	}
	for _, name := range before.Files {
		errs = append(errs, c.file(name))
	}
	for _, name := range before.Tables {
		errs = append(errs, c.table(ctx, name))
	}
	for _, name := range before.Units {
		errs = append(errs, c.unit(ctx, name))
	}
	for _, own := range before.Own {
		errs = append(errs, c.own(ctx, own))
	}
	return errors.Join(errs...)
}

func (c *Capture) file(name string) error {
	l := c.Log
	if strings.HasPrefix(name, "/sys/") { // a pin of eBPF, which cannot be restored from a content
		return nil
	}
	if c.captured == nil {
		c.captured, c.seen = map[string]bool{}, map[string]bool{}
	}
	if c.captured[name] {
		return nil
	}
	c.captured[name] = true
	was, err := c.Host.Live.Files.Capture(name, maxContents-c.contents, c.Twin(name))
	if was.Type == hostfs.Directory {
		c.mount(name)
	} else {
		c.mount(path.Dir(name))
	}
	if errors.Is(err, host.ErrNotExist) {
		l.Files = append(l.Files, File{Path: name})
		return nil
	}
	if err != nil {
		return err
	}
	f := File{Path: name, Type: was.Type, Mode: was.Mode, UID: was.UID, GID: was.GID, Content: was.Content,
		Target: was.Target, Attrs: was.Attrs}
	if !utf8.ValidString(f.Target) {
		f.RawTarget = []byte(f.Target)
	}
	if _, privileged := f.unprivileged(); was.Type == hostfs.Regular && (privileged || c.contents+was.Size > maxContents) {
		f.Content, f.Copy = nil, path.Join(c.Dir, fmt.Sprintf("file-%d", len(c.Copies)))
		c.Copies = append(c.Copies, f.Copy)
	}
	c.contents += int64(len(f.Content))
	l.Files = append(l.Files, f)
	return nil
}

// mount records the mount point that a directory is, or is below.
func (c *Capture) mount(dir string) {
	for ; dir != "/" && !c.seen[dir]; dir = path.Dir(dir) {
		c.seen[dir] = true
		if isMount(c.Host.Live.Files, dir) {
			c.Log.Mounts = append(c.Log.Mounts, dir)
			return
		}
	}
}

// The limits of a log. Above a limit the change is refused before it begins, or, for contents, the
// file is saved.
const (
	maxContents = 4 << 20 // bytes of all contents in the journal
	MaxKeys     = 100_000 // maximum number of keys of a change
	// bytes of files that must be copied because they cannot be hard-linked into the checkpoint's
	// directory
	maxCopies = 1 << 30
)

// SaveFiles saves the large files before anything changes them. Dir must exist.
func (c *Capture) SaveFiles(ctx context.Context) error {
	if err := c.affordable(); err != nil {
		return err
	}
	for i := range c.Log.Files {
		f := &c.Log.Files[i]
		if f.Copy == "" {
			continue
		}
		was, err := c.Host.Files.Retain(ctx, f.Path, f.Copy, c.Twin(f.Path))
		if err != nil {
			return err
		}
		f.Mode, f.UID, f.GID = was.Mode, was.UID, was.GID
	}
	return nil
}

// affordable returns an error if too many bytes would have to be copied.
func (c *Capture) affordable() error {
	var sum int64
	for _, f := range c.Log.Files {
		if f.Copy == "" {
			continue
		}
		info, err := c.Host.Live.Files.Strict().Lstat(f.Path)
		if err != nil {
			return err
		}
		linked, err := hostfs.Linkable(c.Host.Files, f.Path, f.Copy)
		if err != nil {
			return err
		}
		if !linked {
			sum += info.Size
		}
	}
	if sum > maxCopies {
		return fmt.Errorf("its undo would copy %d MiB of files that are on another file system than %s or "+
			"have another SELinux label, and the limit is %d MiB: remove by "+
			"hand the files that are not needed", sum>>20, c.Dir, maxCopies>>20)
	}
	return nil
}

func (c *Capture) table(ctx context.Context, name string) error {
	family, table, _ := strings.Cut(name, "/")
	// no table of ours, which the agent could not create again
	if !slices.Contains([]string{"ip", "ip6", "inet"}, family) {
		return nil
	}
	was, err := c.Host.Live.Firewall.Table(ctx, family, table)
	switch {
	case errors.Is(err, host.ErrNotExist):
		c.Log.Tables = append(c.Log.Tables, Table{Family: family, Name: table})
		return nil
	case err != nil:
		return err
	}
	for _, chain := range was.Chains {
		if slices.ContainsFunc(chain.Rules, func(r firewall.NFRule) bool { return r.Unknown != "" }) {
			return nil // a table of another program that is being removed, which the agent could not create again
		}
	}
	c.Log.Tables = append(c.Log.Tables, Table{family, table, &was})
	return nil
}

func (c *Capture) unit(ctx context.Context, name string) error {
	u, err := c.Host.Live.Units.Unit(ctx, name)
	if errors.Is(err, host.ErrNoLiveState) {
		return nil
	}
	if err != nil {
		return err
	}
	links, err := tasks.LinksOfUnit(c.Host.Live.View(), u)
	c.Log.Units = append(c.Log.Units, Unit{name, u.Active, u.File, &links})
	return err
}

// confKeys returns ip_forward and the keys that each link has. Writing one of them makes the kernel
// write others (https://docs.kernel.org/networking/ip-sysctl.html), so all are captured. "all" and
// "default" come before the links, because the kernel copies them to the links.
func confKeys(net map[string]string) []string {
	var groups [4][]string // ip_forward, all, default and links
	for key := range net {
		at := strings.TrimPrefix(strings.TrimPrefix(key, "net.ipv4.conf."), "net.ipv6.conf.")
		place := 3
		switch {
		case key == "net.ipv4.ip_forward":
			place = 0
		case at == key:
			continue
		case strings.HasPrefix(at, "all."):
			place = 1
		case strings.HasPrefix(at, "default."):
			place = 2
		}
		groups[place] = append(groups[place], key)
	}
	for _, keys := range groups {
		slices.Sort(keys)
	}
	return slices.Concat(groups[:]...)
}
