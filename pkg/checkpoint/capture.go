package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/tasks"
)

// capture writes down how everything is that a change names, and the network as
// a whole: a sysctl or a daemon's file changes addresses and routes that no key names.
func (j *Journal) capture(ctx context.Context, h *host.Host, change Change) error {
	if len(change.Keys) > maxKeys {
		return fmt.Errorf("it changes %d things at once, and at most %d can be taken back: change less at once, or "+
			"remove by hand what is not needed", len(change.Keys), maxKeys)
	}
	j.Links = h.Live.Files.Followed()
	sysctls := confKeys(h)
	for _, key := range change.Keys {
		j.programs = j.programs || tasks.RunsPrograms(change.Tasks[key], key)
		before := tasks.BeforeOf(change.Tasks[key], key)
		for _, name := range before.Sysctls {
			sysctls = append([]string{name}, sysctls...)
		}
		if err := j.captureKey(ctx, h, before); err != nil {
			return fmt.Errorf("write down how %s is: %w", key, err)
		}
	}
	kept := map[string]bool{}
	for _, key := range sysctls {
		if value, err := h.Live.Kernel.Sysctl(key); err == nil && !kept[key] {
			j.Sysctls, kept[key] = append(j.Sysctls, Sysctl{key, value}), true
		}
	}
	state, err := h.Live.Net.NetState(ctx)
	if err != nil {
		return fmt.Errorf("write down how the network is: %w", err)
	}
	j.Net = &state
	if j.programs || j.WatchUS > 0 { // also what an earlier one does is taken back
		return j.captureAround(ctx, h)
	}
	return nil
}

// captureKey writes down what the undo of one key needs, sysctls apart.
func (j *Journal) captureKey(ctx context.Context, h *host.Host, before tasks.Before) error {
	j.Made.Links = append(j.Made.Links, before.Links...)
	j.Forward = append(j.Forward, before.Forward...)
	j.Effects = append(j.Effects, before.Effects...)
	var errs []error
	for _, name := range before.Addresses {
		link, prefix, _ := strings.Cut(name, "/")
		p, err := netip.ParsePrefix(prefix)
		if err != nil {
			return err
		}
		j.Made.Addresses = append(j.Made.Addresses, rtnl.LinkAddress{Link: link, Prefix: p})
	}
	for _, name := range before.Files {
		errs = append(errs, j.captureFile(h, name))
	}
	for _, name := range before.Tables {
		errs = append(errs, j.captureTable(ctx, h, name))
	}
	for _, name := range before.Units {
		errs = append(errs, j.captureUnit(ctx, h, name))
	}
	for _, own := range before.Own {
		errs = append(errs, j.captureOwn(ctx, h, own))
	}
	return errors.Join(errs...)
}

func (j *Journal) captureFile(h *host.Host, name string) error {
	if strings.HasPrefix(name, "/sys/") { // a pin of eBPF, which no content brings back
		return nil
	}
	if slices.ContainsFunc(j.Files, func(f File) bool { return f.Path == name }) {
		return nil
	}
	was, err := h.Live.Files.Capture(name, maxContents-j.contents, awaitingLarge(name))
	if errors.Is(err, host.ErrNotExist) {
		j.Files = append(j.Files, File{Path: name})
		return nil
	}
	if err != nil {
		return err
	}
	f := File{Path: name, Type: was.Type, Mode: was.Mode, UID: was.UID, GID: was.GID, Content: was.Content,
		Target: was.Target}
	if was.Type == hostfs.Regular && j.contents+was.Size > maxContents {
		f.Content, f.Kept = nil, path.Join(Dir, fmt.Sprintf("file-%d", len(j.Kept)))
		j.Kept = append(j.Kept, f.Kept)
	}
	j.contents += int64(len(f.Content))
	j.Files = append(j.Files, f)
	return nil
}

// The bounds of what an undo holds. What is above is refused before anything is changed, or, of
// contents, kept as files.
const (
	maxContents = 4 << 20 // bytes of all files whose content is in the journal
	maxKeys     = 100_000 // that one change names
	maxCopies   = 1 << 30 // bytes of files that are copied, since they lie on another file system than the checkpoint
)

