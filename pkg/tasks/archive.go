package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/netwright/netwright/pkg/archive"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/hostpath"
)

// KindArchive is the kind of an [Archive] in the ledger.
const KindArchive = "archive"

// Fetcher opens assets. The agent gives one to the model, which passes it to the archives and does
// not use it. Only Apply calls it.
type Fetcher interface {
	// Open returns the bytes of a URL: relative to the store's cluster
	// directory ("assets/x.tgz"), file://, http:// or https://. Size is -1 when
	// unknown. Errors of the network are transient.
	Open(ctx context.Context, url string) (body io.ReadCloser, size int64, err error)
}

// Archive installs named members of a tar archive (gzip, xz, zstd or uncompressed) into a
// directory. No file is visible before the hash of the archive is verified; then all members appear
// by rename.
//
// A receipt records the hashes of the members, so that a later plan can check them without the
// archive. Without a receipt, or where a member is missing or changed and no copy of it is cached,
// Apply fetches the archive again. A plan never fetches.
type Archive struct {
	Meta
	Name    string           // for messages: "cni-plugins v1.9.1"
	URLs    []string         // tried in order
	Sum     archive.Checksum `json:"SHA256"` // the JSON name of ledgers from before there were other algorithms
	Dir     string           // the members' directory
	Members []string         // base names in Dir; the last element of a member's path is compared
	Mode    fs.FileMode
	Owner   string
	Fetch   Fetcher
}

var (
	_ Task   = Archive{}
	_ needer = Archive{}
)

// Owns implements [Task].
func (t Archive) Owns() []graph.Key { return fileKeys(t.Dir, t.Members...) }

// needs implements [needer]: the ledger's directory comes first, because the receipt would
// otherwise make it with another mode.
func (t Archive) needs() []graph.Key {
	return append([]graph.Key{FileKey(path.Dir(receiptDir))}, t.Requires...)
}

// Plan implements [Task]. It lists each member that is missing or differs.
func (t Archive) Plan(_ context.Context, v host.View) (*Change, error) {
	have, err := t.look(v)
	if err != nil {
		return nil, fmt.Errorf("plan %s: %w", t.Name, err)
	}
	var items []Item
	var facts []host.Fact
	reason := ""
	for _, s := range have.members {
		if s.reason == "" {
			continue
		}
		reason = cmp.Or(reason, s.reason)
		items = append(items, s.item)
		facts = append(facts, fileFact(s.path, have.want.info(hostfs.Regular, 0)))
	}
	if len(items) == 0 {
		return nil, nil
	}
	parents, err := missingParents(v, path.Join(t.Dir, t.Members[0]))
	if err != nil {
		return nil, fmt.Errorf("plan %s: %w", t.Name, err)
	}
	return t.change(append(parents, items...), reason, facts...), nil
}

// Apply implements [Task]. It does not touch members that are right.
func (t Archive) Apply(ctx context.Context, h *host.Host, _ *Change) error {
	return t.apply(ctx, h, nil)
}

func (t Archive) apply(ctx context.Context, h *host.Host, prefetched *ArchivePrefetch) error {
	have, err := t.look(h.Live.View())
	if err != nil {
		return fmt.Errorf("install %s: %w", t.Name, err)
	}
	for _, s := range have.members {
		if !s.install && s.reason != "" {
			if err := h.Files.SetMeta(s.path, s.is, have.want.spec()); err != nil {
				return fmt.Errorf("install %s: %w", t.Name, err)
			}
		}
	}
	rest, damaged, err := t.restore(ctx, h, have)
	if err != nil {
		return fmt.Errorf("install %s: %w", t.Name, err)
	}
	return t.fromAnywhere(ctx, rest, damaged, func(from string) error {
		return t.install(ctx, h, from, rest, have.want, prefetched)
	})
}

// Available checks that the missing members can be obtained: they are cached, or the archive can be
// fetched and unpacked and has the right hash. It discards what it unpacks. A rollback calls it
// before it changes anything.
func (t Archive) Available(ctx context.Context, h *host.Host) error {
	have, err := t.look(h.Live.View())
	if err != nil {
		return fmt.Errorf("look for %s: %w", t.Name, err)
	}
	kept := h.Files.Batch()
	defer kept.Discard()
	rest, damaged, err := t.fromCache(h, kept, have, receiptDir, memberCacheSpec)
	if err != nil {
		return fmt.Errorf("look for %s: %w", t.Name, err)
	}
	return t.fromAnywhere(ctx, rest, damaged, func(from string) error {
		b := h.Files.Batch()
		defer b.Discard()
		_, err := t.unpack(ctx, b, from,
			hostfs.Unpacking{Name: t.Name, Sum: t.Sum, Dir: receiptDir, Members: rest, Spec: memberCacheSpec})
		return err
	})
}

