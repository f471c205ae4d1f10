package tasks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
)

// Fetcher opens assets. The agent gives one to the model, which hands it on
// to the archives unread. It is called only by Apply.
type Fetcher interface {
	// Open returns the bytes of a URL: relative to the store's cluster
	// directory ("assets/x.tgz"), file://, http:// or https://. Size is -1 when
	// unknown. Errors of the network are transient.
	Open(ctx context.Context, url string) (body io.ReadCloser, size int64, err error)
}

// Archive is the named members of a tar archive (gzip, xz, zstd or plain) in
// a directory. Nothing of it is visible before the archive's sha256 is known
// to be right; all members then appear by rename.
//
// What the members are is kept in a receipt, so that a later plan can check them
// without the archive. Without a receipt, or with a member lost, the archive is
// fetched again. A plan never fetches.
type Archive struct {
	Meta
	Name    string   // for messages: "cni-plugins v1.9.1"
	URLs    []string // tried in order
	SHA256  host.Digest
	Dir     string   // where the members go
	Members []string // base names in Dir; a member is found by its path's last element
	Mode    fs.FileMode
	Owner   string
	Fetch   Fetcher
}

var _ Task = Archive{}

// Owns implements [Task].
func (t Archive) Owns() []graph.Key { return fileKeys(t.Dir, t.Members...) }

// Needs implements [Task]: the ledger's directory, which a receipt must not make with a mode of its own.
func (t Archive) Needs() []graph.Key {
	return append([]graph.Key{FileKey(path.Dir(receiptDir))}, t.After...)
}