// keep keeps large files, before anything changes them.
func (j *Journal) keep(ctx context.Context, h *host.Host) error {
	if len(j.Kept) == 0 {
		return nil
	}
	if err := h.Files.Mkdir(Dir, 0o700, 0, 0); err != nil {
		return err
	}
	if err := save(ctx, h, scaffoldFile, j.scaffold); err != nil {
		return err
	}
	if err := j.affordable(h); err != nil {
		return err
	}
	for i := range j.Files {
		f := &j.Files[i]
		if f.Kept == "" {
			continue
		}
		was, err := h.Files.Keep(ctx, f.Path, f.Kept, awaitingLarge(f.Path))
		if err != nil {
			return err
		}
		f.Mode, f.UID, f.GID = was.Mode, was.UID, was.GID
	}
	return nil
}

// affordable says whether what has to be copied may be.
func (j *Journal) affordable(h *host.Host) error {
	here, err := h.Live.Files.Lstat(Dir)
	if err != nil {
		return err
	}
	var sum int64
	for _, f := range j.Files {
		if f.Kept == "" {
			continue
		}
		info, err := h.Live.Files.Plain().Lstat(f.Path)
		if err != nil {
			return err
		}
		if info.Dev != here.Dev {
			sum += info.Size
		}
	}
	if sum > maxCopies {
		return fmt.Errorf("its undo would copy %d MiB of files that lie on another file system than %s, and at most "+
			"%d are: remove by hand what is not needed of them", sum>>20, Dir, maxCopies>>20)
	}
	return nil
}

func (j *Journal) captureTable(ctx context.Context, h *host.Host, name string) error {
	family, table, _ := strings.Cut(name, "/")
	if !slices.Contains([]string{"ip", "ip6", "inet"}, family) { // no table of ours: nobody here could make it again
		return nil
	}
	was, err := h.Live.Firewall.Table(ctx, family, table)
	switch {
	case errors.Is(err, host.ErrNotExist):
		j.Tables = append(j.Tables, Table{Family: family, Name: table})
		return nil
	case err != nil:
		return err
	}
	for _, chain := range was.Chains {
		if slices.ContainsFunc(chain.Rules, func(r firewall.NFRule) bool { return r.Unknown != "" }) {
			return nil // somebody else's, which is removed: nobody here could make it again
		}
	}
	j.Tables = append(j.Tables, Table{family, table, &was})
	return nil
}

func (j *Journal) captureUnit(ctx context.Context, h *host.Host, name string) error {
	u, err := h.Live.Units.Unit(ctx, name)
	if errors.Is(err, host.ErrNoLiveState) {
		return nil
	}
	if err == nil {
		j.Units = append(j.Units, Unit{name, u.Active, u.File})
	}
	return err
}

// confKeys lists the keys that every link has. Writing one of them, or ip_forward, makes the kernel
// write others (https://docs.kernel.org/networking/ip-sysctl.html): all are kept. "all" and
// "default" come first, as they reach the links.
func confKeys(h *host.Host) (keys []string) {
	keys = append(keys, "net.ipv4.ip_forward")
	for _, family := range []string{"ipv4", "ipv6"} {
		dir := path.Join("/proc/sys/net", family, "conf")
		links, err := h.Live.Files.ReadDir(dir)
		if err != nil {
			continue // a kernel without this family
		}
		slices.SortStableFunc(links, func(a, b string) int { return confOrder(a) - confOrder(b) })
		for _, link := range links {
			leaves, err := h.Live.Files.ReadDir(path.Join(dir, link))
			if err != nil {
				continue
			}
			for _, leaf := range leaves {
				keys = append(keys,
					strings.Join([]string{"net", family, "conf", strings.ReplaceAll(link, ".", "/"), leaf}, "."))
			}
		}
	}
	return keys
}

func confOrder(link string) int { return slices.Index([]string{"default", "all"}, link) * -1 }