// memberState is the state of one member, and what Apply must do with it.
type memberState struct {
	name    string
	path    string
	item    Item
	reason  string // "": it is right
	install bool   // the content is wrong, or the file has other hard links, which may not be the agent's
	is      hostfs.FileInfo
}

// archiveState is the state of an archive's members on the host.
type archiveState struct {
	want    access
	receipt map[string]hostfs.Member // the members that the receipt has
	members []memberState
}

// missing returns the members that must be installed.
func (s archiveState) missing() (names []string) {
	for _, m := range s.members {
		if m.install {
			names = append(names, m.name)
		}
	}
	return names
}

// look compares all members with the receipt. It hashes them on all processors.
func (t Archive) look(v host.View) (have archiveState, err error) {
	if have.want, err = resolveAccess(v, t.Mode, t.Owner); err != nil {
		return have, err
	}
	if have.receipt, err = t.readReceipt(v); err != nil {
		return have, err
	}
	have.members = make([]memberState, len(t.Members))
	var each errgroup.Group
	each.SetLimit(runtime.GOMAXPROCS(0))
	for _, i := range t.largestFirst(have.receipt) {
		each.Go(func() (err error) {
			have.members[i], err = t.lookAt(v, t.Members[i], have.want, have.receipt)
			return err
		})
	}
	return have, each.Wait()
}

// largestFirst returns the indexes of the members, largest file first, so that no processor starts
// a large file last. known has the sizes.
func (t Archive) largestFirst(known map[string]hostfs.Member) []int {
	order := make([]int, len(t.Members))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(known[t.Members[b]].Size, known[t.Members[a]].Size)
	})
	return order
}

func (t Archive) lookAt(v host.View, name string, want access, known map[string]hostfs.Member) (memberState, error) {
	s := memberState{name: name, path: path.Join(t.Dir, name), install: true}
	s.item = Item{Key: FileKey(s.path), Op: Update}
	info, there, err := lstat(v, s.path)
	s.is = info
	is, recorded := known[name]
	content := Field{Name: "content", After: "from " + t.Name}
	switch {
	case err != nil:
		return s, err
	case !there:
		s.item.Op, s.item.Fields, s.reason = Create, append([]Field{content}, want.created()...), "absent"
		return s, nil
	case info.Type == hostfs.Symlink:
		s.item.Fields, s.reason = append([]Field{{Name: "type", Before: "symlink", After: "file"}, content},
			want.created()...), "is a symlink"
		return s, nil
	case info.Type != hostfs.Regular:
		return s, &hostpath.InTheWayError{Path: s.path, Is: info.Type, Want: hostfs.Regular}
	case !recorded:
		content.Before, s.reason = "unknown", "there is no record of what "+t.Name+" has"
	default:
		sum, err := v.Files.SumOf(s.path, info)
		if err != nil {
			return s, err
		}
		s.install = sum != is.SHA256 || info.Links > 1 && !want.is(info)
		content.Before, content.After = contentName(sum, info.Size), contentName(is.SHA256, is.Size)
		s.reason = "content differs"
	}
	if s.install {
		s.item.Fields = append(s.item.Fields, content)
	}
	s.item.Fields = append(s.item.Fields, want.changed(info)...)
	if !s.install {
		s.reason = ""
		if len(s.item.Fields) > 0 {
			s.reason = differs(s.item.Fields)
		}
	}
	return s, nil
}

// Unpacked returns the paths of the members of a recorded archive; none for other kinds.
func (r Recorded) Unpacked() (paths []string) {
	var t struct {
		Dir     string
		Members []string
	}
	if r.Kind != KindArchive || json.Unmarshal(r.Params, &t) != nil {
		return nil
	}
	for _, name := range t.Members {
		paths = append(paths, path.Join(t.Dir, name))
	}
	return paths
}

// withoutFetcher removes the field that is no parameter of the task.
func withoutFetcher(t *Archive) { t.Fetch = nil }