// Plan implements [Task]. It lists each member that is absent or differs.
func (t Archive) Plan(_ context.Context, v host.View) (*Change, error) {
	want, states, err := t.look(v)
	if err != nil {
		return nil, fmt.Errorf("plan %s: %w", t.Name, err)
	}
	var items []Item
	var facts []host.Fact
	reason := ""
	for _, s := range states {
		if s.reason == "" {
			continue
		}
		if reason == "" {
			reason = s.reason
		}
		items = append(items, s.item)
		facts = append(facts, fileFact(s.path, want.info(host.Regular, 0)))
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

// Apply implements [Task]. Members that are right stay as they are.
func (t Archive) Apply(ctx context.Context, h *host.Host, _ *Change) error {
	want, states, err := t.look(h)
	if err != nil {
		return fmt.Errorf("install %s: %w", t.Name, err)
	}
	var members []string
	for _, s := range states {
		switch {
		case s.install:
			members = append(members, s.name)
		case s.reason != "":
			if err := h.SetMeta(s.path, want.spec()); err != nil {
				return fmt.Errorf("install %s: %w", t.Name, err)
			}
		}
	}
	return t.fromAnywhere(ctx, members, func(from string) error { return t.install(ctx, h, from, members, want) })
}

// Available proves that what is missing of the archive can be had: it is fetched, unpacked and held against its hash, and nothing of it
// stays. For a rollback, which asks before it changes anything.
func (t Archive) Available(ctx context.Context, h *host.Host) error {
	_, states, err := t.look(h)
	if err != nil {
		return fmt.Errorf("look for %s: %w", t.Name, err)
	}
	var members []string
	for _, s := range states {
		if s.install {
			members = append(members, s.name)
		}
	}
	return t.fromAnywhere(ctx, members, func(from string) error {
		b := h.Batch()
		defer b.Discard()
		_, err := t.unpack(ctx, b, from, host.Unpacking{Name: t.Name, SHA256: t.SHA256, Dir: receiptDir, Members: members, Spec: host.FileSpec{Mode: 0o600}})
		return err
	})
}

// fromAnywhere tries one URL after the other.
func (t Archive) fromAnywhere(ctx context.Context, members []string, try func(from string) error) error {
	if len(members) == 0 {
		return nil
	}
	if len(t.URLs) == 0 || t.Fetch == nil {
		return fmt.Errorf("install %s: it has no URL to fetch it from: add urls to its entry in spec.assets", t.Name)
	}
	var failed []error
	for _, from := range t.URLs {
		err := try(from)
		if err == nil {
			return nil
		}
		err = fmt.Errorf("from %s: %w", withoutSecrets(from), err)
		if !t.elsewhere(err) || ctx.Err() != nil {
			return fmt.Errorf("install %s: %w", t.Name, err)
		}
		failed = append(failed, err)
	}
	return fmt.Errorf("install %s: none of its URLs gave it:\n%w\nput the archive with sha256 %s at one of them, or correct its entry in spec.assets",
		t.Name, errors.Join(failed...), t.SHA256)
}

// install fetches the archive from one URL and puts the members and the receipt in place, as one batch.
func (t Archive) install(ctx context.Context, h *host.Host, from string, members []string, want access) error {
	b := h.Batch()
	defer b.Discard()
	got, err := t.unpack(ctx, b, from, host.Unpacking{Name: t.Name, SHA256: t.SHA256, Dir: t.Dir, Members: members, Spec: want.spec()})
	if err != nil {
		return err
	}
	if err := t.writeReceipt(h, b, got); err != nil {
		return err
	}
	return b.Commit(ctx)
}

// unpack fetches the archive and stages its members.
func (t Archive) unpack(ctx context.Context, b *host.Batch, from string, u host.Unpacking) (map[string]host.Member, error) {
	body, _, err := t.Fetch.Open(ctx, from)
	if err != nil {
		return nil, &unfetchedError{err}
	}
	defer body.Close()
	got, err := b.Unpack(ctx, body, u)
	var source *host.SourceError
	if errors.As(err, &source) {
		return nil, graph.Transient(err)
	}
	return got, err
}

// unfetchedError is one of opening a URL.
type unfetchedError struct{ error }

func (e *unfetchedError) Unwrap() error { return e.error }

// elsewhere says whether another URL may do better: not where the archive itself is wrong, or the disk is full.
func (t Archive) elsewhere(err error) bool {
	var (
		unfetched *unfetchedError
		source    *host.SourceError
		archive   *host.ArchiveError
	)
	return errors.As(err, &unfetched) || errors.As(err, &source) || errors.As(err, &archive) && !archive.Right
}

// memberState is what is to be done for one member.
type memberState struct {
	name    string
	path    string
	item    Item
	reason  string // "": it is right
	install bool   // its content is not right
}

// look compares all members with the receipt. Those that must be read are read on all processors.
func (t Archive) look(v host.View) (want access, states []memberState, err error) {
	if want, err = resolveAccess(v, t.Mode, t.Owner); err != nil {
		return want, nil, err
	}
	known, err := t.readReceipt(v)
	if err != nil {
		return want, nil, err
	}
	states = make([]memberState, len(t.Members))
	var each errgroup.Group
	each.SetLimit(runtime.GOMAXPROCS(0))
	for _, i := range t.largestFirst(v) {
		each.Go(func() (err error) {
			states[i], err = t.lookAt(v, t.Members[i], want, known)
			return err
		})
	}
	return want, states, each.Wait()
}

// largestFirst is an order of the members in which no processor is left with a big one at the end.
func (t Archive) largestFirst(v host.View) []int {
	order, sizes := make([]int, len(t.Members)), make([]int64, len(t.Members))
	for i, name := range t.Members {
		order[i] = i
		if info, there, err := lstat(v, path.Join(t.Dir, name)); there && err == nil {
			sizes[i] = info.Size
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sizes[b], sizes[a]) })
	return order
}

func (t Archive) lookAt(v host.View, name string, want access, known map[string]host.Member) (memberState, error) {
	s := memberState{name: name, path: path.Join(t.Dir, name), install: true}
	s.item = Item{Key: FileKey(s.path), Op: Update}
	info, there, err := lstat(v, s.path)
	is, recorded := known[name]
	content := Field{Name: "content", After: "from " + t.Name}
	switch {
	case err != nil:
		return s, err
	case !there:
		s.item.Op, s.item.Fields, s.reason = Create, append([]Field{content}, want.created()...), "absent"
		return s, nil
	case info.Type == host.Symlink:
		s.item.Fields, s.reason = append([]Field{{Name: "type", Before: "symlink", After: "file"}, content}, want.created()...), "is a symlink"
		return s, nil
	case info.Type != host.Regular:
		return s, &host.InTheWayError{Path: s.path, Is: info.Type, Want: host.Regular}
	case !recorded:
		content.Before, s.reason = "unknown", "there is no record of what "+t.Name+" has"
	default:
		sum, err := v.SumOf(s.path, info)
		if err != nil {
			return s, err
		}
		s.install = sum != is.SHA256
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

// withoutSecrets is a URL as it may be shown: user, password and query can be credentials.
func withoutSecrets(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "a URL that cannot be parsed"
	}
	u.User, u.Fragment = nil, ""
	if u.RawQuery != "" {
		u.RawQuery = "…"
	}
	return u.String()
}
